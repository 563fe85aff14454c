/* Stop strings across token borders: see stop.h.
 *
 * Each string is matched by the method of Knuth, Morris and Pratt, so that a byte costs a constant number of
 * steps on average whatever the strings are. What is held back is the longest beginning of any string that
 * the text ends with. */
#include "config.h"
#include "src/text/stop.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

struct needle {
    size_t n;
    size_t matched; /* how much of it the text ends with */
    char text[STOP_MAX_BYTES];
    uint16_t border[STOP_MAX_BYTES]; /* [i]: length of the longest proper border of text[0, i + 1) */
};

struct stop {
    struct needle *needles; /* [n_needle] */
    size_t n_needle;
    bool found;
    char *buffer;  /* what was held back, then what was pushed */
    size_t n_held; /* at its start; what was delivered before is gone */
    size_t delivered;
};

static void build_borders(struct needle *k)
{
    size_t length = 0;
    k->border[0] = 0;
    for (size_t i = 1; i < k->n; i++) {
        while (length && k->text[i] != k->text[length])
            length = k->border[length - 1];
        length += k->text[i] == k->text[length];
        k->border[i] = (uint16_t)length;
    }
}

int stop_new(struct stop **ret_stop, const char *const *strings, const size_t *lengths, size_t n_string,
             size_t max_push)
{
    struct stop *s = mem_array(1, sizeof *s);
    if (!s || max_push > SIZE_MAX - STOP_MAX_BYTES) {
        stop_free(s);
        return -ENOMEM;
    }
    s->n_needle = n_string;
    s->needles = mem_array(n_string, sizeof *s->needles);
    s->buffer = mem_array(max_push + STOP_MAX_BYTES, 1);
    if (!s->needles || !s->buffer) {
        stop_free(s);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n_string; i++) {
        s->needles[i].n = lengths[i];
        memcpy(s->needles[i].text, strings[i], lengths[i]);
        build_borders(&s->needles[i]);
    }
    *ret_stop = s;
    return 0;
}

struct stop *stop_free(struct stop *s)
{
    if (s) {
        free(s->needles);
        free(s->buffer);
        free(s);
    }
    return NULL;
}

/* Takes a byte; true: the whole needle stands before its end now. */
static bool advance(struct needle *k, char byte)
{
    while (k->matched && k->text[k->matched] != byte)
        k->matched = k->border[k->matched - 1];
    k->matched += k->text[k->matched] == byte;
    return k->matched == k->n;
}

/* Takes a byte to all needles. The index of the longest that is complete, or -1; *ret_held: how much of the
 * text the needles want back. */
static int advance_all(struct stop *s, char byte, size_t *ret_held)
{
    int found = -1;
    size_t held = 0;
    for (size_t i = 0; i < s->n_needle; i++) {
        struct needle *k = &s->needles[i];
        if (advance(k, byte) && (found < 0 || k->n > s->needles[found].n))
            found = (int)i;
        if (k->matched > held)
            held = k->matched;
    }
    *ret_held = held;
    return found;
}

int stop_push(struct stop *s, const char *text, size_t n, const char **ret_out, size_t *ret_n)
{
    *ret_out = s->buffer;
    *ret_n = 0;
    if (s->found)
        return -1;
    memmove(s->buffer, s->buffer + s->delivered, s->n_held);
    size_t end = s->n_held, held = s->n_held;
    int found = -1;
    for (size_t i = 0; i < n && found < 0; i++) {
        s->buffer[end++] = text[i];
        found = advance_all(s, text[i], &held);
    }
    if (found >= 0) {
        s->found = true;
        held = s->needles[found].n;
    }
    s->delivered = *ret_n = end - held;
    s->n_held = found >= 0 ? 0 : held;
    return found;
}

void stop_finish(struct stop *s, const char **ret_out, size_t *ret_n)
{
    *ret_out = s->buffer + s->delivered;
    *ret_n = s->n_held;
    s->n_held = 0;
}
