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
