/* What the kernel tests share: results in TAP, random data from a printed seed, memory between guard pages.
 *
 * Plain C without a test framework: programs made with it run under every sanitizer. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/lk.h"

/* ---- Results ---- */

/* One line of TAP. */
void check_point(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says which case is running, for messages and for a crash. */
void check_case(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Something of this case is wrong: a comment in the output, unless there were many. Returns false. */
bool check_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the plan; the exit status of the program. */
int check_done(void);

/* ---- Data ---- */

/* The seed of this run: LORCH_TEST_SEED, else a fixed one. Printed at the first use. */
uint64_t check_seed(void);

/* SplitMix64 (Steele, Lea, Flood 2014). */
struct check_rng {
    uint64_t state;
};
struct check_rng check_rng_for(uint64_t stream);
uint64_t check_u64(struct check_rng *rng);
int32_t check_range(struct check_rng *rng, int32_t min, int32_t max); /* both included */
float check_uniform(struct check_rng *rng, float limit);              /* [-limit, limit) */

/* Fills with one of several kinds of data: uniform; many magnitudes with zeros and subnormals among them; one
 * huge outlier. */
enum check_kind { CHECK_PLAIN, CHECK_WIDE, CHECK_OUTLIER, CHECK_N_KIND };
void check_fill(struct check_rng *rng, float *x, size_t n, enum check_kind kind);
/* n rounded up to what elements of this type come in. */
size_t check_whole(enum lk_dtype type, size_t n);
/* Converts to a storage type, cutting off bits; the values that are then stored go to ret_value (may be
 * NULL). */
void check_store(void *dst, enum lk_dtype type, const float *src, size_t n, double *ret_value);

/* ---- Memory ---- */

enum { CHECK_N_SLOT = 10 };

/* A place of these bytes with an inaccessible page right behind its end (or right before its start), the rest
 * around it poisoned with NaN. A slot holds one place at a time. */
void *check_memory(int slot, size_t bytes, bool at_end);
/* Is the poison around the slot's place as it was? */
bool check_intact(int slot);
/* Random floats in a slot. */
float *check_floats(struct check_rng *rng, int slot, size_t n, enum check_kind kind, bool at_end);
/* Zeroed ordinary memory; ends the program if there is none. */
void *check_allocate(size_t n, size_t size);

/* ---- Comparison: each says what is wrong ---- */

/* Are all bits equal? Any NaN equals any other. */
bool check_same(const float *want, const float *got, size_t n, const char *what);
/* |got - want| <= bound; i is for the message. */
bool check_close(float got, double want, double bound, size_t i);

/* ---- Tables of kernels ---- */

/* Compares every entry of a table with plain double arithmetic, by bounds derived from the operands, and with
 * itself for the properties that hold bit by bit. One TAP line an operation, "NAME: OPERATION". */
void check_table(const struct lk_cpu *got, const char *name);

/* The same as a list, without output: how many cases of one operation fail. */
struct check_op {
    const char *name;
    int (*n_wrong)(const struct lk_cpu *got);
};
extern const struct check_op check_ops[];
extern const int check_n_op;
int check_count(const struct check_op *op, const struct lk_cpu *got);
