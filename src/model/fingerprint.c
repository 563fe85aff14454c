/* A number that tells models apart: see fingerprint.h. */
#include "config.h"

#include "src/model/fingerprint.h"

#include <string.h>

static uint64_t add(uint64_t hash, const void *data, size_t n)
{
    for (const unsigned char *p = data; n > 0; n--)
        hash = (hash ^ *p++) * 0x100000001b3;
    return hash;
}

/* With its end, so that "ab", "c" and "a", "bc" differ. */
static uint64_t add_text(uint64_t hash, const char *text)
{
    return add(hash, text, strlen(text) + 1);
}

/* Recursion is bounded by JSON_MAX_DEPTH. */
static uint64_t add_json(uint64_t hash, const struct json *v)
{
    if (json_is_string(v))
        return add_text(add(hash, "s", 1), json_string(v, ""));
    if (json_is_number(v)) {
        double number = json_number(v, 0);
        return add(add(hash, "n", 1), &number, sizeof number);
    }
    if (json_is_bool(v))
        return add(hash, json_bool(v, false) ? "t" : "f", 1);
    bool is_object = json_is_object(v);
    hash = add(hash, is_object ? "{" : json_is_array(v) ? "[" : "0", 1);
    for (const struct json *child = json_first(v); child; child = json_next(child)) {
        if (is_object)
            hash = add_text(hash, json_key(child));
        hash = add_json(hash, child);
    }
    return add(hash, "}", 1);
}

uint64_t fingerprint_of(const struct checkpoint *checkpoint)
{
    uint64_t hash = add_json(0xcbf29ce484222325, checkpoint_config(checkpoint));
    for (size_t i = 0; i < checkpoint_n_tensor(checkpoint); i++) {
        const struct tensor *t = checkpoint_tensor_at(checkpoint, i);
        hash = add_text(add_text(hash, t->name), t->type_name);
        hash = add(hash, t->dim, (size_t)t->n_dim * sizeof *t->dim);
    }
    return hash;
}
