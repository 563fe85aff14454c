/* A file mapped read-only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct mapfile {
    const uint8_t *data;
    size_t n;
    char *path; /* as it was opened */
};

#define MAPFILE_NULL \
    {                \
        0            \
    }

enum { MAPFILE_MAX_GUARDED = 1024 }; /* open maps that the guard can name; a further one is just not named */

/* Opens and maps path (a regular file; an empty one maps to n = 0). 0; EX_NOINPUT, EX_NOPERM, EX_IOERR,
 * EX_DATAERR (not a regular file) with the sentence; -errno. The map is registered so that a SIGBUS inside it
 * can be explained. */
int mapfile_open(struct mapfile *map, const char *path, struct why *why);
void mapfile_close(struct mapfile *map);

/* Installs the SIGBUS handler: a read beyond the end of a mapped file that shrank prints one sentence with
 * the file's name to stderr and exits with EX_IOERR. A SIGBUS of another origin keeps its default action. */
void mapfile_guard_install(void);
