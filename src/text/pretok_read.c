/* The pre-tokenizer of tokenizer.json becomes a list of stages: see pretok.h. */
#include "config.h"
#include "src/text/pretok.h"

#include <string.h>
#include <sysexits.h>

static int read_behavior(struct pretok_stage *s, const struct part *part, const char *what, struct why *why)
{
    static const char *const names[] = {
        [PRETOK_REMOVED] = "Removed",
        [PRETOK_ISOLATED] = "Isolated",
        [PRETOK_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
        [PRETOK_MERGED_WITH_NEXT] = "MergedWithNext",
        [PRETOK_CONTIGUOUS] = "Contiguous",
    };
    const char *name;
    size_t n;
    int r = part_get_string(part, what, "behavior", &name, &n, why);
    if (r)
        return r;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            s->behavior = (enum pretok_behavior)i;
            return 0;
        }
    }
    return why_set(why, EX_DATAERR, "%s: behavior '%s' is not known", what, name);
}

static int read_byte_level(struct pretok_stage *s, const struct part *part, struct why *why)
{
    const char *what = "pre-tokenizer ByteLevel";
    bool prefix = true;
    s->split = true;
    int r = part_get_bool(part, what, "add_prefix_space", &prefix, why);
    if (r == 0)
        r = part_get_bool(part, what, "use_regex", &s->split, why);
    s->prepend = prefix ? PRETOK_ALWAYS : PRETOK_NEVER;
    return r;
}

static int read_split(struct pretok_stage *s, const struct part *part, struct why *why)
{
    const char *what = "pre-tokenizer Split";
    bool is_regex;
    int r = read_behavior(s, part, what, why);
    if (r == 0)
        r = part_get_bool(part, what, "invert", &s->invert, why);
    if (r == 0)
        r = part_get_pattern(part, what, &s->string, &s->n_string, &is_regex, why);
    if (r || !is_regex)
        return r;
    s->splitter = splitter_find(s->string, s->n_string);
    return s->splitter ? 0 : regex_new(&s->regex, s->string, s->n_string, why);
}

static int read_digits(struct pretok_stage *s, const struct part *part, struct why *why)
{
    bool individual = false;
    int r = part_get_bool(part, "pre-tokenizer Digits", "individual_digits", &individual, why);
    s->behavior = individual ? PRETOK_ISOLATED : PRETOK_CONTIGUOUS;
    return r;
}

static int read_punctuation(struct pretok_stage *s, const struct part *part, struct why *why)
{
    s->behavior = PRETOK_ISOLATED;
    return part_get(part, "behavior") ? read_behavior(s, part, "pre-tokenizer Punctuation", why) : 0;
}

static int read_metaspace(struct pretok_stage *s, const struct part *part, struct why *why)
{
    const char *what = "pre-tokenizer Metaspace";
    const struct part *scheme = part_get(part, "prepend_scheme");
    bool prefix = true;
    s->split = true;
    s->behavior = PRETOK_MERGED_WITH_NEXT;
    int r = part_get_string(part, what, "replacement", &s->string, &s->n_string, why);
    if (r == 0 && part_get(part, "split")) /* may be null here */
        r = part_get_bool(part, what, "split", &s->split, why);
    if (r == 0 && part_get(part, "add_prefix_space"))
        r = part_get_bool(part, what, "add_prefix_space", &prefix, why);
    if (r)
        return r;
    if (!prefix && scheme && !part_is(scheme, "never"))
        return why_set(why, EX_DATAERR, "%s: 'add_prefix_space' is false, 'prepend_scheme' is not never",
                       what);
    if (s->n_string == 0)
        return why_set(why, EX_DATAERR, "%s: 'replacement' is empty", what);
    s->prepend = prefix ? PRETOK_ALWAYS : PRETOK_NEVER;
    if (scheme && !part_is(scheme, "always") && !part_is(scheme, "never") && !part_is(scheme, "first"))
        return why_set(why, EX_DATAERR, "%s: 'prepend_scheme' is none of always, never, first", what);
    if (scheme)
        s->prepend = part_is(scheme, "always")  ? PRETOK_ALWAYS
                     : part_is(scheme, "first") ? PRETOK_FIRST
                                                : PRETOK_NEVER;
    return 0;
}

static int read_whitespace(struct pretok_stage *s, const struct part *part, struct why *why)
{
    (void)part, (void)why;
    s->behavior = PRETOK_REMOVED;
    s->invert = s->kind == PRETOK_WHITESPACE; /* its pattern matches what stays */
    return 0;
}

static const struct {
    const char *type;
    enum pretok_kind kind;
    int (*read)(struct pretok_stage *s, const struct part *part, struct why *why);
} kinds[] = {
    {"ByteLevel", PRETOK_BYTE_LEVEL, read_byte_level},
    {"Split", PRETOK_SPLIT, read_split},
    {"Digits", PRETOK_DIGITS, read_digits},
    {"Punctuation", PRETOK_PUNCTUATION, read_punctuation},
    {"Metaspace", PRETOK_METASPACE, read_metaspace},
    {"Whitespace", PRETOK_WHITESPACE, read_whitespace},
    {"WhitespaceSplit", PRETOK_WHITESPACE_SPLIT, read_whitespace},
};

static int add_stage(void *arg, const struct part *part, struct why *why)
{
    struct pretok *p = arg;
    const char *type = part_type(part);
    if (p->n_stage == PRETOK_MAX_STAGES)
        return why_set(why, EX_DATAERR, "more than %d pre-tokenizers", PRETOK_MAX_STAGES);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(type, kinds[i].type) != 0)
            continue;
        struct pretok_stage *s = &p->stages[p->n_stage++];
        s->kind = kinds[i].kind;
        return kinds[i].read(s, part, why);
    }
    return why_set(why, EX_DATAERR, "pre-tokenizer '%s' is not known", type);
}

/* What no model does, and what would need more than one alphabet at a time. */
static int check_order(struct pretok *p, struct why *why)
{
    for (unsigned i = 0; i < p->n_stage; i++) {
        struct pretok_stage *s = &p->stages[i];
        if (p->byte_level && (s->kind == PRETOK_BYTE_LEVEL || s->kind == PRETOK_METASPACE))
            return why_set(why, EX_DATAERR, "pre-tokenizer %s after ByteLevel is not supported",
                           s->kind == PRETOK_METASPACE ? "Metaspace" : "ByteLevel");
        if (s->kind == PRETOK_BYTE_LEVEL) {
            p->byte_level = true;
            s->spell = i + 1 < p->n_stage;
        }
    }
    return 0;
}

int pretok_init(struct pretok *p, const struct part *part, struct why *why)
{
    *p = (struct pretok){0};
    int r = part_each(part, "pre-tokenizer", "pretokenizers", add_stage, p, why);
    if (r == 0)
        r = check_order(p, why);
    if (r)
        pretok_deinit(p);
    return r;
}

void pretok_deinit(struct pretok *p)
{
    for (unsigned i = 0; i < p->n_stage; i++)
        p->stages[i].regex = regex_free(p->stages[i].regex);
    *p = (struct pretok){0};
}
