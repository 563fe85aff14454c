/* The normalizer: see normalize.h. The Unicode forms are in forms.c. */
#include "config.h"
#include "src/text/normalize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <utf8proc.h>

#include "src/base/mem.h"
#include "src/base/utf8.h"
#include "src/text/base64.h"
#include "src/text/forms.h"
#include "src/text/precompiled.h"
#include "src/text/unicode.h"

/* ---- reading the component ---- */

static int read_prepend(struct normalize_step *s, const struct part *part, struct why *why)
{
    return part_get_string(part, "normalizer Prepend", "prepend", &s->string, &s->n_string, why);
}

static int read_replace(struct normalize_step *s, const struct part *part, struct why *why)
{
    const char *what = "normalizer Replace";
    bool is_regex;
    int r = part_get_pattern(part, what, &s->string, &s->n_string, &is_regex, why);
    if (r == 0)
        r = part_get_string(part, what, "content", &s->content, &s->n_content, why);
    return r || !is_regex ? r : regex_new(&s->regex, s->string, s->n_string, why);
}

static int read_form(struct normalize_step *s, const struct part *part, struct why *why)
{
    (void)why;
    const char *type = part_type(part);
    s->compatible = type[2] == 'K';
    s->compose = type[strlen(type) - 1] == 'C';
    return 0;
}

static int read_strip(struct normalize_step *s, const struct part *part, struct why *why)
{
    s->left = s->right = true;
    int r = part_get_bool(part, "normalizer Strip", "strip_left", &s->left, why);
    return r ? r : part_get_bool(part, "normalizer Strip", "strip_right", &s->right, why);
}

static int read_precompiled(struct normalize_step *s, const struct part *part, struct why *why)
{
    const char *what = "normalizer Precompiled", *code;
    size_t n_code, n;
    int r = part_get_string(part, what, "precompiled_charsmap", &code, &n_code, why);
    if (r)
        return r;
    s->blob = mem_array(base64_max(n_code), 1);
    if (!s->blob)
        return -ENOMEM;
    if (!base64_decode(code, n_code, s->blob, &n))
        return why_set(why, EX_DATAERR, "%s: 'precompiled_charsmap' is not base64", what);
    r = charsmap_init(&s->map, s->blob, n, why);
    return r > 0 ? why_prefix(why, r, "%s", what) : r;
}

static int read_nothing(struct normalize_step *s, const struct part *part, struct why *why)
{
    (void)s, (void)part, (void)why;
    return 0;
}

static const struct {
    const char *type;
    enum normalize_kind kind;
    int (*read)(struct normalize_step *s, const struct part *part, struct why *why);
} kinds[] = {
    {"Prepend", NORMALIZE_PREPEND, read_prepend},
    {"Replace", NORMALIZE_REPLACE, read_replace},
    {"NFC", NORMALIZE_FORM, read_form},
    {"NFD", NORMALIZE_FORM, read_form},
    {"NFKC", NORMALIZE_FORM, read_form},
    {"NFKD", NORMALIZE_FORM, read_form},
    {"Lowercase", NORMALIZE_LOWERCASE, read_nothing},
    {"Strip", NORMALIZE_STRIP, read_strip},
    {"Precompiled", NORMALIZE_PRECOMPILED, read_precompiled},
};

static int add_step(void *arg, const struct part *part, struct why *why)
{
    struct normalize *z = arg;
    const char *type = part_type(part);
    if (z->n_step == NORMALIZE_MAX_STEPS)
        return why_set(why, EX_DATAERR, "more than %d normalizers", NORMALIZE_MAX_STEPS);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(type, kinds[i].type) != 0)
            continue;
        struct normalize_step *s = &z->steps[z->n_step++];
        s->kind = kinds[i].kind;
        return kinds[i].read(s, part, why);
    }
    return why_set(why, EX_DATAERR, "normalizer '%s' is not known", type);
}

int normalize_init(struct normalize *z, const struct part *part, struct why *why)
{
    *z = (struct normalize){0};
    int r = part_each(part, "normalizer", "normalizers", add_step, z, why);
    if (r)
        normalize_deinit(z);
    return r;
}

void normalize_deinit(struct normalize *z)
{
    for (unsigned i = 0; i < z->n_step; i++) {
        regex_free(z->steps[i].regex);
        free(z->steps[i].blob);
    }
    *z = (struct normalize){0};
}

void normalize_run_deinit(struct normalize_run *run)
{
    buf_deinit(&run->text[0]);
    buf_deinit(&run->text[1]);
    buf_deinit(&run->codes);
}

/* ---- the steps: each appends to out what the text becomes ---- */

struct view {
    const uint8_t *text;
    size_t n;
};

static int prepend(const struct normalize_step *s, struct view in, struct buf *out)
{
    int r = in.n ? buf_push(out, s->string, s->n_string) : 0;
    return r ? r : buf_push(out, in.text, in.n);
}

static int replace_string(const struct normalize_step *s, struct view in, struct buf *out)
{
    const uint8_t *at = in.text, *end = in.text + in.n;
    for (;;) {
        const uint8_t *found = memmem(at, (size_t)(end - at), s->string, s->n_string);
        int r = buf_push(out, at, (size_t)((found ? found : end) - at));
        if (r || !found)
            return r;
        r = buf_push(out, s->content, s->n_content);
        if (r)
            return r;
        at = found + s->n_string;
    }
}

/* One byte by a few, which is what spaces become in SentencePiece's manner: room for all first, then one
 * pass. */
static int replace_byte(const struct normalize_step *s, struct view in, struct buf *out)
{
    size_t n_found = 0;
    for (size_t i = 0; i < in.n; i++)
        n_found += in.text[i] == (uint8_t)s->string[0];
    size_t n;
    if (__builtin_mul_overflow(n_found, s->n_content, &n) || __builtin_add_overflow(n, in.n, &n))
        return -ENOMEM;
    int r = buf_reserve(out, n);
    if (r)
        return r;
    uint8_t *to = out->data + out->n;
    for (size_t i = 0; i < in.n; i++) {
        if (in.text[i] != (uint8_t)s->string[0]) {
            *to++ = in.text[i];
        } else {
            memcpy(to, s->content, s->n_content);
            to += s->n_content;
        }
    }
    out->n = (size_t)(to - out->data);
    return 0;
}

static int replace_regex(const struct normalize_step *s, struct view in, struct buf *out, struct why *why)
{
    struct regex_state *state = regex_state_new(s->regex);
    int r = state ? regex_replace(s->regex, state, in.text, in.n, s->content, s->n_content, out) : -ENOMEM;
    regex_state_free(state);
    return r == REGEX_E_LIMIT
               ? why_set(why, EX_DATAERR,
                         "the normalizer's pattern took more than %d steps on a text of %zu bytes",
                         REGEX_MAX_STEPS, in.n)
               : r;
}

static int replace(const struct normalize_step *s, struct view in, struct buf *out, struct why *why)
{
    return s->regex           ? replace_regex(s, in, out, why)
           : s->n_string == 1 ? replace_byte(s, in, out)
                              : replace_string(s, in, out);
}

/* Character by character, without the rules that look at neighbours, as the reference does. Only U+0130
 * becomes two characters. */
static int lowercase(struct view in, struct buf *out)
{
    for (size_t at = 0; at < in.n; at += utf8_length(in.text[at])) {
        uint32_t code = utf8_decode(in.text + at);
        uint8_t bytes[UTF8_MAX];
        int r = code == 0x130
                    ? buf_push(out, "i\xcc\x87", 3)
                    : buf_push(out, bytes,
                               utf8_encode((uint32_t)utf8proc_tolower((utf8proc_int32_t)code), bytes));
        if (r)
            return r;
    }
    return 0;
}

static bool is_space_at(const uint8_t *text)
{
    return unicode_flags(utf8_decode(text)) & UNICODE_SPACE;
}

static struct view strip(const struct normalize_step *s, struct view in)
{
    while (s->left && in.n && is_space_at(in.text)) {
        size_t length = utf8_length(in.text[0]);
        in.text += length;
        in.n -= length;
    }
    while (s->right && in.n) {
        const uint8_t *last = utf8_previous(in.text + in.n);
        if (!is_space_at(last))
            break;
        in.n = (size_t)(last - in.text);
    }
    return in;
}

int normalize_text(const struct normalize *z, struct normalize_run *run, const uint8_t *text, size_t n,
                   const uint8_t **ret_text, size_t *ret_n, struct why *why)
{
    struct view in = {text, n};
    unsigned i_out = 0;
    for (unsigned i = 0; i < z->n_step; i++) {
        const struct normalize_step *s = &z->steps[i];
        if (s->kind == NORMALIZE_STRIP) {
            in = strip(s, in);
            continue;
        }
        if (s->kind == NORMALIZE_FORM && forms_is_normal(in.text, in.n))
            continue;
        struct buf *out = &run->text[i_out];
        out->n = 0;
        int r = s->kind == NORMALIZE_PREPEND   ? prepend(s, in, out)
                : s->kind == NORMALIZE_REPLACE ? replace(s, in, out, why)
                : s->kind == NORMALIZE_FORM
                    ? forms_apply(in.text, in.n, s->compose, s->compatible, out, &run->codes)
                : s->kind == NORMALIZE_PRECOMPILED ? precompiled_apply(&s->map, in.text, in.n, out)
                                                   : lowercase(in, out);
        if (r)
            return r;
        in = (struct view){out->data, out->n};
        i_out = 1 - i_out;
    }
    *ret_text = in.text;
    *ret_n = in.n;
    return 0;
}
