/* End ids and sampling defaults: see generation.h. */
#include "config.h"

#include "src/model/generation.h"

#include <math.h>
#include <string.h>
#include <sysexits.h>

#define FILE_NAME "generation_config.json"

/* Keeps the set sorted and free of doubles. */
static int add_end(int32_t id, int32_t *end, int32_t *n_end, struct why *why)
{
    int32_t at = 0;
    while (at < *n_end && end[at] < id)
        at++;
    if (at < *n_end && end[at] == id)
        return 0;
    if (*n_end == MODEL_MAX_END)
        return why_set(why, EX_DATAERR, "more than %d different end ids", MODEL_MAX_END);
    memmove(end + at + 1, end + at, (size_t)(*n_end - at) * sizeof *end);
    end[at] = id;
    ++*n_end;
    return 0;
}

static int add_ends(const struct json *file, const char *file_name, int32_t n_vocab, int32_t *end,
                    int32_t *n_end, struct why *why)
{
    const struct json *v = json_get(file, "eos_token_id");
    bool is_list = json_is_array(v);
    for (v = is_list ? json_first(v) : v; v; v = is_list ? json_next(v) : NULL) {
        double id = json_number(v, NAN);
        if (isnan(id) || id != floor(id))
            return why_set(why, EX_DATAERR, "%s: eos_token_id must be a whole number or a list of such",
                           file_name);
        if (id < 0 || id >= n_vocab)
            return why_set(why, EX_DATAERR, "%s: eos_token_id is %.17g, the vocabulary has ids 0 to %d",
                           file_name, id, n_vocab - 1);
        int r = add_end((int32_t)id, end, n_end, why);
        if (r)
            return why_prefix(why, r, "%s", file_name);
    }
    return 0;
}

int generation_ends(const struct json *config, const struct json *generation, int32_t n_vocab,
                    int32_t ret_end[MODEL_MAX_END], int32_t *ret_n_end, struct why *why)
{
    *ret_n_end = 0;
    int r = add_ends(config, "config.json", n_vocab, ret_end, ret_n_end, why);
    return r ? r : add_ends(generation, FILE_NAME, n_vocab, ret_end, ret_n_end, why);
}

/* A number of [min, max], or of (0, max] where is_open; missing leaves NaN. */
static int read_float(const struct json *generation, const char *key, double max, bool is_open, float *ret,
                      struct why *why)
{
    double value = (double)NAN;
    int r = json_get_double(generation, key, false, 0, max, &value, why);
    if (!r && is_open && value == 0)
        r = why_set(why, EX_DATAERR, "'%s' is 0, must be above 0 and at most %g", key, max);
    *ret = (float)value;
    return r;
}

int generation_defaults(const struct json *generation, int32_t n_vocab, struct model_defaults *ret_defaults,
                        struct why *why)
{
    struct model_defaults d = {NAN, NAN, NAN, NAN, NAN, -1};
    int64_t top_k = -1;
    bool do_sample = true;
    int r = json_get_bool(generation, "do_sample", &do_sample, why);
    r = r ? r : read_float(generation, "temperature", 2, false, &d.temperature, why);
    r = r ? r : read_float(generation, "top_p", 1, true, &d.top_p, why);
    r = r ? r : read_float(generation, "min_p", 1, false, &d.min_p, why);
    r = r ? r : read_float(generation, "typical_p", 1, true, &d.typical_p, why);
    r = r ? r : read_float(generation, "repetition_penalty", 2, true, &d.repeat_penalty, why);
    r = r ? r : json_get_int(generation, "top_k", false, 0, INT32_MAX, &top_k, why);
    if (r)
        return why_prefix(why, r, FILE_NAME);
    if (!do_sample)
        d.temperature = 0;
    d.top_k = (int32_t)(top_k < n_vocab ? top_k : n_vocab);
    *ret_defaults = d;
    return 0;
}
