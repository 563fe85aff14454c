/* The pre-tokenizer at work: cuts text into words. See pretok.h; pretok_init is in pretok_read.c. */
#include "config.h"
#include "src/text/pretok.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/utf8.h"
#include "src/text/bytelevel.h"
#include "src/text/unicode.h"

/* A word on its way through the stages. */
struct word {
    const uint8_t *text;
    size_t n;
    bool first; /* it begins where the whole text begins */
};

static int feed(struct pretok_run *run, unsigned i_stage, struct word w);

void pretok_run_init(struct pretok_run *run, const struct pretok *p, pretok_word_fn on_word, void *arg,
                     struct why *why)
{
    *run = (struct pretok_run){.pretok = p, .on_word = on_word, .arg = arg, .why = why};
}

void pretok_run_deinit(struct pretok_run *run)
{
    for (unsigned i = 0; i < PRETOK_MAX_STAGES + 2; i++)
        buf_deinit(&run->scratch[i]);
    for (unsigned i = 0; i < PRETOK_MAX_STAGES; i++)
        run->states[i] = regex_state_free(run->states[i]);
}

static int feed_part(struct pretok_run *run, unsigned i_stage, const struct word *w, size_t from, size_t to)
{
    if (from == to)
        return 0;
    return feed(run, i_stage, (struct word){w->text + from, to - from, w->first && from == 0});
}

/* ---- segments: what a stage's pattern matches and what lies between ---- */

struct segment {
    size_t from, to;
    bool match;
};

struct cutter {
    struct pretok_run *run;
    const struct pretok_stage *stage;
    struct regex_state *state;
    const struct word *word;
    size_t at;
    size_t match_from, match_to; /* of a pattern: the next match, known when match_to > at */
    bool none_left;
};

/* Whether the stage's class holds this character. */
static bool is_member(const struct pretok_stage *stage, uint32_t code)
{
    uint8_t flags = unicode_flags(code);
    switch (stage->kind) {
    case PRETOK_DIGITS:
        return flags & UNICODE_NUMBER;
    case PRETOK_PUNCTUATION:
        return flags & UNICODE_PUNCTUATION;
    default:
        return flags & UNICODE_SPACE;
    }
}

/* One character that is a member, or a run of others. */
static struct segment next_of_class(struct cutter *c)
{
    const struct word *w = c->word;
    struct segment s = {.from = c->at, .to = c->at};
    while (s.to < w->n) {
        if (is_member(c->stage, utf8_decode(w->text + s.to))) {
            if (s.to == s.from) {
                s.to += utf8_length(w->text[s.to]);
                s.match = true;
            }
            break;
        }
        s.to += utf8_length(w->text[s.to]);
    }
    return s;
}

/* \w+|[^\w\s]+ */
static struct segment next_of_whitespace(struct cutter *c)
{
    const struct word *w = c->word;
    struct segment s = {.from = c->at, .to = c->at};
    uint8_t first = 0;
    for (; s.to < w->n; s.to += utf8_length(w->text[s.to])) {
        uint8_t flags = unicode_flags(utf8_decode(w->text + s.to));
        uint8_t kind = flags & UNICODE_WORD ? UNICODE_WORD : flags & UNICODE_SPACE;
        if (s.to == s.from)
            first = kind;
        else if (kind != first)
            break;
    }
    s.match = first != UNICODE_SPACE;
    return s;
}

/* Looks for the next match at or behind c->at. */
static int find_match(struct cutter *c)
{
    const struct pretok_stage *stage = c->stage;
    const struct word *w = c->word;
    if (stage->regex) {
        int r = regex_find(stage->regex, c->state, w->text, w->n, c->at, &c->match_from, &c->match_to);
        c->none_left = r == REGEX_NONE;
        if (r == REGEX_E_LIMIT)
            return why_set(
                c->run->why, EX_DATAERR,
                "the pre-tokenizer's pattern took more than %d steps at byte %zu of a word of %zu bytes",
                REGEX_MAX_STEPS, c->at, w->n);
        return r == REGEX_NONE ? 0 : r;
    }
    const uint8_t *found = memmem(w->text + c->at, w->n - c->at, stage->string, stage->n_string);
    c->none_left = !found;
    if (found) {
        c->match_from = (size_t)(found - w->text);
        c->match_to = c->match_from + stage->n_string;
    }
    return 0;
}

/* A match of the pattern, or what lies before the next one. */
static int next_of_pattern(struct cutter *c, struct segment *ret)
{
    if (c->match_to <= c->at && !c->none_left) {
        int r = find_match(c);
        if (r)
            return r;
    }
    *ret = (struct segment){.from = c->at, .to = c->word->n};
    if (c->match_to > c->at) {
        ret->match = c->match_from == c->at;
        ret->to = ret->match ? c->match_to : c->match_from;
    }
    return 0;
}

/* The next segment; there is one, since c->at < word->n. */
static int next_segment(struct cutter *c, struct segment *ret)
{
    int r = 0;
    if (c->stage->kind == PRETOK_SPLIT && c->stage->splitter)
        *ret = (struct segment){.from = c->at,
                                .to = c->at + c->stage->splitter(c->word->text + c->at, c->word->n - c->at),
                                .match = true};
    else if (c->stage->kind == PRETOK_SPLIT || c->stage->kind == PRETOK_METASPACE)
        r = next_of_pattern(c, ret);
    else if (c->stage->kind == PRETOK_WHITESPACE)
        *ret = next_of_whitespace(c);
    else
        *ret = next_of_class(c);
    if (r == 0) {
        ret->match ^= c->stage->invert;
        c->at = ret->to;
    }
    return r;
}

/* ---- behaviours: segments become words ---- */

/* Whether a segment continues the word that the ones before it began; `word` is that word, with the last
 * segment's kind. */
static bool continues(enum pretok_behavior behavior, bool last_match, bool match)
{
    switch (behavior) {
    case PRETOK_CONTIGUOUS:
        return last_match == match;
    case PRETOK_MERGED_WITH_PREVIOUS:
        return match && !last_match;
    case PRETOK_MERGED_WITH_NEXT:
        return last_match && !match;
    default:
        return false;
    }
}

static int cut(struct pretok_run *run, unsigned i_stage, const struct word *w)
{
    const struct pretok_stage *stage = &run->pretok->stages[i_stage];
    struct cutter c = {.run = run, .stage = stage, .state = run->states[i_stage], .word = w};
    struct segment word = {0}, s;
    while (c.at < w->n) {
        int r = next_segment(&c, &s);
        if (r == 0 && stage->behavior == PRETOK_REMOVED) {
            if (!s.match)
                r = feed_part(run, i_stage + 1, w, s.from, s.to);
        } else if (r == 0 && word.to && continues(stage->behavior, word.match, s.match)) {
            word.to = s.to;
            word.match = s.match;
        } else if (r == 0) {
            r = feed_part(run, i_stage + 1, w, word.from, word.to);
            word = s;
        }
        if (r)
            return r;
    }
    return feed_part(run, i_stage + 1, w, word.from, word.to);
}

/* ---- stages that rewrite ---- */

static int metaspace(struct pretok_run *run, unsigned i_stage, struct word w)
{
    const struct pretok_stage *stage = &run->pretok->stages[i_stage];
    struct buf *out = &run->scratch[i_stage];
    const uint8_t *end = w.text + w.n;
    int r = 0;
    out->n = 0;
    bool has = w.n >= stage->n_string && memcmp(w.text, stage->string, stage->n_string) == 0;
    has = has || w.text[0] == ' ';
    if (!has && (stage->prepend == PRETOK_ALWAYS || (stage->prepend == PRETOK_FIRST && w.first)))
        r = buf_push(out, stage->string, stage->n_string);
    for (const uint8_t *s = w.text; r == 0 && s < end;) {
        const uint8_t *space = memchr(s, ' ', (size_t)(end - s));
        r = buf_push(out, s, (size_t)((space ? space : end) - s));
        if (r == 0 && space)
            r = buf_push(out, stage->string, stage->n_string);
        s = space ? space + 1 : end;
    }
    if (r)
        return r;
    struct word rewritten = {out->data, out->n, w.first};
    return stage->split ? cut(run, i_stage, &rewritten) : feed(run, i_stage + 1, rewritten);
}

/* Words of the byte-level stage go on as they are, or spelled where a later stage looks at them. */
static int feed_bytes(struct pretok_run *run, unsigned i_stage, struct word w)
{
    if (!run->pretok->stages[i_stage].spell)
        return feed(run, i_stage + 1, w);
    struct buf *out = &run->scratch[i_stage];
    out->n = 0;
    if (w.n > SIZE_MAX / 2)
        return -ENOMEM;
    int r = buf_reserve(out, 2 * w.n);
    if (r)
        return r;
    out->n = bytelevel_spell(w.text, w.n, out->data);
    return feed(run, i_stage + 1, (struct word){out->data, out->n, w.first});
}

static int byte_level(struct pretok_run *run, unsigned i_stage, struct word w)
{
    const struct pretok_stage *stage = &run->pretok->stages[i_stage];
    if (stage->prepend == PRETOK_ALWAYS && w.text[0] != ' ') {
        struct buf *out = &run->scratch[PRETOK_MAX_STAGES + 1];
        out->n = 0;
        int r = buf_push(out, " ", 1);
        if (r == 0)
            r = buf_push(out, w.text, w.n);
        if (r)
            return r;
        w = (struct word){out->data, out->n, w.first};
    }
    if (!stage->split)
        return feed_bytes(run, i_stage, w);
    for (size_t at = 0; at < w.n;) {
        size_t n = splitter_gpt2(w.text + at, w.n - at);
        int r = feed_bytes(run, i_stage, (struct word){w.text + at, n, w.first && at == 0});
        if (r)
            return r;
        at += n;
    }
    return 0;
}

/* Behind the last stage: spelled words become bytes again. */
static int deliver(struct pretok_run *run, unsigned i_stage, struct word w)
{
    bool spelled = false;
    for (unsigned i = 0; i < i_stage; i++)
        spelled |= run->pretok->stages[i].spell;
    if (!spelled)
        return run->on_word(run->arg, w.text, w.n);
    struct buf *out = &run->scratch[i_stage];
    out->n = 0;
    int r = buf_reserve(out, w.n);
    if (r)
        return r;
    bytelevel_unspell(w.text, w.n, out->data, &out->n);
    return run->on_word(run->arg, out->data, out->n);
}

static int feed(struct pretok_run *run, unsigned i_stage, struct word w)
{
    if (i_stage == run->pretok->n_stage)
        return deliver(run, i_stage, w);
    switch (run->pretok->stages[i_stage].kind) {
    case PRETOK_BYTE_LEVEL:
        return byte_level(run, i_stage, w);
    case PRETOK_METASPACE:
        return metaspace(run, i_stage, w);
    default:
        return cut(run, i_stage, &w);
    }
}

int pretok_run_push(struct pretok_run *run, const uint8_t *text, size_t n, bool first)
{
    const struct pretok *p = run->pretok;
    for (unsigned i = 0; i < p->n_stage; i++) {
        if (!p->stages[i].regex || run->states[i])
            continue;
        run->states[i] = regex_state_new(p->stages[i].regex);
        if (!run->states[i])
            return -ENOMEM;
    }
    return n ? feed(run, 0, (struct word){text, n, first}) : 0;
}
