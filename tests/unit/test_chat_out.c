/* What chat models write, taken apart: src/text/chat_out.c and its parts, chat_format.c, chat_mark.c.
 *
 * Every case is pushed whole, cut at every place, and byte by byte: the parts must be the same, and what was
 * pushed must come out of them again. */
#include "config.h"
#include "src/text/chat_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "src/text/tokenizer.h"
#include "tests/support.h"

enum { MAX_TEXT = 4096 };

/* What came: the parts as one line, neighbours of a kind joined, and the bytes that are accounted for. */
struct transcript {
    char line[2 * MAX_TEXT], source[MAX_TEXT];
    size_t n_line, n_source;
    int kind; /* of the last part, -1: none */
    int32_t n_call;
};

static void add(struct transcript *t, const char *text, size_t n)
{
    cr_assert_lt(t->n_line + n, sizeof t->line);
    memcpy(t->line + t->n_line, text, n);
    t->n_line += n;
    t->line[t->n_line] = '\0';
}

static void begin(struct transcript *t, const struct chat_out_part *part)
{
    char heading[32];
    if (part->kind == CHAT_OUT_CALL)
        snprintf(heading, sizeof heading, " call %d ", (int)part->call);
    else if (part->kind == CHAT_OUT_ARGUMENTS)
        snprintf(heading, sizeof heading, " %d:", (int)part->call);
    else
        snprintf(heading, sizeof heading, " %s:", part->kind == CHAT_OUT_CONTENT ? "text" : "thought");
    add(t, t->kind < 0 ? heading + 1 : heading, strlen(heading) - (t->kind < 0));
    t->kind = (int)part->kind;
}

static void take(void *ctx, const struct chat_out_part *part)
{
    struct transcript *t = ctx;
    cr_assert_gt(part->n, 0);
    if (part->kind != CHAT_OUT_CALL && !part->made) {
        cr_assert_leq(t->n_source + part->n, sizeof t->source);
        memcpy(t->source + t->n_source, part->text, part->n);
        t->n_source += part->n;
    }
    if (part->kind == CHAT_OUT_MARKUP)
        return;
    if (part->kind == CHAT_OUT_CALL) {
        cr_assert_eq(part->call, t->n_call++);
        cr_assert_eq(strlen(part->id), CHAT_OUT_N_ID);
    }
    if (part->kind == CHAT_OUT_ARGUMENTS)
        cr_assert_eq(part->call, t->n_call - 1);
    if ((int)part->kind != t->kind || part->kind == CHAT_OUT_CALL)
        begin(t, part);
    add(t, part->text, part->n);
}

struct setting {
    const char *template; /* its text, as far as it matters */
    bool tools, in_reasoning;
};

/* The text cut into pieces: the first of n_first bytes, all others of `size`. */
static void run(struct transcript *t, const struct setting *s, const char *text, size_t n, size_t n_first,
                size_t size)
{
    struct chat_format format;
    struct chat_out *out = malloc(sizeof *out);
    *t = (struct transcript){.kind = -1};
    chat_format_find(&format, s->template, strlen(s->template), NULL);
    chat_out_start(
        out,
        &(struct chat_out_options){
            .format = &format, .tools = s->tools, .in_reasoning = s->in_reasoning, .take = take, .ctx = t});
    for (size_t at = 0, piece = n_first; at < n; at += piece, piece = size) {
        piece = piece > n - at ? n - at : piece;
        char *copy = malloc(piece + 1); /* pieces do not live longer than their push */
        memcpy(copy, text + at, piece);
        chat_out_push(out, copy, piece);
        free(copy);
    }
    chat_out_finish(out);
    cr_assert_eq(chat_out_n_call(out), t->n_call);
    free(out);
    cr_assert(t->n_source == n && memcmp(t->source, text, n) == 0, "%s:\n accounted for: %.*s", text,
              (int)t->n_source, t->source);
}

static void check(const struct setting *s, const char *text, const char *want)
{
    struct transcript t;
    size_t n = strlen(text);
    run(&t, s, text, n, n, n);
    cr_expect_str_eq(t.line, want, "%s:\n got  %s\n want %s", text, t.line, want);
    for (size_t cut = 0; cut <= n; cut++) {
        struct transcript other;
        run(&other, s, text, n, cut, cut == 0 ? 1 : n);
        cr_assert_str_eq(other.line, t.line, "%s, cut at %zu:\n got  %s\n want %s", text, cut, other.line,
                         t.line);
    }
}

struct example {
    const char *text, *want;
};

static void check_all(const struct setting *s, const struct example *examples, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check(s, examples[i].text, examples[i].want);
}

#define CHECK_ALL(setting, ...)                                             \
    do {                                                                    \
        const struct example examples[] = __VA_ARGS__;                      \
        check_all(setting, examples, sizeof examples / sizeof examples[0]); \
    } while (0)

/* Signs of the templates. */
#define QWEN "<tool_call>\n{\"name\": <function-name>"
#define LLAMA "<|python_tag|>"
#define MISTRAL "[TOOL_CALLS]"
#define PHI "<|tool|>"
#define HARMONY "<|start|>assistant<|channel|>analysis<|message|>"

Test(chat_out, text_is_text)
{
    const struct setting none = {"", true, false}, no_tools = {QWEN LLAMA "<think>", false, false};
    CHECK_ALL(&none, {
                         {"", ""},
                         {"Hello", "text:Hello"},
                         {" \n x ", "text: \n x "},
                         {"<think>a</think>b", "text:<think>a</think>b"},
                         {"<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>",
                          "text:<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"},
                     });
    CHECK_ALL(&no_tools,
              {
                  {"<tool_call>{\"name\": \"f\", \"arguments\": {}}",
                   "text:<tool_call>{\"name\": \"f\", \"arguments\": {}}"},
                  {"{\"name\": \"f\", \"parameters\": {}}", "text:{\"name\": \"f\", \"parameters\": {}}"},
                  {"<think>a</think>{\"name\": 1}", "thought:a text:{\"name\": 1}"},
              });
}

Test(chat_out, thoughts)
{
    const struct setting tags = {"'</think>' in content", false, false};
    CHECK_ALL(&tags, {
                         {"<think>\nhm, 1 < 2\n</think>\n\nYes.", "thought:hm, 1 < 2 text:Yes."},
                         {"\n <think>a</think>b", "thought:a text:b"},
                         {"<think></think>b", "text:b"},
                         {"<think>\n\n</think>\n\nb <think>c</think>", "text:b <think>c</think>"},
                         {"<think>a</thi</think>b", "thought:a</thi text:b"},
                         {"<think>a<</think>b", "thought:a< text:b"},
                         {"<think>a  b </thinks> c</think>  ", "thought:a  b </thinks> c"},
                         {"<think>never closed </thi", "thought:never closed </thi"},
                         {"<think>é\n", "thought:é\n"},
                         {"a <think>b</think>", "text:a <think>b</think>"},
                         {"<thin", "text:<thin"},
                         {"< <think>a</think>", "text:< <think>a</think>"},
                         {"<<think>a</think>", "text:<<think>a</think>"},
                         {"a</think>b", "text:a</think>b"},
                     });
    const struct setting opened = {"<think>", false, true};
    CHECK_ALL(&opened, {
                           {"\nhm\n</think>\n\nYes.", "thought:hm text:Yes."},
                           {"no end", "thought:no end"},
                           {"<think>hm</think>x", "thought:<think>hm text:x"},
                       });
    const struct setting brackets = {"[THINK]", false, false}, word = {"<thinking>", false, false};
    check(&brackets, "[THINK]a[/THINK]b", "thought:a text:b");
    check(&word, "<thinking>a</thinking>b", "thought:a text:b");
}

Test(chat_out, harmony)
{
    const struct setting s = {HARMONY, false, false}, opened = {HARMONY, false, true};
    CHECK_ALL(&s, {
                      {"<|channel|>analysis<|message|>User "
                       "asks.<|end|><|start|>assistant<|channel|>final<|message|>Hi.",
                       "thought:User asks. text:Hi."},
                      {"<|channel|>final<|message|>Hi <|x", "text:Hi <|x"},
                      {"<|channel|>analysis<|chan", "text:<|channel|>analysis<|chan"},
                      {"<|channel|>analysis<|message|>a<|e<|end|>b", "thought:a<|e text:b"},
                  });
    check(&opened, "a<|end|><|start|>assistant<|channel|>final<|message|>b", "thought:a text:b");
}

Test(chat_out, tagged)
{
    const struct setting s = {QWEN "<think>", true, false};
    CHECK_ALL(
        &s, {
                {"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}\n</tool_call>",
                 "call 0 f 0:{\"a\": \"x\"}"},
                {"Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n"
                 "{\"arguments_\": [1, {\"name\": \"no\"}], \"name\": \"g\", \"arguments\": {\"b\": [{}, "
                 "\"}\\\"\", -1.5e3]}, "
                 "\"id\": null}\n</tool_call>",
                 "text:Let me see. call 0 f 0:{} call 1 g 1:{\"b\": [{}, \"}\\\"\", -1.5e3]}"},
                {"<think>call f "
                 "<tool_call></think>\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call> done",
                 "thought:call f <tool_call> call 0 f 0:{} text:done"},
                {"a <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n\nb",
                 "text:a call 0 f 0:{} text:b"},
                /* the closing mark is missing */
                {"<tool_call>{\"name\":\"f\",\"arguments\":{}}\n\ntext", "call 0 f 0:{} text:text"},
                {"<tool_call>{\"name\":\"f\",\"arguments\":{}}<tool_call>{\"name\":\"g\",\"arguments\":{}}",
                 "call 0 f 0:{} call 1 g 1:{}"},
                /* an array, as Granite writes it */
                {"<tool_call>[{\"name\":\"f\",\"arguments\":{}} , {\"name\":\"g\",\"parameters\":{}}]",
                 "call 0 f 0:{} call 1 g 1:{}"},
            });
}

Test(chat_out, what_is_no_call_is_text)
{
    const struct setting s = {QWEN, true, false};
    CHECK_ALL(
        &s,
        {
            {"<tool_call>", "text:<tool_call>"},
            {"<tool_call> f(1)</tool_call>", "text:<tool_call> f(1)</tool_call>"},
            {"<tool_call>{}</tool_call>", "text:<tool_call>{}</tool_call>"},
            {"<tool_call>{\"name\": \"f\"}", "text:<tool_call>{\"name\": \"f\"}"},
            {"<tool_call>{\"name\": \"f\", \"arguments\": \"{}\"}",
             "text:<tool_call>{\"name\": \"f\", \"arguments\": \"{}\"}"},
            {"<tool_call>{\"name\": \"f\", \"arguments\": [1]}",
             "text:<tool_call>{\"name\": \"f\", \"arguments\": [1]}"},
            {"<tool_call>{\"name\": 1, \"arguments\": {}}",
             "text:<tool_call>{\"name\": 1, \"arguments\": {}}"},
            {"<tool_call>{\"name\": \"\", \"arguments\": {}}",
             "text:<tool_call>{\"name\": \"\", \"arguments\": {}}"},
            {"<tool_call>{\"name\": \"a\\\"b\", \"arguments\": {}}",
             "text:<tool_call>{\"name\": \"a\\\"b\", \"arguments\": {}}"},
            {"<tool_call>{\"arguments\": {}, \"name\": \"f\"}",
             "text:<tool_call>{\"arguments\": {}, \"name\": \"f\"}"},
            {"<tool_call>{'name': 'f'}", "text:<tool_call>{'name': 'f'}"},
            {"<tool_call>[]</tool_call>", "text:<tool_call>[]</tool_call>"},
            {"<tool_call>{\"name\": \"f\", \"argum", "text:<tool_call>{\"name\": \"f\", \"argum"},
            /* one that goes wrong, then one that does not */
            {"<tool_call>\n<tool_call>{\"name\":\"f\",\"arguments\":{}}", "text:<tool_call>\n call 0 f 0:{}"},
            {"<tool_call>oops</tool_call>\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
             "text:<tool_call>oops</tool_call> call 0 f 0:{}"},
            {"<tool_ <tool_call>{\"name\":\"f\",\"arguments\":{}}", "text:<tool_ call 0 f 0:{}"},
            {"<<tool_call>{\"name\":\"f\",\"arguments\":{}}", "text:< call 0 f 0:{}"},
        });
}

Test(chat_out, a_call_that_goes_wrong_ends_there)
{
    const struct setting s = {QWEN, true, false};
    CHECK_ALL(
        &s,
        {
            {"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": oops}}", "call 0 f 0:{\"a\":  text:oops}}"},
            {"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": [1}", "call 0 f 0:{\"a\": [1 text:}"},
            {"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x", "call 0 f 0:{\"a\": \"x"},
            {"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 01", "call 0 f 0:{\"a\": 0 text:1"},
            {"<tool_call>{\"name\": \"f\", \"arguments\": {}, \"x\": oops}",
             "call 0 f 0:{} text:, \"x\": oops}"},
            {"<tool_call>{\"name\": \"f\", \"arguments\": {}", "call 0 f 0:{}"},
            {"<tool_call>{\"name\": \"f\", \"arguments\": {}} </tool_", "call 0 f 0:{} text:</tool_"},
            {"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": <tool_call>{\"name\": \"g\", "
             "\"arguments\": {}}",
             "call 0 f 0:{\"a\":  call 1 g 1:{}"},
        });
}

Test(chat_out, mistral)
{
    const struct setting s = {MISTRAL, true, false};
    CHECK_ALL(
        &s, {
                {"[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": \"abcdefghi\"}]",
                 "call 0 f 0:{\"a\": 1}"},
                {"[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", \"arguments\": {}}]",
                 "call 0 f 0:{} call 1 g 1:{}"},
                {"Sure. [TOOL_CALLS]f[ARGS]{\"a\": {}}[TOOL_CALLS]g[ARGS] {}",
                 "text:Sure. call 0 f 0:{\"a\": {}} call 1 g 1:{}"},
                {"[TOOL_CALLS]f[CALL_ID]abc123DEF[ARGS]{}", "call 0 f 0:{}"},
                {"[TOOL_CALLS]get-it.v2{\"a\": 1}", "call 0 get-it.v2 0:{\"a\": 1}"},
                {"[TOOL_CALLS]f[OTHER]{}", "text:[TOOL_CALLS]f[OTHER]{}"},
                {"[TOOL_CALLS]f g{}", "text:[TOOL_CALLS]f g{}"},
                {"[TOOL_CALLS]f[ARGS]1", "text:[TOOL_CALLS]f[ARGS]1"},
                {"[TOOL_CALLS]1{}", "text:[TOOL_CALLS]1{}"},
                {"[TOOL_CALLS][f{}]", "text:[TOOL_CALLS][f{}]"},
                {"[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}} {", "call 0 f 0:{} text:{"},
                {"[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}, x]", "call 0 f 0:{} text:, x]"},
                {"[1] [TOOL]", "text:[1] [TOOL]"},
            });
}

Test(chat_out, phi)
{
    const struct setting s = {PHI, true, false}, granite = {"<|tool_call|>", true, false};
    CHECK_ALL(&s, {
                      {"<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"city\": \"Tōkyō\"}}]<|/tool_call|>",
                       "call 0 f 0:{\"city\": \"Tōkyō\"}"},
                      {"functools[{\"name\": \"f\", \"arguments\": {}}]", "call 0 f 0:{}"},
                      {"import functools\n", "text:import functools\n"},
                      {"functools functools[{\"name\": \"f\", \"arguments\": {}}]",
                       "text:functools  call 0 f 0:{}"},
                  });
    check(&granite, "<|tool_call|>[{\"name\": \"f\", \"arguments\": {}}]", "call 0 f 0:{}");
}

Test(chat_out, llama_in_json)
{
    const struct setting s = {LLAMA, true, false}, small = {"Environment: ipython", true, false};
    CHECK_ALL(&s, {
                      {"{\"name\": \"f\", \"parameters\": {\"a\": \"b\"}}", "call 0 f 0:{\"a\": \"b\"}"},
                      {"<|python_tag|>{\"type\": \"function\", \"name\": \"f\", \"parameters\": {}}",
                       "call 0 f 0:{}"},
                      {"\n{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", \"parameters\": {}}",
                       "call 0 f 0:{} call 1 g 1:{}"},
                      {"{\"name\": \"f\", \"parameters\": {}}; so", "call 0 f 0:{} text:; so"},
                      {"{\"name\": \"Ann\", \"age\": 3}", "text:{\"name\": \"Ann\", \"age\": 3}"},
                      {"{x} <|python_tag|>{\"name\": \"f\", \"parameters\": {}}", "text:{x} call 0 f 0:{}"},
                      {"[1, 2]", "text:[1, 2]"},
                      {"; [a](b)", "text:; [a](b)"},
                      {"<|python_tag|>print(1)", "text:<|python_tag|>print(1)"},
                  });
    check(&small, "{\"name\": \"f\", \"parameters\": {}}", "call 0 f 0:{}");
}

Test(chat_out, llama_in_python)
{
    const struct setting s = {LLAMA, true, false};
    CHECK_ALL(
        &s,
        {
            {"<|python_tag|>brave_search.call(query=\"weather, Paris\")",
             "call 0 brave_search 0:{\"query\": \"weather, Paris\"}"},
            {"[f(a=1, b='x'), g()]", "call 0 f 0:{\"a\": 1, \"b\": \"x\"} call 1 g 1:{}"},
            {"[f(a=[1, -2.5e3, True, None], b={'k': False, \"l\": []},)] ok",
             "call 0 f 0:{\"a\": [1, -2.5e3, true, null], \"b\": {\"k\": false, \"l\": []}} text:ok"},
            {"[f(a='it\\'s \"so\" \\x41\\u00e9\\n\\d\\a\\\\', b=\"don't\")]",
             "call 0 f 0:{\"a\": \"it's \\\"so\\\" \\u0041\\u00e9\\n\\\\d\\u0007\\\\\", \"b\": \"don't\"}"},
            {"[f(a='é')]", "call 0 f 0:{\"a\": \"é\"}"},
            {"[f( a=1 ,\n b=2 )]", "call 0 f 0:{\"a\": 1 , \"b\": 2 }"},
            /* no call */
            {"[f(x)](link)", "text:[f(x)](link)"},
            {"[f (a=1)]", "text:[f (a=1)]"},
            {"[f(1)]", "text:[f(1)]"},
            /* what goes wrong */
            {"[f(a=)]", "call 0 f 0:{\"a\":  text:)]"},
            {"[f(a=(1, 2))]", "call 0 f 0:{\"a\":  text:(1, 2))]"},
            {"[f(a=1 + 2)]", "call 0 f 0:{\"a\": 1  text:+ 2)]"},
            {"[f(a=foo)]", "call 0 f 0:{\"a\":  text:foo)]"},
            {"[f(a=1] x", "call 0 f 0:{\"a\": 1 text:] x"},
            {"[f(a={1: 2})]", "call 0 f 0:{\"a\": { text:1: 2})]"},
            {"[f(a='x\ny')]", "call 0 f 0:{\"a\": \"x text:\ny')]"},
            {"[f(a='\\xg')]", "call 0 f 0:{\"a\": \" text:g')]"},
            {"[f(a='x", "call 0 f 0:{\"a\": \"x"},
            {"[f(a=Tr", "call 0 f 0:{\"a\":  text:Tr"},
            {"[f(a=1), 2]", "call 0 f 0:{\"a\": 1} text:, 2]"},
        });
}

/* What may precede the arguments is bounded; of the bounds, one less is a call. */
Test(chat_out, bounds)
{
    const struct setting s = {QWEN, true, false};
    struct transcript t;
    char text[2 * CHAT_OUT_MAX_HELD];
    for (int extra = 0; extra < 2; extra++) {
        int n = snprintf(text, sizeof text, "<tool_call>{\"name\": \"%0*d\", \"arguments\": {}}",
                         CHAT_OUT_MAX_NAME + extra, 0);
        run(&t, &s, text, (size_t)n, (size_t)n, 1);
        cr_assert_eq(t.n_call, 1 - extra, "name of %d bytes", CHAT_OUT_MAX_NAME + extra);
        const char head[] = "<tool_call>{\"name\": \"f\", \"arguments\": ";
        n = snprintf(text, sizeof text, "<tool_call>%*s{\"name\": \"f\", \"arguments\": {}}",
                     (int)(CHAT_OUT_MAX_HELD - (sizeof head - 1) + (size_t)extra), "");
        run(&t, &s, text, (size_t)n, (size_t)n, 1);
        cr_assert_eq(t.n_call, 1 - extra, "%d bytes before the arguments", CHAT_OUT_MAX_HELD + extra);
        run(&t, &s, text, (size_t)n, 0, 1);
        cr_assert_eq(t.n_call, 1 - extra, "the same byte by byte");
    }
    memset(text, ' ', sizeof text);
    memcpy(text + sizeof text - 12, "<tool_call>", 11);
    run(&t, &s, text, sizeof text, 7, 7);
    cr_assert_eq(t.n_line, sizeof text + 5);
}

/* Noise made of the pieces that mean something: however it is cut, the parts are the same and all is
 * accounted for (run checks that). */
Test(chat_out, noise)
{
    static const char *const templates[] = {QWEN "<think>", LLAMA "<think>", MISTRAL "[THINK]", PHI, HARMONY};
    static const char *const words[] = {
        "<think>",
        "</think>",
        "[THINK]",
        "[/THINK]",
        "<tool_call>",
        "</tool_call>",
        "<|python_tag|>",
        "[TOOL_CALLS]",
        "[ARGS]",
        "[CALL_ID]",
        "<|tool_call|>",
        "<|/tool_call|>",
        "functools",
        "<|channel|>analysis<|message|>",
        "<|end|>",
        "{\"name\": \"f\", ",
        "\"arguments\": ",
        "\"parameters\":",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ";",
        "\"",
        "'",
        "\\",
        "f(",
        "a=",
        "True",
        "1",
        "e",
        ".call(",
        " ",
        "\n",
        "x",
        "é",
        "{}",
        "{\"a\": 1}",
        "<",
        "t",
    };
    uint64_t state = 1;
    for (int round = 0; round < 20000; round++) {
        char text[256];
        size_t n = 0;
        for (int i = 0; i < 12; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const char *word = words[(state >> 33) % (sizeof words / sizeof words[0])];
            memcpy(text + n, word, strlen(word));
            n += strlen(word);
        }
        const struct setting s = {templates[round % 5], round % 7 != 0, round % 11 == 0};
        struct transcript whole, cut;
        text[n] = '\0';
        run(&whole, &s, text, n, n, n);
        run(&cut, &s, text, n, (state >> 40) % n, 1 + (state >> 50) % 5);
        cr_assert_str_eq(cut.line, whole.line, "%s:\n got  %s\n want %s", text, cut.line, whole.line);
    }
}

static void take_id(void *ctx, const struct chat_out_part *part)
{
    char(*ids)[CHAT_OUT_N_ID + 1] = ctx;
    if (part->kind == CHAT_OUT_CALL)
        memcpy(ids[part->call], part->id, sizeof ids[0]);
}

Test(chat_out, ids)
{
    char ids[2][2][CHAT_OUT_N_ID + 1];
    struct chat_format format;
    chat_format_find(&format, LLAMA, strlen(LLAMA), NULL);
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct chat_out out;
        chat_out_start(
            &out, &(struct chat_out_options){
                      .format = &format, .tools = true, .id_seed = seed, .take = take_id, .ctx = ids[seed]});
        chat_out_push(&out, "[f(), g()]", 10);
        chat_out_finish(&out);
    }
    cr_assert_eq(strspn(ids[0][0], "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
                 CHAT_OUT_N_ID);
    cr_assert_str_neq(ids[0][0], ids[0][1]);
    cr_assert_str_neq(ids[0][0], ids[1][0]);
}

Test(chat_format, opens)
{
    struct chat_format f;
    chat_format_find(&f, "<think>", 7, NULL);
    cr_assert(chat_format_opens(&f, "<|im_start|>assistant\n<think>\n", 30));
    cr_assert(chat_format_opens(&f, "<think>", 7));
    cr_assert_not(chat_format_opens(&f, "<think>\n</think>\n", 17));
    cr_assert_not(chat_format_opens(&f, "think>", 6));
    cr_assert_not(chat_format_opens(&f, "", 0));
    chat_format_find(&f, "", 0, NULL);
    cr_assert_not(chat_format_opens(&f, "<think>", 7));
}

/* The models' own templates. */
Test(chat_format, templates)
{
    static const struct {
        const char *name, *call, *thoughts;
    } rows[] = {
        {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "<tool_call>", NULL},
        {"Qwen-QwQ-32B", "<tool_call>", "<think>"},
        {"Qwen-Qwen2.5-7B-Instruct", "<tool_call>", NULL},
        {"Qwen-Qwen3-0.6B", "<tool_call>", "<think>"},
        {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", NULL, "<think>"},
        {"google-gemma-2-2b-it", NULL, NULL},
        {"meta-llama-Llama-3.1-8B-Instruct", "<|python_tag|>", NULL},
        {"meta-llama-Llama-3.2-3B-Instruct", "<|python_tag|>", NULL},
        {"microsoft-Phi-3.5-mini-instruct", NULL, NULL},
        {"mistralai-Mistral-Nemo-Instruct-2407", "[TOOL_CALLS]", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[SUPPORT_PATH];
        size_t n;
        struct chat_format f;
        support_data(path, "data/chat_templates/%s.jinja", rows[i].name);
        char *text = support_read(path, &n);
        chat_format_find(&f, text, n, NULL);
        free(text);
        cr_expect_eq(!f.calls, !rows[i].call, "%s", rows[i].name);
        cr_expect_eq(!f.thoughts, !rows[i].thoughts, "%s", rows[i].name);
        if (f.calls && rows[i].call)
            cr_expect_str_eq(f.calls->open[0], rows[i].call, "%s", rows[i].name);
        if (f.thoughts && rows[i].thoughts)
            cr_expect_str_eq(f.thoughts->open, rows[i].thoughts, "%s", rows[i].name);
    }
}

/* Marks that are special tokens: each by itself, and those within longer marks. */
Test(chat_format, special_tokens)
{
    char folder[SUPPORT_PATH];
    struct tokenizer *t = NULL;
    struct why why = {""};
    const char json[] =
        "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}, \"added_tokens\": ["
        "{\"id\": 1, \"content\": \"<|channel|>\", \"special\": true},"
        "{\"id\": 2, \"content\": \"<|end|>\", \"special\": true},"
        "{\"id\": 3, \"content\": \"<tool_call>\", \"special\": false},"
        "{\"id\": 4, \"content\": \"</tool_call>\", \"special\": true},"
        "{\"id\": 5, \"content\": \"<s>\", \"special\": true},"
        "{\"id\": 6, \"content\": \"[THINK]\", \"special\": true},"
        "{\"id\": 7, \"content\": \"[/THINK]\", \"special\": true}]}";
    support_dir_make(folder);
    support_write(folder, "tokenizer.json", json, sizeof json - 1);
    int r = tokenizer_open(&t, folder, &why);
    support_dir_remove(folder);
    cr_assert_eq(r, 0, "%s", why.text);
    struct chat_format f;
    chat_format_find(&f, HARMONY QWEN, strlen(HARMONY QWEN), t);
    cr_assert_eq(f.n_id, 3);
    for (int32_t id = 0; id < 8; id++)
        cr_assert_eq(chat_format_is_mark(&f, id), id == 1 || id == 2 || id == 4, "%d", (int)id);
    /* a template that says nothing of thoughts */
    chat_format_find(&f, "", 0, t);
    cr_assert_str_eq(f.thoughts->open, "[THINK]");
    cr_assert_eq(f.n_id, 2);
    tokenizer_free(t);
}
