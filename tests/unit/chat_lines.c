/* Turns conversations into ids line by line, for contrib/compare-chats; no test by itself.
 *
 *   chat_lines DIR    with a tokenizer and a chat template
 *
 * In: {"messages": [...], "tools": [...], "add_generation_prompt": true, "continue_final_message": false,
 * "kwargs": {...}}, all but messages may be missing. Out: {"tokens": [...]} or {"error": code}. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/text/chat_template.h"
#include "src/text/jinja_json.h"
#include "src/text/tokenizer.h"

static struct jinja_value get(struct jinja_run *run, struct jinja_value dict, const char *key)
{
    struct jinja_value v = jinja_value_get_text(run, dict.dict, key);
    return v.kind == JINJA_MISSING ? jinja_value_none() : v;
}

static bool is_true(struct jinja_run *run, struct jinja_value dict, const char *key)
{
    struct jinja_value v = get(run, dict, key);
    return v.kind == JINJA_BOOL && v.boolean;
}

/* Roles are words of the protocol, not the client's, as in src/server/converse.c. */
static void trust_roles(struct jinja_run *run, struct jinja_value messages)
{
    for (size_t i = 0; messages.kind == JINJA_LIST && i < messages.list->n; i++) {
        struct jinja_value role = get(run, messages.list->items[i], "role");
        jinja_value_set_text(run, messages.list->items[i], "role",
                             jinja_value_text(run, role.string->text, role.string->n, JINJA_TRUSTED));
    }
}

static int encode(const struct chat_template *t, const struct tokenizer *tokenizer, const bool *control,
                  const char *line, size_t n, struct token_list *ids)
{
    struct jinja_run *run = NULL;
    struct jinja_value v;
    struct jinja_text text;
    struct why why = {""};
    int r = jinja_run_new(&run, NULL);
    if (r == 0)
        r = jinja_json_read(run, line, n, JINJA_INPUT, &v, &why);
    if (r == 0) {
        struct chat_template_input input = {
            .messages = get(run, v, "messages"),
            .tools = get(run, v, "tools"),
            .kwargs = get(run, v, "kwargs"),
            .add_generation_prompt = is_true(run, v, "add_generation_prompt"),
            .continue_final_message = is_true(run, v, "continue_final_message"),
        };
        trust_roles(run, input.messages);
        r = chat_template_render(t, run, &input, &text, &why);
    }
    if (r == 0)
        r = tokenizer_encode_marked(tokenizer, control, &text, 0, ids, &why);
    if (r)
        fprintf(stderr, "%s\n", why.text);
    jinja_run_free(run);
    return r;
}

int main(int argc, char **argv)
{
    struct tokenizer *tokenizer = NULL;
    struct chat_template *t = NULL;
    struct why why = {""};
    bool *control = NULL;
    if (argc < 2 || tokenizer_open(&tokenizer, argv[1], &why) || chat_template_open(&t, argv[1], &why)) {
        fprintf(stderr, "chat_lines: %s\n", argc < 2 ? "usage: chat_lines DIR" : why.text);
        return 1;
    }
    for (int tools = 0; tools < 2; tools++) {
        const char *source = chat_template_source(t, tools);
        if (tokenizer_find_control(tokenizer, source, strlen(source), &control, &why)) {
            fprintf(stderr, "chat_lines: %s\n", why.text);
            return 1;
        }
    }
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    while ((n = getline(&line, &capacity, stdin)) > 0) {
        struct token_list ids = TOKEN_LIST_NULL;
        int r = encode(t, tokenizer, control, line, (size_t)n, &ids);
        if (r)
            printf("{\"error\": %d", r);
        for (size_t i = 0; r == 0 && i < ids.n; i++)
            printf("%s%d", i ? ", " : "{\"tokens\": [", ids.data[i]);
        printf(r ? "}\n" : ids.n ? "]}\n" : "{\"tokens\": []}\n");
        fflush(stdout);
        token_list_deinit(&ids);
    }
    free(line);
    free(control);
    chat_template_free(t);
    tokenizer_free(tokenizer);
    return 0;
}
