/* What unit tests share: where test data lies, and a folder of their own. For Criterion programs. */
#pragma once

#include <stddef.h>

enum { SUPPORT_PATH = 4096 };

/* The path of a file or folder of the test data (LORCH_TESTDATA names where that is); skips the running test
 * where that variable is not set. */
void support_data(char ret_path[SUPPORT_PATH], const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The path of a file of the source tree (`srcdir`, else the current folder). */
void support_source(char ret_path[SUPPORT_PATH], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A new folder, and its removal with everything in it. */
void support_dir_make(char ret_path[SUPPORT_PATH]);
void support_dir_remove(const char *path);

/* Root may read everything: makes the running test an ordinary user until support_user_back, so that
 * permissions count; skips it where that is not possible. */
void support_user_drop(void);
void support_user_back(void);

/* Writes (or replaces) the file dir/name. */
void support_write(const char *dir, const char *name, const void *data, size_t n);
/* A whole file and its size, for free(); fails the test where it cannot be read. */
void *support_read(const char *path, size_t *ret_n);
