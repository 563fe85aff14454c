/* What the engine tells the server about a job. Notices move through a mailbox and are freed by the server.
 *
 * Of each job: NOTICE_PROGRESS (if it asked for it) and NOTICE_TOKEN any number of times; then exactly one of
 * NOTICE_DONE, NOTICE_FAILED or NOTICE_RESULT, and nothing after it. A notice and all that it points to are
 * one piece of memory, but for what a comment calls borrowed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/mailbox.h"
#include "src/sample/sampler.h"
#include "src/text/chat_out.h"

enum notice_kind {
    NOTICE_PROGRESS,
    NOTICE_TOKEN,
    NOTICE_DONE,
    NOTICE_FAILED,
    NOTICE_RESULT,  /* of what the helper threads answer */
    NOTICE_LOADED,  /* the state has changed: the model is ready, or the engine has failed (at the load or
                      later);  job is 0; read engine_status */
    NOTICE_LOADING, /* the load came further: job is 0 */
};

enum notice_phase { NOTICE_QUEUED, NOTICE_PREFILL };

enum notice_finish {
    NOTICE_STOP_END,
    NOTICE_STOP_CALLS, /* the same, of a chat that calls tools */
    NOTICE_STOP_WORD,
    NOTICE_STOP_LIMIT,
    NOTICE_CANCELLED,
};

struct notice_logprob {
    int32_t id;
    float logprob;
    uint32_t n_byte, n_top;
    const uint8_t *bytes; /* what the token stands for; borrowed: valid as long as the engine; NULL without
                             tokenizer */
    struct notice_logprob *top; /* [n_top], best first, with n_top 0 of their own */
};

struct notice_timings {
    int64_t queue_us, prompt_us, predicted_us;
};

/* What one token stands for; borrowed like notice_logprob.bytes. */
struct notice_piece {
    uint32_t n_byte;
    const uint8_t *bytes;
};

/* A call of a tool, or more of one; its texts lie in the notice's call_text. */
struct notice_call {
    int32_t index;              /* in the answer, from 0 */
    char id[CHAT_OUT_N_ID + 1]; /* "", with n_name 0: more of it */
    const char *name, *arguments;
    size_t n_name, n_arguments;
};

struct notice {
    struct mail mail;
    uint64_t job;
    enum notice_kind kind;

    /* NOTICE_PROGRESS; processed also of NOTICE_DONE */
    enum notice_phase phase;
    int64_t processed, total; /* tokens of the prompt: computed, in all */
    int64_t time_us;          /* since prefill began */
    int64_t position;         /* jobs before this one, while queued */

    /* NOTICE_TOKEN; of NOTICE_DONE where the job does not stream; of NOTICE_RESULT */
    int64_t index; /* of the first token here */
    char *content; /* n_content bytes of UTF-8; NULL: none (a model without tokenizer) */
    size_t n_content;
    char *reasoning; /* of chats: what was thought; NULL: nothing */
    size_t n_reasoning;
    struct notice_call *calls; /* [n_call]; NULL: none */
    size_t n_call;
    char *call_text; /* [n_call_text] */
    size_t n_call_text;
    int32_t *tokens;                 /* NULL where not asked for */
    size_t n_token;                  /* of count: all there is to tell */
    struct notice_logprob *logprobs; /* [n_logprob] */
    size_t n_logprob;
    struct notice_piece *pieces; /* [n_token]: tokenize with pieces; else NULL */

    /* NOTICE_DONE */
    enum notice_finish finish;
    char *stop_word; /* n_stop_word bytes, a NUL behind them; NULL: none */
    size_t n_stop_word;
    int64_t n_prompt, n_generated;
    uint64_t seed;
    float *prompt_logprobs; /* [n_prompt_logprob]: n_prompt - 1, fewer after a cancel; NULL where not asked
                               for */
    size_t n_prompt_logprob;
    struct notice_timings timings;

    /* NOTICE_FAILED: a row of proto/errors.def by name, and the sentence */
    const char *code;  /* static */
    const char *param; /* static; NULL: none */
    char message[512];
    int64_t got, limit; /* n_prompt and n_ctx of context_overflow, and the like; -1: none */
};

/* How much a notice has to have room for; what is 0 is left NULL. */
struct notice_room {
    size_t n_content, n_reasoning, n_call, n_call_text;
    size_t n_token, n_logprob;
    size_t n_top; /* of each logprob */
    size_t n_piece, n_prompt_logprob, n_stop_word;
};

struct notice *notice_new(enum notice_kind kind, uint64_t job); /* NULL: out of memory */
/* With room for these; counts start at 0. NULL: out of memory, or more than can be counted. */
struct notice *notice_new_room(enum notice_kind kind, uint64_t job, const struct notice_room *room);
struct notice *notice_free(struct notice *notice);

/* Makes a notice NOTICE_FAILED, with a sentence. code and param are static. */
void notice_fail(struct notice *notice, const char *code, const char *param, int64_t got, int64_t limit,
                 const char *format, ...) __attribute__((format(printf, 6, 7)));
/* A new one. NULL: out of memory. */
struct notice *notice_new_failed(uint64_t job, const char *code, const char *param, int64_t got,
                                 int64_t limit, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
