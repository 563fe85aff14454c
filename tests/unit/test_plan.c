/* src/model/plan.c: the context that fits, and the sentences when none does. */
#include "config.h"

#include "src/model/plan.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sysexits.h>

#include "src/model/model.h"

/* A MiB a page of either kind. */
static size_t kv_bytes(const struct lk_kv_shape *shape)
{
    return (size_t)(shape->n_page + shape->n_window_page) << 20;
}

static const uint64_t MiB = 1 << 20;

static struct plan_ask ask_of(const struct arch_shape *shape, int32_t n_ctx, uint64_t left_mib)
{
    return (struct plan_ask){
        .shape = shape,
        .kv_bytes = kv_bytes,
        .n_ctx = n_ctx,
        .available_bytes = (100 + left_mib) * MiB,
        .weight_bytes = 90 * MiB,
        .scratch_bytes = 10 * MiB,
        .max_row = 512,
    };
}

Test(plan, chosen)
{
    static const struct {
        int32_t model_ctx;
        uint64_t left_mib;
        int32_t n_ctx, n_page;
    } cases[] = {
        {2048, 1000, 2048, 32},      /* the model's own */
        {131072, 10000, 16384, 256}, /* at most the default */
        {131072, 512, 16384, 256},   /* exactly half */
        {131072, 511, 16320, 255},   /* one page less */
        {131072, 20, 640, 10},
        {131072, 2, 64, 1},
        {100, 4, 100, 2},
        {100, 3, 64, 1},
        {32, 2, 32, 1}, /* shorter than a page */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arch_shape shape = {.n_layer = 1, .n_kv_head = 1, .head_dim = 2, .n_ctx = cases[i].model_ctx};
        struct plan_ask ask = ask_of(&shape, 0, cases[i].left_mib);
        struct plan plan;
        struct why why = {""};
        cr_assert_eq(plan_make(&ask, &plan, &why), 0, "%zu: %s", i, why.text);
        cr_assert(plan.n_ctx == cases[i].n_ctx && plan.kv.n_page == cases[i].n_page, "%zu: %d, %d", i,
                  plan.n_ctx, plan.kv.n_page);
        cr_assert_eq(plan.kv_bytes, (uint64_t)plan.kv.n_page * MiB);
    }
}

Test(plan, asked_for)
{
    struct arch_shape shape = {.n_layer = 1, .n_kv_head = 1, .head_dim = 2, .n_ctx = 131072};
    struct plan_ask ask = ask_of(&shape, 65, 2); /* all that is left, not half */
    struct plan plan;
    struct why why = {""};
    cr_assert_eq(plan_make(&ask, &plan, &why), 0, "%s", why.text);
    cr_assert(plan.n_ctx == 65 && plan.kv.n_page == 2);
}

/* Window pages for the widest window and a step, at most as many as there are pages. */
Test(plan, windows)
{
    static const int32_t window[] = {0, 1000, 512};
    static const struct {
        int32_t n_ctx, n_window_page;
    } cases[] = {{64, 1}, {1280, 20}, {1536, 24}, {1600, 24}, {16384, 24}};
    struct arch_shape shape = {
        .n_layer = 3, .n_kv_head = 1, .head_dim = 2, .n_ctx = 131072, .window = window};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_ask ask = ask_of(&shape, cases[i].n_ctx, 1000);
        struct plan plan;
        struct why why = {""};
        cr_assert_eq(plan_make(&ask, &plan, &why), 0, "%s", why.text);
        cr_assert(plan.kv.n_page == cases[i].n_ctx / 64 && plan.kv.window == window);
        cr_assert_eq(plan.kv.n_window_page, cases[i].n_window_page, "%d", cases[i].n_ctx);
    }
}

Test(plan, refusals)
{
    static const struct {
        int32_t n_ctx;
        uint64_t left_mib;
        const char *sentence;
    } cases[] = {
        {4097, 1000, "a context of 4097 was asked for, the model's own is 4096"},
        {4096, 63, "keys and values of 4096 positions need 64.0 MiB, weights and scratch leave 63.0 MiB"},
        {0, 1,
         "keys and values of 64 positions need 1.0 MiB, half of what weights and scratch leave is 0.5 MiB"},
        {0, (uint64_t)-50, "weights need 90.0 MiB and scratch 10.0 MiB, available are 50.0 MiB"},
    };
    struct arch_shape shape = {.n_layer = 1, .n_kv_head = 1, .head_dim = 2, .n_ctx = 4096};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_ask ask = ask_of(&shape, cases[i].n_ctx, cases[i].left_mib);
        struct plan plan;
        struct why why = {""};
        cr_assert_eq(plan_make(&ask, &plan, &why), EX_CONFIG);
        cr_assert_str_eq(why.text, cases[i].sentence);
    }
}
