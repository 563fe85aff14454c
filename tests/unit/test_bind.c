/* src/model/bind.c: what is claimed, widened, and refused. */
#include "config.h"

#include "src/model/bind.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sysexits.h>

#include "tests/model/fixture.h"

struct weights {
    struct lk_mat mat;
    const float *a, *b, *c, *none;
};

static const float values[] = {1, -2.5f, 1e-30f};
static const uint16_t halves[] = {0x3c00, 0xc100, 0x0001}, brains[] = {0x3f80, 0xc020, 0x0001};

static const struct fixture_tensor tensors[] = {
    {"x.0.mat", "BF16", 2, {2, 3}, "abcdefghijkl"},
    {"x.0.a", "F32", 1, {3}, values},
    {"x.0.b", "F16", 1, {3}, halves},
    {"x.0.c", "BF16", 1, {3}, brains},
    {"x.0.rotary_emb.inv_freq", "F32", 1, {4}, NULL},
    {"int", "I32", 1, {3}, NULL},
    {"extra.1", "F32", 1, {3}, NULL},
    {"extra.2", "F32", 1, {3}, NULL},
};

enum { N_TENSOR = sizeof tensors / sizeof *tensors };

struct case_of {
    char dir[SUPPORT_PATH];
    struct checkpoint *checkpoint;
    struct arena arena;
    struct bind bind;
    struct why why;
};

static void set_up(struct case_of *c, size_t n_tensor)
{
    *c = (struct case_of){.arena = ARENA_NULL};
    support_dir_make(c->dir);
    support_write(c->dir, "config.json", "{}", 2);
    fixture_safetensors(c->dir, tensors, n_tensor);
    cr_assert_eq(checkpoint_open(&c->checkpoint, c->dir, &c->why), 0, "%s", c->why.text);
    cr_assert_eq(bind_init(&c->bind, c->checkpoint, &c->arena), 0);
}

static void tear_down(struct case_of *c)
{
    checkpoint_free(c->checkpoint);
    arena_deinit(&c->arena);
    support_dir_remove(c->dir);
}

static const struct bind_row rows[] = {
    {"mat", BIND_MATRIX(struct weights, mat), {2, 3}, false},
    {"a", BIND_VECTOR(struct weights, a), {3}, false},
    {"b", BIND_VECTOR(struct weights, b), {3}, false},
    {"c", BIND_VECTOR(struct weights, c), {3}, false},
    {"not.there", BIND_VECTOR(struct weights, none), {3}, true},
};

enum { N_ROW = sizeof rows / sizeof *rows };

Test(bind, matrices_in_place_vectors_widened)
{
    struct case_of c;
    set_up(&c, 5);
    struct weights w = {0};
    cr_assert_eq(bind_rows(&c.bind, &w, rows, N_ROW, &c.why, "x.%d.", 0), 0, "%s", c.why.text);
    cr_assert_eq(bind_finish(&c.bind, &c.why), 0, "%s", c.why.text);
    cr_assert(c.bind.n_param == 15 && c.bind.n_byte == 12 + 12 + 6 + 6 && c.bind.placed_bytes == 3 * 64 &&
              c.bind.copied_bytes == 0);
    cr_assert(c.bind.type_bytes[LK_BF16] == 18 && c.bind.type_bytes[LK_F16] == 6 &&
              c.bind.type_bytes[LK_F32] == 12);

    struct lk_backend *be = NULL;
    struct lk_options options = {.n_thread = 1, .max_row = 1};
    char reason[256];
    void *vectors = NULL;
    cr_assert_eq(lk_open("cpu", &options, &be, reason), 0);
    cr_assert_eq(be->ops->alloc(be, c.bind.placed_bytes, &vectors), 0);
    cr_assert_eq(bind_place(&c.bind, be, vectors, NULL, NULL, &c.why), 0);
    const struct tensor *mat = checkpoint_find(c.checkpoint, "x.0.mat");
    cr_assert(w.mat.data == mat->data && w.mat.type == LK_BF16 && w.mat.n_out == 2 && w.mat.n_in == 3);
    cr_assert(!memcmp(w.mat.data, "abcdefghijkl", 12));
    cr_assert(!memcmp(w.a, values, sizeof values));
    const float wide_halves[] = {1, -2.5f, 0x1p-24f}, wide_brains[] = {1, -2.5f, 0x1p-133f};
    cr_assert(!memcmp(w.b, wide_halves, sizeof wide_halves));
    cr_assert(!memcmp(w.c, wide_brains, sizeof wide_brains));
    cr_assert_null(w.none);
    be->ops->free(be, vectors, c.bind.placed_bytes);
    be->ops->close(be);
    tear_down(&c);
}

Test(bind, long_vector)
{
    enum { N = 3000 };
    static uint16_t data[N];
    for (int i = 0; i < N; i++)
        data[i] = (uint16_t)(0x3c00 + i % 1024);
    struct case_of c = {.arena = ARENA_NULL};
    support_dir_make(c.dir);
    support_write(c.dir, "config.json", "{}", 2);
    fixture_safetensors(c.dir, &(struct fixture_tensor){"v", "F16", 1, {N}, data}, 1);
    cr_assert_eq(checkpoint_open(&c.checkpoint, c.dir, &c.why), 0, "%s", c.why.text);
    cr_assert_eq(bind_init(&c.bind, c.checkpoint, &c.arena), 0);
    struct weights w = {0};
    const struct bind_row row = {"v", BIND_VECTOR(struct weights, a), {N}, false};
    cr_assert_eq(bind_rows(&c.bind, &w, &row, 1, &c.why, "%s", ""), 0);
    struct lk_backend *be = NULL;
    struct lk_options options = {.n_thread = 1, .max_row = 1};
    char reason[256];
    void *vectors = NULL;
    cr_assert_eq(lk_open("cpu", &options, &be, reason), 0);
    cr_assert_eq(be->ops->alloc(be, c.bind.placed_bytes, &vectors), 0);
    cr_assert_eq(bind_place(&c.bind, be, vectors, NULL, NULL, &c.why), 0);
    for (int i = 0; i < N; i++)
        cr_assert_eq(w.a[i], 1 + (float)(i % 1024) / 1024, "%d", i);
    be->ops->free(be, vectors, c.bind.placed_bytes);
    be->ops->close(be);
    tear_down(&c);
}

Test(bind, refused_rows)
{
    static const struct {
        struct bind_row row;
        const char *sentence;
    } cases[] = {
        {{"x.0.gone", BIND_VECTOR(struct weights, a), {3}, false}, "tensor 'x.0.gone' is missing"},
        {{"x.0.a", BIND_VECTOR(struct weights, a), {4}, false},
         "tensor 'x.0.a' is [3], config.json asks for [4]"},
        {{"x.0.a", BIND_MATRIX(struct weights, mat), {3, 1}, false},
         "tensor 'x.0.a' is [3], config.json asks for [3,1]"},
        {{"x.0.mat", BIND_MATRIX(struct weights, mat), {3, 2}, false},
         "tensor 'x.0.mat' is [2,3], config.json asks for [3,2]"},
        {{"x.0.mat", BIND_VECTOR(struct weights, a), {2}, false},
         "tensor 'x.0.mat' is [2,3], config.json asks for [2]"},
        {{"int", BIND_VECTOR(struct weights, a), {3}, false},
         "tensor 'int' has type I32, weights are F32, F16 or BF16"},
    };
    struct case_of c;
    set_up(&c, N_TENSOR);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weights w;
        cr_assert_eq(bind_rows(&c.bind, &w, &cases[i].row, 1, &c.why, "%s", ""), EX_DATAERR);
        cr_assert_str_eq(c.why.text, cases[i].sentence);
    }
    tear_down(&c);
}

Test(bind, nothing_is_left_over)
{
    struct case_of c;
    struct weights w;
    set_up(&c, N_TENSOR);
    cr_assert_eq(bind_rows(&c.bind, &w, rows, N_ROW, &c.why, "x.0."), 0);
    cr_assert_eq(bind_finish(&c.bind, &c.why), EX_DATAERR);
    cr_assert_str_eq(
        c.why.text, "tensor 'extra.1' has no place in the model that config.json describes, nor have 2 more");
    bind_ignore(&c.bind, "extra.1");
    bind_ignore(&c.bind, "int");
    bind_ignore(&c.bind, "nowhere");
    cr_assert_eq(bind_finish(&c.bind, &c.why), EX_DATAERR);
    cr_assert_str_eq(c.why.text, "tensor 'extra.2' has no place in the model that config.json describes");
    bind_ignore(&c.bind, "extra.2");
    cr_assert_eq(bind_finish(&c.bind, &c.why), 0);
    tear_down(&c);
}
