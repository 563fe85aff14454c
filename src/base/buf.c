/* Growable bytes with a cap: see buf.h. */
#include "config.h"
#include "src/base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

enum { BUF_MIN_CAPACITY = 64 };

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_deinit(struct buf *b)
{
    free(b->data);
    *b = (struct buf){.max = b->max};
}

int buf_reserve(struct buf *b, size_t n)
{
    size_t max = b->max ? b->max : SIZE_MAX / 2;
    if (b->n > max || n > max - b->n)
        return b->max ? BUF_E_FULL : -ENOMEM;
    size_t need = b->n + n;
    if (need <= b->capacity)
        return 0;
    /* Doubling keeps the cost of many small pushes linear. */
    size_t capacity = b->capacity < BUF_MIN_CAPACITY ? BUF_MIN_CAPACITY : b->capacity;
    while (capacity < need)
        capacity = capacity > max / 2 ? need : 2 * capacity;
    if (capacity > max)
        capacity = max;
    uint8_t *data = mem_resize(b->data, capacity, 1);
    if (!data)
        return -ENOMEM;
    b->data = data;
    b->capacity = capacity;
    return 0;
}

int buf_push(struct buf *b, const void *data, size_t n)
{
    int r = buf_reserve(b, n);
    if (r != 0 || n == 0)
        return r;
    memcpy(b->data + b->n, data, n);
    b->n += n;
    return 0;
}

int buf_push_format(struct buf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args), r;
    va_end(args);
    char *text = n < 0 ? NULL : malloc((size_t)n + 1); /* printf ends with a zero byte, which is not pushed */
    if (text) {
        vsnprintf(text, (size_t)n + 1, format, again);
        r = buf_push(b, text, (size_t)n);
    } else {
        r = -ENOMEM;
    }
    va_end(again);
    free(text);
    return r;
}

void buf_pop(struct buf *b, size_t n)
{
    if (n >= b->n) {
        b->n = 0;
        return;
    }
    memmove(b->data, b->data + n, b->n - n);
    b->n -= n;
}
