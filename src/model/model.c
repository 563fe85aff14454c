/* A loaded model: opening, and one step. See model.h. */
#include "config.h"

#include "src/model/model.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/arena.h"
#include "src/model/arch.h"
#include "src/model/bind.h"
#include "src/model/fingerprint.h"
#include "src/model/generation.h"
#include "src/model/memory.h"
#include "src/model/plan.h"
#include "src/model/tracefile.h"
#include "src/model/verify.h"
#include "src/weights/checkpoint.h"

/* Memory of the back end. */
struct block {
    void *data;
    size_t n_byte;
};

struct model {
    struct arena arena;
    struct checkpoint *checkpoint;
    struct lk_backend *be;
    const struct arch *arch;
    struct arch_shape shape;
    void *self; /* the architecture's */
    struct bind bind;
    struct plan plan;
    struct model_info info;
    struct block placed; /* see bind_place */
    struct block scratch, logits;
    float *host_logits; /* [n_logit_row][n_vocab] */
    int32_t n_logit_row;
    struct tracefile *trace; /* NULL: none */
};

static void describe(struct model *m)
{
    struct model_info *info = &m->info;
    int type = 0;
    for (int i = 1; i < LK_N_DTYPE; i++)
        if (m->bind.type_bytes[i] > m->bind.type_bytes[type])
            type = i;
    info->path = checkpoint_path(m->checkpoint);
    info->arch = m->arch->name;
    info->type = lk_dtype_name((enum lk_dtype)type);
    memcpy(info->type_bytes, m->bind.type_bytes, sizeof info->type_bytes);
    info->n_layer = m->shape.n_layer;
    info->n_head = m->shape.n_head;
    info->n_kv_head = m->shape.n_kv_head;
    info->head_dim = m->shape.head_dim;
    info->dim = m->shape.dim;
    info->ff_dim = m->shape.ff_dim;
    info->n_vocab = m->shape.n_vocab;
    info->n_ctx_train = m->shape.n_ctx;
    info->n_expert = m->shape.experts.n;
    info->n_expert_chosen = m->shape.experts.n_chosen;
    info->expert_dim = m->shape.experts.ff_dim;
    info->n_expert_layer = m->shape.experts.n_layer;
    for (int32_t i = 0; m->shape.window && i < m->shape.n_layer; i++)
        if (m->shape.window[i] > 0) {
            info->window = m->shape.window[i];
            info->n_window_layer++;
        }
    info->n_param = m->bind.n_param;
    info->weight_bytes = m->bind.n_byte;
    info->fingerprint = fingerprint_of(m->checkpoint);
}

/* What model_open and model_check share: files, architecture, names and shapes of all weights. */
static int read_files(struct model *m, const struct model_options *options, struct why *why)
{
    int r = checkpoint_open(&m->checkpoint, options->path, why);
    if (r)
        return r;
    const struct json *config = checkpoint_config(m->checkpoint);
    r = arch_find(config, &m->arch, why);
    r = r ? r : m->arch->read_config(config, &m->arena, &m->shape, &m->self, why);
    if (r)
        return r > 0 ? why_prefix(why, r, "config.json") : r;
    struct model_info *info = &m->info;
    const struct json *generation = checkpoint_generation_config(m->checkpoint);
    r = generation_ends(config, generation, m->shape.n_vocab, info->end, &info->n_end, why);
    r = r ? r : generation_defaults(generation, m->shape.n_vocab, &info->defaults, why);
    r = r ? r : bind_init(&m->bind, m->checkpoint, &m->arena);
    r = r ? r : m->arch->bind(m->self, &m->bind, why);
    r = r ? r : bind_finish(&m->bind, why);
    if (r)
        return r;
    describe(m);
    return 0;
}

static int open_backend(struct model *m, const struct model_options *options, struct why *why)
{
    struct lk_options lk = {
        .n_thread = options->n_thread, .max_row = options->max_row, .level = options->level};
    char reason[256] = "";
    int r = lk_open(options->device, &lk, &m->be, reason);
    if (r == LK_E_NO_DEVICE || r == LK_E_NO_MEMORY)
        return why_set(why, EX_CONFIG, "%s", reason);
    return r;
}

/* The context length, and where memory goes. */
static int make_plan(struct model *m, const struct model_options *options, struct why *why)
{
    struct model_info *info = &m->info;
    m->n_logit_row = options->max_row < MODEL_MAX_LOGIT_ROW ? options->max_row : MODEL_MAX_LOGIT_ROW;
    m->placed.n_byte = m->bind.placed_bytes;
    m->scratch.n_byte = m->arch->scratch_bytes(m->self, options->max_row);
    m->logits.n_byte = (size_t)m->n_logit_row * (size_t)info->n_vocab * sizeof(float);
    info->device = m->be->ops->name;
    info->level = m->be->level;
    info->n_thread = options->n_thread;
    info->max_row = options->max_row;
    info->available_bytes = memory_available("");
    info->copied_bytes = m->bind.copied_bytes; /* counted among the weights */
    info->scratch_bytes =
        m->placed.n_byte - info->copied_bytes + m->scratch.n_byte + 2 * (uint64_t)m->logits.n_byte;
    struct plan_ask ask = {
        .shape = &m->shape,
        .kv_bytes = m->be->ops->kv_bytes,
        .n_ctx = options->n_ctx,
        .available_bytes = info->available_bytes,
        .weight_bytes = info->weight_bytes,
        .scratch_bytes = info->scratch_bytes,
        .max_row = options->max_row,
    };
    int r = plan_make(&ask, &m->plan, why);
    info->n_ctx = m->plan.n_ctx;
    info->kv_bytes = m->plan.kv_bytes;
    return r;
}

static int prepare(struct model *m, const struct model_options *options, struct why *why)
{
    int r = read_files(m, options, why);
    r = r ? r : open_backend(m, options, why);
    return r ? r : make_plan(m, options, why);
}

/* A back end that cannot give what the plan found to be there. */
static int fold_memory(const struct model *m, int r, struct why *why)
{
    if (r == LK_E_NO_MEMORY)
        return why_set(why, EX_CONFIG, "%s", m->be->why);
    return r;
}

static int allocate(struct model *m, struct why *why)
{
    struct block *blocks[] = {&m->placed, &m->scratch, &m->logits};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        int r = m->be->ops->alloc(m->be, blocks[i]->n_byte, &blocks[i]->data);
        if (r)
            return fold_memory(m, r, why);
    }
    m->host_logits = malloc(m->logits.n_byte);
    if (!m->host_logits)
        return -ENOMEM;
    memset(m->host_logits, 0, m->logits.n_byte); /* committed now, not in the first step that needs it */
    return fold_memory(m, m->be->ops->kv_create(m->be, &m->plan.kv), why);
}

struct load_progress {
    model_progress_fn fn;
    void *ctx;
    bool is_stopped;
};

static bool report(struct load_progress *p, double fraction, const char *phase)
{
    if (p->fn && !p->is_stopped)
        p->is_stopped = !p->fn(p->ctx, fraction, phase);
    return !p->is_stopped;
}

static bool on_populate(void *ctx, double fraction)
{
    return report(ctx, fraction, "weights");
}

static bool on_place(void *ctx, double fraction)
{
    return report(ctx, fraction, "layout");
}

static bool on_verify(void *ctx, double fraction)
{
    return report(ctx, fraction, "verification");
}

/* One token, so that the first job finds caches, page tables and threads as the second will. No sequence
 * exists yet: page 0 is the warm-up's own, and nothing reads what it leaves there. */
static int warm_up(struct model *m)
{
    static const int32_t zero = 0;
    struct lk_span span = {.pages = &zero, .window_pages = &zero, .n_row = 1, .length = 1};
    struct model_batch batch = {
        .rows = {.token = &zero, .n_row = 1, .span = &span, .n_span = 1},
        .logit_rows = &zero,
        .n_logit = 1,
    };
    atomic_bool never = false;
    return model_forward(m, &batch, &never);
}

static int load(struct model *m, const struct model_options *options, struct load_progress *progress,
                struct why *why)
{
    int r = prepare(m, options, why);
    if (!r && report(progress, 0, "memory"))
        r = allocate(m, why);
    if (!r && report(progress, 0, "layout"))
        r = fold_memory(m, bind_place(&m->bind, m->be, m->placed.data, on_place, progress, why), why);
    r = r ? r : checkpoint_populate(m->checkpoint, on_populate, progress, why);
    if (!r && options->verify)
        r = verify_finite(m->checkpoint, on_verify, progress, why);
    if (!r && report(progress, 1, "warm-up"))
        r = warm_up(m);
    if (!r && progress->is_stopped)
        return why_set(why, EX_TEMPFAIL, "loading was stopped");
    if (!r && options->trace_dir) {
        r = tracefile_open(&m->trace, options->trace_dir, m->info.n_layer, why);
        model_trace(m, tracefile_add, m->trace);
    }
    return r;
}

static int finish(struct model *m, int r, struct model **ret_model)
{
    if (r)
        model_free(m);
    else
        *ret_model = m;
    return r;
}

int model_open(struct model **ret_model, const struct model_options *options, model_progress_fn progress,
               void *ctx, struct why *why)
{
    struct load_progress p = {.fn = progress, .ctx = ctx};
    struct model *m = calloc(1, sizeof *m);
    return m ? finish(m, load(m, options, &p, why), ret_model) : -ENOMEM;
}

int model_check(struct model **ret_model, const struct model_options *options, struct why *why)
{
    struct model *m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int r = prepare(m, options, why);
    if (!r && options->verify)
        r = verify_finite(m->checkpoint, NULL, NULL, why);
    return finish(m, r, ret_model);
}

struct model *model_free(struct model *model)
{
    if (!model)
        return NULL;
    struct block *blocks[] = {&model->placed, &model->scratch, &model->logits};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i]->data)
            model->be->ops->free(model->be, blocks[i]->data, blocks[i]->n_byte);
    if (model->be)
        model->be->ops->close(model->be);
    free(model->host_logits);
    tracefile_free(model->trace);
    checkpoint_free(model->checkpoint);
    arena_deinit(&model->arena);
    free(model);
    return NULL;
}

const struct model_info *model_info(const struct model *model)
{
    return &model->info;
}

int32_t model_n_page(const struct model *model)
{
    return model->plan.kv.n_page;
}

int32_t model_n_window_page(const struct model *model)
{
    return model->plan.kv.n_window_page;
}

static void assert_batch(const struct model *m, const struct model_batch *batch)
{
    const struct lk_batch *rows = &batch->rows;
    assert(rows->n_row > 0 && rows->n_row <= m->info.max_row);
    assert(batch->n_logit >= 0 && batch->n_logit <= m->n_logit_row && batch->n_logit <= rows->n_row);
    int32_t next = 0;
    for (const struct lk_span *span = rows->span; span < rows->span + rows->n_span; span++) {
        assert(span->row == next && span->n_row > 0 && span->pos >= 0 &&
               span->n_row <= m->info.n_ctx - span->pos && span->length >= span->pos + span->n_row);
        next += span->n_row;
        for (int32_t i = span->pos / LK_KV_PAGE; i <= (span->pos + span->n_row - 1) / LK_KV_PAGE; i++)
            assert(span->pages[i] >= 0 && span->pages[i] < m->plan.kv.n_page &&
                   (m->plan.kv.n_window_page == 0 ||
                    (span->window_pages[i] >= 0 && span->window_pages[i] < m->plan.kv.n_window_page)));
    }
    assert(next == rows->n_row);
    for (int32_t i = 0; i < rows->n_row; i++)
        assert(rows->token[i] >= 0 && rows->token[i] < m->info.n_vocab);
    for (int32_t i = 0; i < batch->n_logit; i++)
        assert(batch->logit_rows[i] >= 0 && batch->logit_rows[i] < rows->n_row);
}

int model_forward(struct model *model, const struct model_batch *batch, const atomic_bool *abort)
{
    assert_batch(model, batch);
    struct lk_backend *be = model->be;
    struct arch_step step = {
        .be = be, .batch = batch, .scratch = model->scratch.data, .logits = model->logits.data};
    int r = model->trace ? tracefile_begin(model->trace, &batch->rows) : 0;
    if (r)
        return r;
    be->ops->begin(be, &batch->rows);
    model->arch->forward(model->self, &step);
    r = be->ops->run(be, abort);
    if (model->trace) {
        int r_trace = tracefile_end(model->trace, r != 0);
        r = r ? r : r_trace;
    }
    if (!r && batch->n_logit > 0)
        be->ops->download(be, model->host_logits, step.logits,
                          (size_t)batch->n_logit * (size_t)model->info.n_vocab * sizeof(float));
    return r;
}

const float *model_logits(const struct model *model, int32_t i)
{
    assert(i >= 0 && i < model->n_logit_row);
    return model->host_logits + (size_t)i * (size_t)model->info.n_vocab;
}

void model_trace(struct model *model, lk_trace_fn fn, void *ctx)
{
    model->be->trace = fn;
    model->be->trace_ctx = ctx;
}
