/* What chat models write, taken apart as it comes: see chat_out.h. */
#include "config.h"
#include "src/text/chat_out.h"

#include <string.h>

#include "src/text/chat_out_parts.h"

/* Delivering. */

static void deliver(struct chat_out *c, enum chat_out_kind kind, const char *text, size_t n)
{
    if (n > 0)
        c->options.take(c->options.ctx,
                        &(struct chat_out_part){.kind = kind, .text = text, .n = n, .call = c->n_call - 1});
}

void chat_out_settle(struct chat_out *c, enum chat_out_kind kind, size_t back)
{
    size_t n = c->n_held + (c->at - c->from) - back;
    size_t n_old = n < c->n_held ? n : c->n_held;
    deliver(c, kind, c->held, n_old);
    deliver(c, kind, c->text + c->from, n - n_old);
    c->from += n - n_old;
    c->n_held -= n_old;
    if (n_old > 0)
        memmove(c->held, c->held + n_old, c->n_held);
    c->n_back = back;
}

void chat_out_make(struct chat_out *c, const char *text, size_t n)
{
    c->options.take(
        c->options.ctx,
        &(struct chat_out_part){
            .kind = CHAT_OUT_ARGUMENTS, .text = text, .n = n, .made = true, .call = c->n_call - 1});
}

/* splitmix64's output function: any seed gives bits that look drawn. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void draw_id(struct chat_out *c)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint64_t bits = mix(mix(c->options.id_seed) + (uint64_t)c->n_call + 1);
    for (int i = 0; i < CHAT_OUT_N_ID; i++) {
        c->id[i] = digits[bits % (sizeof digits - 1)];
        bits /= sizeof digits - 1;
    }
}

void chat_out_announce(struct chat_out *c, size_t back)
{
    chat_out_settle(c, CHAT_OUT_MARKUP, back);
    draw_id(c);
    c->options.take(c->options.ctx, &(struct chat_out_part){
                                        .kind = CHAT_OUT_CALL,
                                        .text = c->call.name,
                                        .n = c->call.n_name,
                                        .call = c->n_call++,
                                        .id = c->id,
                                    });
}

/* Marks. */

void chat_out_expect(struct chat_out *c, unsigned mask)
{
    c->stage = CHAT_OUT_AT_MARK;
    c->searched = c->options.tools ? mask : mask & ~(unsigned)CHAT_OUT_CALLS;
    c->skip = true;
    c->n_matched = c->n_space = 0;
    chat_mark_reset(c->marks);
}

/* What decided text is in the present stage. */
static enum chat_out_kind kind_now(const struct chat_out *c)
{
    return c->stage == CHAT_OUT_THINKING         ? CHAT_OUT_REASONING
           : c->stage == CHAT_OUT_CALL_ARGUMENTS ? CHAT_OUT_ARGUMENTS
           : c->stage >= CHAT_OUT_PYTHON_KEY     ? CHAT_OUT_MARKUP
                                                 : CHAT_OUT_CONTENT;
}

bool chat_out_refuse(struct chat_out *c)
{
    chat_out_settle(c, kind_now(c), c->n_back);
    c->stage = CHAT_OUT_TEXT;
    c->searched &= CHAT_OUT_CALLS;
    c->skip = false;
    c->n_matched = c->n_space = 0;
    chat_mark_reset(c->marks);
    chat_out_settle(c, CHAT_OUT_CONTENT, 1);
    return false;
}

/* A mark is complete: everything undecided belongs to it. */
static void take_mark(struct chat_out *c, int mark)
{
    if (mark == CHAT_MARK_CALL || mark == CHAT_MARK_CALL_TOO) {
        chat_call_start(c, false);
        return;
    }
    chat_out_settle(c, CHAT_OUT_MARKUP, 0);
    chat_out_expect(c, CHAT_OUT_CALLS | (mark == CHAT_MARK_CLOSE_THOUGHTS ? CHAT_OUT_ANSWER : 0));
    if (mark == CHAT_MARK_OPEN_THOUGHTS) {
        c->stage = CHAT_OUT_THINKING;
        c->searched = 1U << CHAT_MARK_CLOSE_THOUGHTS;
    }
}

/* White space behind a mark. */
static bool skip(struct chat_out *c, char byte)
{
    c->skip = c->skip && chat_mark_is_space(byte);
    if (c->skip)
        chat_out_settle(c, CHAT_OUT_MARKUP, 0);
    return c->skip;
}

/* Notes that the text ends with so many bytes of a mark, and how much white space stands before them. */
static void note(struct chat_out *c, char byte, size_t n_matched)
{
    if (n_matched > 0)
        c->n_space = n_matched == c->n_matched + 1 ? c->n_space : 0;
    else if (!chat_mark_is_space(byte))
        c->n_space = 0;
    else
        c->n_space = c->n_matched > 0 ? 1 : c->n_space < CHAT_OUT_MAX_SPACE ? c->n_space + 1 : c->n_space;
    c->n_matched = n_matched;
    c->n_back = c->n_space + n_matched;
}

/* Within a text: finds marks, and how much of the text's end may become one. */
static bool search(struct chat_out *c, char byte, enum chat_out_kind kind)
{
    size_t longest;
    int found = chat_mark_push(c->marks, c->searched, byte, &longest);
    note(c, byte, longest);
    if (found >= 0) {
        chat_out_settle(c, kind, c->n_back);
        take_mark(c, found);
    }
    return true;
}

static bool think(struct chat_out *c, char byte)
{
    return skip(c, byte) || search(c, byte, CHAT_OUT_REASONING);
}

static bool text(struct chat_out *c, char byte)
{
    return search(c, byte, CHAT_OUT_CONTENT);
}

static bool is_llama(const struct chat_out *c)
{
    return c->options.tools && c->options.format->calls &&
           c->options.format->calls->grammar == CHAT_GRAMMAR_LLAMA;
}

/* No mark begins here. One of those that a text may have can have begun within what was undecided. */
static void leave_mark(struct chat_out *c, char byte)
{
    size_t longest = 0;
    c->stage = CHAT_OUT_TEXT;
    c->searched &= CHAT_OUT_CALLS;
    for (int i = 0; i < CHAT_MARK_N; i++)
        if (c->searched >> i & 1 && c->marks[i].matched > longest)
            longest = c->marks[i].matched;
    note(c, byte, longest);
    chat_out_settle(c, CHAT_OUT_CONTENT, c->n_back);
}

/* Where a mark may stand. As long as nothing has come but white space and the beginning of one, all of it is
 * undecided. */
static bool at_mark(struct chat_out *c, char byte)
{
    if (skip(c, byte) || (c->n_matched == 0 && chat_mark_is_space(byte)))
        return true;
    if (c->n_matched == 0 && is_llama(c)) {
        if (byte == ';' && c->searched & CHAT_OUT_CLOSE_CALL)
            return true; /* it separates calls */
        if (byte == '{' || byte == '[') {
            chat_call_start(c, true);
            return false;
        }
    }
    size_t longest;
    int found = chat_mark_push(c->marks, c->searched, byte, &longest);
    if (found >= 0)
        take_mark(c, found);
    else if (longest == c->n_matched + 1)
        c->n_matched = longest;
    else
        leave_mark(c, byte);
    return true;
}

/* All together. */

static const chat_out_step steps[CHAT_OUT_N_STAGE] = {
    [CHAT_OUT_AT_MARK] = at_mark,
    [CHAT_OUT_THINKING] = think,
    [CHAT_OUT_TEXT] = text,
    [CHAT_OUT_CALL_BEGIN] = chat_call_begin,
    [CHAT_OUT_CALL_ELEMENT] = chat_call_element,
    [CHAT_OUT_CALL_OBJECT] = chat_call_object,
    [CHAT_OUT_CALL_NAME] = chat_call_name,
    [CHAT_OUT_CALL_INNER] = chat_call_inner,
    [CHAT_OUT_CALL_ID] = chat_call_id,
    [CHAT_OUT_CALL_OPEN] = chat_call_open,
    [CHAT_OUT_CALL_ARGUMENTS] = chat_call_arguments,
    [CHAT_OUT_CALL_TAIL] = chat_call_tail,
    [CHAT_OUT_CALL_NEXT] = chat_call_next,
    [CHAT_OUT_PYTHON_KEY] = chat_python_key,
    [CHAT_OUT_PYTHON_EQUALS] = chat_python_equals,
    [CHAT_OUT_PYTHON_VALUE] = chat_python_value,
    [CHAT_OUT_PYTHON_WORD] = chat_python_word,
    [CHAT_OUT_PYTHON_STRING] = chat_python_string,
    [CHAT_OUT_PYTHON_ESCAPE] = chat_python_escape,
};

static void step(struct chat_out *c, char byte)
{
    while (!steps[c->stage](c, byte))
        ;
}

void chat_out_start(struct chat_out *c, const struct chat_out_options *options)
{
    static const struct chat_thoughts no_thoughts;
    static const struct chat_calls no_calls;
    const struct chat_format *f = options->format;
    const struct chat_thoughts *thoughts = f->thoughts ? f->thoughts : &no_thoughts;
    const struct chat_calls *calls = f->calls ? f->calls : &no_calls;
    *c = (struct chat_out){.options = *options, .text = ""};
    chat_mark_set(&c->marks[CHAT_MARK_OPEN_THOUGHTS], thoughts->open);
    chat_mark_set(&c->marks[CHAT_MARK_CLOSE_THOUGHTS], thoughts->close);
    chat_mark_set(&c->marks[CHAT_MARK_ANSWER], thoughts->answer[0]);
    chat_mark_set(&c->marks[CHAT_MARK_ANSWER_TOO], thoughts->answer[1]);
    chat_mark_set(&c->marks[CHAT_MARK_CALL], calls->open[0]);
    chat_mark_set(&c->marks[CHAT_MARK_CALL_TOO], calls->open[1]);
    chat_mark_set(&c->marks[CHAT_MARK_CLOSE_CALL], calls->close);
    chat_out_expect(c, 1U << CHAT_MARK_OPEN_THOUGHTS | CHAT_OUT_ANSWER | CHAT_OUT_CALLS);
    c->skip = false;
    if (options->in_reasoning)
        take_mark(c, CHAT_MARK_OPEN_THOUGHTS);
}

void chat_out_push(struct chat_out *c, const char *bytes, size_t n)
{
    c->text = bytes;
    c->from = c->at = 0;
    for (size_t i = 0; i < n; i++) {
        c->at = i + 1;
        c->n_back++;
        step(c, bytes[i]);
        if (c->n_back > CHAT_OUT_MAX_HELD) {
            chat_out_refuse(c);
            step(c, bytes[i]);
        }
    }
    chat_out_settle(c, kind_now(c), c->n_back);
    if (n > c->from)
        memcpy(c->held + c->n_held, bytes + c->from, n - c->from);
    c->n_held += n - c->from;
    c->from = c->at = 0;
}

void chat_out_finish(struct chat_out *c)
{
    chat_out_settle(c, kind_now(c), c->n_back);
    chat_out_settle(c, c->stage == CHAT_OUT_THINKING ? CHAT_OUT_REASONING : CHAT_OUT_CONTENT, 0);
}

int32_t chat_out_n_call(const struct chat_out *c)
{
    return c->n_call;
}
