/* Length-prefixed frames: see frame.h. */
#include "config.h"
#include "proto/frame.h"

#include <assert.h>
#include <string.h>

int frame_peek(const uint8_t *data, size_t n, size_t max, const uint8_t **ret_body, size_t *ret_n)
{
    if (n < FRAME_HEADER) {
        *ret_n = 0;
        return FRAME_E_MORE;
    }
    size_t body = (size_t)data[0] << 24 | (size_t)data[1] << 16 | (size_t)data[2] << 8 | data[3];
    if (body == 0)
        return FRAME_E_EMPTY;
    if (body > max) {
        *ret_n = body;
        return FRAME_E_TOO_LARGE;
    }
    if (n - FRAME_HEADER < body) {
        *ret_n = FRAME_HEADER + body;
        return FRAME_E_MORE;
    }
    *ret_body = data + FRAME_HEADER;
    *ret_n = body;
    return 0;
}

int frame_begin(struct buf *out, size_t *ret_at)
{
    size_t at = out->n;
    int r = buf_push(out, (const uint8_t[FRAME_HEADER]){0}, FRAME_HEADER);
    if (r)
        return r;
    *ret_at = at;
    return 0;
}

void frame_end(struct buf *out, size_t at)
{
    size_t body = out->n - at - FRAME_HEADER;
    assert(body <= UINT32_MAX);
    for (int i = 0; i < FRAME_HEADER; i++)
        out->data[at + i] = (uint8_t)(body >> (24 - 8 * i));
}
