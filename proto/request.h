/* What a client asked for: a frame's body, checked against proto/fields.def.
 *
 * All faults are found, not only the first. The caller adds those that need more knowledge (an id beyond the
 * vocabulary) to the same list and sends them with request_error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"

enum {
    REQUEST_MAX_FAULT = 32,
    REQUEST_MAX_FAULT_TEXT = 192,
};

enum { REQUEST_E_INVALID = 1, REQUEST_E_PROTOCOL = 2 };

struct request_fault {
    char field[PROTO_MAX_KEY + 1];
    const char *constraint; /* static: "type", "range", "length", "count", "choice", "utf8", "unknown",
                             * "missing", "conflict", "model" */
    char message[REQUEST_MAX_FAULT_TEXT];
};

struct request_faults {
    size_t n;                                     /* all */
    size_t n_known;                               /* of those, other than unknown fields */
    struct request_fault list[REQUEST_MAX_FAULT]; /* the first of them */
};

struct request {
    enum proto_message verb; /* PROTO_N_VERB: not one of ours */
    int64_t id;              /* 0: none */
    struct msg msg;
    const struct msg_value *values[PROTO_N_FIELD]; /* NULL: not given */
    struct request_faults faults;
};

#define REQUEST_NULL \
    {                \
        0            \
    }

/* Decodes. The request refers to body until request_deinit, which is due whatever came back.
 * 0.
 * REQUEST_E_INVALID: see faults; answer with request_error, the connection stays.
 * REQUEST_E_PROTOCOL: malformed bytes, or no proper id where one is needed: a sentence in why; answer
 *   protocol_error without id and close.
 * -ENOMEM. */
int request_decode(struct request *ret_request, const uint8_t *body, size_t n, struct why *why);
void request_deinit(struct request *request);

/* The id that an error about this request carries: 0 for verbs whose id is not one of a request of their own
 * (an error frame with that id would end the job of that id). */
int64_t request_error_id(const struct request *request);

/* Records one more fault: message is a clause such as "is 70000, the vocabulary has 32000". */
void request_fault(struct request *request, const char *field, const char *constraint, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* Writes the error frame about the faults of this request (there is at least one). Codes as msg_end. */
int request_error(const struct request *request, struct buf *out, size_t max);

/* Fields of the decoded verb; types are as in fields.def, so nothing can go wrong here any more. */
bool request_has(const struct request *request, enum proto_field field);
bool request_bool(const struct request *request, enum proto_field field, bool fallback);
int64_t request_int(const struct request *request, enum proto_field field, int64_t fallback);
uint64_t request_uint(const struct request *request, enum proto_field field, uint64_t fallback);
double request_float(const struct request *request, enum proto_field field, double fallback);
const char *request_bytes(const struct request *request, enum proto_field field, size_t *ret_n); /* NULL, 0 */
bool request_is(const struct request *request, enum proto_field field, const char *choice);
/* Arrays; a STOP that is a lone string counts as one of one element. i is below the count. */
size_t request_count(const struct request *request, enum proto_field field); /* 0: not given */
int64_t request_int_at(const struct request *request, enum proto_field field, size_t i);
const char *request_bytes_at(const struct request *request, enum proto_field field, size_t i, size_t *ret_n);
int64_t request_bias_at(const struct request *request, enum proto_field field, size_t i,
                        double *ret_bias); /* id */
const struct msg_value *request_value(const struct request *request,
                                      enum proto_field field); /* NULL: not given */
