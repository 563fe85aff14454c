/* What the two files of the GGUF reader share. The face is gguf.h. */
#pragma once

#include "src/base/arena.h"
#include "src/weights/gguf.h"

struct gguf {
    struct mapfile map;
    struct arena arena; /* everything below */
    uint32_t version;
    struct gguf_value *values; /* [n_value] in the order of the file */
    const struct gguf_value **by_key;
    size_t n_value;
    struct tensor *tensors; /* [n_tensor] in the order of their data */
    const struct tensor **by_name;
    size_t n_tensor;
};

/* A position in a file that is being read. */
struct gguf_reader {
    struct gguf *file;
    const uint8_t *data;
    size_t n, at;
    size_t alignment;
    struct why *why;
};

/* EX_DATAERR: `what` needs more bytes than are left. */
int gguf_short(struct gguf_reader *r, uint64_t need, const char *what);
/* Numbers, a string of at most max bytes, and a copy of one that is not empty and holds no NUL. 0,
 * EX_DATAERR, -ENOMEM. */
int gguf_read_u32(struct gguf_reader *r, const char *what, uint32_t *ret);
int gguf_read_u64(struct gguf_reader *r, const char *what, uint64_t *ret);
int gguf_read_string(struct gguf_reader *r, const char *what, size_t max, struct gguf_string *ret);
int gguf_copy_name(struct gguf_reader *r, const char *what, size_t max, const char **ret);

/* Reads the directory of n tensors, which follows the metadata, and checks it against the data behind it. */
int gguf_read_tensors(struct gguf_reader *r, uint64_t n);
