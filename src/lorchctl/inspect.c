/* What a model file or directory holds: see inspect.h. */
#include "config.h"
#include "src/lorchctl/inspect.h"

#include <inttypes.h>
#include <string.h>

#include "src/base/utf8.h"
#include "src/lorchctl/out.h"

enum {
    MAX_SHOWN = 8,   /* elements of an array that people see */
    MAX_TEXT = 100,  /* bytes of a string that people see */
    MAX_TYPE = 64,   /* types of tensors that are counted */
    MAX_COLUMN = 64, /* of a name */
};

static size_t n_tensor(const struct inspect *in)
{
    return in->gguf          ? gguf_n_tensor(in->gguf)
           : in->safetensors ? safetensors_count(in->safetensors)
                             : checkpoint_n_tensor(in->checkpoint);
}

static const struct tensor *tensor_at(const struct inspect *in, size_t i)
{
    return in->gguf          ? gguf_tensor_at(in->gguf, i)
           : in->safetensors ? safetensors_at(in->safetensors, i)
                             : checkpoint_tensor_at(in->checkpoint, i);
}

static const char *format_of(const struct inspect *in)
{
    return in->gguf ? "GGUF" : in->safetensors ? "safetensors" : "directory";
}

/* model_type of a directory's config.json; "" where it has none. */
static const char *model_type(const struct inspect *in)
{
    return json_string(json_get(checkpoint_config(in->checkpoint), "model_type"), "");
}

static uint64_t n_byte(const struct inspect *in)
{
    uint64_t n = 0;
    for (size_t i = 0; i < n_tensor(in); i++)
        n += tensor_at(in, i)->n_byte;
    return n;
}

/* How many tensors of each type there are, in the order of their first one. */
struct count {
    const char *type;
    size_t n;
    uint64_t n_byte;
};

static size_t count_types(const struct inspect *in, struct count counts[MAX_TYPE])
{
    size_t n = 0;
    for (size_t i = 0; i < n_tensor(in); i++) {
        const struct tensor *t = tensor_at(in, i);
        size_t c = 0;
        while (c < n && strcmp(counts[c].type, t->type_name) != 0)
            c++;
        if (c == MAX_TYPE)
            continue;
        if (c == n)
            counts[n++] = (struct count){.type = t->type_name};
        counts[c].n++;
        counts[c].n_byte += t->n_byte;
    }
    return n;
}

/* ---- For people ---- */

/* Control characters of one byte, or of two in UTF-8 (U+0080 to U+009F). */
static bool is_control(const uint8_t *s, size_t n)
{
    return s[0] < 0x20 || s[0] == 0x7f || (n == 2 && s[0] == 0xc2 && s[1] < 0xa0);
}

/* At most max bytes; a question mark for each control character and each byte that is no UTF-8. */
static void put_text(FILE *file, const char *s, size_t n, size_t max)
{
    size_t n_shown = n < max ? n : max;
    for (size_t at = 0; at < n_shown;) {
        const uint8_t *here = (const uint8_t *)s + at;
        int step = utf8_step(here, n - at);
        if (step <= 0 || is_control(here, (size_t)step))
            putc('?', file);
        else
            fwrite(here, 1, (size_t)step, file);
        at += step > 0 ? (size_t)step : 1;
    }
    if (n_shown < n)
        fputs("...", file);
}

static void put_element(FILE *file, const struct gguf_value *v, size_t i)
{
    struct gguf_string s;
    switch (v->element) {
    case GGUF_STRING:
        s = gguf_string_at(v, i);
        put_text(file, s.s, s.n, MAX_TEXT);
        break;
    case GGUF_F32:
    case GGUF_F64:
        fprintf(file, "%.9g", gguf_double_at(v, i));
        break;
    case GGUF_BOOL:
        fputs(gguf_int_at(v, i) ? "true" : "false", file);
        break;
    default:
        fprintf(file, "%" PRId64, gguf_int_at(v, i));
    }
}

static void show_value(FILE *file, const struct gguf_value *v)
{
    fputs("  ", file);
    put_text(file, v->key, strlen(v->key), MAX_TEXT);
    if (v->type != GGUF_ARRAY) {
        fputs(" = ", file);
        put_element(file, v, 0);
    } else if (v->element == GGUF_ARRAY) {
        fprintf(file, " = %zu arrays", v->n);
    } else {
        fprintf(file, " = %zu of %s:", v->n, gguf_type_name(v->element));
        for (size_t i = 0; i < v->n && i < MAX_SHOWN; i++) {
            fputs(i ? ", " : " ", file);
            put_element(file, v, i);
        }
        if (v->n > MAX_SHOWN)
            fputs(", ...", file);
    }
    putc('\n', file);
}

static void show_metadata(FILE *file, const struct inspect *in)
{
    size_t n = in->gguf          ? gguf_n_value(in->gguf)
               : in->safetensors ? safetensors_n_metadata(in->safetensors)
                                 : 0;
    if (n > 0)
        fputs("\nmetadata\n", file);
    for (size_t i = 0; i < n; i++) {
        const char *key, *value;
        if (in->gguf) {
            show_value(file, gguf_value_at(in->gguf, i));
            continue;
        }
        safetensors_metadata_at(in->safetensors, i, &key, &value);
        fputs("  ", file);
        put_text(file, key, strlen(key), MAX_TEXT);
        fputs(" = ", file);
        put_text(file, value, strlen(value), MAX_TEXT);
        putc('\n', file);
    }
}

static void show_tensor(FILE *file, const struct tensor *t, int width)
{
    int n = (int)strlen(t->name);
    fputs("  ", file);
    put_text(file, t->name, (size_t)n, MAX_COLUMN);
    fprintf(file, "%*s %-7s %12" PRIu64 "  [", n < width ? width - n : 0, "", t->type_name, t->n_byte);
    for (int d = 0; d < t->n_dim; d++)
        fprintf(file, "%s%" PRIu64, d ? "," : "", t->dim[d]);
    fputs("]\n", file);
}

void inspect_text(FILE *file, const struct inspect *in)
{
    struct count counts[MAX_TYPE];
    int width = 0;
    fprintf(file, "%s: %s", in->path, format_of(in));
    if (in->gguf)
        fprintf(file, " version %u", gguf_version(in->gguf));
    if (in->checkpoint) {
        fputs(" of a model of type ", file);
        put_text(file, model_type(in), strlen(model_type(in)), MAX_TEXT);
    }
    fprintf(file, ", %zu tensors, %" PRIu64 " bytes\n", n_tensor(in), n_byte(in));
    show_metadata(file, in);
    fputs("\ntensors\n", file);
    for (size_t i = 0; i < n_tensor(in); i++) {
        int n = (int)strlen(tensor_at(in, i)->name);
        width = n > width ? n : width;
    }
    for (size_t i = 0; i < n_tensor(in); i++)
        show_tensor(file, tensor_at(in, i), width < MAX_COLUMN ? width : MAX_COLUMN);
    fputs("\ntypes\n", file);
    for (size_t i = 0, n = count_types(in, counts); i < n; i++)
        fprintf(file, "  %-7s %6zu tensors %14" PRIu64 " bytes\n", counts[i].type, counts[i].n,
                counts[i].n_byte);
}

/* ---- As JSON ---- */

static void json_text(FILE *file, const char *s, size_t n)
{
    if (utf8_check(s, n) == n)
        out_json_string(file, s, n);
    else
        out_json_bytes(file, s, n);
}

static void json_element(FILE *file, const struct gguf_value *v, size_t i)
{
    struct gguf_string s;
    if (v->element == GGUF_STRING) {
        s = gguf_string_at(v, i);
        json_text(file, s.s, s.n);
    } else if (v->element == GGUF_F32 || v->element == GGUF_F64) {
        out_json_double(file, gguf_double_at(v, i));
    } else {
        put_element(file, v, i);
    }
}

static void json_value(FILE *file, const struct gguf_value *v)
{
    if (v->type != GGUF_ARRAY) {
        json_element(file, v, 0);
        return;
    }
    if (v->element == GGUF_ARRAY) { /* nobody looks into these */
        fputs("null", file);
        return;
    }
    putc('[', file);
    for (size_t i = 0; i < v->n; i++) {
        fputs(i ? ", " : "", file);
        json_element(file, v, i);
    }
    putc(']', file);
}

static void json_metadata(FILE *file, const struct inspect *in)
{
    size_t n = in->gguf          ? gguf_n_value(in->gguf)
               : in->safetensors ? safetensors_n_metadata(in->safetensors)
                                 : 0;
    fputs(", \"metadata\": [", file);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? ", {\"key\": " : "{\"key\": ", file);
        if (in->gguf) {
            const struct gguf_value *v = gguf_value_at(in->gguf, i);
            json_text(file, v->key, strlen(v->key));
            fprintf(file, ", \"type\": \"%s%s\", \"value\": ", gguf_type_name(v->element),
                    v->type == GGUF_ARRAY ? "[]" : "");
            json_value(file, v);
        } else {
            const char *key, *value;
            safetensors_metadata_at(in->safetensors, i, &key, &value);
            json_text(file, key, strlen(key));
            fputs(", \"type\": \"string\", \"value\": ", file);
            json_text(file, value, strlen(value));
        }
        putc('}', file);
    }
    putc(']', file);
}

static void json_tensor(FILE *file, const struct tensor *t)
{
    fputs("{\"name\": ", file);
    json_text(file, t->name, strlen(t->name));
    fprintf(file, ", \"type\": \"%s\", \"shape\": [", t->type_name);
    for (int d = 0; d < t->n_dim; d++)
        fprintf(file, "%s%" PRIu64, d ? ", " : "", t->dim[d]);
    fprintf(file, "], \"bytes\": %" PRIu64 "}", t->n_byte);
}

void inspect_json(FILE *file, const struct inspect *in)
{
    fprintf(file, "{\"format\": %d, \"path\": ", OUT_FORMAT);
    json_text(file, in->path, strlen(in->path));
    fprintf(file, ", \"kind\": \"%s\"", format_of(in));
    if (in->gguf)
        fprintf(file, ", \"version\": %u", gguf_version(in->gguf));
    if (in->checkpoint) {
        fputs(", \"model_type\": ", file);
        json_text(file, model_type(in), strlen(model_type(in)));
    }
    fprintf(file, ", \"n_tensors\": %zu, \"bytes\": %" PRIu64, n_tensor(in), n_byte(in));
    json_metadata(file, in);
    fputs(", \"tensors\": [", file);
    for (size_t i = 0; i < n_tensor(in); i++) {
        fputs(i ? ", " : "", file);
        json_tensor(file, tensor_at(in, i));
    }
    fputs("]}\n", file);
}
