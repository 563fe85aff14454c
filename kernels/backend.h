/* A back end: memory, and the operations that models are written in.
 *
 * Models call these these operations and nothing else. An operation called between `begin` and
 * `run` is recorded, not computed; `run` computes all that was recorded, in order, as if each had finished
 * before the next began. Pointers to activations, weights and KV pages are addresses in the back end's own
 * memory (on a CPU: ordinary memory) and are dereferenced by nobody above it; `upload` and `download` cross.
 *
 * Shapes are written [rows][columns], row-major and dense. Activations are float32. Recording never
 * allocates and never fails; every size was checked when the model was bound.
 *
 * One thread (the engine's) uses a back end at a time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/dtype.h"
#include "kernels/kv.h"

struct lk_backend;

/* What can go wrong: positive codes of this layer; negative values are -errno. */
enum {
    LK_E_ABORTED = 1,   /* run: the abort flag was set; KV lengths are the caller's and stay as they were */
    LK_E_NO_DEVICE = 2, /* open: this build or this machine lacks the device */
    LK_E_NO_MEMORY = 3, /* alloc: does not fit */
};

/* A weight matrix [n_out][n_in] in its stored type, in back end memory. */
struct lk_mat {
    const void *data;
    enum lk_dtype type;
    int32_t n_out, n_in;
};

/* Outputs [from, from + n) of a matrix. */
static inline struct lk_mat lk_mat_rows(const struct lk_mat *mat, int32_t from, int32_t n)
{
    size_t row_bytes = lk_dtype_bytes(mat->type, (size_t)mat->n_in);
    return (struct lk_mat){.data = (const char *)mat->data + (size_t)from * row_bytes,
                           .type = mat->type,
                           .n_out = n,
                           .n_in = mat->n_in};
}

/* Consecutive rows of one sequence within a batch. */
struct lk_span {
    const int32_t *pages; /* page numbers of the sequence, enough for pos + n_row positions (host memory) */
    const int32_t *window_pages; /* likewise for layers that lie in window pages (kernels/kv.h) */
    int32_t row, n_row;          /* batch rows [row, row + n_row) */
    int32_t pos;                 /* position of the first; each further row is one later */
    int32_t length;              /* positions that the sequence may reach, the same in all its steps */
};

/* One step: rows of one or many sequences, grouped by sequence. Host memory, kept by the caller until
 * `run` has returned. */
struct lk_batch {
    const int32_t *token; /* [n_row] */
    int32_t n_row;
    const struct lk_span *span; /* [n_span], in row order, without gaps */
    int32_t n_span;
};

/* Which two elements of a head RoPE turns together. */
enum lk_rope_layout {
    LK_ROPE_HALF,        /* i and i + n_rot/2: Hugging Face weights */
    LK_ROPE_INTERLEAVED, /* 2i and 2i + 1: original Llama and GGUF Llama weights */
};

/* Angles of rotary positions. Host memory, kept until `run`. */
struct lk_rope {
    const float *inv_freq;      /* [n_freq]: radians a position */
    const float *long_inv_freq; /* [n_freq]: instead of inv_freq, for rows of spans whose length is above
                                   short_ctx; NULL: none */
    int32_t n_freq, short_ctx;
    float scale; /* of cosines and sines */
};

enum lk_act {
    LK_ACT_SILU,
    LK_ACT_GELU,      /* by the error function */
    LK_ACT_GELU_TANH, /* its approximation by the hyperbolic tangent */
    /* gpt-oss: g sigmoid(1.702 g) with g cut at 7; its partner u is cut to [-7, 7] and 1 larger */
    LK_ACT_SWIGLU_CLAMPED,
};

/* Heads of one attention layer and its parameters. */
struct lk_attn {
    int32_t layer; /* which layer's part of the KV pages */
    int32_t n_head, n_kv_head, head_dim;
    int32_t n_rot; /* leading elements of a head that RoPE turns, even */
    enum lk_rope_layout layout;
    float scale;    /* of q.k, usually 1/sqrt(head_dim) */
    int32_t window; /* a row sees the last so many positions, its own included; 0: all */
    float soft_cap; /* scores s become soft_cap * tanh(s / soft_cap); 0: they stay */
    /* [n_head], NULL: none. ALiBi (Press et al. 2022): scale * b is added to the score of the key at position
     * p, where b is slope * p with both factors and the product rounded to bfloat16, as where models with
     * ALiBi were made. Host memory, kept until `run`. */
    const float *slopes;
    /* [n_head], NULL: none. The score of one more key, whose value is zero. Back end memory. */
    const float *sinks;
};

/* One of the feed-forward networks of a mixture. Any bias may be NULL. */
struct lk_expert {
    struct lk_mat gate, up;           /* [ff_dim][dim] */
    struct lk_mat down;               /* [dim][ff_dim] */
    const float *gate_bias, *up_bias; /* [ff_dim]; back end memory */
    const float *down_bias;           /* [dim] */
};

/* A mixture of feed-forward networks, of which each row uses a few: those with the greatest logits, of equal
 * ones the first. Their weights are the softmax of the logits over all experts, divided by the sum of the
 * chosen ones if is_normalized. */
struct lk_mixture {
    const struct lk_expert *experts; /* [n_expert], of one shape; host memory */
    int32_t n_expert, n_chosen;      /* n_chosen of a row, 1 to n_expert */
    int32_t dim, ff_dim;
    bool is_normalized;
    enum lk_act act;
};

/* Called by `trace` records: x[n_row][n] in host memory, valid during the call. layer -1: of none. */
typedef void (*lk_trace_fn)(void *ctx, const char *name, int32_t layer, const float *x, int32_t n_row,
                            int32_t n);

struct lk_ops {
    const char *name; /* "cpu" */

    void (*close)(struct lk_backend *be);

    /* Memory, 64-byte aligned, zeroed and committed (every page touched). 0, LK_E_NO_MEMORY, -errno. */
    int (*alloc)(struct lk_backend *be, size_t bytes, void **ret_mem);
    void (*free)(struct lk_backend *be, void *mem, size_t bytes);
    /* Makes a mapped host range usable as weights: itself on a CPU, a copy elsewhere. */
    int (*weights)(struct lk_backend *be, const void *host, size_t bytes, const void **ret_mem);
    void (*upload)(struct lk_backend *be, void *dst, const void *src, size_t bytes);
    void (*download)(struct lk_backend *be, void *dst, const void *src, size_t bytes);

    /* The KV pool of a model: bytes for a shape (SIZE_MAX if they cannot be counted), and its installation,
     * zeroed and committed, once in a back end's life. The pool is freed with the back end and left out of
     * core dumps. 0, LK_E_NO_MEMORY, -errno. */
    size_t (*kv_bytes)(const struct lk_kv_shape *shape);
    int (*kv_create)(struct lk_backend *be, const struct lk_kv_shape *shape);

    /* Starts a step of at most max_row rows. What was recorded and never run is forgotten. */
    void (*begin)(struct lk_backend *be, const struct lk_batch *batch);
    /* Computes what was recorded. The flag is polled between pieces of work (about every 100 us).
     * 0, LK_E_ABORTED, -errno. */
    int (*run)(struct lk_backend *be, const atomic_bool *abort);

    /* y[n_row][n_in of table] = table row of each batch token, widened. */
    void (*embed)(struct lk_backend *be, float *y, const struct lk_mat *table);
    /* y[i] = x[rows[i]], rows of n floats; rows is host memory kept until run. */
    void (*gather)(struct lk_backend *be, float *y, const float *x, const int32_t *rows, int32_t n_row,
                   int32_t n);
    /* y = x / sqrt(mean(x^2) + eps) * w, row by row; w[n]. y may be x. */
    void (*rmsnorm)(struct lk_backend *be, float *y, const float *x, const float *w, int32_t n_row, int32_t n,
                    float eps);
    /* y = (x - mean) / sqrt(variance + eps) * w (+ b, which may be NULL), row by row; w[n], b[n]. Rows begin
     * stride floats apart. y may be x. */
    void (*layernorm)(struct lk_backend *be, float *y, const float *x, const float *w, const float *b,
                      int32_t n_row, int32_t n, int32_t stride, float eps);
    /* y[n_row][n_out] = x[n_row][n_in] w^T (+ bias[n_out], which may be NULL). y must not be x. */
    void (*matmul)(struct lk_backend *be, float *y, const struct lk_mat *w, const float *bias, const float *x,
                   int32_t n_row);
    /* Three products of the same x; a bias may be NULL. Equal to three matmuls. */
    void (*qkv)(struct lk_backend *be, float *q, float *k, float *v, const struct lk_mat *wq,
                const struct lk_mat *wk, const struct lk_mat *wv, const float *bq, const float *bk,
                const float *bv, const float *x, int32_t n_row);
    /* Heads out of one product: x[n_row][n_kv_head][n_share + 2][head_dim] holds, for each KV head, the
     * n_share = n_head / n_kv_head query heads that read it, its key and its value. */
    void (*qkv_split)(struct lk_backend *be, const struct lk_attn *attn, float *q, float *k, float *v,
                      const float *x, int32_t n_row);
    /* y = act(x gate^T + bias) * (x up^T + bias). tmp[n_row][n_out] is scratch. Equal to two matmuls and
     * act_mul. */
    void (*gate_up_act)(struct lk_backend *be, float *y, float *tmp, const struct lk_mat *gate,
                        const struct lk_mat *up, const float *gate_bias, const float *up_bias, const float *x,
                        int32_t n_row, enum lk_act act);
    /* y[n_row][dim] = the chosen experts' down(act(gate x) * (up x)), each product with its bias, weighted
     * and added up in the order of their logits, by logits[n_row][n_expert]. The mixture must stay until run;
     * tmp is lk_mixture_bytes of scratch, aligned to 64 bytes. Only the chosen experts' weights are read. */
    void (*mix)(struct lk_backend *be, float *y, const struct lk_mixture *mixture, const float *logits,
                const float *x, int32_t n_row, void *tmp);
    /* y[r] += sigmoid(gate[r]) * x[r], rows of n floats. */
    void (*add_gated)(struct lk_backend *be, float *y, const float *x, const float *gate, int32_t n_row,
                      int32_t n);
    /* y[i] = act(g[i]) * u[i] (u as the activation has it), n elements in all; u NULL: act(g[i]). y may be g
     * or u. */
    void (*act_mul)(struct lk_backend *be, float *y, const float *g, const float *u, size_t n,
                    enum lk_act act);
    /* y += x, n elements in all. */
    void (*add)(struct lk_backend *be, float *y, const float *x, size_t n);
    /* y *= factor, n elements in all. */
    void (*scale)(struct lk_backend *be, float *y, size_t n, float factor);
    /* y = cap * tanh(y / cap), NaN where y is infinite; n elements in all. */
    void (*soft_cap)(struct lk_backend *be, float *y, size_t n, float cap);

    /* cos_sin[n_row][2][n_freq] = scale * cos and scale * sin of pos * inv_freq (product, cosine and sine in
     * double, each result rounded once to float32, then times scale). */
    void (*rope_angles)(struct lk_backend *be, float *cos_sin, const struct lk_rope *rope);
    /* Turns the first n_rot elements of each head of x[n_row][n_head][head_dim] in place. */
    void (*rope)(struct lk_backend *be, float *x, const float *cos_sin, int32_t n_head, int32_t head_dim,
                 int32_t n_rot, enum lk_rope_layout layout);
    /* Stores k and v [n_row][n_kv_head][head_dim] of every batch row at its position. */
    void (*kv_append)(struct lk_backend *be, const struct lk_attn *attn, const float *k, const float *v);
    /* rope(q), rope(k), kv_append. */
    void (*rope_kv_append)(struct lk_backend *be, const struct lk_attn *attn, float *q, float *k,
                           const float *v, const float *cos_sin);
    /* y[n_row][n_head][head_dim]: softmax(scale * q.k) v over positions 0..pos of each row's sequence, or the
     * last `window` of them, query head h reading KV head h / (n_head / n_kv_head). Pages without a position
     * that a row sees are not read. */
    void (*attend)(struct lk_backend *be, const struct lk_attn *attn, float *y, const float *q);

    /* Calls back with x as it stands at this point of the step. Nothing where no trace function is set. */
    void (*trace)(struct lk_backend *be, const char *name, int32_t layer, const float *x, int32_t n_row,
                  int32_t n);
};

/* Scratch of `mix`, the same for every back end: it places what belongs to n_row * n_chosen pairs of a row
 * and an expert. */
size_t lk_mixture_bytes(const struct lk_mixture *mixture, int32_t n_row);

/* What every back end begins with; the rest of the struct is its own. */
struct lk_backend {
    const struct lk_ops *ops;
    const char *level; /* what its kernels are made for: "avx512" */
    lk_trace_fn trace; /* set by the user between steps; NULL: none */
    void *trace_ctx;
    char why[256]; /* after LK_E_NO_MEMORY: one sentence */
};

enum {
    LK_MAX_THREAD = 1024,
    LK_MAX_ROW = 65536,
};

struct lk_options {
    int32_t n_thread;  /* compute threads, the caller among them, 1 to LK_MAX_THREAD */
    int32_t max_row;   /* the most rows a batch will have, 1 to LK_MAX_ROW */
    const char *level; /* CPU: highest instruction set to use, NULL: the best this processor has */
};

/* Opens a back end by name ("cpu"). 0; LK_E_NO_DEVICE with a sentence in why[256]: unknown name or level;
 * LK_E_NO_MEMORY with a sentence; -EINVAL: a number out of its range; -errno. */
int lk_open(const char *name, const struct lk_options *options, struct lk_backend **ret_be, char why[256]);
