/* What the model tests share: see fixture.h. */
#include "config.h"

#include "tests/model/fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_JSON = 64 << 20 };

void fixture_link(const char *dir, const char *model, const char *config_name)
{
    DIR *d = opendir(model);
    cr_assert(d, "%s: %m", model);
    for (struct dirent *e; (e = readdir(d));) {
        bool is_config = config_name && !strcmp(e->d_name, config_name);
        if (e->d_name[0] == '.' || (!strncmp(e->d_name, "config.", 7) && !is_config))
            continue;
        char target[2 * SUPPORT_PATH], absolute[SUPPORT_PATH], name[2 * SUPPORT_PATH];
        snprintf(target, sizeof target, "%s/%s", model, e->d_name);
        cr_assert(realpath(target, absolute), "%s: %m", target);
        snprintf(name, sizeof name, "%s/%s", dir, is_config ? "config.json" : e->d_name);
        cr_assert_eq(symlink(absolute, name), 0, "%s: %m", name);
    }
    closedir(d);
}

static size_t tensor_bytes(const struct fixture_tensor *t)
{
    size_t n = strstr(t->type, "32") ? 4 : strstr(t->type, "8") ? 1 : 2;
    for (int i = 0; i < t->n_dim; i++)
        n *= (size_t)t->dim[i];
    return n;
}

void fixture_safetensors(const char *dir, const struct fixture_tensor *tensors, size_t n)
{
    enum { MAX_HEADER = 8192 };
    char header[MAX_HEADER];
    size_t n_data = 0, at = 8;
    at += (size_t)sprintf(header + at, "{");
    for (size_t i = 0; i < n; i++) {
        const struct fixture_tensor *t = &tensors[i];
        cr_assert(at + 256 < MAX_HEADER);
        at += (size_t)sprintf(header + at, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", i ? "," : "", t->name,
                              t->type);
        for (int d = 0; d < t->n_dim; d++)
            at += (size_t)sprintf(header + at, "%s%d", d ? "," : "", t->dim[d]);
        at += (size_t)sprintf(header + at, "],\"data_offsets\":[%zu,%zu]}", n_data, n_data + tensor_bytes(t));
        n_data += tensor_bytes(t);
    }
    at += (size_t)sprintf(header + at, "}");
    while (at % 8)
        header[at++] = ' ';
    for (int i = 0; i < 8; i++)
        header[i] = (char)((uint64_t)(at - 8) >> 8 * i);
    char *file = calloc(1, at + n_data), *data = file + at;
    cr_assert(file);
    memcpy(file, header, at);
    for (size_t i = 0; i < n; data += tensor_bytes(&tensors[i++]))
        if (tensors[i].data)
            memcpy(data, tensors[i].data, tensor_bytes(&tensors[i]));
    support_write(dir, "model.safetensors", file, at + n_data);
    free(file);
}

struct model *fixture_open_context(const char *dir, const char *level, int32_t n_thread, int32_t max_row,
                                   int32_t n_ctx)
{
    struct model_options options = {.path = dir,
                                    .device = "cpu",
                                    .level = level,
                                    .n_thread = n_thread,
                                    .max_row = max_row,
                                    .n_ctx = n_ctx};
    struct model *model = NULL;
    struct why why = {""};
    int r = model_open(&model, &options, NULL, NULL, &why);
    cr_assert_eq(r, 0, "%s: %d: %s", dir, r, why.text);
    return model;
}

struct model *fixture_open(const char *dir, const char *level, int32_t n_thread, int32_t max_row)
{
    return fixture_open_context(dir, level, n_thread, max_row, 0);
}

struct json *fixture_json(const char *dir, const char *name)
{
    char path[2 * SUPPORT_PATH];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    struct json *root = NULL;
    struct why why = {""};
    int r = json_read_file(&root, path, MAX_JSON, &why);
    cr_assert_eq(r, 0, "%d: %s", r, why.text);
    return root;
}

int32_t *fixture_ids(const struct json *array, int32_t *ret_n)
{
    size_t n = json_count(array);
    cr_assert(json_is_array(array) && n > 0 && n < INT32_MAX);
    int32_t *ids = calloc(n, sizeof *ids), i = 0;
    cr_assert(ids);
    for (const struct json *v = json_first(array); v; v = json_next(v))
        ids[i++] = (int32_t)json_number(v, -1);
    *ret_n = (int32_t)n;
    return ids;
}

struct sequence *sequence_new(struct model *model, bool from_first)
{
    int32_t n_page = model_n_page(model), n_window_page = model_n_window_page(model);
    struct sequence *s = calloc(1, sizeof *s);
    cr_assert(s);
    s->model = model;
    s->length = model_info(model)->n_ctx;
    s->pages = calloc((size_t)n_page, sizeof *s->pages);
    s->window_pages = calloc((size_t)n_page, sizeof *s->window_pages);
    s->logits = calloc((size_t)model_info(model)->n_vocab, sizeof *s->logits);
    cr_assert(s->pages && s->window_pages && s->logits);
    for (int32_t i = 0; i < n_page; i++)
        s->pages[i] = from_first ? i : n_page - 1 - i;
    for (int32_t i = 0; n_window_page > 0 && i < n_page; i++)
        s->window_pages[i] = from_first ? i % n_window_page : n_window_page - 1 - i % n_window_page;
    return s;
}

struct sequence *sequence_free(struct sequence *s)
{
    for (int32_t i = 0; s->hidden && i <= model_info(s->model)->n_layer; i++)
        free(s->hidden[i]);
    free(s->hidden);
    free(s->all_logits);
    free(s->logits);
    free(s->pages);
    free(s->window_pages);
    free(s);
    return NULL;
}

void sequence_record(struct sequence *s, int32_t n_row)
{
    const struct model_info *info = model_info(s->model);
    s->all_logits = calloc((size_t)n_row * (size_t)info->n_vocab, sizeof *s->all_logits);
    s->hidden = calloc((size_t)info->n_layer + 1, sizeof *s->hidden);
    cr_assert(s->all_logits && s->hidden);
    for (int32_t i = 0; i <= info->n_layer; i++) {
        s->hidden[i] = calloc((size_t)n_row * (size_t)info->dim, sizeof **s->hidden);
        cr_assert(s->hidden[i]);
    }
}

/* The step's rows are the positions from s->n_tok on. */
static void on_trace(void *ctx, const char *name, int32_t layer, const float *x, int32_t n_row, int32_t n)
{
    struct sequence *s = ctx;
    if (!strcmp(name, "hidden"))
        memcpy(s->hidden[layer] + (size_t)(s->n_tok - s->record_from) * (size_t)n, x,
               (size_t)n_row * (size_t)n * sizeof *x);
}

static void feed_chunk(struct sequence *s, const int32_t *tokens, int32_t n)
{
    const struct model_info *info = model_info(s->model);
    int32_t rows[MODEL_MAX_LOGIT_ROW], n_logit = s->all_logits ? n : 1;
    cr_assert(n_logit <= MODEL_MAX_LOGIT_ROW);
    for (int32_t i = 0; i < n_logit; i++)
        rows[i] = n - n_logit + i;
    struct lk_span span = {
        .pages = s->pages, .window_pages = s->window_pages, .n_row = n, .pos = s->n_tok, .length = s->length};
    struct model_batch batch = {
        .rows = {.token = tokens, .n_row = n, .span = &span, .n_span = 1},
        .logit_rows = rows,
        .n_logit = n_logit,
    };
    atomic_bool abort = false;
    model_trace(s->model, s->hidden ? on_trace : NULL, s);
    cr_assert_eq(model_forward(s->model, &batch, &abort), 0);
    size_t n_vocab = (size_t)info->n_vocab;
    for (int32_t i = 0; i < n_logit && s->all_logits; i++)
        memcpy(s->all_logits + (size_t)(s->n_tok - s->record_from + i) * n_vocab, model_logits(s->model, i),
               n_vocab * sizeof *s->logits);
    memcpy(s->logits, model_logits(s->model, n_logit - 1), n_vocab * sizeof *s->logits);
    s->n_tok += n;
}

void sequence_feed(struct sequence *s, const int32_t *tokens, int32_t n, int32_t chunk)
{
    for (int32_t i = 0; i < n; i += chunk)
        feed_chunk(s, tokens + i, n - i < chunk ? n - i : chunk);
}

int32_t sequence_best(const struct sequence *s)
{
    int32_t best = 0;
    for (int32_t i = 1; i < model_info(s->model)->n_vocab; i++)
        if (s->logits[i] > s->logits[best])
            best = i;
    return best;
}

void sequence_greedy(struct sequence *s, int32_t *ret_ids, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        ret_ids[i] = sequence_best(s);
        if (i + 1 < n)
            sequence_feed(s, &ret_ids[i], 1, 1);
    }
}

double fixture_deviation(const float *a, const float *b, size_t n)
{
    double difference = 0, greatest = 1;
    for (size_t i = 0; i < n; i++) {
        cr_assert(!isnan(a[i]) && !isnan(b[i]));
        difference = fmax(difference, fabs((double)a[i] - (double)b[i]));
        greatest = fmax(greatest, fabs((double)b[i]));
    }
    return difference / greatest;
}

double fixture_logprob(const float *logits, int32_t n_vocab, int32_t id)
{
    double greatest = -INFINITY, sum = 0;
    for (int32_t i = 0; i < n_vocab; i++)
        greatest = fmax(greatest, (double)logits[i]);
    for (int32_t i = 0; i < n_vocab; i++)
        sum += exp((double)logits[i] - greatest);
    return (double)logits[id] - greatest - log(sum);
}
