/* What lorchctl prints: JSON to standard output, tables for people, progress on a terminal's standard error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "proto/msg.h"

enum { OUT_FORMAT = 1 }; /* version of the JSON objects, their member "format" */

/* A JSON string of n bytes of UTF-8, quotes included. */
void out_json_string(FILE *file, const char *s, size_t n);
/* An array of byte values. */
void out_json_bytes(FILE *file, const char *bytes, size_t n);
/* The shortest decimal that reads back as the same number; null for what JSON cannot say. */
void out_json_double(FILE *file, double v);
/* Any value: bin becomes an array of byte values. */
void out_json_value(FILE *file, const struct msg_value *v);
/* A map's members as an object on a line of its own, `format` first, without `type` and `id`. */
void out_json_result(FILE *file, const struct msg_value *map);
/* A value as a line of JSON, as it is. */
void out_json_line(FILE *file, const struct msg_value *v);

/* n bytes of UTF-8 as they are; at a terminal, to which a control character could do anything, a question
 * mark for each of them but newline and tabulator. */
void out_text(FILE *file, const char *s, size_t n, bool is_terminal);

/* A map for people: one line a member, nested maps indented; times in seconds, bytes with a unit. */
void out_table(FILE *file, const struct msg_value *map);

/* One line on standard error that is redrawn at most ten times a second; nothing where that is no terminal.
 */
struct out_progress {
    bool shown;
    int64_t last_us;
};
void out_progress(struct out_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void out_progress_clear(struct out_progress *progress);
