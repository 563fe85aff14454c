/* What the engine tells the server about a job: see notice.h. */
#include "config.h"
#include "src/engine/notice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/utf8.h"

/* Finds the place of n objects behind what *bytes counts so far; false where the sum overflows. Every part is
 * aligned for any type. */
static bool reserve(size_t *bytes, size_t n, size_t size, size_t *ret_at)
{
    const size_t align = _Alignof(max_align_t);
    size_t product;
    if (!mem_product(n, size, &product) || product > SIZE_MAX / 2 - align)
        return false;
    product = (product + align - 1) / align * align;
    *ret_at = *bytes;
    return !__builtin_add_overflow(*bytes, product, bytes);
}

struct notice *notice_new_room(enum notice_kind kind, uint64_t job, const struct notice_room *room)
{
    size_t bytes = 0, head, content, reasoning, call, call_text, token, logprob, top, piece, prompt_logprob,
           stop_word, n_top;
    if (!mem_product(room->n_logprob, room->n_top, &n_top) ||
        !reserve(&bytes, 1, sizeof(struct notice), &head) ||
        !reserve(&bytes, room->n_logprob, sizeof(struct notice_logprob), &logprob) ||
        !reserve(&bytes, n_top, sizeof(struct notice_logprob), &top) ||
        !reserve(&bytes, room->n_piece, sizeof(struct notice_piece), &piece) ||
        !reserve(&bytes, room->n_token, sizeof(int32_t), &token) ||
        !reserve(&bytes, room->n_prompt_logprob, sizeof(float), &prompt_logprob) ||
        !reserve(&bytes, room->n_call, sizeof(struct notice_call), &call) ||
        !reserve(&bytes, room->n_content, 1, &content) ||
        !reserve(&bytes, room->n_reasoning, 1, &reasoning) ||
        !reserve(&bytes, room->n_call_text, 1, &call_text) ||
        !reserve(&bytes, room->n_stop_word ? room->n_stop_word + 1 : 0, 1, &stop_word))
        return NULL;

    char *block = calloc(1, bytes);
    if (!block)
        return NULL;
    struct notice *notice = (void *)(block + head);
    notice->job = job;
    notice->kind = kind;
    notice->got = notice->limit = -1;
    notice->content = room->n_content ? block + content : NULL;
    notice->reasoning = room->n_reasoning ? block + reasoning : NULL;
    notice->calls = room->n_call ? (void *)(block + call) : NULL;
    notice->call_text = room->n_call_text ? block + call_text : NULL;
    notice->tokens = room->n_token ? (void *)(block + token) : NULL;
    notice->logprobs = room->n_logprob ? (void *)(block + logprob) : NULL;
    notice->pieces = room->n_piece ? (void *)(block + piece) : NULL;
    notice->prompt_logprobs = room->n_prompt_logprob ? (void *)(block + prompt_logprob) : NULL;
    notice->stop_word = room->n_stop_word ? block + stop_word : NULL;
    struct notice_logprob *tops = (void *)(block + top);
    for (size_t i = 0; room->n_top > 0 && i < room->n_logprob; i++)
        notice->logprobs[i].top = tops + i * room->n_top;
    return notice;
}

struct notice *notice_new(enum notice_kind kind, uint64_t job)
{
    return notice_new_room(kind, job, &(struct notice_room){0});
}

struct notice *notice_free(struct notice *notice)
{
    free(notice);
    return NULL;
}

static void fail(struct notice *notice, const char *code, const char *param, int64_t got, int64_t limit,
                 const char *format, va_list args)
{
    notice->kind = NOTICE_FAILED;
    notice->code = code;
    notice->param = param;
    notice->got = got;
    notice->limit = limit;
    vsnprintf(notice->message, sizeof notice->message, format, args);
    /* A sentence may quote a client: the end of the buffer must not cut a character of it. */
    notice->message[utf8_check(notice->message, strlen(notice->message))] = '\0';
}

void notice_fail(struct notice *notice, const char *code, const char *param, int64_t got, int64_t limit,
                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(notice, code, param, got, limit, format, args);
    va_end(args);
}

struct notice *notice_new_failed(uint64_t job, const char *code, const char *param, int64_t got,
                                 int64_t limit, const char *format, ...)
{
    struct notice *notice = notice_new(NOTICE_FAILED, job);
    va_list args;
    va_start(args, format);
    if (notice)
        fail(notice, code, param, got, limit, format, args);
    va_end(args);
    return notice;
}
