/* The pre-tokenizers, normalizers and added tokens, part by part: src/text/pretok.c, normalize.c, added.c.
 * What is expected here was taken from the reference implementation. */
#include "config.h"
#include "src/text/pretok.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include <criterion/criterion.h>

#include "src/text/added.h"
#include "src/text/normalize.h"
#include "tests/unit/text_util.h"

static const struct part *parse(struct arena *arena, const char *json)
{
    struct jsonread r;
    struct why why = {""};
    const struct part *p = NULL;
    jsonread_init(&r, json, strlen(json), &why);
    jsonread_next(&r);
    cr_assert_eq(part_read(&p, &r, arena), 0, "%s: %s", json, why.text);
    jsonread_deinit(&r);
    return p;
}

/* ---- pre-tokenizers ---- */

static int collect(void *arg, const uint8_t *word, size_t n)
{
    struct buf *out = arg;
    int r = out->n ? buf_push(out, "|", 1) : 0;
    return r ? r : buf_push(out, word, n);
}

/* The words of a text with | between them. */
static void cut(const char *json, const char *text, const char *want)
{
    struct arena arena = ARENA_NULL;
    struct pretok p;
    struct pretok_run run;
    struct why why = {""};
    struct buf out = BUF_NULL;
    cr_assert_eq(pretok_init(&p, parse(&arena, json), &why), 0, "%s: %s", json, why.text);
    pretok_run_init(&run, &p, collect, &out, &why);
    cr_assert_eq(pretok_run_push(&run, (const uint8_t *)text, strlen(text), true), 0, "%s", why.text);
    cr_assert_eq(buf_push(&out, "", 1), 0);
    cr_assert_str_eq((const char *)out.data, want, "%s on '%s'", json, text);
    buf_deinit(&out);
    pretok_run_deinit(&run);
    pretok_deinit(&p);
    arena_deinit(&arena);
}

static void cut_at_dashes(const char *behavior, const char *invert, const char *want)
{
    static const char *const patterns[] = {"\"String\": \"-\"", "\"Regex\": \"-\""};
    for (size_t i = 0; i < 2; i++) {
        char json[256];
        snprintf(json, sizeof json,
                 "{\"type\": \"Split\", \"pattern\": {%s}, \"behavior\": \"%s\", \"invert\": %s}",
                 patterns[i], behavior, invert);
        cut(json, "the-final--countdown", want);
    }
}

Test(pretok, split_behaviors)
{
    cut_at_dashes("Removed", "false", "the|final|countdown");
    cut_at_dashes("Isolated", "false", "the|-|final|-|-|countdown");
    cut_at_dashes("MergedWithPrevious", "false", "the-|final-|-|countdown");
    cut_at_dashes("MergedWithNext", "false", "the|-final|-|-countdown");
    cut_at_dashes("Contiguous", "false", "the|-|final|--|countdown");
    cut_at_dashes("Removed", "true", "-|-|-");
    cut_at_dashes("Isolated", "true", "the|-|final|-|-|countdown");
    cut_at_dashes("MergedWithNext", "true", "the-|final-|-|countdown");
}

Test(pretok, digits)
{
    cut("{\"type\": \"Digits\", \"individual_digits\": true}", "a12 ½b", "a|1|2| |½|b");
    cut("{\"type\": \"Digits\", \"individual_digits\": false}", "a12 ½b", "a|12| |½|b");
}

Test(pretok, punctuation)
{
    cut("{\"type\": \"Punctuation\"}", "Hey, you!?", "Hey|,| you|!|?");
    cut("{\"type\": \"Punctuation\", \"behavior\": \"Contiguous\"}", "Hey, you!?$", "Hey|,| you|!?$");
    /* U+2E43 is punctuation since Unicode 9, too late for the reference's table; U+166D was until Unicode 11.
     */
    cut("{\"type\": \"Punctuation\"}",
        "a\xe2\xb9\x83"
        "b",
        "a\xe2\xb9\x83"
        "b");
    cut("{\"type\": \"Punctuation\"}",
        "a\xe1\x99\xad"
        "b",
        "a|\xe1\x99\xad|b");
}

Test(pretok, whitespace)
{
    cut("{\"type\": \"Whitespace\"}", " Hey,  you_2 !? ", "Hey|,|you_2|!?");
    cut("{\"type\": \"WhitespaceSplit\"}", " Hey,  you_2\xc2\xa0!? ", "Hey,|you_2|!?");
}

Test(pretok, metaspace)
{
#define METASPACE(more) "{\"type\": \"Metaspace\", \"replacement\": \"_\"" more "}"
    cut(METASPACE(", \"prepend_scheme\": \"always\""), "Hey  you", "_Hey|_|_you");
    cut(METASPACE(", \"prepend_scheme\": \"always\", \"split\": false"), "Hey  you", "_Hey__you");
    cut(METASPACE(", \"prepend_scheme\": \"never\""), "Hey you", "Hey|_you");
    cut(METASPACE(", \"prepend_scheme\": \"first\""), " Hey", "_Hey");
    cut(METASPACE(", \"prepend_scheme\": \"first\""), "_Hey", "_Hey");
    cut(METASPACE(", \"add_prefix_space\": false"), "Hey you", "Hey|_you");
    cut(METASPACE(""), "Hey you", "_Hey|_you");
#define AFTER_DASH(scheme)                                                                                  \
    "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", \"pattern\": {\"String\": \"-\"}, " \
    "\"behavior\": \"Removed\"}, " METASPACE(", \"prepend_scheme\": \"" scheme "\"") "]}"
    cut(AFTER_DASH("first"), "a-b", "_a|b");
    cut(AFTER_DASH("always"), "a-b", "_a|_b");
}

Test(pretok, byte_level)
{
#define BYTE_LEVEL(prefix, regex) \
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": " prefix ", \"use_regex\": " regex "}"
    cut(BYTE_LEVEL("false", "true"), "Hello my  friend's", "Hello| my| | friend|'s");
    cut(BYTE_LEVEL("true", "true"), "Hello my", " Hello| my");
    cut(BYTE_LEVEL("true", "false"), " Hello my", " Hello my");
    /* What follows sees the alphabet's characters: of é the bytes, c3 and a9, and ² (c2 b2) has a digit in
     * it. */
    cut("{\"type\": \"Sequence\", \"pretokenizers\": [" BYTE_LEVEL("false",
                                                                   "false") ", {\"type\": \"Digits\"}]}",
        "é²1x",
        "é\xc2|\xb2"
        "1|x");
}

Test(pretok, nothing_makes_one_word)
{
    cut("{\"type\": \"Sequence\", \"pretokenizers\": []}", "one word - this", "one word - this");
}

Test(pretok, a_pattern_that_takes_too_long_is_an_error)
{
    static const char json[] = "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"(?:a+a+)+[bc]\"}, "
                               "\"behavior\": \"Isolated\"}";
    char text[64];
    struct arena arena = ARENA_NULL;
    struct pretok p;
    struct pretok_run run;
    struct why why = {""};
    struct buf out = BUF_NULL;
    memset(text, 'a', sizeof text);
    cr_assert_eq(pretok_init(&p, parse(&arena, json), &why), 0);
    pretok_run_init(&run, &p, collect, &out, &why);
    cr_assert_eq(pretok_run_push(&run, (const uint8_t *)text, sizeof text, true), EX_DATAERR);
    cr_assert_str_eq(
        why.text,
        "the pre-tokenizer's pattern took more than 10000000 steps at byte 0 of a word of 64 bytes");
    pretok_run_deinit(&run);
    pretok_deinit(&p);
    buf_deinit(&out);
    arena_deinit(&arena);
}

/* ---- normalizers ---- */

static void normalize(const char *json, const char *text, const char *want)
{
    struct arena arena = ARENA_NULL;
    struct normalize z;
    struct normalize_run run = {0};
    struct why why = {""};
    const uint8_t *got;
    size_t n;
    cr_assert_eq(normalize_init(&z, parse(&arena, json), &why), 0, "%s: %s", json, why.text);
    cr_assert_eq(normalize_text(&z, &run, (const uint8_t *)text, strlen(text), &got, &n, &why), 0);
    cr_assert(n == strlen(want) && (n == 0 || memcmp(got, want, n) == 0), "%s on '%s': '%.*s'", json, text,
              (int)n, (const char *)got);
    normalize_run_deinit(&run);
    normalize_deinit(&z);
    arena_deinit(&arena);
}

Test(normalize, steps)
{
    normalize("{\"type\": \"Prepend\", \"prepend\": \"▁\"}", "Hey", "▁Hey");
    normalize("{\"type\": \"Prepend\", \"prepend\": \"▁\"}", "", "");
    normalize("{\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"▁\"}", " a  b ",
              "▁a▁▁b▁");
    normalize("{\"type\": \"Replace\", \"pattern\": {\"String\": \"ab\"}, \"content\": \"\"}", "xababy",
              "xy");
    normalize("{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"\\\\s{2,}\"}, \"content\": \"_\"}",
              "a  b c", "a_b c");
    normalize("{\"type\": \"Lowercase\"}", "ÀÉ ΑΣ İ x", "àé ασ i\xcc\x87 x");
    normalize("{\"type\": \"Strip\", \"strip_left\": true, \"strip_right\": true}", " \t a b\xc2\xa0", "a b");
    normalize("{\"type\": \"Strip\", \"strip_left\": false, \"strip_right\": true}", " a ", " a");
    normalize("{\"type\": \"Strip\"}", " \n ", "");
    normalize("{\"type\": \"NFC\"}", "e\xcc\x81", "é");
    normalize("{\"type\": \"NFKD\"}", "ﬁé", "fie\xcc\x81");
    normalize(
        "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Prepend\", \"prepend\": \"X\"}, {\"type\": "
        "\"Lowercase\"}, {\"type\": \"Replace\", \"pattern\": {\"String\": \"x\"}, \"content\": \"yy\"}]}",
        "ax", "yyayy");
}

/* ---- added tokens ---- */

struct spelled {
    const char *content;
    bool special, lstrip, rstrip, single_word;
};

/* The text cut into plain parts and [tokens]. */
static void walk(const struct spelled *spelled, size_t n, bool skip_special, const char *text,
                 const char *want)
{
    struct added_index x = ADDED_INDEX_NULL;
    struct added_token tokens[16];
    struct added_match m;
    char got[256];
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const struct spelled *s = &spelled[i];
        tokens[i] = (struct added_token){.content = s->content,
                                         .n = strlen(s->content),
                                         .id = (int32_t)i,
                                         .special = s->special,
                                         .lstrip = s->lstrip,
                                         .rstrip = s->rstrip,
                                         .single_word = s->single_word};
        cr_assert_eq(added_index_push(&x, (const uint8_t *)s->content, tokens[i].n, (uint32_t)i), 0);
    }
    added_index_seal(&x);
    struct added_walk w = {.index = &x,
                           .tokens = tokens,
                           .text = (const uint8_t *)text,
                           .n = strlen(text),
                           .skip_special = skip_special};
    while (added_walk_next(&w, &m)) {
        at += (size_t)snprintf(got + at, sizeof got - at, "%.*s[%.*s]", (int)(m.from - w.done), text + w.done,
                               (int)(m.to - m.from), text + m.from);
        w.done = m.to;
    }
    snprintf(got + at, sizeof got - at, "%s", text + w.done);
    cr_assert_str_eq(got, want);
    added_index_deinit(&x);
}

Test(added, the_leftmost_and_then_longest_is_taken)
{
    static const struct spelled s[] = {{.content = "ab"}, {.content = "abc"}, {.content = "b"},
                                       {.content = "cd"}, {.content = "  "},  {.content = "   "}};
    walk(s, 6, false, "xabcd", "x[abc]d");
    walk(s, 6, false, "abd", "[ab]d");
    walk(s, 6, false, "bcd", "[b][cd]");
    walk(s, 6, false, "       ", "[   ][   ] ");
    walk(s, 6, false, "", "");
    walk(s, 6, false, "a", "a");
    walk(s, 0, false, "abc", "abc");
}

Test(added, conditions)
{
    static const struct spelled s[] = {{.content = "<l>", .lstrip = true},
                                       {.content = "<r>", .rstrip = true},
                                       {.content = "one", .single_word = true},
                                       {.content = "<s>", .special = true}};
    walk(s, 4, false, "a \t<l> b", "a[ \t<l>] b");
    walk(s, 4, false, "a <r> \n b", "a [<r> \n ]b");
    walk(s, 4, false, "<r>  <l>", "[<r>  ][<l>]");
    walk(s, 4, false, "one bone one2 éone (one)", "[one] bone one2 éone ([one])");
    walk(s, 4, false, "<s>x", "[<s>]x");
    walk(s, 4, true, "<s>x<l>", "<s>x[<l>]");
}
