/* What unit tests share: see support.h. */
#include "config.h"
#include "tests/support.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

static void join(char path[SUPPORT_PATH], const char *folder, const char *format, va_list args)
{
    char rest[SUPPORT_PATH / 2];
    int n_rest = vsnprintf(rest, sizeof rest, format, args);
    int n = snprintf(path, SUPPORT_PATH, "%s/%s", folder, rest);
    cr_assert(n_rest >= 0 && (size_t)n_rest < sizeof rest && n < SUPPORT_PATH, "a path is too long");
}

void support_data(char ret_path[SUPPORT_PATH], const char *format, ...)
{
    const char *folder = getenv("LORCH_TESTDATA");
    if (!folder || !*folder)
        cr_skip_test("LORCH_TESTDATA is not set");
    va_list args;
    va_start(args, format);
    join(ret_path, folder, format, args);
    va_end(args);
}

void support_source(char ret_path[SUPPORT_PATH], const char *format, ...)
{
    const char *folder = getenv("srcdir");
    va_list args;
    va_start(args, format);
    join(ret_path, folder && *folder ? folder : ".", format, args);
    va_end(args);
}

void support_dir_make(char ret_path[SUPPORT_PATH])
{
    const char *folder = getenv("TMPDIR");
    snprintf(ret_path, SUPPORT_PATH, "%s/lorch-test-XXXXXX", folder && *folder ? folder : "/tmp");
    cr_assert_not_null(mkdtemp(ret_path), "cannot make %s", ret_path);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    return remove(path);
}

void support_dir_remove(const char *path)
{
    cr_assert_eq(nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0, "cannot remove %s", path);
}

void support_user_drop(void)
{
    enum { NOBODY = 65534 };
    if (geteuid() == 0 && seteuid(NOBODY) != 0)
        cr_skip_test("cannot become an ordinary user");
}

void support_user_back(void)
{
    cr_assert_eq(seteuid(getuid()), 0);
}

void support_write(const char *dir, const char *name, const void *data, size_t n)
{
    char path[SUPPORT_PATH];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "cannot write %s", path);
    size_t n_written = n > 0 ? fwrite(data, 1, n, file) : 0;
    cr_assert(fclose(file) == 0 && n_written == n, "cannot write %s", path);
}

void *support_read(const char *path, size_t *ret_n)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "cannot read %s", path);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    long n = ftell(file);
    rewind(file);
    char *data = malloc((size_t)n + 1);
    cr_assert(data && fread(data, 1, (size_t)n, file) == (size_t)n, "cannot read %s", path);
    data[n] = '\0';
    fclose(file);
    *ret_n = (size_t)n;
    return data;
}
