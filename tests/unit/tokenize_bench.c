/* Times the tokenizer: what contrib/bench-tokenizers drives.
 *
 *   tokenize_bench TOKENIZER
 *
 * On standard input come lines: "open" to open the tokenizer once more, or the path of a text to encode,
 * special tokens as plain text. Each is answered by one line "MICROSECONDS IDS", the time of that call alone.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/mapfile.h"
#include "src/text/tokenizer.h"

static int64_t cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int time_open(const char *path, struct why *why)
{
    struct tokenizer *t = NULL;
    int64_t start = cpu_us();
    int r = tokenizer_open(&t, path, why);
    int64_t end = cpu_us();
    if (r == 0)
        printf("%lld %d\n", (long long)(end - start), tokenizer_n_vocab(t));
    tokenizer_free(t);
    return r;
}

static int time_text(const struct tokenizer *t, const char *path, struct why *why)
{
    struct mapfile map = MAPFILE_NULL;
    struct token_list ids = TOKEN_LIST_NULL;
    int r = mapfile_open(&map, path, why);
    if (r)
        return r;
    int64_t start = cpu_us();
    r = tokenizer_encode(t, (const char *)map.data, map.n, 0, &ids, why);
    int64_t end = cpu_us();
    if (r == 0)
        printf("%lld %zu\n", (long long)(end - start), ids.n);
    token_list_deinit(&ids);
    mapfile_close(&map);
    return r;
}

int main(int argc, char **argv)
{
    struct tokenizer *t = NULL;
    struct why why = {""};
    char *line = NULL;
    size_t capacity = 0;
    int r = 1;
    if (argc == 2)
        r = tokenizer_open(&t, argv[1], &why);
    setvbuf(stdout, NULL, _IOLBF, 0); /* who asks waits for each answer */
    while (r == 0 && getline(&line, &capacity, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        r = strcmp(line, "open") == 0 ? time_open(argv[1], &why) : time_text(t, line, &why);
    }
    if (r)
        fprintf(stderr, "tokenize_bench: %s\n", argc == 2 ? why.text : "usage: tokenize_bench TOKENIZER");
    free(line);
    tokenizer_free(t);
    return r ? 1 : 0;
}
