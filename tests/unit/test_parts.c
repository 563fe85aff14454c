/* Tests of src/engine/parts.c: an answer's parts in notices, whole and piece by piece. */
#include "config.h"
#include "src/engine/parts.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "src/engine/job.h"
#include "src/engine/served.h"

static const char source[] = "{# <think> <tool_call> #}";
static const char answer[] =
    "<think>\nhm\n</think>\n\nso\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n"
    "</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>";

/* A chat of a model with such a template, whose answer has n_text bytes at most. */
struct chat {
    struct served served;
    struct job_ask *ask;
    struct job *job;
    struct notice_room room;
    struct parts *parts;
};

static void begin(struct chat *c, bool stream, bool has_tools, size_t n_text)
{
    *c = (struct chat){.served = {.max_out = 64}, .ask = job_ask_new(JOB_GENERATE), .job = job_new(1)};
    chat_format_find(&c->served.chat_format, source, sizeof source - 1, NULL);
    c->job->ask = c->ask;
    c->ask->is_chat = true;
    c->ask->stream = stream;
    c->ask->has_tools = has_tools;
    if (!stream)
        parts_room(&c->served, c->ask, n_text, &c->room);
    c->job->last = notice_new_room(NOTICE_DONE, 1, &c->room);
    cr_assert_eq(parts_new(&c->job->parts, &c->served, c->job, &c->room), 0);
    c->parts = c->job->parts;
}

static void end(struct chat *c)
{
    job_free(c->job);
}

static bool is(const char *text, size_t n, const char *want)
{
    return n == strlen(want) && memcmp(text, want, n) == 0;
}

Test(parts, a_kept_answer_is_in_the_last_notice)
{
    struct chat c;
    begin(&c, false, true, sizeof answer);
    for (size_t i = 0; i < sizeof answer - 1; i += 5)
        parts_push(c.parts, answer + i, sizeof answer - 1 - i < 5 ? sizeof answer - 1 - i : 5);
    parts_finish(c.parts);
    const struct notice *n = c.job->last;
    cr_expect(is(n->reasoning, n->n_reasoning, "hm"), "%.*s", (int)n->n_reasoning, n->reasoning);
    cr_expect(is(n->content, n->n_content, "so"), "%.*s", (int)n->n_content, n->content);
    cr_assert_eq(n->n_call, 2);
    cr_expect(is(n->calls[0].name, n->calls[0].n_name, "f"));
    cr_expect(is(n->calls[0].arguments, n->calls[0].n_arguments, "{\"a\": 1}"));
    cr_expect(is(n->calls[1].name, n->calls[1].n_name, "g"));
    cr_expect(is(n->calls[1].arguments, n->calls[1].n_arguments, "{}"));
    cr_expect(n->calls[0].index == 0 && n->calls[1].index == 1);
    cr_expect(strlen(n->calls[0].id) == CHAT_OUT_N_ID && strcmp(n->calls[0].id, n->calls[1].id) != 0);
    cr_expect_not(c.parts->is_full);
    end(&c);
}

/* Notices of a stream, put together, say the same. */
Test(parts, a_stream_says_each_thing_once)
{
    struct chat c;
    char content[64] = "", reasoning[64] = "", arguments[2][64] = {"", ""}, names[8] = "";
    size_t n_notice = 0;
    begin(&c, true, true, 0);
    for (size_t i = 0; i < sizeof answer; i++) {
        if (i < sizeof answer - 1)
            parts_push(c.parts, answer + i, 1);
        else
            parts_finish(c.parts);
        if (!parts_has_any(c.parts))
            continue;
        struct notice *n = parts_send(c.parts, 1, &(struct notice_room){.n_token = 1});
        cr_assert(n && n->tokens);
        cr_expect_not(parts_has_any(c.parts), "what was sent is still there");
        strncat(content, n->n_content ? n->content : "", n->n_content);
        strncat(reasoning, n->n_reasoning ? n->reasoning : "", n->n_reasoning);
        for (size_t k = 0; k < n->n_call; k++) {
            cr_assert_lt(n->calls[k].index, 2);
            cr_expect_eq(n->calls[k].n_name > 0, n->calls[k].id[0] != '\0');
            strncat(names, n->calls[k].name, n->calls[k].n_name);
            strncat(arguments[n->calls[k].index], n->calls[k].arguments, n->calls[k].n_arguments);
        }
        notice_free(n);
        n_notice++;
    }
    cr_expect_gt(n_notice, 8);
    cr_expect_str_eq(content, "so");
    cr_expect_str_eq(reasoning, "hm");
    cr_expect_str_eq(names, "fg");
    cr_expect_str_eq(arguments[0], "{\"a\": 1}");
    cr_expect_str_eq(arguments[1], "{}");
    end(&c);
}

Test(parts, without_tools_calls_are_content)
{
    struct chat c;
    begin(&c, false, false, sizeof answer);
    parts_push(c.parts, answer, sizeof answer - 1);
    parts_finish(c.parts);
    cr_expect_eq(c.job->last->n_call, 0);
    cr_expect(is(c.job->last->content, c.job->last->n_content, strstr(answer, "so\n")));
    end(&c);
}

/* One call too many, or one byte: nothing is written beyond the room, and the answer knows. */
Test(parts, what_has_no_room_is_dropped_and_known)
{
    static const char call[] = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
    struct chat c;
    begin(&c, false, true, (PARTS_MAX_CALL + 1) * sizeof call);
    for (int i = 0; i < PARTS_MAX_CALL; i++)
        parts_push(c.parts, call, sizeof call - 1);
    cr_expect_not(c.parts->is_full);
    parts_push(c.parts, call, sizeof call - 1);
    cr_expect(c.parts->is_full);
    cr_expect_eq(c.job->last->n_call, PARTS_MAX_CALL);
    end(&c);
    begin(&c, false, true, 8);
    parts_push(c.parts, "0123456789", 10);
    parts_push(c.parts, "0123456789", 10);
    parts_finish(c.parts);
    cr_expect(c.parts->is_full);
    cr_expect_leq(c.job->last->n_content, 9);
    end(&c);
}
