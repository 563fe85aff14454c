/* A request in flight: what was asked (immutable once submitted), how far it is, one owner at a time.
 *
 * The server fills a `struct job_ask` and submits it; from then on the engine owns it. Jobs are named by a
 * number that the server hands out, never by a pointer. `struct job` is the engine's record of a generation
 * and belongs to its thread; the other kinds have none, the helper thread answers them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "src/engine/letter.h"
#include "src/sample/sampler.h"
#include "src/text/detok.h"

struct conversation;
struct notice;
struct parts;
struct sampler;
struct stop;

enum {
    JOB_MAX_STOP = 16, /* stop strings */
    JOB_MAX_STOP_BYTES = 256,
    JOB_MAX_STOP_TOKEN = 64,
    JOB_MAX_TOP_LOGPROB = 20,
    JOB_DEFAULT_MAX_TOKENS = 2048,
};

enum job_kind {
    JOB_GENERATE,
    JOB_TOKENIZE,   /* text to ids, answered from the helper thread */
    JOB_DETOKENIZE, /* ids to text, likewise */
    JOB_COUNT,      /* how many ids a text or a conversation has, likewise */
    JOB_TEMPLATE,   /* the prompt that a conversation becomes, likewise */
};

/* Fields a request left out: NaN for a float, JOB_UNSET for an integer. The engine fills in the model's. */
enum { JOB_UNSET = INT32_MIN };

struct job_ask {
    struct letter letter; /* the engine's */
    TAILQ_ENTRY(job_ask) in_lane;
    uint64_t job; /* number, unique in this process, not 0 */
    enum job_kind kind;

    char *text; /* prompt or content, n_text bytes, owned; NULL: tokens or a conversation were given */
    size_t n_text;
    bool replace_invalid; /* invalid UTF-8 becomes U+FFFD instead of an error */
    bool add_special, parse_special, return_special;
    bool with_pieces; /* tokenize: the bytes of each token too */
    int32_t *tokens;  /* owned */
    size_t n_token;
    struct conversation *conversation; /* owned; NULL: there is none (any more, once tokens are made of it) */

    int64_t max_tokens, min_tokens;
    char *stop[JOB_MAX_STOP]; /* owned */
    size_t stop_bytes[JOB_MAX_STOP];
    size_t n_stop;
    int32_t stop_token[JOB_MAX_STOP_TOKEN];
    size_t n_stop_token;
    bool ignore_eos;
    struct sampler_params sampling; /* NaN, JOB_UNSET: not given; its bias is the next member */
    struct sampler_bias *bias;      /* owned, sampling.n_bias of them */
    bool has_seed;
    bool is_chat;                 /* it came as a conversation, and its answer leaves in parts */
    bool has_tools, in_reasoning; /* the helper's: of a chat: calls are looked for; it begins with thoughts */
    bool logprobs, prompt_logprobs, return_tokens, return_progress, stream;
    int32_t top_logprobs;
    int64_t deadline_us; /* on the monotonic clock; 0: none */
    size_t max_frame;    /* bytes a frame to this client may have; 0: no limit */

    int64_t submitted_us;   /* the engine's: when it was submitted */
    struct notice *refusal; /* the engine's: what is wrong with it, owned; NULL: nothing */
    bool no_memory;         /* the engine's: there was not even memory for a refusal */
};

TAILQ_HEAD(job_ask_list, job_ask);

struct job_ask *job_ask_new(enum job_kind kind); /* everything unset or at its default; NULL: out of memory */
struct job_ask *job_ask_free(struct job_ask *ask);

enum job_state {
#define JOB_STATE(tag, meaning) JOB_##tag,
#include "src/engine/job_states.def"
};

struct job {
    struct letter letter; /* that brought it */
    TAILQ_ENTRY(job) link;
    uint64_t id;
    enum job_state state;
    int64_t deadline_us; /* as in its ask */
    struct job_ask *ask; /* owned; NULL in JOB_TEXT: the helper has it */

    /* Once its prompt is known. */
    int32_t n_prompt, max_tokens; /* as many as the context holds */
    int32_t n_page;               /* that it will need */
    int32_t n_window_page;        /* likewise, of the other kind */
    int64_t position;             /* in the waiting line, as it was told last; -1: never */

    /* From its admission on. */
    int32_t *tokens; /* [n_prompt + max_tokens], owned: prompt and answer */
    int32_t n_generated;
    int32_t pos;           /* tokens whose keys and values are computed */
    int32_t *pages;        /* [n_page], owned; the pages themselves are taken from the pool */
    int32_t *window_pages; /* [n_page], owned; the first n_window_page are taken, the others repeat them */
    struct sampler *sampler;
    struct stop *stop; /* NULL: no stop strings, or nobody to spell tokens */
    struct detok detok;
    struct parts *parts; /* of a chat; else NULL */
    char *piece;     /* [served.max_out], owned: what a token adds to the text; NULL: nobody to spell it */
    int32_t *banned; /* [n_banned], owned: what min_tokens forbids */
    size_t n_banned;
    struct notice *last; /* owned: how it will end, with room for all that this notice may have to carry */
    uint64_t seed;

    int64_t n_told;                /* tokens whose notice has been sent */
    int64_t admitted_us, first_us; /* when it was admitted; when its prompt was computed; 0: not yet */
};

TAILQ_HEAD(job_list, job);

/* A job in JOB_TEXT, as the letter that it travels in. NULL: out of memory. */
struct job *job_new(uint64_t id);
struct job *job_free(struct job *job); /* its pages must have been given back */
/* Whether it holds pages and all else that it needs. */
static inline bool job_is_admitted(const struct job *job)
{
    return job->state == JOB_PREFILL || job->state == JOB_DECODE;
}

/* Prompt and answer so far. */
static inline int32_t job_n_token(const struct job *job)
{
    return job->n_prompt + job->n_generated;
}
