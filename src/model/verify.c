/* Whether all weights are numbers: see verify.h. */
#include "config.h"

#include "src/model/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

enum {
    CHUNK = 4096,    /* elements looked at before asking whether there was any: a loop without branches */
    MAX_SCALE = 252, /* of MXFP4: beyond it 6 * 2^(scale - 127) is no float32, and 255 is NaN */
};

/* In all three types a value is no number if all bits of its exponent are set. */
static bool is_finite16(const void *data, size_t i, uint16_t exponent)
{
    uint16_t bits;
    memcpy(&bits, (const char *)data + i * sizeof bits, sizeof bits);
    return (bits & exponent) != exponent;
}

static bool is_finite32(const void *data, size_t i)
{
    uint32_t bits, exponent = 0x7f800000;
    memcpy(&bits, (const char *)data + i * sizeof bits, sizeof bits);
    return (bits & exponent) != exponent;
}

/* The first element of n that is no number, or n. */
static size_t find_in_chunk(enum lk_dtype type, const void *data, size_t n)
{
    uint16_t exponent = type == LK_F16 ? 0x7c00 : 0x7f80;
    size_t n_bad = 0, i = 0;
    if (type == LK_F32) {
        for (i = 0; i < n; i++)
            n_bad += !is_finite32(data, i);
        for (i = 0; n_bad && is_finite32(data, i);)
            i++;
    } else {
        for (i = 0; i < n; i++)
            n_bad += !is_finite16(data, i, exponent);
        for (i = 0; n_bad && is_finite16(data, i, exponent);)
            i++;
    }
    return n_bad ? i : n;
}

/* "[3,17]" for an element of a tensor. */
static const char *format_index(char *text, size_t n_text, const struct tensor *t, uint64_t at)
{
    uint64_t index[TENSOR_MAX_DIM];
    for (int d = t->n_dim - 1; d >= 0; d--) {
        index[d] = at % t->dim[d];
        at /= t->dim[d];
    }
    size_t n = (size_t)snprintf(text, n_text, "[");
    for (int d = 0; d < t->n_dim && n < n_text; d++)
        n += (size_t)snprintf(text + n, n_text - n, "%s%" PRIu64, d ? "," : "", index[d]);
    if (n < n_text)
        snprintf(text + n, n_text - n, "]");
    return text;
}

static int refuse(const struct tensor *t, uint64_t at, struct why *why)
{
    char index[192];
    return why_set(why, EX_DATAERR, "tensor '%s' has a NaN or an infinity at %s", t->name,
                   format_index(index, sizeof index, t, at));
}

/* Bytes that are called so are scales of MXFP4 and nothing else. */
static bool is_scales(const struct tensor *t)
{
    static const char suffix[] = "_scales";
    size_t n = strlen(t->name), n_suffix = sizeof suffix - 1;
    return !strcmp(t->type_name, "U8") && n >= n_suffix && !strcmp(t->name + n - n_suffix, suffix);
}

static int verify_scales(const struct tensor *t, struct why *why)
{
    const uint8_t *scale = t->data;
    for (uint64_t i = 0; i < t->n_byte; i++)
        if (scale[i] > MAX_SCALE)
            return refuse(t, i, why);
    return 0;
}

static int verify_tensor(const struct tensor *t, struct why *why)
{
    enum lk_dtype type = (enum lk_dtype)t->type;
    size_t n_element = t->n_byte / lk_dtype_bytes(type, 1);
    for (size_t from = 0; from < n_element; from += CHUNK) {
        size_t n = n_element - from < CHUNK ? n_element - from : CHUNK;
        size_t bad = find_in_chunk(type, (const char *)t->data + lk_dtype_bytes(type, from), n);
        if (bad < n)
            return refuse(t, from + bad, why);
    }
    return 0;
}

int verify_finite(const struct checkpoint *checkpoint, checkpoint_progress_fn progress, void *ctx,
                  struct why *why)
{
    uint64_t n_byte = 0, all = checkpoint_bytes(checkpoint);
    size_t n = checkpoint_n_tensor(checkpoint);
    for (size_t i = 0; i < n; i++) {
        const struct tensor *t = checkpoint_tensor_at(checkpoint, i);
        int r = t->type >= 0 ? verify_tensor(t, why) : is_scales(t) ? verify_scales(t, why) : 0;
        if (r)
            return r;
        n_byte += t->n_byte;
        if (progress && !progress(ctx, all ? (double)n_byte / (double)all : 1))
            return 0;
    }
    return 0;
}
