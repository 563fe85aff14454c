/* A conversation: see chat_talk.h. */
#include "config.h"
#include "src/lorchctl/chat_talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"

static const char *const role_names[] = {"system", "user", "assistant"};

const char *chat_talk_role(enum chat_role role)
{
    return role_names[role];
}

static void deinit_message(struct chat_message *m)
{
    buf_deinit(&m->content);
    buf_deinit(&m->reasoning);
}

void chat_talk_deinit(struct chat_talk *talk)
{
    while (talk->n > 0)
        chat_talk_drop(talk);
    free(talk->messages);
    talk->messages = NULL;
}

static struct chat_message *insert(struct chat_talk *talk, size_t at, enum chat_role role, const char *text,
                                   size_t n)
{
    struct chat_message *grown = reallocarray(talk->messages, talk->n + 1, sizeof *grown);
    struct chat_message m = {.role = role};
    buf_init(&m.content, FRAME_MAX_IN);
    buf_init(&m.reasoning, FRAME_MAX_IN);
    talk->messages = grown ? grown : talk->messages;
    if (!grown || buf_push(&m.content, text, n) != 0) {
        fprintf(stderr,
                "lorchctl: a message of %zu bytes is longer than a request may be, or memory ran out\n", n);
        deinit_message(&m);
        return NULL;
    }
    memmove(grown + at + 1, grown + at, (talk->n - at) * sizeof *grown);
    grown[at] = m;
    talk->n++;
    return &grown[at];
}

struct chat_message *chat_talk_add(struct chat_talk *talk, enum chat_role role, const char *text, size_t n)
{
    if (role == CHAT_USER && chat_talk_last(talk, CHAT_USER))
        chat_talk_drop(talk);
    return insert(talk, talk->n, role, text, n);
}

const struct chat_message *chat_talk_system(const struct chat_talk *talk)
{
    return talk->n > 0 && talk->messages[0].role == CHAT_SYSTEM ? &talk->messages[0] : NULL;
}

bool chat_talk_set_system(struct chat_talk *talk, const char *text, size_t n)
{
    if (n > 0 && !insert(talk, 0, CHAT_SYSTEM, text, n))
        return false;
    /* The one that was there goes. */
    size_t old = n > 0;
    if (talk->n > old && talk->messages[old].role == CHAT_SYSTEM) {
        deinit_message(&talk->messages[old]);
        talk->n--;
        memmove(talk->messages + old, talk->messages + old + 1, (talk->n - old) * sizeof *talk->messages);
    }
    return true;
}

struct chat_message *chat_talk_last(struct chat_talk *talk, enum chat_role role)
{
    struct chat_message *last = talk->n > 0 ? &talk->messages[talk->n - 1] : NULL;
    return last && last->role == role ? last : NULL;
}

void chat_talk_drop(struct chat_talk *talk)
{
    deinit_message(&talk->messages[--talk->n]);
}

void chat_talk_clear(struct chat_talk *talk)
{
    while (talk->n > 0 && talk->messages[talk->n - 1].role != CHAT_SYSTEM)
        chat_talk_drop(talk);
}

void chat_talk_write(const struct chat_talk *talk, struct msg_out *out)
{
    msg_array(out, PROTO_CHAT_MESSAGES);
    for (size_t i = 0; i < talk->n; i++) {
        const struct chat_message *m = &talk->messages[i];
        msg_map(out, PROTO_ELEMENT);
        msg_put_str(out, PROTO_MESSAGE_ROLE, chat_talk_role(m->role));
        msg_put_text(out, PROTO_MESSAGE_CONTENT, (const char *)m->content.data, m->content.n);
        if (m->reasoning.n > 0)
            msg_put_text(out, PROTO_MESSAGE_REASONING_CONTENT, (const char *)m->reasoning.data,
                         m->reasoning.n);
        msg_close_part(out);
    }
    msg_close_part(out);
}
