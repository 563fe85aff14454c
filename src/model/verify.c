/* Whether all weights are numbers: see verify.h. */
#include "config.h"

#include "src/model/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

enum { CHUNK = 4096 }; /* elements looked at before asking whether there was any: a loop without branches */

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

static int verify_tensor(const struct tensor *t, struct why *why)
{
    enum lk_dtype type = (enum lk_dtype)t->type;
    size_t n_element = t->n_byte / lk_dtype_bytes(type, 1);
    for (size_t from = 0; from < n_element; from += CHUNK) {
        size_t n = n_element - from < CHUNK ? n_element - from : CHUNK;
        size_t bad = find_in_chunk(type, (const char *)t->data + lk_dtype_bytes(type, from), n);
        char index[192];
        if (bad < n)
            return why_set(why, EX_DATAERR, "tensor '%s' has a NaN or an infinity at %s", t->name,
                           format_index(index, sizeof index, t, from + bad));
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
        int r = t->type >= 0 ? verify_tensor(t, why) : 0;
        if (r)
            return r;
        n_byte += t->n_byte;
        if (progress && !progress(ctx, all ? (double)n_byte / (double)all : 1))
            return 0;
    }
    return 0;
}
