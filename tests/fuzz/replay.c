/* Runs a fuzz target over its corpus, or over the files named as arguments. Speaks TAP.
 *
 * The corpus of the program fuzz_NAME is tests/fuzz/corpus/NAME in the source tree (`srcdir`). What goes
 * wrong ends the program, which the runner of the tests counts as a failure. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The file in a block of just its size, so that a sanitizer sees a read beyond it. */
static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    if (!file || fstat(fileno(file), &st) != 0) {
        printf("not ok - %s: %s\n", path, strerror(errno));
        return 1;
    }
    size_t n = (size_t)st.st_size;
    uint8_t *data = malloc(n ? n : 1);
    int is_bad = !data || fread(data, 1, n, file) != n;
    fclose(file);
    if (!is_bad)
        LLVMFuzzerTestOneInput(data, n);
    free(data);
    printf("%s - %s\n", is_bad ? "not ok" : "ok", path);
    fflush(stdout); /* so that the last line tells which input was next */
    return is_bad;
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay_folder(const char *name)
{
    const char *srcdir = getenv("srcdir");
    char folder[2048], path[4096];
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", srcdir && *srcdir ? srcdir : ".", name);
    struct dirent **entries;
    int n = scandir(folder, &entries, is_input, alphasort), n_bad = 0;
    if (n <= 0) {
        printf("1..1\nnot ok - %s: %s\n", folder, n < 0 ? strerror(errno) : "no inputs");
        return 1;
    }
    printf("1..%d\n", n);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        n_bad += replay(path);
        free(entries[i]);
    }
    free(entries);
    return n_bad > 0;
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        const char *name = strstr(program_invocation_short_name, "fuzz_");
        return replay_folder(name ? name + 5 : program_invocation_short_name);
    }
    int n_bad = 0;
    printf("1..%d\n", argc - 1);
    for (int i = 1; i < argc; i++)
        n_bad += replay(argv[i]);
    return n_bad > 0;
}
