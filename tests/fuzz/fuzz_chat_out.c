/* What a model writes, in pieces of any size: the first byte chooses the format and the switches, the second
 * how the text is cut. Pushed whole and in pieces it must give the same parts, which account for every byte.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/text/chat_out.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_TEXT = 1 << 16 };

/* Sums that depend on the order of the bytes, for each kind; and what was pushed, at which the parts are
 * compared. */
struct sums {
    uint64_t kind[CHAT_OUT_MARKUP + 1];
    const uint8_t *source;
    size_t n_source, n;
};

static void take(void *ctx, const struct chat_out_part *part)
{
    struct sums *s = ctx;
    if (part->n == 0)
        abort();
    if (part->kind == CHAT_OUT_CALL && strlen(part->id) != CHAT_OUT_N_ID)
        abort();
    if (part->kind != CHAT_OUT_CALL && !part->made) {
        if (part->n > s->n - s->n_source || memcmp(s->source + s->n_source, part->text, part->n) != 0)
            abort();
        s->n_source += part->n;
    }
    for (size_t i = 0; i < part->n; i++)
        s->kind[part->kind] = s->kind[part->kind] * 31 + (uint8_t)part->text[i] + 1;
}

static void run(struct sums *s, unsigned choice, const uint8_t *text, size_t n, size_t piece)
{
    static const char *const templates[] = {"<think><tool_call>", "<|python_tag|>", "[THINK][TOOL_CALLS]",
                                            "<|channel|>analysis<|message|><|tool|>"};
    struct chat_format format;
    struct chat_out out;
    const char *template = templates[choice & 3];
    *s = (struct sums){.source = text, .n = n};
    chat_format_find(&format, template, strlen(template), NULL);
    chat_out_start(
        &out,
        &(struct chat_out_options){
            .format = &format, .tools = !(choice & 4), .in_reasoning = choice & 8, .take = take, .ctx = s});
    for (size_t at = 0; at < n; at += piece)
        chat_out_push(&out, (const char *)text + at, piece < n - at ? piece : n - at);
    chat_out_finish(&out);
    if (s->n_source != n)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 2 || n > MAX_TEXT)
        return 0;
    struct sums whole, cut;
    run(&whole, data[0], data + 2, n - 2, n);
    run(&cut, data[0], data + 2, n - 2, data[1] % 16 + 1);
    if (memcmp(whole.kind, cut.kind, sizeof whole.kind) != 0)
        abort();
    return 0;
}
