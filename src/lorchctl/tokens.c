/* How token ids are printed: see tokens.h. */
#include "config.h"
#include "src/lorchctl/tokens.h"

#include <inttypes.h>

#include "src/base/utf8.h"
#include "src/lorchctl/out.h"

static void print_piece(FILE *file, const struct tokens_row *row)
{
    if (utf8_check(row->piece, row->n_piece) == row->n_piece)
        out_json_string(file, row->piece, row->n_piece);
    else
        out_json_bytes(file, row->piece, row->n_piece);
}

void tokens_print_text(FILE *file, const struct tokens_row *rows, size_t n, bool pieces)
{
    for (size_t i = 0; i < n; i++) {
        fprintf(file, i && !pieces ? " %" PRId64 : "%" PRId64, rows[i].id);
        if (pieces) {
            putc('\t', file);
            print_piece(file, &rows[i]);
            putc('\n', file);
        }
    }
    if (!pieces)
        putc('\n', file);
}

void tokens_print_members(FILE *file, const struct tokens_row *rows, size_t n, bool pieces)
{
    fputs("\"tokens\": [", file);
    for (size_t i = 0; i < n; i++)
        fprintf(file, i ? ", %" PRId64 : "%" PRId64, rows[i].id);
    fputs(pieces ? "], \"pieces\": [" : "]", file);
    for (size_t i = 0; pieces && i < n; i++) {
        fputs(i ? ", " : "", file);
        print_piece(file, &rows[i]);
    }
    fputs(pieces ? "]" : "", file);
}
