/* Where a model keeps its chat template: see chat_source.h. */
#include "config.h"
#include "src/text/chat_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "src/base/cleanup.h"
#include "src/base/json.h"
#include "src/base/mapfile.h"
#include "src/base/utf8.h"
#include "src/text/jinja.h"
#include "src/weights/gguf.h"

const char *const chat_special_names[CHAT_N_SPECIAL] = {
    [CHAT_BOS] = "bos_token", [CHAT_EOS] = "eos_token", [CHAT_UNK] = "unk_token",   [CHAT_PAD] = "pad_token",
    [CHAT_SEP] = "sep_token", [CHAT_CLS] = "cls_token", [CHAT_MASK] = "mask_token",
};

/* GGUF's names of their ids. */
static const char *const gguf_special_keys[CHAT_N_SPECIAL] = {
    [CHAT_BOS] = "tokenizer.ggml.bos_token_id",       [CHAT_EOS] = "tokenizer.ggml.eos_token_id",
    [CHAT_UNK] = "tokenizer.ggml.unknown_token_id",   [CHAT_PAD] = "tokenizer.ggml.padding_token_id",
    [CHAT_SEP] = "tokenizer.ggml.seperator_token_id", [CHAT_CLS] = "tokenizer.ggml.cls_token_id",
    [CHAT_MASK] = "tokenizer.ggml.mask_token_id",
};

static const char tools_name[] = "tool_use";

/* Keeps n bytes as the template found at `where` (a copy of which is made). */
static int keep(char **text, char **path, const void *data, size_t n, const char *where, struct why *why)
{
    if (n > JINJA_MAX_TEMPLATE)
        return why_set(why, EX_DATAERR, "%s: the chat template has %zu bytes, at most %d", where, n,
                       JINJA_MAX_TEMPLATE);
    if (memchr(data, 0, n) || utf8_check(data, n) != n)
        return why_set(why, EX_DATAERR, "%s: the chat template has %s", where,
                       memchr(data, 0, n) ? "a NUL byte" : "bytes that are no UTF-8");
    free(*text);
    free(*path);
    *text = strndup(data, n);
    *path = strdup(where);
    return *text && *path ? 0 : -ENOMEM;
}

static int keep_file(char **text, char **path, const char *where, struct why *why)
{
    struct mapfile map = MAPFILE_NULL;
    int r = mapfile_open(&map, where, why);
    if (r == 0)
        r = keep(text, path, map.n ? (const char *)map.data : "", map.n, where, why);
    mapfile_close(&map);
    return r;
}

/* As keep_file, but a missing file is all right. */
static int keep_file_if_there(char **text, char **path, const char *dir, const char *name, struct why *why)
{
    struct why reason;
    CLEANUP_FREE char *where = NULL;
    if (asprintf(&where, "%s/%s", dir, name) < 0)
        return -ENOMEM;
    int r = keep_file(text, path, where, &reason);
    if (r == EX_NOINPUT)
        return 0;
    return r > 0 ? why_set(why, r, "%s", reason.text) : r;
}

/* chat_template of tokenizer_config.json: a text, or a list of {"name", "template"}. */
static int keep_entry(struct chat_source *s, const struct json *entry, const char *where, struct why *why)
{
    const char *text = json_string(entry, NULL);
    if (text)
        return keep(&s->text, &s->path, text, strlen(text), where, why);
    if (entry && !json_is_null(entry) && !json_is_array(entry))
        return why_set(why, EX_DATAERR, "%s: chat_template is %s, not a string or a list", where,
                       json_kind(entry));
    for (const struct json *m = json_first(entry); m; m = json_next(m)) {
        const char *name = json_string(json_get(m, "name"), NULL);
        text = json_string(json_get(m, "template"), NULL);
        if (!name || !text)
            return why_set(why, EX_DATAERR, "%s: each chat_template of a list needs 'name' and 'template'",
                           where);
        int r = 0;
        if (!strcmp(name, "default"))
            r = keep(&s->text, &s->path, text, strlen(text), where, why);
        else if (!strcmp(name, tools_name))
            r = keep(&s->tools_text, &s->tools_path, text, strlen(text), where, why);
        if (r)
            return r;
    }
    return 0;
}

/* A special token is a string, or a map with the string in `content`. What is known already stays. */
static int keep_specials(struct chat_source *s, const struct json *config)
{
    for (int i = 0; i < CHAT_N_SPECIAL; i++) {
        const struct json *entry = json_get(config, chat_special_names[i]);
        const char *text = json_string(json_is_object(entry) ? json_get(entry, "content") : entry, NULL);
        if (text && utf8_check(text, strlen(text)) == strlen(text) && !s->special[i] &&
            !(s->special[i] = strdup(text)))
            return -ENOMEM;
    }
    return 0;
}

static int read_config(struct chat_source *s, const char *dir, const char *name, bool has_template,
                       struct why *why)
{
    CLEANUP_FREE char *where = NULL;
    struct json *config = NULL;
    struct why reason;
    if (asprintf(&where, "%s/%s", dir, name) < 0)
        return -ENOMEM;
    int r = json_read_file(&config, where, CHAT_SOURCE_MAX_CONFIG, &reason);
    if (r == EX_NOINPUT)
        return 0;
    if (r)
        return r > 0 ? why_set(why, r, "%s", reason.text) : r;
    r = keep_specials(s, config);
    if (r == 0 && has_template)
        r = keep_entry(s, json_get(config, "chat_template"), where, why);
    json_free(config);
    return r;
}

static int read_dir(struct chat_source *s, const char *dir, struct why *why)
{
    int r = read_config(s, dir, "tokenizer_config.json", true, why);
    r = r ? r : read_config(s, dir, "special_tokens_map.json", false, why);
    r = r ? r : keep_file_if_there(&s->text, &s->path, dir, "chat_template.jinja", why);
    return r ? r
             : keep_file_if_there(&s->tools_text, &s->tools_path, dir,
                                  "additional_chat_templates/tool_use.jinja", why);
}

static int keep_gguf_text(char **text, char **path, const struct gguf *file, const char *key,
                          const char *where, struct why *why)
{
    struct gguf_string value = {0};
    int r = gguf_get_string(file, key, false, &value, why);
    if (r || !value.s)
        return r;
    return keep(text, path, value.s, value.n, where, why);
}

static int keep_gguf_specials(struct chat_source *s, const struct gguf *file, struct why *why)
{
    const struct gguf_value *tokens = NULL;
    int r = gguf_get_array(file, "tokenizer.ggml.tokens", false, GGUF_STRING, &tokens, why);
    for (int i = 0; i < CHAT_N_SPECIAL && r == 0; i++) {
        int64_t id = -1;
        r = gguf_get_int(file, gguf_special_keys[i], false, INT64_MIN, INT64_MAX, &id, why);
        if (r || !tokens || id < 0 || (uint64_t)id >= tokens->n)
            continue;
        struct gguf_string text = gguf_string_at(tokens, (size_t)id);
        if (utf8_check(text.s, text.n) == text.n && !(s->special[i] = strndup(text.s, text.n)))
            r = -ENOMEM;
    }
    return r;
}

static int read_gguf(struct chat_source *s, const char *path, struct why *why)
{
    struct gguf *file = NULL;
    int r = gguf_open(&file, path, why);
    if (r)
        return r;
    r = keep_gguf_text(&s->text, &s->path, file, "tokenizer.chat_template", path, why);
    r = r ? r
          : keep_gguf_text(&s->tools_text, &s->tools_path, file, "tokenizer.chat_template.tool_use", path,
                           why);
    r = r ? r : keep_gguf_specials(s, file, why);
    gguf_free(file);
    return r;
}

int chat_source_read(struct chat_source *ret_source, const char *path, struct why *why)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return why_errno(why, errno, path);
    *ret_source = (struct chat_source){0};
    int r = S_ISDIR(st.st_mode) ? read_dir(ret_source, path, why) : read_gguf(ret_source, path, why);
    if (r)
        chat_source_deinit(ret_source);
    return r;
}

int chat_source_read_file(struct chat_source *ret_source, const char *path, struct why *why)
{
    *ret_source = (struct chat_source){0};
    int r = keep_file(&ret_source->text, &ret_source->path, path, why);
    if (r)
        chat_source_deinit(ret_source);
    return r;
}

void chat_source_deinit(struct chat_source *source)
{
    free(source->text);
    free(source->path);
    free(source->tools_text);
    free(source->tools_path);
    for (int i = 0; i < CHAT_N_SPECIAL; i++)
        free(source->special[i]);
    *source = (struct chat_source){0};
}
