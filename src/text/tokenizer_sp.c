/* SentencePiece's tokenizer.model becomes a tokenizer: see tokenizer_sp.h. */
#include "config.h"
#include "src/text/tokenizer_sp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/base/cleanup.h"
#include "src/base/json.h"
#include "src/base/mapfile.h"
#include "src/text/sp_build.h"
#include "src/text/tokenizer_parts.h"
#include "src/text/tokenizer_ranks.h"

/* ---- special pieces ---- */

/* The control piece of this spelling, or VOCAB_NONE. */
static int32_t find_control(const struct sp_model *m, struct sp_string name)
{
    for (size_t i = 0; i < m->n_piece; i++) {
        const struct sp_piece *p = &m->pieces[i];
        if (p->type == SP_CONTROL && p->text.n == name.n && memcmp(p->text.s, name.s, name.n) == 0)
            return (int32_t)i;
    }
    return VOCAB_NONE;
}

/* A token's name: a string, or an object with "content". */
static const char *name_of(const struct json *v)
{
    return json_string(json_is_object(v) ? json_get(v, "content") : v, NULL);
}

/* What the configuration calls "bos_token", else the model's own. */
static int find_named(const struct tokenizer *t, const struct json *config, const char *key, int32_t own,
                      int32_t *ret, struct why *why)
{
    const char *name = name_of(json_get(config, key));
    *ret = name ? tokenizer_id(t, name) : own;
    if (name && *ret == VOCAB_NONE)
        return why_set(why, EX_DATAERR, "'%s' is '%s', which is no piece of the model", key, name);
    return 0;
}

/* ---- added tokens ---- */

/* The added token of this id, or NULL. */
static struct added_token *find_added(struct tokenizer *t, int64_t id)
{
    for (size_t i = 0; i < t->n_added; i++)
        if (t->added[i].id == id)
            return &t->added[i];
    return NULL;
}

/* One member of added_tokens_decoder: "32000": {"content": ..., "special": ...}. */
static int read_added(struct tokenizer *t, const struct json *member, struct why *why)
{
    const char *key = json_key(member), *content = json_string(json_get(member, "content"), NULL);
    char *end;
    errno = 0;
    long id = strtol(key, &end, 10);
    if (end == key || *end || errno || id < 0 || id >= VOCAB_MAX_IDS || !content)
        return why_set(why, EX_DATAERR, "added_tokens_decoder: '%s' is no id of a token with a content", key);
    struct added_token token = {.content = arena_strdup(&t->arena, content),
                                .n = strlen(content),
                                .id = (int32_t)id,
                                .special = json_bool(json_get(member, "special"), false),
                                .lstrip = json_bool(json_get(member, "lstrip"), false),
                                .rstrip = json_bool(json_get(member, "rstrip"), false),
                                .single_word = json_bool(json_get(member, "single_word"), false)};
    if (!token.content)
        return -ENOMEM;
    struct added_token *known = find_added(t, id);
    if (known && known->n == token.n && memcmp(known->content, token.content, token.n) == 0) {
        *known = token;
        return 0;
    }
    return tokenizer_parts_push_added(t, &token, why);
}

static int push_named(struct tokenizer *t, const char *name)
{
    int32_t id = name ? tokenizer_id(t, name) : VOCAB_NONE;
    return id == VOCAB_NONE ? 0 : token_list_push(&t->sp.named, id);
}

/* The tokens that transformers calls special because they have a name or stand in the list of others. */
static int read_names(struct tokenizer *t, const struct json *config)
{
    static const char *const names[][2] = {
        {"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", NULL},
        {"sep_token", NULL},  {"cls_token", NULL},   {"mask_token", NULL},
    };
    const struct json *others = json_get(config, "additional_special_tokens");
    int r = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && r == 0; i++) {
        const struct json *v = json_get(config, names[i][0]);
        r = push_named(t, v ? name_of(v) : names[i][1]);
    }
    for (const struct json *m = json_is_array(others) ? json_first(others) : NULL; m && r == 0;
         m = json_next(m))
        r = push_named(t, name_of(m));
    return r;
}

static int read_config(struct tokenizer *t, const struct json *config, struct why *why)
{
    const struct json *added = json_get(config, "added_tokens_decoder");
    const char *class = json_string(json_get(config, "tokenizer_class"), "");
    int r = 0;
    for (const struct json *m = json_is_object(added) ? json_first(added) : NULL; m && r == 0;
         m = json_next(m))
        r = read_added(t, m, why);
    /* Gemma's tokenizer knows no such switch; where it is not set, Llama's is true. */
    t->sp.modern = !json_bool(json_get(config, "legacy"), true) && !strstr(class, "Gemma");
    if (!t->sp.modern)
        return r;
    t->sp.prefix = json_bool(json_get(config, "add_prefix_space"), true);
    t->sp.normalize.dummy_prefix = false;
    t->sp.mark = vocab_find(&t->vocab, SP_SPACE, 3);
    return r ? r : read_names(t, config);
}

/* ---- the whole ---- */

static int set_ends(struct tokenizer *t, const struct sp_model *m, const struct json *config, struct why *why)
{
    int32_t bos, eos;
    int r = find_named(t, config, "bos_token", find_control(m, m->bos), &bos, why);
    if (r == 0)
        r = find_named(t, config, "eos_token", find_control(m, m->eos), &eos, why);
    if (r)
        return r;
    if (bos != VOCAB_NONE && json_bool(json_get(config, "add_bos_token"), true))
        t->post.before[t->post.n_before++] = bos;
    if (eos != VOCAB_NONE && json_bool(json_get(config, "add_eos_token"), false))
        t->post.after[t->post.n_after++] = eos;
    tokenizer_parts_add_end(t, eos);
    return 0;
}

int tokenizer_sp_read(struct tokenizer *t, const void *data, size_t n, const struct json *config,
                      struct why *why)
{
    struct sp_model m = SP_MODEL_NULL;
    int r = sp_model_read(&m, data, n, why);
    if (r == 0)
        r = sp_build_begin(t, &m, why);
    if (r == 0 && config)
        r = read_config(t, config, why);
    if (r == 0)
        r = sp_build_end(t, why);
    if (r == 0)
        r = set_ends(t, &m, config, why);
    sp_model_deinit(&m);
    return r;
}

int tokenizer_sp_open(struct tokenizer *t, const char *dir, struct why *why)
{
    CLEANUP_FREE char *model = NULL, *beside = NULL;
    struct mapfile map = MAPFILE_NULL;
    struct json *config = NULL;
    if (asprintf(&model, "%s/tokenizer.model", dir) < 0 ||
        asprintf(&beside, "%s/tokenizer_config.json", dir) < 0)
        return -ENOMEM;
    int r = access(beside, F_OK) == 0 ? json_read_file(&config, beside, TOKENIZER_SP_MAX_CONFIG, why) : 0;
    if (r == 0)
        r = mapfile_open(&map, model, why);
    if (r == 0) {
        r = tokenizer_ranks_is(map.data, map.n) ? tokenizer_ranks_read(t, map.data, map.n, why)
                                                : tokenizer_sp_read(t, map.data, map.n, config, why);
        r = r > 0 ? why_prefix(why, r, "%s", model) : r;
        mapfile_close(&map);
    }
    json_free(config);
    return r;
}
