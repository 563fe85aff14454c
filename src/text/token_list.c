/* A growing list of token ids: see token_list.h. */
#include "config.h"
#include "src/text/token_list.h"

#include <errno.h>
#include <stdlib.h>

#include "src/base/mem.h"

enum { FIRST_CAPACITY = 64 };

int token_list_reserve(struct token_list *list, size_t n)
{
    if (n <= list->capacity - list->n)
        return 0;
    size_t capacity = list->capacity ? list->capacity : FIRST_CAPACITY;
    while (capacity - list->n < n)
        if (__builtin_mul_overflow(capacity, 2, &capacity))
            return -ENOMEM;
    int32_t *data = mem_resize(list->data, capacity, sizeof *data);
    if (!data)
        return -ENOMEM;
    list->data = data;
    list->capacity = capacity;
    return 0;
}

void token_list_deinit(struct token_list *list)
{
    free(list->data);
    *list = (struct token_list)TOKEN_LIST_NULL;
}
