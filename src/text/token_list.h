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

int token_list_push(struct token_list *list, int32_t id); /* 0, -ENOMEM */
/* Room for n more. 0, -ENOMEM. */
int token_list_reserve(struct token_list *list, size_t n);
void token_list_deinit(struct token_list *list);
