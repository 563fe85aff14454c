/* The values of templates: see jinja_value.h. */
#include "config.h"
#include "src/text/jinja_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/text/jinja_run.h"
#include "src/text/jinja_iter.h"
#include "src/text/jinja_math.h"
#include "src/text/jinja_repr.h"
#include "src/text/jinja_string.h"

enum { FIRST_CAPACITY = 4, FEW_ENTRIES = 8 /* up to these, comparing hashes one by one is quick enough */ };

bool jinja_value_is_whole(struct jinja_value v, int64_t *ret_integer)
{
    if (v.kind == JINJA_INT)
        *ret_integer = v.integer;
    else if (v.kind == JINJA_BOOL)
        *ret_integer = v.boolean;
    else
        return false;
    return true;
}

bool jinja_value_is_number(struct jinja_value v)
{
    return v.kind >= JINJA_BOOL && v.kind <= JINJA_FLOAT;
}

const char *jinja_value_type(struct jinja_value v)
{
    static const char *const names[] = {
        [JINJA_MISSING] = "missing",
        [JINJA_UNDEFINED] = "Undefined",
        [JINJA_NONE] = "NoneType",
        [JINJA_BOOL] = "bool",
        [JINJA_INT] = "int",
        [JINJA_BIG] = "int",
        [JINJA_FLOAT] = "float",
        [JINJA_STRING] = "str",
        [JINJA_LIST] = "list",
        [JINJA_TUPLE] = "tuple",
        [JINJA_DICT] = "dict",
        [JINJA_VIEW] = "dict_view",
        [JINJA_RANGE] = "range",
        [JINJA_GENERATOR] = "generator",
        [JINJA_NAMESPACE] = "namespace",
        [JINJA_MACRO] = "Macro",
        [JINJA_FUNCTION] = "function",
        [JINJA_METHOD] = "method",
        [JINJA_LOOP] = "LoopContext",
        [JINJA_CYCLER] = "Cycler",
        [JINJA_JOINER] = "Joiner",
    };
    return v.kind == JINJA_STRING && v.string->is_safe ? "Markup" : names[v.kind];
}

/* ---- undefined ---- */

static struct jinja_value make_undefined(struct jinja_run *run, struct jinja_undefined from)
{
    static struct jinja_undefined nameless = {.hint = "the value is undefined"};
    struct jinja_undefined *u = jinja_run_alloc(run, 1, sizeof *u);
    if (u)
        *u = from;
    return (struct jinja_value){.kind = JINJA_UNDEFINED, .undefined = u ? u : &nameless};
}

struct jinja_value jinja_value_undefined(struct jinja_run *run, const char *hint)
{
    return make_undefined(run, (struct jinja_undefined){.hint = hint});
}

struct jinja_value jinja_value_undefined_name(struct jinja_run *run, struct jinja_value name)
{
    return make_undefined(run, (struct jinja_undefined){.name = name});
}

struct jinja_value jinja_value_undefined_in(struct jinja_run *run, struct jinja_value owner,
                                            struct jinja_value name)
{
    return make_undefined(run, (struct jinja_undefined){.owner = owner, .name = name});
}

struct jinja_value jinja_value_fail_undefined(struct jinja_run *run, struct jinja_value v)
{
    const struct jinja_undefined *u = v.undefined;
    if (u->hint)
        return jinja_run_fail(run, "%s", u->hint);
    const char *name = jinja_repr_short(run, u->name);
    if (jinja_value_is_missing(u->owner))
        return jinja_run_fail(run, "%s is undefined", name);
    char owner[64];
    snprintf(owner, sizeof owner, u->owner.kind == JINJA_NONE ? "None" : "%s object",
             jinja_value_type(u->owner));
    return jinja_value_is_string(u->name) ? jinja_run_fail(run, "'%s' has no attribute %s", owner, name)
                                          : jinja_run_fail(run, "%s has no element %s", owner, name);
}

/* ---- lists ---- */

/* Stands in where a run has failed; never written to. */
static struct jinja_list no_list;
static struct jinja_dict no_dict;

struct jinja_value jinja_value_sequence(struct jinja_run *run, enum jinja_kind kind, size_t n)
{
    struct jinja_list *list = jinja_run_alloc(run, 1, sizeof *list);
    struct jinja_value *items = list && n ? jinja_run_alloc(run, n, sizeof *items) : NULL;
    if (!list || (n && !items))
        return (struct jinja_value){.kind = kind, .list = &no_list};
    list->items = items;
    list->capacity = n;
    return (struct jinja_value){.kind = kind, .list = list};
}

struct jinja_value jinja_value_list(struct jinja_run *run)
{
    return jinja_value_sequence(run, JINJA_LIST, 0);
}

void jinja_value_push(struct jinja_run *run, struct jinja_value list, struct jinja_value item)
{
    struct jinja_list *l = list.list;
    if (run->code)
        return;
    if (l->n == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : FIRST_CAPACITY;
        struct jinja_value *items = jinja_run_alloc(run, capacity, sizeof *items);
        if (!items)
            return;
        if (l->n)
            memcpy(items, l->items, l->n * sizeof *items);
        l->items = items;
        l->capacity = capacity;
    }
    l->items[l->n++] = item;
}

struct jinja_value jinja_value_pair(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    struct jinja_value pair = jinja_value_sequence(run, JINJA_TUPLE, 2);
    jinja_value_push(run, pair, a);
    jinja_value_push(run, pair, b);
    return pair;
}

/* ---- hashes ---- */

static uint64_t mix(uint64_t h)
{
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

static uint64_t hash_text(const struct jinja_string *s)
{
    uint64_t h = 0xcbf29ce484222325u ^ s->n;
    for (size_t i = 0; i < s->n; i++)
        h = (h ^ (uint8_t)s->text[i]) * 0x100000001b3u;
    return mix(h);
}

/* Numbers that are equal hash equally: 1, 1.0 and true are one key. */
static uint64_t hash_float(double x)
{
    if (x >= -0x1p63 && x < 0x1p63 && x == trunc(x))
        return mix((uint64_t)(int64_t)x);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return mix(bits);
}

static bool hash_tuple(struct jinja_run *run, const struct jinja_list *list, uint64_t *ret_hash)
{
    if (!jinja_run_enter(run))
        return false;
    uint64_t h = list->n, item;
    bool ok = true;
    for (size_t i = 0; i < list->n && ok; i++) {
        ok = jinja_run_step(run, 1) && jinja_value_hash(run, list->items[i], &item);
        h = ok ? mix(h + item) : h;
    }
    jinja_run_leave(run);
    *ret_hash = h;
    return ok;
}

bool jinja_value_hash(struct jinja_run *run, struct jinja_value v, uint64_t *ret_hash)
{
    switch (v.kind) {
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        *ret_hash = mix(v.kind);
        return true;
    case JINJA_BOOL:
        *ret_hash = mix(v.boolean);
        return true;
    case JINJA_INT:
        *ret_hash = mix((uint64_t)v.integer);
        return true;
    case JINJA_FLOAT:
        *ret_hash = hash_float(v.real);
        return true;
    case JINJA_BIG:
    case JINJA_STRING:
        *ret_hash = hash_text(v.string);
        return jinja_run_move(run, v.string->n);
    case JINJA_TUPLE:
        return hash_tuple(run, v.list, ret_hash);
    case JINJA_LIST:
    case JINJA_DICT:
    case JINJA_VIEW:
        jinja_run_fail(run, "unhashable type: '%s'", jinja_value_type(v));
        return false;
    default:
        *ret_hash = mix((uintptr_t)v.dict);
        return true;
    }
}

/* ---- dictionaries ---- */

struct jinja_value jinja_value_dict(struct jinja_run *run)
{
    struct jinja_dict *dict = jinja_run_alloc(run, 1, sizeof *dict);
    return (struct jinja_value){.kind = JINJA_DICT, .dict = dict ? dict : &no_dict};
}

static bool is_key(struct jinja_run *run, const struct jinja_entry *e, uint64_t hash, struct jinja_value key)
{
    return e->hash == hash && jinja_run_step(run, 1) && jinja_value_equals(run, e->key, key);
}

/* Long ways through slots are paid for: whoever chooses the keys may choose ones that meet. */
static void pay_for_way(struct jinja_run *run, const struct jinja_dict *d, uint64_t hash, size_t end)
{
    enum { SLOTS_PER_STEP = 16 };
    jinja_run_step(run, ((end - hash) & (d->n_slot - 1)) / SLOTS_PER_STEP);
}

static struct jinja_entry *find(struct jinja_run *run, const struct jinja_dict *d, uint64_t hash,
                                struct jinja_value key)
{
    if (!d->slots) {
        for (size_t i = 0; i < d->n; i++)
            if (is_key(run, &d->entries[i], hash, key))
                return &d->entries[i];
        return NULL;
    }
    size_t i = hash & (d->n_slot - 1);
    while (d->slots[i] && !is_key(run, &d->entries[d->slots[i] - 1], hash, key))
        i = (i + 1) & (d->n_slot - 1);
    pay_for_way(run, d, hash, i);
    return d->slots[i] ? &d->entries[d->slots[i] - 1] : NULL;
}

static void put_slot(struct jinja_run *run, struct jinja_dict *d, size_t i_entry)
{
    size_t i = d->entries[i_entry].hash & (d->n_slot - 1);
    while (d->slots[i])
        i = (i + 1) & (d->n_slot - 1);
    pay_for_way(run, d, d->entries[i_entry].hash, i);
    d->slots[i] = (uint32_t)(i_entry + 1);
}

/* Room for one more entry, and slots for four times as many as there is room for. */
static bool grow(struct jinja_run *run, struct jinja_dict *d)
{
    if (d->n < d->capacity)
        return true;
    size_t capacity = d->capacity ? 2 * d->capacity : FIRST_CAPACITY;
    if (capacity > UINT32_MAX / 4) {
        jinja_run_stop(run, JINJA_E_LIMIT, "a dictionary with more than %zu members", d->n);
        return false;
    }
    struct jinja_entry *entries = jinja_run_alloc(run, capacity, sizeof *entries);
    uint32_t *slots = capacity > FEW_ENTRIES ? jinja_run_alloc(run, 4 * capacity, sizeof *slots) : NULL;
    if (!entries || (capacity > FEW_ENTRIES && !slots))
        return false;
    if (d->n)
        memcpy(entries, d->entries, d->n * sizeof *entries);
    d->entries = entries;
    d->capacity = capacity;
    d->slots = slots;
    d->n_slot = slots ? 4 * capacity : 0;
    for (size_t i = 0; slots && i < d->n && !run->code; i++)
        put_slot(run, d, i);
    return true;
}

void jinja_value_set(struct jinja_run *run, struct jinja_value dict, struct jinja_value key,
                     struct jinja_value value)
{
    struct jinja_dict *d = dict.dict;
    uint64_t hash;
    if (run->code || !jinja_value_hash(run, key, &hash))
        return;
    struct jinja_entry *e = find(run, d, hash, key);
    if (e) {
        e->value = value;
        return;
    }
    if (run->code || !grow(run, d))
        return;
    d->entries[d->n++] = (struct jinja_entry){key, value, hash};
    if (d->slots)
        put_slot(run, d, d->n - 1);
}

void jinja_value_set_text(struct jinja_run *run, struct jinja_value dict, const char *key,
                          struct jinja_value value)
{
    jinja_value_set(run, dict, jinja_value_text(run, key, strlen(key), JINJA_TRUSTED), value);
}

struct jinja_value jinja_value_get(struct jinja_run *run, const struct jinja_dict *dict,
                                   struct jinja_value key)
{
    uint64_t hash;
    struct jinja_entry *e = jinja_value_hash(run, key, &hash) ? find(run, dict, hash, key) : NULL;
    return e ? e->value : jinja_value_missing();
}

struct jinja_value jinja_value_get_text(struct jinja_run *run, const struct jinja_dict *dict, const char *key)
{
    const struct jinja_string s = {.text = key, .n = strlen(key)};
    return jinja_value_get(run, dict, jinja_string_value(&s));
}

struct jinja_value jinja_value_member(struct jinja_run *run, struct jinja_value dict, const char *key)
{
    return dict.kind == JINJA_DICT ? jinja_value_get_text(run, dict.dict, key) : jinja_value_missing();
}

/* ---- comparing ---- */

static bool equal_lists(struct jinja_run *run, const struct jinja_list *a, const struct jinja_list *b)
{
    if (a == b || a->n != b->n)
        return a == b;
    if (!jinja_run_enter(run))
        return false;
    bool equal = true;
    for (size_t i = 0; i < a->n && equal; i++)
        equal = jinja_run_step(run, 1) && jinja_value_equals(run, a->items[i], b->items[i]);
    jinja_run_leave(run);
    return equal;
}

static bool equal_dicts(struct jinja_run *run, const struct jinja_dict *a, const struct jinja_dict *b)
{
    if (a == b || a->n != b->n)
        return a == b;
    if (!jinja_run_enter(run))
        return false;
    bool equal = true;
    for (size_t i = 0; i < a->n && equal; i++) {
        const struct jinja_entry *other = find(run, b, a->entries[i].hash, a->entries[i].key);
        equal = other && jinja_run_step(run, 1) && jinja_value_equals(run, a->entries[i].value, other->value);
    }
    jinja_run_leave(run);
    return equal;
}

/* Ranges are equal if they give the same numbers. */
static bool equal_ranges(const struct jinja_span *a, const struct jinja_span *b)
{
    return a->n == b->n && (a->n == 0 || (a->start == b->start && (a->n == 1 || a->step == b->step)));
}

/* Views of keys and of pairs compare as sets. */
static bool equal_views(struct jinja_run *run, const struct jinja_view *a, const struct jinja_view *b)
{
    if (a == b || a->part == JINJA_VALUES || a->part != b->part || a->dict->n != b->dict->n)
        return a == b;
    for (size_t i = 0; i < a->dict->n && jinja_run_step(run, 1); i++) {
        const struct jinja_entry *e = &a->dict->entries[i];
        const struct jinja_entry *other = find(run, b->dict, e->hash, e->key);
        if (!other || (a->part == JINJA_ITEMS && !jinja_value_equals(run, e->value, other->value)))
            return false;
    }
    return true;
}

bool jinja_value_equals(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    if (jinja_value_is_number(a) && jinja_value_is_number(b))
        return jinja_math_compare_numbers(a, b) == 0;
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case JINJA_STRING:
        return a.string->n == b.string->n && jinja_run_move(run, a.string->n) &&
               memcmp(a.string->text, b.string->text, a.string->n) == 0;
    case JINJA_LIST:
    case JINJA_TUPLE:
        return equal_lists(run, a.list, b.list);
    case JINJA_DICT:
        return equal_dicts(run, a.dict, b.dict);
    case JINJA_RANGE:
        return equal_ranges(a.span, b.span);
    case JINJA_VIEW:
        return equal_views(run, a.view, b.view);
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        return true;
    default:
        return a.dict == b.dict;
    }
}

int64_t jinja_value_length(struct jinja_run *run, struct jinja_value v)
{
    switch (v.kind) {
    case JINJA_UNDEFINED:
        return 0;
    case JINJA_STRING:
        return (int64_t)v.string->n_char;
    case JINJA_LIST:
    case JINJA_TUPLE:
        return (int64_t)v.list->n;
    case JINJA_DICT:
        return (int64_t)v.dict->n;
    case JINJA_VIEW:
        return (int64_t)v.view->dict->n;
    case JINJA_RANGE:
        return v.span->n;
    case JINJA_LOOP:
        return jinja_iter_loop_length(run, v.loop);
    default:
        return -1;
    }
}

bool jinja_value_is_true(struct jinja_run *run, struct jinja_value v)
{
    switch (v.kind) {
    case JINJA_MISSING:
    case JINJA_NONE:
        return false;
    case JINJA_BOOL:
        return v.boolean;
    case JINJA_INT:
        return v.integer != 0;
    case JINJA_FLOAT:
        return v.real != 0;
    default:
        return jinja_value_length(run, v) != 0;
    }
}
