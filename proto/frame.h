/* Length-prefixed frames: u32 big-endian length, then that many bytes. Works on a byte range, knows no
 * socket. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"

enum {
    FRAME_HEADER = 4,
    FRAME_MAX_IN = 64 << 20,  /* bytes a client may send in one frame: a 10 MB prompt and its ids */
    FRAME_MAX_OUT = 16 << 20, /* bytes we send in one */
};

enum { FRAME_E_MORE = 1, FRAME_E_TOO_LARGE = 2, FRAME_E_EMPTY = 3 };

/* Looks at the beginning of n bytes. 0: a whole frame, its body at *ret_body, *ret_n long. FRAME_E_MORE: not
 * all there yet (*ret_n: bytes in all, header included, if that is known, else 0). FRAME_E_TOO_LARGE:
 * announces more than max (*ret_n: how many). FRAME_E_EMPTY: announces nothing. */
int frame_peek(const uint8_t *data, size_t n, size_t max, const uint8_t **ret_body, size_t *ret_n);

/* Begins a frame in out, returns where (for frame_end); the body is then pushed. Codes as buf_reserve. */
int frame_begin(struct buf *out, size_t *ret_at);
void frame_end(struct buf *out, size_t at);
