/* The post-processor: see post.h. */
#include "config.h"
#include "src/text/post.h"

#include <string.h>
#include <sysexits.h>

#include "src/text/vocab.h"

/* The ids that a template's name stands for: special_tokens[name].ids. */
static int push_special(int32_t *ids, unsigned *n, const struct part *special, const char *name,
                        struct why *why)
{
    const struct part *list = part_get(part_get(special, name), "ids");
    if (!list || list->kind != JSONREAD_ARRAY)
        return why_set(why, EX_DATAERR, "post-processor TemplateProcessing: '%s' has no ids", name);
    for (const struct part *id = list->first; id; id = id->next) {
        if (id->kind != JSONREAD_INT || id->integer < 0 || id->integer >= VOCAB_MAX_IDS)
            return why_set(why, EX_DATAERR,
                           "post-processor TemplateProcessing: an id of '%s' is out of range", name);
        if (*n == POST_MAX_IDS)
            return why_set(why, EX_DATAERR, "post-processor TemplateProcessing: more than %d ids",
                           POST_MAX_IDS);
        ids[(*n)++] = (int32_t)id->integer;
    }
    return 0;
}

/* "single": a list of {"SpecialToken": {"id": name}} and one {"Sequence": {"id": "A"}}. */
static int read_template(struct post *p, const struct part *part, struct why *why)
{
    const struct part *single = part_get(part, "single"), *special = part_get(part, "special_tokens");
    unsigned n_text = 0;
    int r = 0;
    if (!single || single->kind != JSONREAD_ARRAY)
        return why_set(why, EX_DATAERR, "post-processor TemplateProcessing: 'single' is no array");
    for (const struct part *m = single->first; m && r == 0; m = m->next) {
        const struct part *name = part_get(part_get(m, "SpecialToken"), "id");
        if (part_get(m, "Sequence"))
            n_text++;
        else if (!name || name->kind != JSONREAD_STRING)
            r = why_set(why, EX_DATAERR,
                        "post-processor TemplateProcessing: an entry of 'single' is unknown");
        else if (n_text)
            r = push_special(p->after, &p->n_after, special, name->string, why);
        else
            r = push_special(p->before, &p->n_before, special, name->string, why);
    }
    if (r == 0 && n_text != 1)
        r = why_set(why, EX_DATAERR, "post-processor TemplateProcessing: 'single' has the text %u times",
                    n_text);
    return r;
}

/* One processor. ByteLevel only moves offsets, which nobody here keeps. */
static int add(void *arg, const struct part *part, struct why *why)
{
    struct post *p = arg;
    const char *type = part_type(part);
    if (strcmp(type, "ByteLevel") == 0)
        return 0;
    if (strcmp(type, "TemplateProcessing") != 0)
        return why_set(why, EX_DATAERR, "post-processor '%s' is not known", type);
    if (p->n_before || p->n_after)
        return why_set(why, EX_DATAERR, "more than one post-processor adds ids");
    return read_template(p, part, why);
}

int post_init(struct post *p, const struct part *part, struct why *why)
{
    *p = (struct post){0};
    return part_each(part, "post-processor", "processors", add, p, why);
}
