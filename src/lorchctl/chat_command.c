/* Commands of a conversation: see chat_command.h. */
#include "config.h"
#include "src/lorchctl/chat_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/lorchctl/chat_answer.h"
#include "src/lorchctl/chat_set.h"

typedef int (*command_fn)(struct chat *chat, char *arguments);

struct command_row {
    const char *name, *arguments, *help;
    command_fn run;
};

#define COMMAND(name, ...) static int run_##name(struct chat *chat, char *arguments);
#include "src/lorchctl/chat_commands.def"

static const struct command_row commands[] = {
#define COMMAND(name, arguments, help) {"/" #name, arguments, help, run_##name},
#include "src/lorchctl/chat_commands.def"
};

enum { N_COMMAND = sizeof commands / sizeof commands[0] };

static int fail(int status, const struct why *why)
{
    fprintf(stderr, "lorchctl: %s\n", why->text);
    return status;
}

/* For people alone: a script knows what it did. */
static void confirm(const struct chat *chat, const char *what)
{
    if (chat->is_interactive)
        puts(what);
}

static int run_clear(struct chat *chat, char *arguments)
{
    (void)arguments;
    chat_talk_clear(&chat->talk);
    confirm(chat, "forgotten");
    return 0;
}

static int run_help(struct chat *chat, char *arguments)
{
    (void)chat;
    (void)arguments;
    for (int i = 0; i < N_COMMAND; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", commands[i].name, commands[i].arguments);
        printf("  %-22s %s\n", left, commands[i].help);
    }
    puts("Everything else is said to the model; \"\"\" begins and ends a text of several lines.");
    return 0;
}

/* The file that is called so: a tilde is the home, as in a shell. NULL: out of memory, printed. */
static char *path_of(const char *name)
{
    const char *home = getenv("HOME");
    char *path;
    bool is_home = home && !strncmp(name, "~/", 2);
    if (asprintf(&path, "%s%s", is_home ? home : "", is_home ? name + 1 : name) >= 0)
        return path;
    fprintf(stderr, "lorchctl: out of memory\n");
    return NULL;
}

/* What came of saving or loading. */
static int tell(const struct chat *chat, int status, const struct why *why)
{
    if (status != 0)
        return fail(status, why);
    if (chat->is_interactive)
        printf("%zu messages\n", chat->talk.n);
    return 0;
}

static int run_load(struct chat *chat, char *arguments)
{
    struct why why;
    char *path = path_of(arguments);
    if (!path)
        return EX_OSERR;
    int r = chat_talk_load(&chat->talk, path, &why);
    free(path);
    return tell(chat, r, &why);
}

static int run_quit(struct chat *chat, char *arguments)
{
    (void)chat;
    (void)arguments;
    return CHAT_LEAVE;
}

static int run_retry(struct chat *chat, char *arguments)
{
    (void)arguments;
    if (chat_talk_last(&chat->talk, CHAT_ASSISTANT))
        chat_talk_drop(&chat->talk);
    if (!chat_talk_last(&chat->talk, CHAT_USER)) {
        fprintf(stderr, "lorchctl: nothing was asked yet\n");
        return EX_USAGE;
    }
    return chat_answer(chat);
}

static int run_save(struct chat *chat, char *arguments)
{
    struct why why;
    char *path = path_of(arguments);
    if (!path)
        return EX_OSERR;
    int r = chat_talk_save(&chat->talk, path, &why);
    free(path);
    return tell(chat, r, &why);
}

static int run_set(struct chat *chat, char *arguments)
{
    if (!*arguments) {
        chat_set_show(chat->options);
        return 0;
    }
    char *value = strchr(arguments, ' ');
    if (value) {
        *value++ = '\0';
        value += strspn(value, " ");
    }
    return chat_set(chat->options, arguments, value && *value ? value : NULL) ? 0 : EX_USAGE;
}

static int run_stats(struct chat *chat, char *arguments)
{
    (void)arguments;
    if (chat->has_stats)
        job_print_stats(stdout, &chat->stats);
    else
        puts("nothing was answered yet");
    return 0;
}

static int run_system(struct chat *chat, char *arguments)
{
    if (!*arguments) {
        const struct chat_message *now = chat_talk_system(&chat->talk);
        if (now)
            printf("%.*s\n", (int)now->content.n, (const char *)now->content.data);
        else
            puts("there is no system prompt");
        return 0;
    }
    size_t n = strcmp(arguments, "\"\"") ? strlen(arguments) : 0;
    return chat_talk_set_system(&chat->talk, arguments, n) ? 0 : EX_OSERR;
}

static int find_and_run(struct chat *chat, char *entry)
{
    size_t n_name = strcspn(entry, " ");
    char *arguments = entry + n_name + strspn(entry + n_name, " ");
    for (int i = 0; i < N_COMMAND; i++) {
        const struct command_row *row = &commands[i];
        if (strlen(row->name) != n_name || memcmp(row->name, entry, n_name) != 0)
            continue;
        const bool takes_any = row->arguments[0], needs_one = takes_any && row->arguments[0] != '[';
        if ((*arguments && !takes_any) || (!*arguments && needs_one)) {
            fprintf(stderr, "lorchctl: %s takes %s\n", row->name,
                    needs_one ? row->arguments : "nothing more");
            return EX_USAGE;
        }
        return row->run(chat, arguments);
    }
    fprintf(stderr, "lorchctl: no command '%.*s'; /help lists them, and \"\"\" says it to the model\n",
            (int)n_name, entry);
    return EX_USAGE;
}

int chat_command(struct chat *chat, const char *entry, size_t n)
{
    char *copy = strndup(entry, n);
    if (!copy) {
        fprintf(stderr, "lorchctl: out of memory\n");
        return EX_OSERR;
    }
    int r = find_and_run(chat, copy);
    free(copy);
    return r;
}

static bool begins(const char *name, const char *word, size_t n)
{
    return !strncmp(name, word, n);
}

const char *chat_command_candidate(const char *line, size_t n, size_t i, size_t *ret_from)
{
    static const char set[] = "/set ";
    const size_t n_set = sizeof set - 1;
    const bool is_setting = n >= n_set && !memcmp(line, set, n_set);
    *ret_from = is_setting ? n_set : 0;
    const char *word = line + *ret_from, *name;
    const size_t n_word = n - *ret_from;
    if ((!is_setting && (n == 0 || line[0] != '/')) || memchr(word, ' ', n_word))
        return NULL;
    for (size_t k = 0; (name = is_setting ? chat_set_name(k) : k < N_COMMAND ? commands[k].name : NULL); k++)
        if (begins(name, word, n_word) && i-- == 0)
            return name;
    return NULL;
}
