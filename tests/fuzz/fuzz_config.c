/* A config.json of any bytes, read by every architecture: what passes has sizes that the rest relies on. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "src/base/arena.h"
#include "src/base/json.h"
#include "src/model/arch.h"
#include "src/model/generation.h"
#include "src/model/model.h"
#include "src/model/shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct arch *const archs[] = {
#define ARCH(name) &arch_##name,
#include "src/model/arch_list.def"
#undef ARCH
};

static void want(bool holds)
{
    if (!holds)
        abort();
}

static void check_shape(const struct arch_shape *s)
{
    want(s->n_layer > 0 && s->n_layer <= SHAPE_MAX_LAYER);
    want(s->n_kv_head > 0 && s->n_head >= s->n_kv_head && s->n_head % s->n_kv_head == 0);
    want(s->head_dim > 0 && s->n_head <= SHAPE_MAX_WIDTH / s->head_dim);
    want(s->dim > 0 && s->dim <= SHAPE_MAX_WIDTH && s->ff_dim > 0 && s->ff_dim <= SHAPE_MAX_WIDTH);
    want(s->n_vocab > 0 && s->n_vocab <= SHAPE_MAX_VOCAB);
    want(s->n_ctx > 0 && s->n_ctx <= SHAPE_MAX_CONTEXT);
    for (int32_t i = 0; s->window && i < s->n_layer; i++)
        want(s->window[i] >= 0);
    want(s->experts.n >= s->experts.n_chosen && s->experts.n_layer <= s->n_layer);
}

static void read_as(const struct arch *arch, const struct json *config)
{
    struct arena arena = ARENA_NULL;
    struct arch_shape shape;
    void *self = NULL;
    struct why why = {""};
    int r = arch->read_config(config, &arena, &shape, &self, &why);
    want(r < 0 || (r == 0) == (why.text[0] == '\0'));
    if (r == 0) {
        int32_t end[MODEL_MAX_END], n_end = 0;
        check_shape(&shape);
        want(arch->scratch_bytes(self, 1) > 0);
        r = generation_ends(config, NULL, shape.n_vocab, end, &n_end, &why);
        want((r == 0) == (why.text[0] == '\0'));
        for (int32_t i = 0; r == 0 && i < n_end; i++)
            want(end[i] >= 0 && end[i] < shape.n_vocab);
    }
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct json *config = NULL;
    const struct arch *arch = NULL;
    struct why why = {""};
    if (json_parse(&config, (const char *)data, n, &why))
        return 0;
    arch_find(config, &arch, &why);
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        read_as(archs[i], config);
    json_free(config);
    return 0;
}
