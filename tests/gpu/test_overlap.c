/* A chain of kernels, each allowed to start before its predecessor has ended (PDL). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/kv.h"
#include "kernels/quant.h"
#include "tests/gpu/rig_cuda.h"

enum { DIM = 64, ROWS = 2, MAX_STEP = 32, MAX_PART = 64, PART = 16384, MAX_ARGUMENT = 13 };

struct step {
    const char *kernel;
    struct context_launch launch;
    uint64_t arguments[MAX_ARGUMENT]; /* a parameter shorter than 8 bytes is the low part of its value */
};

/* Operands and results, each a part of one allocation: first what is given, then what the steps write. */
struct chain {
    CUdeviceptr memory;
    int n_part, first_result;
    struct step steps[MAX_STEP];
    int n_step;
};

static CUdeviceptr result(struct chain *c)
{
    return c->memory + (CUdeviceptr)(c->n_part++ * PART);
}

static CUdeviceptr given(struct chain *c, const void *src, size_t n)
{
    char why[DRIVER_WHY];
    CUdeviceptr p = result(c);
    if (context_upload(rig_context(), p, src, n, why))
        check_wrong("%s", why);
    return p;
}

/* The next step, on blocks[2] of so many threads. */
#define STEP(c, name, n_x, n_y, n_thread, ...) \
    add(c, &(struct step){name, {.grid = {n_x, n_y}, .block = {n_thread}}, {__VA_ARGS__}})

static struct context_launch *add(struct chain *c, const struct step *step)
{
    c->steps[c->n_step] = *step;
    return &c->steps[c->n_step++].launch;
}

static uint64_t bits(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

/* The weights, in every type, and what attention wants to know. */
struct operands {
    CUdeviceptr w, f16, bf16, values, scales, gain, bias, cos_sin, slot, pages, length;
};

static void give(struct chain *c, struct check_rng *rng, struct operands *ret)
{
    enum { N = DIM * DIM };
    static const int slot[ROWS] = {3, LK_KV_PAGE + 6}, pages[ROWS] = {0, 1}, length[ROWS] = {4, 7};
    float *w = rig_floats(rng, N, CHECK_PLAIN), *angles = rig_floats(rng, ROWS * DIM, CHECK_PLAIN);
    uint16_t *narrow = check_allocate(N, sizeof *narrow),
             *scales = check_allocate(N / QUANT_BLOCK, sizeof *scales);
    uint8_t *values = check_allocate(N, 1);
    for (int i = 0; i < N / QUANT_BLOCK; i++)
        scales[i] = 0x2400; /* 2^-6 */
    for (int i = 0; i < N; i++)
        values[i] = (uint8_t)check_u64(rng);
    ret->w = given(c, w, N * sizeof *w);
    check_store(narrow, LK_F16, w, N, NULL);
    ret->f16 = given(c, narrow, N * sizeof *narrow);
    check_store(narrow, LK_BF16, w, N, NULL);
    ret->bf16 = given(c, narrow, N * sizeof *narrow);
    ret->values = given(c, values, N);
    ret->scales = given(c, scales, N / QUANT_BLOCK * sizeof *scales);
    ret->gain = given(c, w, DIM * sizeof *w);
    ret->bias = given(c, w + DIM, DIM * sizeof *w);
    ret->cos_sin = given(c, angles, ROWS * DIM * sizeof *angles);
    ret->slot = given(c, slot, sizeof slot);
    ret->pages = given(c, pages, sizeof pages);
    ret->length = given(c, length, sizeof length);
    free(w), free(angles), free(narrow), free(scales), free(values);
}

static CUdeviceptr quantized(struct chain *c, const char *name, CUdeviceptr w, CUdeviceptr scales,
                             CUdeviceptr x)
{
    CUdeviceptr q = result(c), x_scale = result(c), y = result(c);
    STEP(c, "quantize_rows", 2, 1, 64, q, x_scale, x, ROWS * DIM);
    STEP(c, name, DIM / 4, ROWS, 128, y, w, scales, q, x_scale, DIM, DIM);
    return y;
}

static CUdeviceptr on_tensor_cores(struct chain *c, const char *narrow, const char *name, CUdeviceptr w,
                                   CUdeviceptr x)
{
    CUdeviceptr q = result(c), y = result(c);
    STEP(c, narrow, 2, 1, 64, q, x, ROWS * DIM);
    STEP(c, name, 1, 1, 128, y, w, q, ROWS, DIM, DIM)->shared_bytes = 4 * 4608;
    return y;
}

/* Queries are x, in place. */
static CUdeviceptr attention(struct chain *c, const char *rope, const char *split, const struct operands *o,
                             CUdeviceptr x, CUdeviceptr k, CUdeviceptr v)
{
    CUdeviceptr k_pool = result(c), v_pool = result(c), part = result(c), y = result(c);
    STEP(c, rope, 3, ROWS, 32, x, k, v, k_pool, v_pool, o->cos_sin, o->slot, 1, 1, DIM, DIM / 2, 0);
    struct context_launch *launch = STEP(c, split, 1, 1, DIM, part, k_pool, v_pool, x, o->pages, o->length, 1,
                                         1, 1, DIM, 0, bits(0.125f), 0);
    launch->grid[2] = ROWS;
    launch->shared_bytes = 4 * (8 * DIM + 32 * (DIM + 1) + 8 * 32 + 8 * 3);
    STEP(c, "attend_join", 1, ROWS, DIM, y, part, 1, DIM);
    return y;
}

/* Every kernel at least once behind one whose results it reads. */
static void build(struct chain *c, const struct operands *o, CUdeviceptr x)
{
    const uint64_t n4 = ROWS * DIM / 4;
    CUdeviceptr a = result(c), b = result(c), d = result(c), e = result(c), f = result(c), g = result(c),
                h = result(c);
    CUdeviceptr best = result(c), value = result(c), token = result(c);
    x = quantized(c, "matvec_q8_0", o->values, o->scales, x);
    x = quantized(c, "matvec_q4_0", o->values, o->scales, x);
    x = on_tensor_cores(c, "narrow_f16", "gemm_f16", o->f16, x);
    x = on_tensor_cores(c, "narrow_bf16", "gemm_bf16", o->bf16, x);
    STEP(c, "layernorm", ROWS, 1, 64, b, x, o->gain, o->bias, DIM, bits(1e-5f));
    STEP(c, "matvec_f32", DIM / 4, ROWS, 128, d, o->w, b, DIM, DIM);
    STEP(c, "silu_mul", 1, 1, 32, d, d, b, n4);
    STEP(c, "gelu_mul", 1, 1, 32, d, d, b, n4);
    STEP(c, "gelu_tanh_mul", 1, 1, 32, d, d, b, n4);
    STEP(c, "add", 1, 1, 32, d, b, n4);
    STEP(c, "matvec_f16", DIM / 4, ROWS, 128, e, o->f16, d, DIM, DIM);
    STEP(c, "matvec_bf16", DIM / 4, ROWS, 128, f, o->bf16, e, DIM, DIM);
    x = attention(c, "rope_kv_f16", "attend_split_f16", o, f, e, d);
    STEP(c, "rmsnorm", ROWS, 1, 32, a, x, o->gain, DIM, bits(1e-5f));
    x = attention(c, "rope_kv_bf16", "attend_split_bf16", o, a, e, d);
    STEP(c, "argmax", 2, 1, 32, best, x, DIM);
    STEP(c, "matvec_f32", DIM / 4, ROWS, 128, h, o->w, x, DIM, DIM);
    STEP(c, "topk", 1, 1, 256, value, token, h, DIM, ROWS);
    STEP(c, "embed_f32", ROWS, 1, 32, g, o->w, token, DIM);
}

static void queue(const struct chain *c, bool overlap)
{
    for (int i = 0; i < c->n_step; i++) {
        struct step s = c->steps[i];
        void *arguments[MAX_ARGUMENT];
        for (int k = 0; k < MAX_ARGUMENT; k++)
            arguments[k] = &s.arguments[k];
        s.launch.overlap = overlap;
        rig_run(s.kernel, &s.launch, arguments);
    }
}

/* The chain as a graph, run and waited for. */
static bool run_graph(const struct chain *c)
{
    struct context *at = rig_context();
    const struct driver *d = &at->driver;
    char why[DRIVER_WHY];
    CUgraph graph;
    CUgraphExec exec;
    CUresult r = d->cuStreamBeginCapture_v2(at->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (r == 0) {
        queue(c, true);
        r = d->cuStreamEndCapture(at->stream, &graph);
    }
    if (r == 0) {
        r = d->cuGraphInstantiateWithFlags(&exec, graph, 0);
        d->cuGraphDestroy(graph);
    }
    if (r)
        return check_wrong("the chain does not become a graph: %s", driver_error(d, r));
    r = d->cuGraphLaunch(exec, at->stream);
    const bool ok = r == 0 && context_wait(at, why) == 0;
    d->cuGraphExecDestroy(exec);
    return ok || check_wrong("the graph does not run: %s", r ? driver_error(d, r) : why);
}

/* All results, of a run that began with zeros there: what is read too early is zero. */
static unsigned char *run(const struct chain *c, bool overlap, bool as_graph)
{
    const size_t n = (size_t)(c->n_part - c->first_result) * PART;
    const CUdeviceptr results = c->memory + (CUdeviceptr)(c->first_result * PART);
    char why[DRIVER_WHY];
    if (context_fill(rig_context(), results, 0, n, why) || context_wait(rig_context(), why))
        check_wrong("%s", why);
    if (as_graph)
        run_graph(c);
    else
        queue(c, overlap);
    return rig_get(results, n);
}

static bool overlap_case(bool as_graph)
{
    struct check_rng rng = check_rng_for(11);
    struct chain c = {.memory = rig_new((size_t)MAX_PART * PART)};
    struct operands o;
    float *x = rig_floats(&rng, ROWS * DIM, CHECK_PLAIN);
    give(&c, &rng, &o);
    CUdeviceptr dx = given(&c, x, ROWS * DIM * sizeof *x);
    c.first_result = c.n_part;
    build(&c, &o, dx);
    const size_t n = (size_t)(c.n_part - c.first_result) * PART;
    unsigned char *want = run(&c, false, false), *got = run(&c, true, as_graph);
    size_t i = 0;
    while (i < n && want[i] == got[i])
        i++;
    const bool ok = i == n || check_wrong("result %zu differs at byte %zu", i / PART, i % PART);
    free(x), free(want), free(got);
    rig_end();
    return ok;
}

void test_overlap(void)
{
    check_point(overlap_case(false), "kernels that overlap their predecessors");
    check_point(overlap_case(true), "a graph of such kernels");
}
