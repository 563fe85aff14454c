/* One component of tokenizer.json as a small tree: see part.h. */
#include "config.h"
#include "src/text/part.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>

static char *copy(struct arena *arena, const char *s, size_t n)
{
    char *to = arena_array(arena, n + 1, 1);
    if (to && n)
        memcpy(to, s, n);
    return to;
}

/* A node for the reader's item. NULL: out of memory. */
static struct part *new_part(const struct jsonread *r, struct arena *arena)
{
    struct part *p = arena_array(arena, 1, sizeof *p);
    if (!p)
        return NULL;
    p->kind = r->kind;
    p->integer = r->integer;
    if (r->kind == JSONREAD_STRING) {
        p->n_string = r->n_string;
        p->string = copy(arena, r->string, r->n_string);
        if (!p->string)
            return NULL;
    }
    return p;
}

int part_read(const struct part **ret_part, struct jsonread *r, struct arena *arena)
{
    struct part *parents[JSONREAD_MAX_DEPTH];
    const struct part **link = ret_part, **links[JSONREAD_MAX_DEPTH];
    const char *key = NULL;
    unsigned depth = 0, n = 0;
    if (r->kind == JSONREAD_KEY)
        jsonread_next(r);
    for (;; jsonread_next(r)) {
        if (r->kind == JSONREAD_ERROR)
            return r->error;
        if (r->kind == JSONREAD_KEY) {
            key = copy(arena, r->string, r->n_string);
            if (!key)
                return -ENOMEM;
            continue;
        }
        if (r->kind == JSONREAD_OBJECT_END || r->kind == JSONREAD_ARRAY_END) {
            link = links[--depth];
        } else {
            if (++n > PART_MAX_NODES)
                return jsonread_fail(r, "a component of more than %d values", PART_MAX_NODES);
            struct part *p = new_part(r, arena);
            if (!p)
                return -ENOMEM;
            p->key = key;
            key = NULL;
            *link = p;
            link = &p->next;
            if (p->kind == JSONREAD_OBJECT || p->kind == JSONREAD_ARRAY) {
                parents[depth] = p;
                links[depth] = link;
                link = &parents[depth++]->first;
            }
        }
        if (depth == 0)
            return 0;
    }
}

static const struct part *member(const struct part *p, const char *key)
{
    if (!p || p->kind != JSONREAD_OBJECT)
        return NULL;
    for (const struct part *m = p->first; m; m = m->next)
        if (strcmp(m->key, key) == 0)
            return m;
    return NULL;
}

const struct part *part_get(const struct part *p, const char *key)
{
    const struct part *m = member(p, key);
    return m && m->kind != JSONREAD_NULL ? m : NULL;
}

bool part_is(const struct part *p, const char *s)
{
    return p && p->kind == JSONREAD_STRING && p->n_string == strlen(s) &&
           memcmp(p->string, s, p->n_string) == 0;
}

const char *part_type(const struct part *p)
{
    const struct part *type = part_get(p, "type");
    return type && type->kind == JSONREAD_STRING ? type->string : "";
}

int part_get_bool(const struct part *p, const char *what, const char *key, bool *ret, struct why *why)
{
    const struct part *m = member(p, key);
    if (!m)
        return 0;
    if (m->kind != JSONREAD_TRUE && m->kind != JSONREAD_FALSE)
        return why_set(why, EX_DATAERR, "%s: '%s' is %s, must be true or false", what, key,
                       jsonread_kind_name(m->kind));
    *ret = m->kind == JSONREAD_TRUE;
    return 0;
}

int part_get_string(const struct part *p, const char *what, const char *key, const char **ret_string,
                    size_t *ret_n, struct why *why)
{
    const struct part *m = part_get(p, key);
    if (!m)
        return why_set(why, EX_DATAERR, "%s: '%s' is missing", what, key);
    if (m->kind != JSONREAD_STRING)
        return why_set(why, EX_DATAERR, "%s: '%s' is %s, must be a string", what, key,
                       jsonread_kind_name(m->kind));
    *ret_string = m->string;
    *ret_n = m->n_string;
    return 0;
}

int part_get_count(const struct part *p, const char *what, const char *key, unsigned max, unsigned *ret,
                   struct why *why)
{
    const struct part *m = part_get(p, key);
    if (!m)
        return 0;
    if (m->kind != JSONREAD_INT)
        return why_set(why, EX_DATAERR, "%s: '%s' is %s, must be an integer", what, key,
                       jsonread_kind_name(m->kind));
    if (m->integer < 0 || m->integer > max)
        return why_set(why, EX_DATAERR, "%s: '%s' is %lld, must be 0 to %u", what, key, (long long)m->integer,
                       max);
    *ret = (unsigned)m->integer;
    return 0;
}

int part_each(const struct part *p, const char *what, const char *list,
              int (*add)(void *arg, const struct part *part, struct why *why), void *arg, struct why *why)
{
    if (!p)
        return 0;
    if (strcmp(part_type(p), "Sequence") != 0)
        return add(arg, p, why);
    const struct part *members = part_get(p, list);
    if (!members || members->kind != JSONREAD_ARRAY)
        return why_set(why, EX_DATAERR, "%s Sequence: '%s' is no array", what, list);
    int r = 0;
    for (const struct part *m = members->first; m && r == 0; m = m->next)
        r = part_each(m, what, list, add, arg, why); /* as deep as part_read lets values be */
    return r;
}

int part_get_pattern(const struct part *p, const char *what, const char **ret_pattern, size_t *ret_n,
                     bool *ret_regex, struct why *why)
{
    const struct part *pattern = part_get(p, "pattern");
    *ret_regex = part_get(pattern, "Regex") != NULL;
    int r = part_get_string(pattern, what, *ret_regex ? "Regex" : "String", ret_pattern, ret_n, why);
    if (r == 0 && *ret_n == 0)
        r = why_set(why, EX_DATAERR, "%s: the pattern is empty", what);
    return r;
}
