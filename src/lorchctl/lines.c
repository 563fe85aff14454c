/* JSON objects from standard input, one a line: see lines.h. */
#include "config.h"
#include "src/lorchctl/lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/cleanup.h"
#include "src/lorchctl/out.h"

static int answer(lines_fn fn, void *ctx, const char *line, size_t n)
{
    struct why why = {""};
    struct jsonread reader;
    jsonread_init(&reader, line, n, &why);
    int r = fn(ctx, &reader, &why);
    jsonread_deinit(&reader);
    if (r < 0)
        return r;
    if (r > 0) {
        fputs("{\"error\": ", stdout);
        out_json_string(stdout, why.text, strlen(why.text));
        putchar('}');
    }
    putchar('\n');
    fflush(stdout); /* whoever asks line by line waits for it */
    return 0;
}

int lines_run(lines_fn fn, void *ctx)
{
    CLEANUP_FREE char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    while ((n = getline(&line, &capacity, stdin)) >= 0) {
        if (answer(fn, ctx, line, (size_t)n) != 0) {
            fprintf(stderr, "lorchctl: out of memory\n");
            return EX_OSERR;
        }
        if (ferror(stdout))
            return EX_IOERR; /* main says so */
    }
    if (feof(stdin))
        return 0;
    fprintf(stderr, "lorchctl: cannot read standard input: %s\n", strerror(errno));
    return errno == ENOMEM ? EX_OSERR : EX_IOERR;
}

static int fail_type(struct jsonread *reader, const char *key, const char *wanted)
{
    return jsonread_fail(reader, "'%s' is %s, must be %s", key, jsonread_kind_name(reader->kind), wanted);
}

int lines_read_bool(struct jsonread *reader, const char *key, bool *ret)
{
    enum jsonread_kind kind = jsonread_next(reader);
    if (kind != JSONREAD_TRUE && kind != JSONREAD_FALSE)
        return fail_type(reader, key, "true or false");
    *ret = kind == JSONREAD_TRUE;
    return 0;
}

int lines_read_text(struct jsonread *reader, const char *key, struct buf *ret_text)
{
    if (jsonread_next(reader) != JSONREAD_STRING)
        return fail_type(reader, key, "a string");
    ret_text->n = 0;
    return buf_push(ret_text, reader->string, reader->n_string);
}

int lines_fail_missing(struct jsonread *reader, const char *key)
{
    return jsonread_fail(reader, "'%s' is missing", key);
}

int lines_fail_unknown(struct jsonread *reader)
{
    return jsonread_fail(reader, "'%.*s' is not a known member", (int)reader->n_string, reader->string);
}
