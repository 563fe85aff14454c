/* The answer of a chat in parts: see parts.h. */
#include "config.h"
#include "src/engine/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/engine/job.h"
#include "src/engine/served.h"
#include "src/text/stop.h"

static bool rewrites(const struct served *served)
{
    const struct chat_calls *calls = served->chat_format.calls;
    return calls && calls->grammar == CHAT_GRAMMAR_LLAMA;
}

/* Each byte leaves once, but for names, which leave twice, and arguments that are rewritten. */
void parts_room(const struct served *served, const struct job_ask *ask, size_t n_text,
                struct notice_room *ret_room)
{
    ret_room->n_content = n_text + 1;
    ret_room->n_reasoning = served->chat_format.thoughts ? n_text + 1 : 0;
    ret_room->n_call = ask->has_tools ? PARTS_MAX_CALL : 0;
    size_t n_arguments = rewrites(served) ? CHAT_OUT_MAX_GROWTH * n_text : n_text;
    ret_room->n_call_text = ask->has_tools ? n_arguments + PARTS_MAX_CALL * CHAT_OUT_MAX_NAME : 0;
}

/* Appends to one of the sink's texts. */
static void append(struct parts *p, char *to, size_t *n, size_t room, const char *text, size_t n_text)
{
    if (n_text > room - *n) {
        p->is_full = true;
        return;
    }
    memcpy(to + *n, text, n_text);
    *n += n_text;
}

static void append_call_text(struct parts *p, const char *text, size_t n)
{
    append(p, p->sink->call_text, &p->sink->n_call_text, p->room.n_call_text, text, n);
}

/* The next call, or more of one that was sent before. */
static struct notice_call *add_call(struct parts *p, int32_t index)
{
    struct notice *sink = p->sink;
    if (sink->n_call == p->room.n_call || index >= PARTS_MAX_CALL) {
        p->is_full = true;
        return NULL;
    }
    struct notice_call *call = &sink->calls[sink->n_call++];
    *call = (struct notice_call){.index = index, .name = sink->call_text + sink->n_call_text};
    call->arguments = call->name;
    return call;
}

static void begin_call(struct parts *p, const struct chat_out_part *part)
{
    struct notice_call *call = add_call(p, part->call);
    if (!call)
        return;
    memcpy(call->id, part->id, sizeof call->id);
    append_call_text(p, part->text, part->n);
    call->n_name = part->n;
    call->arguments = call->name + part->n;
}

/* The texts of a call lie behind each other, for the next one begins when it has ended. */
static void add_arguments(struct parts *p, const struct chat_out_part *part)
{
    struct notice *sink = p->sink;
    struct notice_call *call = sink->n_call ? &sink->calls[sink->n_call - 1] : NULL;
    if (!call || call->index != part->call)
        call = add_call(p, part->call);
    if (!call)
        return;
    append_call_text(p, part->text, part->n);
    if (!p->is_full)
        call->n_arguments += part->n;
}

static void take(void *ctx, const struct chat_out_part *part)
{
    struct parts *p = ctx;
    struct notice *sink = p->sink;
    if (p->is_full)
        return;
    switch (part->kind) {
    case CHAT_OUT_CONTENT:
        append(p, sink->content, &sink->n_content, p->room.n_content, part->text, part->n);
        break;
    case CHAT_OUT_REASONING:
        append(p, sink->reasoning, &sink->n_reasoning, p->room.n_reasoning, part->text, part->n);
        break;
    case CHAT_OUT_CALL:
        begin_call(p, part);
        break;
    case CHAT_OUT_ARGUMENTS:
        add_arguments(p, part);
        break;
    case CHAT_OUT_MARKUP:
        break;
    }
}

int parts_new(struct parts **ret_parts, const struct served *served, const struct job *job,
              const struct notice_room *room)
{
    /* Turns of a conversation may have one seed; their calls must not share names. */
    const struct job_ask *ask = job->ask;
    struct parts *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    const struct chat_out_options options = {
        .format = &served->chat_format,
        .tools = ask->has_tools,
        .in_reasoning = ask->in_reasoning,
        .id_seed = job->seed ^ (uint64_t)job->n_prompt << 32,
        .take = take,
        .ctx = p,
    };
    p->room = *room;
    p->sink = job->last;
    if (ask->stream) {
        size_t n_push = served->max_out + STOP_MAX_BYTES + CHAT_OUT_MAX_HELD;
        p->room = (struct notice_room){0};
        parts_room(served, ask, n_push, &p->room);
        p->sink = p->scratch = notice_new_room(NOTICE_TOKEN, job->id, &p->room);
    }
    if (!p->sink) {
        free(p);
        return -ENOMEM;
    }
    chat_out_start(&p->out, &options);
    *ret_parts = p;
    return 0;
}

struct parts *parts_free(struct parts *p)
{
    if (p) {
        notice_free(p->scratch);
        free(p);
    }
    return NULL;
}

void parts_push(struct parts *p, const char *text, size_t n)
{
    chat_out_push(&p->out, text, n);
}

void parts_finish(struct parts *p)
{
    chat_out_finish(&p->out);
}

bool parts_has_any(const struct parts *p)
{
    return p->sink->n_content > 0 || p->sink->n_reasoning > 0 || p->sink->n_call > 0;
}

/* Calls point into the text behind them. */
static void copy_calls(struct notice *to, const struct notice *from)
{
    memcpy(to->call_text, from->call_text, from->n_call_text);
    memcpy(to->calls, from->calls, from->n_call * sizeof *to->calls);
    to->n_call = from->n_call;
    to->n_call_text = from->n_call_text;
    for (size_t i = 0; i < to->n_call; i++) {
        to->calls[i].name = to->call_text + (from->calls[i].name - from->call_text);
        to->calls[i].arguments = to->call_text + (from->calls[i].arguments - from->call_text);
    }
}

struct notice *parts_send(struct parts *p, uint64_t job, const struct notice_room *room)
{
    struct notice *from = p->sink;
    struct notice_room all = *room;
    bool is_silent = from->n_reasoning == 0 && from->n_call == 0;
    all.n_content = from->n_content > 0 || is_silent ? from->n_content + 1 : 0;
    all.n_reasoning = from->n_reasoning;
    all.n_call = from->n_call;
    all.n_call_text = from->n_call > 0 ? from->n_call_text + 1 : 0;
    struct notice *notice = notice_new_room(NOTICE_TOKEN, job, &all);
    if (!notice)
        return NULL;
    if (from->n_content > 0)
        memcpy(notice->content, from->content, from->n_content);
    if (from->n_reasoning > 0)
        memcpy(notice->reasoning, from->reasoning, from->n_reasoning);
    if (from->n_call > 0)
        copy_calls(notice, from);
    notice->n_content = from->n_content;
    notice->n_reasoning = from->n_reasoning;
    from->n_content = from->n_reasoning = from->n_call = from->n_call_text = 0;
    return notice;
}
