/* Stop strings across token borders: holds back what may be the beginning of one.
 *
 * Memory is taken at init; pushing does not allocate. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { STOP_MAX_STRING = 16, STOP_MAX_BYTES = 256 };

struct stop;

/* Copies the strings, each 1 to STOP_MAX_BYTES long. max_push: the largest piece that will be pushed.
 * 0 or -ENOMEM. */
int stop_new(struct stop **ret_stop, const char *const *strings, const size_t *lengths, size_t n_string,
             size_t max_push);
struct stop *stop_free(struct stop *s);
/* Pushes text. *ret_out, *ret_n: what may be delivered now (valid until the next call). Returns the index of
 * the stop string that was found (the one that ends first; of those, the one that starts first), -1 for none;
 * after a find everything from its start on is dropped. */
int stop_push(struct stop *s, const char *text, size_t n, const char **ret_out, size_t *ret_n);
/* The end: what was still held back. */
void stop_finish(struct stop *s, const char **ret_out, size_t *ret_n);
