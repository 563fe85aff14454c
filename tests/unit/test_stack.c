/* src/model/stack.c: experts that are copied out of one tensor a layer. */
#include "config.h"

#include "src/model/stack.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sysexits.h>

#include "tests/model/fixture.h"

/* More than a band in both directions, and no multiple of one. */
enum { N_EXPERT = 3, DIM = 300, FF = 41 };

static const struct lk_mixture mixture = {.n_expert = N_EXPERT, .n_chosen = 1, .dim = DIM, .ff_dim = FF};

struct stacked {
    char dir[SUPPORT_PATH];
    struct checkpoint *checkpoint;
    struct arena arena;
    struct bind bind;
    struct lk_expert experts[N_EXPERT];
    struct why why;
};

static void stacked_open(struct stacked *s, const struct fixture_tensor *tensors, size_t n_tensor)
{
    *s = (struct stacked){.arena = ARENA_NULL};
    support_dir_make(s->dir);
    support_write(s->dir, "config.json", "{}", 2);
    fixture_safetensors(s->dir, tensors, n_tensor);
    cr_assert_eq(checkpoint_open(&s->checkpoint, s->dir, &s->why), 0, "%s", s->why.text);
    cr_assert_eq(bind_init(&s->bind, s->checkpoint, &s->arena), 0);
}

static void stacked_close(struct stacked *s)
{
    checkpoint_free(s->checkpoint);
    arena_deinit(&s->arena);
    support_dir_remove(s->dir);
}

static bool go_on(void *ctx, double fraction)
{
    double *last = ctx;
    cr_assert(fraction >= *last && fraction < 1);
    *last = fraction;
    return true;
}

static bool stop(void *ctx, double fraction)
{
    (void)fraction;
    ++*(int *)ctx;
    return false;
}

/* Values that say where they come from. */
static uint16_t gate_up[N_EXPERT][DIM][2 * FF], bias16[N_EXPERT][2 * FF];
static float down[N_EXPERT][FF][DIM], bias32[N_EXPERT][DIM];

static const struct fixture_tensor tensors[] = {
    {"model.layers.7.mlp.experts.gate_up_proj", "BF16", 3, {N_EXPERT, DIM, 2 * FF}, gate_up},
    {"model.layers.7.mlp.experts.gate_up_proj_bias", "BF16", 2, {N_EXPERT, 2 * FF}, bias16},
    {"model.layers.7.mlp.experts.down_proj", "F32", 3, {N_EXPERT, FF, DIM}, down},
    {"model.layers.7.mlp.experts.down_proj_bias", "F32", 2, {N_EXPERT, DIM}, bias32},
};

enum { N_TENSOR = sizeof tensors / sizeof *tensors };

static void fill(void)
{
    for (int e = 0; e < N_EXPERT; e++) {
        for (int o = 0; o < 2 * FF; o++) {
            bias16[e][o] = (uint16_t)(0x4000 + e * 2 * FF + o);
            for (int i = 0; i < DIM; i++)
                gate_up[e][i][o] = (uint16_t)(e * 20000 + i * 2 * FF + o);
        }
        for (int o = 0; o < DIM; o++) {
            bias32[e][o] = (float)(e * DIM + o);
            for (int i = 0; i < FF; i++)
                down[e][i][o] = (float)((e * FF + i) * DIM + o);
        }
    }
}

static void check_matrix(const struct lk_mat *mat, enum lk_dtype type, int32_t n_out, int32_t n_in)
{
    cr_assert(mat->type == type && mat->n_out == n_out && mat->n_in == n_in);
}

static void check_expert(const struct lk_expert *x, int e)
{
    check_matrix(&x->gate, LK_BF16, FF, DIM);
    check_matrix(&x->up, LK_BF16, FF, DIM);
    check_matrix(&x->down, LK_F32, DIM, FF);
    const uint16_t *gate = x->gate.data, *up = x->up.data;
    const float *rows = x->down.data;
    for (int o = 0; o < FF; o++) {
        cr_assert(x->gate_bias[o] == lk_f32_from_bf16(bias16[e][2 * o]));
        cr_assert(x->up_bias[o] == lk_f32_from_bf16(bias16[e][2 * o + 1]));
        for (int i = 0; i < DIM; i++) {
            cr_assert_eq(gate[o * DIM + i], gate_up[e][i][2 * o], "expert %d, %d, %d", e, o, i);
            cr_assert_eq(up[o * DIM + i], gate_up[e][i][2 * o + 1], "expert %d, %d, %d", e, o, i);
        }
    }
    for (int o = 0; o < DIM; o++) {
        cr_assert(x->down_bias[o] == bias32[e][o]);
        for (int i = 0; i < FF; i++)
            cr_assert(rows[o * FF + i] == down[e][i][o], "expert %d, %d, %d", e, o, i);
    }
}

Test(stack, rows)
{
    enum { GATE_UP = N_EXPERT * DIM * 2 * FF, DOWN = N_EXPERT * FF * DIM };
    struct stacked s;
    fill();
    stacked_open(&s, tensors, N_TENSOR);
    cr_assert_eq(stack_bind(&s.bind, s.experts, &mixture, 7, "mlp.experts", &s.why), 0, "%s", s.why.text);
    cr_assert_eq(bind_finish(&s.bind, &s.why), 0, "%s", s.why.text);
    cr_assert_eq(s.bind.n_param, GATE_UP + DOWN + sizeof bias16 / 2 + sizeof bias32 / 4);
    cr_assert_eq(s.bind.copied_bytes, s.bind.n_byte);
    cr_assert(s.bind.type_bytes[LK_BF16] == 2 * GATE_UP + sizeof bias16 &&
              s.bind.type_bytes[LK_F32] == 4 * DOWN + sizeof bias32);

    struct lk_backend *be = NULL;
    struct lk_options options = {.n_thread = 1, .max_row = 1};
    char reason[256];
    void *mem = NULL;
    double fraction = 0;
    int n_call = 0;
    cr_assert_eq(lk_open("cpu", &options, &be, reason), 0);
    cr_assert_eq(be->ops->alloc(be, s.bind.placed_bytes, &mem), 0);
    cr_assert_eq(bind_place(&s.bind, be, mem, stop, &n_call, &s.why), 0);
    cr_assert(n_call == 1 && !s.experts[0].gate.data);
    cr_assert_eq(bind_place(&s.bind, be, mem, go_on, &fraction, &s.why), 0);
    cr_assert(fraction > 0.5);
    for (int e = 0; e < N_EXPERT; e++)
        check_expert(&s.experts[e], e);
    be->ops->free(be, mem, s.bind.placed_bytes);
    be->ops->close(be);
    stacked_close(&s);
}

/* Nibbles that say where they come from, as published and as a block has them. */
enum { N_BLOCK = 70, FF_4 = 64 }; /* more blocks than are packed at a time */

static const struct lk_mixture mixture_4 = {
    .n_expert = 2, .n_chosen = 1, .dim = N_BLOCK * LK_MXFP4_BLOCK, .ff_dim = FF_4};
static uint8_t blocks[2][2 * FF_4][N_BLOCK][16], scales[2][2 * FF_4][N_BLOCK];
static uint8_t down_blocks[2][N_BLOCK * 32][FF_4 / 32][16], down_scales[2][N_BLOCK * 32][FF_4 / 32];

static unsigned nibble(int e, int row, int column)
{
    return ((unsigned)e * 2654435761u + (unsigned)row * 40503u + (unsigned)column * 2246822519u) >> 13 & 15;
}

static void fill_row(uint8_t (*q)[16], uint8_t *scale, int e, int row, int n_block)
{
    for (int b = 0; b < n_block; b++) {
        scale[b] = (uint8_t)(e * 77 + row * 3 + b);
        for (int j = 0; j < 16; j++)
            q[b][j] = (uint8_t)(nibble(e, row, b * 32 + 2 * j) | nibble(e, row, b * 32 + 2 * j + 1) << 4);
    }
}

static void check_row(const struct lk_mat *mat, int o, int e, int row)
{
    cr_assert_eq(mat->type, LK_MXFP4);
    const struct lk_mxfp4 *got = (const struct lk_mxfp4 *)mat->data + o * (mat->n_in / 32);
    for (int i = 0; i < mat->n_in; i++) {
        const struct lk_mxfp4 *b = &got[i / 32];
        unsigned half = i % 32 < 16 ? b->q[i % 32] & 15u : b->q[i % 32 - 16] >> 4;
        cr_assert_eq(b->scale, (uint8_t)(e * 77 + row * 3 + i / 32));
        cr_assert_eq(half, nibble(e, row, i), "expert %d, row %d, element %d", e, row, i);
    }
}

static const struct fixture_tensor tensors_4[] = {
    {"model.layers.0.x.gate_up_proj_blocks", "U8", 4, {2, 2 * FF_4, N_BLOCK, 16}, blocks},
    {"model.layers.0.x.gate_up_proj_scales", "U8", 3, {2, 2 * FF_4, N_BLOCK}, scales},
    {"model.layers.0.x.gate_up_proj_bias", "BF16", 2, {2, 2 * FF_4}, NULL},
    {"model.layers.0.x.down_proj_blocks", "U8", 4, {2, N_BLOCK * 32, FF_4 / 32, 16}, down_blocks},
    {"model.layers.0.x.down_proj_scales", "U8", 3, {2, N_BLOCK * 32, FF_4 / 32}, down_scales},
    {"model.layers.0.x.down_proj_bias", "BF16", 2, {2, N_BLOCK * 32}, NULL},
};

enum { N_TENSOR_4 = sizeof tensors_4 / sizeof *tensors_4 };

Test(stack, mxfp4)
{
    struct stacked s;
    for (int e = 0; e < 2; e++) {
        for (int row = 0; row < 2 * FF_4; row++)
            fill_row(blocks[e][row], scales[e][row], e, row, N_BLOCK);
        for (int row = 0; row < N_BLOCK * 32; row++)
            fill_row(down_blocks[e][row], down_scales[e][row], e, row, FF_4 / 32);
    }
    stacked_open(&s, tensors_4, N_TENSOR_4);
    cr_assert_eq(stack_bind(&s.bind, s.experts, &mixture_4, 0, "x", &s.why), 0, "%s", s.why.text);
    cr_assert_eq(bind_finish(&s.bind, &s.why), 0, "%s", s.why.text);
    size_t n_bias = 2 * (2 * FF_4 + N_BLOCK * 32), n_weight = (size_t)2 * 3 * FF_4 * N_BLOCK * 32;
    cr_assert_eq(s.bind.n_param, n_weight + n_bias);
    cr_assert_eq(s.bind.copied_bytes, n_weight / 32 * 17 + 2 * n_bias);
    cr_assert(s.bind.type_bytes[LK_MXFP4] == n_weight / 32 * 17 && s.bind.type_bytes[LK_BF16] == 2 * n_bias);

    struct lk_backend *be = NULL;
    struct lk_options options = {.n_thread = 1, .max_row = 1};
    char reason[256];
    void *mem = NULL;
    double fraction = 0;
    cr_assert_eq(lk_open("cpu", &options, &be, reason), 0);
    cr_assert_eq(be->ops->alloc(be, s.bind.placed_bytes, &mem), 0);
    cr_assert_eq(bind_place(&s.bind, be, mem, go_on, &fraction, &s.why), 0);
    for (int e = 0; e < 2; e++) {
        for (int o = 0; o < FF_4; o++) {
            check_row(&s.experts[e].gate, o, e, 2 * o);
            check_row(&s.experts[e].up, o, e, 2 * o + 1);
        }
        for (int o = 0; o < N_BLOCK * 32; o++)
            check_row(&s.experts[e].down, o, e, o);
    }
    be->ops->free(be, mem, s.bind.placed_bytes);
    be->ops->close(be);
    stacked_close(&s);
}

Test(stack, mxfp4_refused)
{
    static const struct {
        int i_tensor; /* is */
        struct fixture_tensor changed;
        int32_t dim; /* of the mixture */
        const char *sentence;
    } cases[] = {
        {1,
         {"other", "U8", 1, {1}, NULL},
         N_BLOCK * 32,
         "tensor 'model.layers.0.x.gate_up_proj_scales' is missing"},
        {1,
         {"model.layers.0.x.gate_up_proj_scales", "BF16", 3, {2, 2 * FF_4, N_BLOCK}, NULL},
         N_BLOCK * 32,
         "tensor 'model.layers.0.x.gate_up_proj_scales' has type BF16, must be U8"},
        {0,
         {"model.layers.0.x.gate_up_proj_blocks", "U8", 3, {2, 2 * FF_4, N_BLOCK * 16}, NULL},
         N_BLOCK * 32,
         "tensor 'model.layers.0.x.gate_up_proj_blocks' is [2,128,1120], config.json asks for [2,128,70,16]"},
        {0,
         {"model.layers.0.x.gate_up_proj_blocks", "U8", 4, {2, 2 * FF_4, N_BLOCK, 16}, NULL},
         N_BLOCK * 32 + 16,
         "tensor 'model.layers.0.x.gate_up_proj_blocks' has MXFP4 blocks of 32, rows have 2256 elements"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture_tensor changed[N_TENSOR_4];
        struct lk_mixture mixture_of = mixture_4;
        struct stacked s;
        memcpy(changed, tensors_4, sizeof changed);
        changed[cases[i].i_tensor] = cases[i].changed;
        mixture_of.dim = cases[i].dim;
        stacked_open(&s, changed, N_TENSOR_4);
        cr_assert_eq(stack_bind(&s.bind, s.experts, &mixture_of, 0, "x", &s.why), EX_DATAERR);
        cr_assert_str_eq(s.why.text, cases[i].sentence);
        stacked_close(&s);
    }
}

Test(stack, refused)
{
    static const struct {
        int i_tensor; /* is */
        struct fixture_tensor changed;
        const char *sentence;
    } cases[] = {
        {0,
         {"model.layers.7.mlp.experts.other", "BF16", 1, {1}, NULL},
         "tensor 'model.layers.7.mlp.experts.gate_up_proj' is missing"},
        {0,
         {"model.layers.7.mlp.experts.gate_up_proj", "BF16", 3, {N_EXPERT, 2 * FF, DIM}, NULL},
         "tensor 'model.layers.7.mlp.experts.gate_up_proj' is [3,82,300], config.json asks for [3,300,82]"},
        {0,
         {"model.layers.7.mlp.experts.gate_up_proj", "I32", 3, {N_EXPERT, DIM, 2 * FF}, NULL},
         "tensor 'model.layers.7.mlp.experts.gate_up_proj' has type I32, weights are F32, F16 or BF16"},
        {1,
         {"model.layers.7.mlp.experts.gate_up_proj_bias", "BF16", 2, {N_EXPERT, FF}, NULL},
         "tensor 'model.layers.7.mlp.experts.gate_up_proj_bias' is [3,41], config.json asks for [3,82]"},
        {3,
         {"model.layers.7.mlp.experts.other", "BF16", 1, {1}, NULL},
         "tensor 'model.layers.7.mlp.experts.down_proj_bias' is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture_tensor changed[N_TENSOR];
        struct stacked s;
        memcpy(changed, tensors, sizeof changed);
        changed[cases[i].i_tensor] = cases[i].changed;
        stacked_open(&s, changed, N_TENSOR);
        cr_assert_eq(stack_bind(&s.bind, s.experts, &mixture, 7, "mlp.experts", &s.why), EX_DATAERR);
        cr_assert_str_eq(s.why.text, cases[i].sentence);
        stacked_close(&s);
    }
}
