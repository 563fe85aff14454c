/* How token ids are printed: as text, one a line with its piece, or as JSON. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tokens_row {
    int64_t id;
    const char *piece; /* what it stands for, n_piece bytes; not looked at where no pieces are printed */
    size_t n_piece;
};

/* On one line, separated by spaces; with pieces, each on a line of its own. */
void tokens_print_text(FILE *file, const struct tokens_row *rows, size_t n, bool pieces);
/* The members `tokens` and, if asked for, `pieces` of an object. A piece that is no text of its own (half a
 * character) is an array of byte values. */
void tokens_print_members(FILE *file, const struct tokens_row *rows, size_t n, bool pieces);
