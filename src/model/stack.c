/* Experts whose weights lie in one tensor a layer: see stack.h. */
#include "config.h"

#include "src/model/stack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_PART = 2,
    BAND_OUT = 32, /* outputs and */
    BAND_IN = 256, /* inputs that are transposed at a time, within the first-level cache */
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

static void place_matrices(const struct bind_copy *copy, struct lk_backend *be, char *mem)
{
    const struct stack_copy *c = (const struct stack_copy *)copy;
    const struct product *p = &c->product;
    enum lk_dtype type = (enum lk_dtype)copy->source[0]->type;
    size_t size = lk_dtype_bytes(type, 1), mat_bytes = (size_t)p->n_out * (size_t)p->n_in * size;
    for (int32_t e = 0; e < p->n_expert; e++)
        for (int32_t i = 0; i < p->n_part; i++, mem += mat_bytes) {
            size_t at = (size_t)(e * p->n_part) * mat_bytes + (size_t)i * size;
            struct transposition t = {.src = (const char *)copy->source[0]->data + at,
                                      .dst = mem,
                                      .n_out = p->n_out,
                                      .n_in = p->n_in,
                                      .n_part = p->n_part};
            if (size == sizeof(float))
                transpose(be, &t, sizeof(float));
            else
                transpose(be, &t, sizeof(uint16_t));
            struct lk_mat *mat = (struct lk_mat *)(void *)((char *)&c->experts[e] + p->part[i].mat);
            *mat = (struct lk_mat){.data = mem, .type = type, .n_out = p->n_out, .n_in = p->n_in};
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

/* Claims a tensor [n_expert](...)[n_part * n_out]. */
static int add(struct bind *bind, struct lk_expert *experts, const struct product *p, const char *name,
               bool is_bias, struct why *why)
{
    const int32_t n_all = p->n_part * p->n_out;
    const int32_t bias_dim[] = {p->n_expert, n_all}, mat_dim[] = {p->n_expert, p->n_in, n_all};
    struct stack_copy *c = arena_array(bind->arena, 1, sizeof *c);
    if (!c)
        return -ENOMEM;
    int r = bind_take(bind, name, is_bias ? bias_dim : mat_dim, is_bias ? 2 : 3, &c->copy.source[0], why);
    if (r)
        return r;
    c->product = *p;
    c->experts = experts;
    c->copy.place = is_bias ? place_biases : place_matrices;
    c->copy.n_byte =
        is_bias ? (size_t)p->n_expert * (size_t)n_all * sizeof(float) : (size_t)c->copy.source[0]->n_byte;
    bind_add_copy(bind, &c->copy);
    return 0;
}

int stack_bind(struct bind *bind, struct lk_expert *experts, const struct lk_mixture *mixture, int32_t layer,
               const char *block, struct why *why)
{
    const struct product products[] = {
        {"gate_up_proj",
         mixture->n_expert,
         mixture->ff_dim,
         mixture->dim,
         2,
         {PART(gate, gate_bias), PART(up, up_bias)}},
        {"down_proj", mixture->n_expert, mixture->dim, mixture->ff_dim, 1, {PART(down, down_bias)}},
    };
    int r = 0;
    for (size_t i = 0; i < 2 * (sizeof products / sizeof *products) && !r; i++) {
        const struct product *p = &products[i / 2];
        char name[BIND_MAX_NAME];
        snprintf(name, sizeof name, "model.layers.%d.%s.%s%s", layer, block, p->name, i % 2 ? "_bias" : "");
        r = add(bind, experts, p, name, i % 2, why);
    }
    return r;
}
