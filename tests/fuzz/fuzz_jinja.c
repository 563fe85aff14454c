/* A template and, behind a NUL, its values as JSON: parsed and rendered within small limits. What comes out
 * is UTF-8, and so is every sentence; the marked ranges are in order and lie within the text; and a private
 * character that only the values have never comes out unmarked. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/utf8.h"
#include "src/text/jinja.h"
#include "src/text/jinja_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_TEMPLATE = 1 << 14, MAX_VALUES = 1 << 14 };

static void check_sentence(int r, const struct why *why)
{
    if ((r == 0) != (why->text[0] == '\0') || utf8_check(why->text, strlen(why->text)) != strlen(why->text))
        abort();
}

/* U+E000 to U+EFFF: private characters, whose first byte in UTF-8 is 0xee and that of no others. */
static bool has_private(const char *text, size_t n)
{
    return n && memchr(text, 0xee, n);
}

static void check_text(const struct jinja_text *text, bool template_has_private)
{
    size_t at = 0;
    if (utf8_check(text->text, text->n) != text->n)
        abort();
    for (size_t i = 0; i <= text->n_input; i++) {
        struct jinja_range end = {text->n, 0}, range = i < text->n_input ? text->inputs[i] : end;
        if (range.first < at || range.first > text->n || range.n > text->n - range.first ||
            (i > 0 && i < text->n_input && range.first == at))
            abort();
        if (!template_has_private && has_private(text->text + at, range.first - at))
            abort();
        at = range.first + range.n;
    }
}

static void render(const struct jinja *t, const char *values, size_t n, bool template_has_private)
{
    static const struct jinja_limits limits = {.memory = 1 << 22, .output = 1 << 16, .steps = 20000};
    static const struct tm now = {.tm_year = 125, .tm_mday = 9};
    struct jinja_run *run = NULL;
    struct jinja_value v;
    struct jinja_text text;
    struct why why = {""};
    if (jinja_run_new(&run, &limits) != 0)
        abort();
    jinja_run_set_now(run, &now);
    int r = jinja_json_read(run, values, n, JINJA_INPUT, &v, &why);
    check_sentence(r, &why);
    if (r == 0) {
        jinja_run_set_members(run, v);
        r = jinja_render(run, t, &text, &why);
        if (r < 0 || (r && r != JINJA_E_FAILED && r != JINJA_E_RAISED && r != JINJA_E_LIMIT))
            abort();
        check_sentence(r, &why);
    }
    if (r == 0)
        check_text(&text, template_has_private);
    jinja_run_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *end = n ? memchr(data, '\0', n) : NULL;
    size_t n_template = end ? (size_t)(end - data) : n, n_values = end ? n - n_template - 1 : 0;
    struct jinja *t = NULL;
    struct why why = {""};
    if (n_template > MAX_TEMPLATE || n_values > MAX_VALUES)
        return 0;
    int r = jinja_parse(&t, (const char *)data, n_template, &why);
    check_sentence(r, &why);
    if (r && r != EX_DATAERR)
        abort();
    /* A backslash may write any character. */
    bool has = n_template && (memchr(data, '\\', n_template) || has_private((const char *)data, n_template));
    if (r == 0)
        render(t, end ? (const char *)end + 1 : "{}", end ? n_values : 2, has);
    jinja_free(t);
    return 0;
}
