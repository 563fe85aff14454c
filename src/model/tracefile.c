/* Intermediates of steps in files: see tracefile.h. */
#include "config.h"

#include "src/model/tracefile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_PATH = 4096,
    MAX_NAME = 32,       /* bytes of an intermediate's name */
    MAX_PER_LAYER = 64,  /* intermediates */
    ENTRY_BYTES = 160,   /* of the header, at most, with its name */
    LENGTH_BYTES = 8,    /* before the header */
    MAX_BATCH_COPY = 64, /* ids written at a time */
};

struct tracefile {
    char dir[MAX_PATH - 64], path[MAX_PATH];
    int fd, error; /* error: the first errno of this step */
    uint64_t n_step;
    /* The header has room for everything a step can name: its data goes to the file meanwhile. */
    char *header;
    size_t n_header, header_bytes;
    uint64_t n_data;
};

int tracefile_open(struct tracefile **ret_trace, const char *dir, int32_t n_layer, struct why *why)
{
    if (strlen(dir) >= sizeof((struct tracefile *)NULL)->dir)
        return why_errno(why, ENAMETOOLONG, dir);
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return why_errno(why, errno, dir);
    struct tracefile *t = calloc(1, sizeof *t);
    if (!t)
        return -ENOMEM;
    t->fd = -1;
    strcpy(t->dir, dir);
    t->header_bytes = (size_t)(n_layer + 1) * MAX_PER_LAYER * ENTRY_BYTES;
    t->header = malloc(t->header_bytes);
    if (!t->header) {
        tracefile_free(t);
        return -ENOMEM;
    }
    *ret_trace = t;
    return 0;
}

struct tracefile *tracefile_free(struct tracefile *trace)
{
    if (!trace)
        return NULL;
    if (trace->fd >= 0)
        close(trace->fd);
    free(trace->header);
    free(trace);
    return NULL;
}

static void write_all(struct tracefile *t, const void *data, size_t n, uint64_t at)
{
    const char *from = data;
    while (n > 0 && !t->error) {
        ssize_t written = pwrite(t->fd, from, n, (off_t)at);
        if (written < 0 && errno != EINTR)
            t->error = errno;
        if (written > 0) {
            from += written;
            n -= (size_t)written;
            at += (uint64_t)written;
        }
    }
}

/* Where the next bytes of data go; enters them into the header. */
static uint64_t claim(struct tracefile *t, const char *name, const char *dtype, const char *shape, size_t n)
{
    if (t->header_bytes - t->n_header <= ENTRY_BYTES) { /* and the last brace */
        t->error = t->error ? t->error : ENOBUFS;
        return 0;
    }
    t->n_header += (size_t)snprintf(t->header + t->n_header, ENTRY_BYTES,
                                    "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%" PRIu64
                                    ",%" PRIu64 "]}",
                                    t->n_header ? ',' : '{', name, dtype, shape, t->n_data, t->n_data + n);
    uint64_t at = LENGTH_BYTES + t->header_bytes + t->n_data;
    t->n_data += n;
    return at;
}

static void add_ids(struct tracefile *t, const char *name, const int32_t *ids, int32_t n)
{
    char shape[16];
    snprintf(shape, sizeof shape, "%d", n);
    uint64_t at = claim(t, name, "I32", shape, (size_t)n * sizeof *ids);
    write_all(t, ids, (size_t)n * sizeof *ids, at);
}

static void add_positions(struct tracefile *t, const struct lk_batch *batch)
{
    char shape[16];
    int32_t positions[MAX_BATCH_COPY];
    snprintf(shape, sizeof shape, "%d", batch->n_row);
    uint64_t at = claim(t, "positions", "I32", shape, (size_t)batch->n_row * sizeof *positions);
    for (const struct lk_span *span = batch->span; span < batch->span + batch->n_span; span++)
        for (int32_t from = 0; from < span->n_row; from += MAX_BATCH_COPY) {
            int32_t n = span->n_row - from < MAX_BATCH_COPY ? span->n_row - from : MAX_BATCH_COPY;
            for (int32_t i = 0; i < n; i++)
                positions[i] = span->pos + from + i;
            write_all(t, positions, (size_t)n * sizeof *positions, at);
            at += (size_t)n * sizeof *positions;
        }
}

int tracefile_begin(struct tracefile *trace, const struct lk_batch *batch)
{
    trace->n_header = 0;
    trace->n_data = 0;
    trace->error = 0;
    snprintf(trace->path, sizeof trace->path, "%s/step-%06" PRIu64 ".safetensors", trace->dir, trace->n_step);
    trace->fd = open(trace->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (trace->fd < 0)
        return -errno;
    add_ids(trace, "input_ids", batch->token, batch->n_row);
    add_positions(trace, batch);
    return 0;
}

void tracefile_add(void *trace, const char *name, int32_t layer, const float *x, int32_t n_row, int32_t n)
{
    struct tracefile *t = trace;
    char full[MAX_NAME + 16], shape[32];
    if (t->fd < 0)
        return;
    if (layer < 0)
        snprintf(full, sizeof full, "%.*s", MAX_NAME, name);
    else
        snprintf(full, sizeof full, "%.*s.%d", MAX_NAME, name, layer);
    snprintf(shape, sizeof shape, "%d,%d", n_row, n);
    size_t bytes = (size_t)n_row * (size_t)n * sizeof *x;
    uint64_t at = claim(t, full, "F32", shape, bytes);
    write_all(t, x, bytes, at);
}

static void write_header(struct tracefile *t)
{
    unsigned char length[LENGTH_BYTES];
    t->header[t->n_header++] = '}';
    memset(t->header + t->n_header, ' ', t->header_bytes - t->n_header);
    for (int i = 0; i < LENGTH_BYTES; i++)
        length[i] = (unsigned char)((uint64_t)t->header_bytes >> 8 * i);
    write_all(t, length, sizeof length, 0);
    write_all(t, t->header, t->header_bytes, LENGTH_BYTES);
}

int tracefile_end(struct tracefile *trace, bool has_failed)
{
    if (!has_failed)
        write_header(trace);
    if (close(trace->fd) < 0 && !trace->error)
        trace->error = errno;
    trace->fd = -1;
    if (has_failed)
        unlink(trace->path);
    else
        trace->n_step++;
    return -trace->error;
}
