/* What lorchctl prints: see out.h. */
#include "config.h"
#include "src/lorchctl/out.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/jsonwrite.h"

enum { REDRAW_US = 100000 };

void out_json_string(FILE *file, const char *s, size_t n)
{
    jsonwrite_string(file, s, n);
}

void out_json_bytes(FILE *file, const char *bytes, size_t n)
{
    putc('[', file);
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%s%u", i ? ", " : "", (unsigned char)bytes[i]);
    putc(']', file);
}

void out_json_double(FILE *file, double v)
{
    char text[40];
    if (!isfinite(v)) {
        fputs("null", file);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    fputs(text, file);
}

/* The same for a number that was a float32 on the wire: its own shortest form, not that of its double. */
static void json_float(FILE *file, float v)
{
    char text[40];
    if (!isfinite(v)) {
        fputs("null", file);
        return;
    }
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
        if (strtof(text, NULL) == v)
            break;
    }
    fputs(text, file);
}

static void json_members(FILE *file, const struct msg_value *map, bool first, bool plain)
{
    for (size_t i = 0; i < msg_count(map); i++) {
        size_t n;
        const char *key = msg_key_at(map, i, &n);
        if (plain && ((n == 4 && !memcmp(key, "type", 4)) || (n == 2 && !memcmp(key, "id", 2))))
            continue;
        fputs(first ? "" : ", ", file);
        first = false;
        out_json_string(file, key, n);
        fputs(": ", file);
        out_json_value(file, msg_at(map, i));
    }
}

void out_json_value(FILE *file, const struct msg_value *v)
{
    size_t n;
    const char *bytes;
    switch (msg_kind(v)) {
    case MSG_NONE:
    case MSG_NIL:
        fputs("null", file);
        break;
    case MSG_BOOL:
        fputs(msg_bool(v, false) ? "true" : "false", file);
        break;
    case MSG_INT:
        fprintf(file, "%" PRId64, msg_int(v, 0));
        break;
    case MSG_UINT:
        fprintf(file, "%" PRIu64, msg_uint(v, 0));
        break;
    case MSG_FLOAT32:
        json_float(file, (float)msg_float(v, 0));
        break;
    case MSG_FLOAT64:
        out_json_double(file, msg_float(v, 0));
        break;
    case MSG_STR:
        bytes = msg_bytes(v, &n);
        out_json_string(file, bytes, n);
        break;
    case MSG_BIN:
        bytes = msg_bytes(v, &n);
        out_json_bytes(file, bytes, n);
        break;
    case MSG_ARRAY:
        putc('[', file);
        for (size_t i = 0; i < msg_count(v); i++) {
            fputs(i ? ", " : "", file);
            out_json_value(file, msg_at(v, i));
        }
        putc(']', file);
        break;
    case MSG_MAP:
        putc('{', file);
        json_members(file, v, true, false);
        putc('}', file);
        break;
    }
}

void out_json_result(FILE *file, const struct msg_value *map)
{
    fprintf(file, "{\"format\": %d", OUT_FORMAT);
    json_members(file, map, false, true);
    fputs("}\n", file);
}

void out_json_line(FILE *file, const struct msg_value *v)
{
    out_json_value(file, v);
    putc('\n', file);
}

/* A control character of one byte or two (U+0080 to U+009F): its length, or 0. */
static size_t control(const char *s, size_t n)
{
    unsigned char c = (unsigned char)s[0];
    if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
        return 1;
    return c == 0xc2 && n > 1 && (unsigned char)s[1] < 0xa0 ? 2 : 0;
}

void out_text(FILE *file, const char *s, size_t n, bool is_terminal)
{
    if (!is_terminal) {
        fwrite(s, 1, n, file);
        return;
    }
    for (size_t i = 0; i < n;) {
        size_t skip = control(s + i, n - i);
        putc(skip ? '?' : s[i], file);
        i += skip ? skip : 1;
    }
}

static bool ends_with(const char *key, size_t n, const char *end)
{
    size_t m = strlen(end);
    return n > m && !memcmp(key + n - m, end, m);
}

static void table_bytes(FILE *file, double v)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;
    for (; v >= 1024 && i + 1 < sizeof units / sizeof *units; i++)
        v /= 1024;
    fprintf(file, i ? "%.1f %s" : "%.0f %s", v, units[i]);
}

static bool is_number(const struct msg_value *v)
{
    enum msg_kind kind = msg_kind(v);
    return kind == MSG_INT || kind == MSG_FLOAT32 || kind == MSG_FLOAT64;
}

static bool is_time(const char *key, size_t n, const struct msg_value *v)
{
    return is_number(v) && ends_with(key, n, "_ms");
}

static bool is_bytes(const char *key, size_t n, const struct msg_value *v)
{
    return is_number(v) && ends_with(key, n, "_bytes");
}

/* The unit stands behind the value. */
static void table_label(FILE *file, const char *key, size_t n, const struct msg_value *v, int indent)
{
    size_t n_label = is_time(key, n, v) ? n - strlen("_ms") : is_bytes(key, n, v) ? n - strlen("_bytes") : n;
    fprintf(file, "%*s", indent, "");
    for (size_t i = 0; i < n_label; i++)
        putc(key[i] == '_' ? ' ' : key[i], file);
    if (msg_kind(v) != MSG_MAP)
        fprintf(file, "%*s", n_label + (size_t)indent < 22 ? 22 - (int)n_label - indent : 1, "");
}

static void table_value(FILE *file, const char *key, size_t n_key, const struct msg_value *v)
{
    size_t n;
    const char *bytes = msg_bytes(v, &n);
    enum msg_kind kind = msg_kind(v);
    if (kind == MSG_STR)
        fwrite(bytes, 1, n, file);
    else if (is_time(key, n_key, v))
        fprintf(file, "%.3f s", msg_float(v, 0) / 1e3);
    else if (is_bytes(key, n_key, v) || (is_number(v) && n_key >= 9 && !memcmp(key, "max_frame", 9)))
        table_bytes(file, msg_float(v, 0));
    else if (kind == MSG_BOOL)
        fputs(msg_bool(v, false) ? "yes" : "no", file);
    else
        out_json_value(file, v);
}

static void table_rows(FILE *file, const struct msg_value *map, int indent)
{
    for (size_t i = 0; i < msg_count(map); i++) {
        size_t n;
        const char *key = msg_key_at(map, i, &n);
        const struct msg_value *v = msg_at(map, i);
        if (!indent && ((n == 4 && !memcmp(key, "type", 4)) || (n == 2 && !memcmp(key, "id", 2))))
            continue;
        table_label(file, key, n, v, indent);
        if (msg_kind(v) == MSG_MAP) {
            putc('\n', file);
            table_rows(file, v, indent + 2);
            continue;
        }
        table_value(file, key, n, v);
        putc('\n', file);
    }
}

void out_table(FILE *file, const struct msg_value *map)
{
    table_rows(file, map, 0);
}

void out_progress(struct out_progress *progress, const char *format, ...)
{
    int64_t now = clock_us();
    if (!isatty(STDERR_FILENO) || (progress->shown && now - progress->last_us < REDRAW_US))
        return;
    va_list args;
    va_start(args, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    fflush(stderr);
    progress->shown = true;
    progress->last_us = now;
}

void out_progress_clear(struct out_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
