/* Memory by purpose, and the context length that fits: see plan.h. */
#include "config.h"

#include "src/model/plan.h"

#include <assert.h>
#include <sysexits.h>

#include "src/model/model.h"

/* Window pages of one sequence that has n_page pages. */
static int32_t window_pages(const struct plan_ask *ask, int32_t n_page)
{
    const struct arch_shape *shape = ask->shape;
    int32_t widest = 0;
    for (int32_t i = 0; shape->window && i < shape->n_layer; i++)
        widest = shape->window[i] > widest ? shape->window[i] : widest;
    if (widest == 0)
        return 0;
    int32_t in_turn = lk_kv_window_pages(widest, ask->max_row);
    return in_turn < n_page ? in_turn : n_page;
}

static struct plan plan_of(const struct plan_ask *ask, int32_t n_ctx)
{
    struct plan plan = {
        .n_ctx = n_ctx,
        .kv = {.n_layer = ask->shape->n_layer,
               .n_kv_head = ask->shape->n_kv_head,
               .head_dim = ask->shape->head_dim,
               .n_page = (n_ctx - 1) / LK_KV_PAGE + 1,
               .window = ask->shape->window},
    };
    plan.kv.n_window_page = window_pages(ask, plan.kv.n_page);
    plan.kv_bytes = ask->kv_bytes(&plan.kv);
    return plan;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* The longest of at most n_page full pages whose bytes fit; n_ctx 0: none. */
static struct plan longest(const struct plan_ask *ask, int32_t n_page, uint64_t room)
{
    int32_t fits = 0, too_many = n_page + 1;
    while (too_many - fits > 1) {
        int32_t middle = fits + (too_many - fits) / 2;
        if (plan_of(ask, middle * LK_KV_PAGE).kv_bytes <= room)
            fits = middle;
        else
            too_many = middle;
    }
    return fits ? plan_of(ask, fits * LK_KV_PAGE) : (struct plan){0};
}

static int choose(const struct plan_ask *ask, uint64_t left, struct plan *ret_plan, struct why *why)
{
    int32_t n_ctx = ask->shape->n_ctx < MODEL_DEFAULT_CONTEXT ? ask->shape->n_ctx : MODEL_DEFAULT_CONTEXT;
    *ret_plan = plan_of(ask, n_ctx);
    if (ret_plan->kv_bytes <= left / 2)
        return 0;
    *ret_plan = longest(ask, (n_ctx - 1) / LK_KV_PAGE, left / 2);
    if (ret_plan->n_ctx)
        return 0;
    int32_t least = n_ctx < LK_KV_PAGE ? n_ctx : LK_KV_PAGE;
    return why_set(
        why, EX_CONFIG,
        "keys and values of %d positions need %.1f MiB, half of what weights and scratch leave is %.1f MiB",
        least, mib(plan_of(ask, least).kv_bytes), mib(left / 2));
}

int plan_make(const struct plan_ask *ask, struct plan *ret_plan, struct why *why)
{
    assert(ask->n_ctx >= 0);
    if (ask->n_ctx > ask->shape->n_ctx)
        return why_set(why, EX_CONFIG, "a context of %d was asked for, the model's own is %d", ask->n_ctx,
                       ask->shape->n_ctx);
    uint64_t fixed = ask->weight_bytes + ask->scratch_bytes;
    if (fixed > ask->available_bytes)
        return why_set(why, EX_CONFIG, "weights need %.1f MiB and scratch %.1f MiB, available are %.1f MiB",
                       mib(ask->weight_bytes), mib(ask->scratch_bytes), mib(ask->available_bytes));
    uint64_t left = ask->available_bytes - fixed;
    if (ask->n_ctx == 0)
        return choose(ask, left, ret_plan, why);
    *ret_plan = plan_of(ask, ask->n_ctx);
    if (ret_plan->kv_bytes > left)
        return why_set(why, EX_CONFIG,
                       "keys and values of %d positions need %.1f MiB, weights and scratch leave %.1f MiB",
                       ask->n_ctx, mib(ret_plan->kv_bytes), mib(left));
    return 0;
}
