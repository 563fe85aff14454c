/* A configuration file of any bytes: parsed, and every value asked for as everything. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Depth is limited by the parser, so this may recurse. */
static void touch(const struct json *v, int depth)
{
    int64_t whole = 0;
    double number;
    bool flag;
    struct why why;
    if (depth > JSON_MAX_DEPTH + 1)
        abort();
    if (json_is_string(v) != (json_string(v, NULL) != NULL) || !json_kind(v))
        abort();
    if (json_is_whole(v, -10, 10, &whole) && (whole < -10 || whole > 10))
        abort();
    size_t n = 0;
    for (const struct json *child = json_first(v); child; child = json_next(child), n++) {
        touch(child, depth + 1);
        const char *key = json_key(child);
        if (json_is_object(v) != (key != NULL))
            abort();
        if (!key || n > 16) /* a look-up walks the object */
            continue;
        json_get(v, key);
        if (json_get_int(v, key, true, 0, 5, &whole, &why) == 0 && (whole < 0 || whole > 5))
            abort();
        json_get_double(v, key, false, 0, 1, &number, &why);
        json_get_bool(v, key, &flag, &why);
    }
    if (json_count(v) != n)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct json *root = NULL;
    struct why why = {""};
    int r = json_parse(&root, data, n, &why);
    if ((r == 0) != (root != NULL) || (r == 0) != (why.text[0] == '\0'))
        abort();
    if (root)
        touch(root, 1);
    json_free(root);
    return 0;
}
