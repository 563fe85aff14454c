/* Which layers attend to the last positions only, and to how many. */
#pragma once

#include <stdint.h>

#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/base/json.h"

struct arch_shape;

/* sliding_window: positions that a windowed layer sees, its own included. 0: none, which is what null says;
 * the fallback where the key is missing. EX_DATAERR. */
int window_read_size(const struct json *config, int32_t fallback, int32_t *ret_size, struct why *why);

/* window[n_layer] comes in as the architecture's own rule has it (0: the layer sees all) and is overruled by
 * layer_types, a list of "full_attention" and "sliding_attention", where there is one. EX_DATAERR. */
int window_by_layer_types(const struct json *config, int32_t size, int32_t *window, int32_t n_layer,
                          struct why *why);

/* As Qwen 2 and 3 say it: sliding_window counts if use_sliding_window, for the layers from max_window_layers
 * on, or by layer_types. ret_window[n_layer]. EX_DATAERR. */
int window_read_qwen(const struct json *config, int32_t *ret_window, int32_t n_layer, struct why *why);

/* Every layer sees `size` positions: sets shape->window. 0: all, nothing is set. -ENOMEM. */
int window_of_all(int32_t size, struct arena *arena, struct arch_shape *shape);
