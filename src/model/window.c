/* Which layers attend to the last positions only: see window.h. */
#include "config.h"

#include "src/model/window.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>

#include "src/model/shape.h"

int window_read_size(const struct json *config, int32_t fallback, int32_t *ret_size, struct why *why)
{
    int64_t size = shape_has_key(config, "sliding_window") ? 0 : fallback;
    int r = json_get_int(config, "sliding_window", false, 0, INT32_MAX, &size, why);
    if (!r)
        *ret_size = (int32_t)size;
    return r;
}

int window_by_layer_types(const struct json *config, int32_t size, int32_t *window, int32_t n_layer,
                          struct why *why)
{
    const struct json *types = json_get(config, "layer_types");
    if (!types)
        return 0;
    if (json_count(types) != (size_t)n_layer)
        return why_set(why, EX_DATAERR, "layer_types has %zu entries, num_hidden_layers is %d",
                       json_count(types), n_layer);
    int32_t i = 0;
    for (const struct json *v = json_first(types); v; v = json_next(v), i++) {
        const char *type = json_string(v, "(not a string)");
        bool is_sliding = !strcmp(type, "sliding_attention");
        if (!is_sliding && strcmp(type, "full_attention") != 0)
            return why_set(why, EX_DATAERR,
                           "layer_types has '%.64s' for layer %d; known are: full_attention, "
                           "sliding_attention",
                           type, i);
        if (is_sliding && size == 0)
            return why_set(why, EX_DATAERR, "layer_types has '%s' for layer %d, but there is no window", type,
                           i);
        window[i] = is_sliding ? size : 0;
    }
    return 0;
}

int window_read_qwen(const struct json *config, int32_t *ret_window, int32_t n_layer, struct why *why)
{
    bool is_used = false;
    int32_t size = 0;
    int64_t first = 28;
    int r = json_get_bool(config, "use_sliding_window", &is_used, why);
    r = r ? r : window_read_size(config, 4096, &size, why);
    r = r ? r : json_get_int(config, "max_window_layers", false, 0, SHAPE_MAX_LAYER, &first, why);
    if (r)
        return r;
    size = is_used ? size : 0;
    for (int32_t i = 0; i < n_layer; i++)
        ret_window[i] = i >= first ? size : 0;
    return window_by_layer_types(config, size, ret_window, n_layer, why);
}

int window_of_all(int32_t size, struct arena *arena, struct arch_shape *shape)
{
    if (size == 0)
        return 0;
    int32_t *window = arena_array(arena, (size_t)shape->n_layer, sizeof *window);
    if (!window)
        return -ENOMEM;
    for (int32_t i = 0; i < shape->n_layer; i++)
        window[i] = size;
    shape->window = window;
    return 0;
}
