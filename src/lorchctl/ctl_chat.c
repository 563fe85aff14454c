/* lorchctl chat: a conversation, typed at a terminal or read from a script. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "src/lorchctl/chat.h"
#include "src/lorchctl/chat_answer.h"
#include "src/lorchctl/chat_command.h"
#include "src/lorchctl/chat_set.h"

/* Tells whom one is talking to; a server that cannot chat is better known at once. */
static int greet(const struct chat *chat)
{
    static const char loading[] = "The model is being loaded";
    struct conn conn;
    size_t n;
    int r = conn_open(&conn, chat->options->values[CTL_OPTION_SOCKET]);
    if (r != 0)
        return r;
    r = conn_ask(&conn, PROTO_HELLO);
    const struct msg_value *model = r == 0 ? msg_get(conn.msg.root, "model") : NULL;
    const char *name = msg_bytes(msg_get(model, "id"), &n);
    if (model && !msg_bool(msg_get(model, "chat_template"), true)) {
        fprintf(stderr,
                "lorchctl: %.*s has no chat template that could be used: 'lorchctl run' continues texts\n",
                (int)n, name);
        r = EX_UNAVAILABLE;
    } else if (r == 0 && chat->is_interactive) {
        printf("%.*s. /help lists commands, Ctrl-D leaves.\n", name ? (int)n : (int)strlen(loading),
               name ? name : loading);
    }
    conn_close(&conn);
    return r;
}

/* One entry: 0, or why it was no success. */
static int take_entry(struct chat *chat, const struct buf *entry, bool is_command)
{
    const char *text = (const char *)entry->data;
    if (is_command)
        return chat_command(chat, text, entry->n);
    if (entry->n == 0)
        return 0;
    return chat_talk_add(&chat->talk, CHAT_USER, text, entry->n) ? chat_answer(chat) : EX_OSERR;
}

/* Reads and takes one entry; *n_interrupt counts how often Ctrl-C came since there was one. */
static int turn(struct chat *chat, int *n_interrupt)
{
    struct buf entry;
    bool is_command;
    int r = chat_line_read(chat->line, &entry, &is_command);
    if (r == 0) {
        *n_interrupt = 0;
        r = take_entry(chat, &entry, is_command);
    } else if (r == CHAT_INPUT_END) {
        r = CHAT_LEAVE;
    } else if (r == CHAT_INPUT_INTERRUPTED) {
        r = CHAT_INTERRUPTED;
    }
    *n_interrupt += r == CHAT_INTERRUPTED;
    buf_deinit(&entry);
    return r;
}

/* Until the user leaves; a script ends with its first failure. */
static int converse(struct chat *chat)
{
    int n_interrupt = 0;
    for (;;) {
        int r = turn(chat, &n_interrupt);
        if (r == CHAT_LEAVE)
            return 0;
        if (r == CHAT_INTERRUPTED && (n_interrupt == 2 || !chat->is_interactive))
            return JOB_EXIT_INTERRUPTED;
        if (r > 0 && !chat->is_interactive)
            return r;
        if (r == CHAT_INTERRUPTED)
            puts("(Ctrl-C once more leaves)");
    }
}

/* What the options say the conversation begins with. */
static int prepare(struct chat *chat)
{
    const char *file = chat->options->values[CTL_OPTION_CHAT_LOAD],
               *system = chat->options->values[CTL_OPTION_CHAT_SYSTEM];
    struct why why;
    int r = file ? chat_talk_load(&chat->talk, file, &why) : 0;
    if (r != 0)
        fprintf(stderr, "lorchctl: %s\n", why.text);
    if (r == 0 && system && !chat_talk_set_system(&chat->talk, system, strlen(system)))
        r = EX_OSERR;
    return r;
}

int ctl_chat(struct options *options)
{
    struct chat chat = {.options = options};
    if (options->n_argument > 0) {
        fprintf(stderr, "lorchctl: chat takes no argument, not '%s': it reads what is said line by line\n",
                options->arguments[0]);
        return EX_USAGE;
    }
    conn_catch_interrupts();
    int r = prepare(&chat);
    if (r == 0) {
        chat.line = chat_line_open(chat_command_candidate, !options_has(options, CTL_OPTION_CHAT_NO_HISTORY));
        r = chat.line ? 0 : EX_OSERR;
    }
    chat.is_interactive = chat.line && chat_line_is_interactive(chat.line);
    if (r == 0)
        r = greet(&chat);
    if (r == 0)
        r = converse(&chat);
    chat_line_close(chat.line);
    chat_talk_deinit(&chat.talk);
    chat_set_free(options);
    return r;
}
