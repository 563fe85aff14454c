/* The answer of a chat in parts: content, thoughts, calls of tools. Text comes from the detokenizer, parts go
 * into a notice: the job's last one, or, of a job that streams, one that is sent in pieces. Pushing does not
 * allocate. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/engine/notice.h"
#include "src/text/chat_out.h"

struct job;
struct job_ask;
struct served;

enum { PARTS_MAX_CALL = 128 /* of an answer; it ends where there would be more */ };

struct parts {
    struct chat_out out;
    struct notice *sink;     /* where parts go */
    struct notice *scratch;  /* the sink of a job that streams, owned; else NULL */
    struct notice_room room; /* of the sink */
    bool is_full;            /* there was no room, or there are too many calls: what comes now is dropped */
};

/* The room that the parts of an answer need whose text has n_text bytes at most. */
void parts_room(const struct served *served, const struct job_ask *ask, size_t n_text,
                struct notice_room *ret_room);
/* For a job whose last notice is made, with this room where it does not stream. 0, -ENOMEM. */
int parts_new(struct parts **ret_parts, const struct served *served, const struct job *job,
              const struct notice_room *room);
struct parts *parts_free(struct parts *p);

void parts_push(struct parts *p, const char *text, size_t n);
void parts_finish(struct parts *p);
/* A notice with what was pushed since the last one, and room for `room` besides; NULL: out of memory. */
struct notice *parts_send(struct parts *p, uint64_t job, const struct notice_room *room);
/* Whether there is anything to send. */
bool parts_has_any(const struct parts *p);
