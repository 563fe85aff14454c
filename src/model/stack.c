/* Experts whose weights lie in one tensor a layer: see stack.h. */
#include "config.h"

#include "src/model/stack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

enum {
    MAX_PART = 2,
    BAND_OUT = 32, /* outputs and */
    BAND_IN = 256, /* inputs that are transposed at a time, within the first-level cache */
    PACKED = 64,   /* blocks of MXFP4 that are packed at a time */
};

/* A product of all experts: its output n_part * o + p is output o of part p. */
struct product {
    const char *name;
    int32_t n_expert, n_out, n_in; /* n_out: of a part */
    int32_t n_part;
    struct {
        size_t mat, bias; /* offsets of fields of an expert */
    } part[MAX_PART];
};

#define PART(field_mat, field_bias)                                                   \
    {                                                                                 \
        offsetof(struct lk_expert, field_mat), offsetof(struct lk_expert, field_bias) \
    }

struct stack_copy {
    struct bind_copy copy; /* first: a pointer to it is one to the whole */
    struct product product;
    struct lk_expert *experts;
    enum lk_dtype type; /* of the matrices */
};

/* One part of one expert. */
struct transposition {
    const char *src; /* its first element */
    char *dst;       /* [n_out][n_in] in back end memory */
    int32_t n_out, n_in, n_part;
};

/* size is a constant. */
static inline __attribute__((always_inline)) void transpose(struct lk_backend *be,
                                                            const struct transposition *t, size_t size)
{
    char band[BAND_OUT][BAND_IN * sizeof(float)];
    size_t step = (size_t)t->n_part * size, row = (size_t)t->n_out * step;
    for (int32_t from_out = 0; from_out < t->n_out; from_out += BAND_OUT)
        for (int32_t from_in = 0; from_in < t->n_in; from_in += BAND_IN) {
            int32_t n_out = t->n_out - from_out < BAND_OUT ? t->n_out - from_out : BAND_OUT;
            int32_t n_in = t->n_in - from_in < BAND_IN ? t->n_in - from_in : BAND_IN;
            for (int32_t i = 0; i < n_in; i++) {
                const char *src = t->src + (size_t)(from_in + i) * row + (size_t)from_out * step;
                for (int32_t o = 0; o < n_out; o++)
                    memcpy(band[o] + (size_t)i * size, src + (size_t)o * step, size);
            }
            for (int32_t o = 0; o < n_out; o++)
                be->ops->upload(be,
                                t->dst + ((size_t)(from_out + o) * (size_t)t->n_in + (size_t)from_in) * size,
                                band[o], (size_t)n_in * size);
        }
}

/* Rows of MXFP4. The source has neighbours in a byte, a block has elements 16 apart. */
static void pack(struct lk_backend *be, const uint8_t *q, const uint8_t *scale, char *dst, size_t n_block)
{
    struct lk_mxfp4 packed[PACKED];
    for (size_t from = 0; from < n_block; from += PACKED) {
        size_t n = n_block - from < PACKED ? n_block - from : PACKED;
        for (size_t b = 0; b < n; b++, q += sizeof packed->q) {
            packed[b].scale = scale[from + b];
            for (size_t i = 0; i < sizeof packed->q / 2; i++) {
                unsigned low = q[i], high = q[i + sizeof packed->q / 2];
                packed[b].q[2 * i] = (uint8_t)((low & 15) | high << 4);
                packed[b].q[2 * i + 1] = (uint8_t)(low >> 4 | (high & 0xf0));
            }
        }
        be->ops->upload(be, dst + from * sizeof *packed, packed, n * sizeof *packed);
    }
}

/* Part i of expert e. */
static void place_packed(const struct stack_copy *c, struct lk_backend *be, char *mem, int32_t e, int32_t i)
{
    const struct product *p = &c->product;
    const uint8_t *q = c->copy.source[0]->data, *scale = c->copy.source[1]->data;
    size_t n_block = (size_t)p->n_in / LK_MXFP4_BLOCK;
    for (int32_t o = 0; o < p->n_out; o++, mem += n_block * sizeof(struct lk_mxfp4)) {
        size_t row = (size_t)(e * p->n_out + o) * (size_t)p->n_part + (size_t)i;
        pack(be, q + row * n_block * (LK_MXFP4_BLOCK / 2), scale + row * n_block, mem, n_block);
    }
}

static void place_transposed(const struct stack_copy *c, struct lk_backend *be, char *mem, int32_t e,
                             int32_t i)
{
    const struct product *p = &c->product;
    size_t size = lk_dtype_bytes(c->type, 1), n = (size_t)p->n_out * (size_t)p->n_in * (size_t)p->n_part;
    const char *all = c->copy.source[0]->data;
    struct transposition t = {.src = all + ((size_t)e * n + (size_t)i) * size,
                              .dst = mem,
                              .n_out = p->n_out,
                              .n_in = p->n_in,
                              .n_part = p->n_part};
    if (size == sizeof(float))
        transpose(be, &t, sizeof(float));
    else
        transpose(be, &t, sizeof(uint16_t));
}

static void place_matrices(const struct bind_copy *copy, struct lk_backend *be, char *mem)
{
    const struct stack_copy *c = (const struct stack_copy *)copy;
    const struct product *p = &c->product;
    size_t mat_bytes = (size_t)p->n_out * lk_dtype_bytes(c->type, (size_t)p->n_in);
    for (int32_t e = 0; e < p->n_expert; e++)
        for (int32_t i = 0; i < p->n_part; i++, mem += mat_bytes) {
            if (c->type == LK_MXFP4)
                place_packed(c, be, mem, e, i);
            else
                place_transposed(c, be, mem, e, i);
            struct lk_mat *mat = (struct lk_mat *)(void *)((char *)&c->experts[e] + p->part[i].mat);
            *mat = (struct lk_mat){.data = mem, .type = c->type, .n_out = p->n_out, .n_in = p->n_in};
        }
}

static void place_biases(const struct bind_copy *copy, struct lk_backend *be, char *mem)
{
    const struct stack_copy *c = (const struct stack_copy *)copy;
    const struct product *p = &c->product;
    size_t n_out = (size_t)p->n_out, n_part = (size_t)p->n_part;
    float *dst = (float *)(void *)mem;
    for (int32_t e = 0; e < p->n_expert; e++)
        for (size_t i = 0; i < n_part; i++, dst += n_out) {
            for (size_t o = 0; o < n_out; o++) {
                float value = tensor_value(copy->source[0], ((size_t)e * n_out + o) * n_part + i);
                be->ops->upload(be, dst + o, &value, sizeof value);
            }
            *(const float **)(void *)((char *)&c->experts[e] + p->part[i].bias) = dst;
        }
}

static int add(struct bind *bind, struct lk_expert *experts, const struct product *p,
               const struct stack_copy *copy)
{
    struct stack_copy *c = arena_array(bind->arena, 1, sizeof *c);
    if (!c)
        return -ENOMEM;
    *c = *copy;
    c->product = *p;
    c->experts = experts;
    bind_add_copy(bind, &c->copy);
    return 0;
}

static int add_biases(struct bind *bind, struct lk_expert *experts, const struct product *p, const char *name,
                      struct why *why)
{
    const int32_t dim[] = {p->n_expert, p->n_part * p->n_out};
    size_t n = (size_t)dim[0] * (size_t)dim[1];
    struct stack_copy c = {.copy = {.n_param = n, .n_byte = n * sizeof(float), .place = place_biases}};
    int r = bind_take(bind, name, dim, 2, &c.copy.source[0], why);
    return r ? r : add(bind, experts, p, &c);
}

static int add_matrices(struct bind *bind, struct lk_expert *experts, const struct product *p,
                        const char *name, struct why *why)
{
    const int32_t dim[] = {p->n_expert, p->n_in, p->n_part * p->n_out};
    struct stack_copy c = {
        .copy = {.n_param = (uint64_t)dim[0] * (uint64_t)dim[1] * (uint64_t)dim[2], .place = place_matrices}};
    int r = bind_take(bind, name, dim, 3, &c.copy.source[0], why);
    if (r)
        return r;
    c.type = (enum lk_dtype)c.copy.source[0]->type;
    c.copy.n_byte = (size_t)c.copy.source[0]->n_byte;
    return add(bind, experts, p, &c);
}

static int add_mxfp4(struct bind *bind, struct lk_expert *experts, const struct product *p,
                     const char *blocks, const char *scales, struct why *why)
{
    if (p->n_in % LK_MXFP4_BLOCK)
        return why_set(why, EX_DATAERR, "tensor '%s' has MXFP4 blocks of %d, rows have %d elements", blocks,
                       LK_MXFP4_BLOCK, p->n_in);
    const int32_t dim[] = {p->n_expert, p->n_part * p->n_out, p->n_in / LK_MXFP4_BLOCK, LK_MXFP4_BLOCK / 2};
    uint64_t n = (uint64_t)dim[0] * (uint64_t)dim[1] * (uint64_t)p->n_in;
    struct stack_copy c = {.copy = {.n_param = n, .place = place_matrices}, .type = LK_MXFP4};
    int r = bind_take_bytes(bind, blocks, dim, 4, LK_MXFP4, &c.copy.source[0], why);
    r = r ? r : bind_take_bytes(bind, scales, dim, 3, LK_MXFP4, &c.copy.source[1], why);
    if (r)
        return r;
    c.copy.n_byte = lk_dtype_bytes(LK_MXFP4, (size_t)n);
    return add(bind, experts, p, &c);
}

static int add_product(struct bind *bind, struct lk_expert *experts, const struct product *p,
                       const char *block, int32_t layer, struct why *why)
{
    static const char *const suffixes[] = {"", "_blocks", "_scales", "_bias"};
    char names[4][BIND_MAX_NAME];
    for (int i = 0; i < 4; i++)
        snprintf(names[i], sizeof names[i], "model.layers.%d.%s.%s%s", layer, block, p->name, suffixes[i]);
    int r = checkpoint_find(bind->checkpoint, names[1]) ? add_mxfp4(bind, experts, p, names[1], names[2], why)
                                                        : add_matrices(bind, experts, p, names[0], why);
    return r ? r : add_biases(bind, experts, p, names[3], why);
}

int stack_bind(struct bind *bind, struct lk_expert *experts, const struct lk_mixture *mixture, int32_t layer,
               const char *block, struct why *why)
{
    const struct product gate_up = {.name = "gate_up_proj",
                                    .n_expert = mixture->n_expert,
                                    .n_out = mixture->ff_dim,
                                    .n_in = mixture->dim,
                                    .n_part = 2,
                                    .part = {PART(gate, gate_bias), PART(up, up_bias)}};
    const struct product down = {.name = "down_proj",
                                 .n_expert = mixture->n_expert,
                                 .n_out = mixture->dim,
                                 .n_in = mixture->ff_dim,
                                 .n_part = 1,
                                 .part = {PART(down, down_bias)}};
    int r = add_product(bind, experts, &gate_up, block, layer, why);
    return r ? r : add_product(bind, experts, &down, block, layer, why);
}
