/* A growing list of token ids. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The caller frees it with token_list_deinit. */
struct token_list {
    int32_t *data;
    size_t n, capacity;
};

#define TOKEN_LIST_NULL \
    {                   \
        0               \
    }

/* Room for n more. 0, -ENOMEM. */
int token_list_reserve(struct token_list *list, size_t n);

/* 0, -ENOMEM. In this header because it is called for each character. */
static inline int token_list_push(struct token_list *list, int32_t id)
{
    int r = list->n < list->capacity ? 0 : token_list_reserve(list, 1);
    if (r == 0)
        list->data[list->n++] = id;
    return r;
}

void token_list_deinit(struct token_list *list);
