/* lorchd --check: see check.h. */
#include "config.h"
#include "src/lorchd/check.h"

#include <stdio.h>

#include "src/engine/served.h"

/* All in one unit, so that they can be compared and added. */
static void print_mib(const char *what, uint64_t n)
{
    printf("  %-12s %10.1f MiB\n", what, (double)n / (1 << 20));
}

/* Of the weights, the most frequent first. */
static void print_types(const struct model_info *info)
{
    bool is_told[LK_N_DTYPE] = {false};
    printf("types          ");
    for (int n = 0; n < LK_N_DTYPE; n++) {
        int most = -1;
        for (int i = 0; i < LK_N_DTYPE; i++)
            if (!is_told[i] && info->type_bytes[i] > 0 &&
                (most < 0 || info->type_bytes[i] > info->type_bytes[most]))
                most = i;
        if (most < 0)
            break;
        is_told[most] = true;
        printf("%s%s %llu bytes", n ? ", " : "", lk_dtype_name((enum lk_dtype)most),
               (unsigned long long)info->type_bytes[most]);
    }
    putchar('\n');
}

static void print_found(const struct served *served, const char *model_id)
{
    const struct model_info *info = served->info;
    printf("model          %s\n", model_id);
    printf(
        "architecture   %s: %d layers, %d heads (%d for keys and values) of %d, width %d, inner width %d\n",
        info->arch, info->n_layer, info->n_head, info->n_kv_head, info->head_dim, info->dim, info->ff_dim);
    if (info->n_expert)
        printf("experts        %d, of which a token takes %d, inner width %d, in %d of %d layers\n",
               info->n_expert, info->n_expert_chosen, info->expert_dim, info->n_expert_layer, info->n_layer);
    if (info->n_window_layer)
        printf("window         %d tokens, in %d of %d layers\n", info->window, info->n_window_layer,
               info->n_layer);
    printf("parameters     %llu\n", (unsigned long long)info->n_param);
    print_types(info);
    printf("vocabulary     %d ids\n", info->n_vocab);
    printf("tokenizer      ");
    if (served->tokenizer)
        printf("%d ids, pieces of up to %zu bytes\n", tokenizer_n_vocab(served->tokenizer),
               served->max_piece);
    else
        printf("none: served by ids\n");
    printf("template       %s%s\n",
           served->chat ? "for conversations" : "none: ", served->chat ? "" : served->no_chat.text);
    printf("context        %d of %d tokens\n", info->n_ctx, info->n_ctx_train);
    printf("device         %s, kernels: %s, threads: %d\n", info->device, info->level, info->n_thread);
    printf("memory\n");
    print_mib("weights", info->weight_bytes);
    if (info->copied_bytes)
        print_mib(" copied", info->copied_bytes);
    print_mib("KV pool", info->kv_bytes);
    print_mib("scratch", info->scratch_bytes);
    print_mib("together", info->weight_bytes + info->kv_bytes + info->scratch_bytes);
    print_mib("available", info->available_bytes);
}

int check_model(const struct model_options *options, const char *model_id, struct why *why)
{
    struct served served = SERVED_NULL;
    int r = served_check(&served, options, why);
    if (r == 0)
        print_found(&served, model_id);
    served_deinit(&served);
    return r;
}
