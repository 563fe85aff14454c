/* Tests of src/engine/conversation.c: messages become a prompt, or a sentence about what is wrong. */
#include "config.h"
#include "src/engine/conversation.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "src/engine/check.h"
#include "src/engine/notice.h"
#include "src/engine/served.h"
#include "tests/support.h"

static struct chat_template *open_template(const char *text)
{
    char dir[SUPPORT_PATH], path[SUPPORT_PATH + 16];
    struct chat_template *t = NULL;
    struct why why = {""};
    support_dir_make(dir);
    support_write(dir, "t.jinja", text, strlen(text));
    snprintf(path, sizeof path, "%s/t.jinja", dir);
    cr_assert_eq(chat_template_open_file(&t, path, &why), 0, "%s", why.text);
    support_dir_remove(dir);
    return t;
}

/* A user's message whose content is in parts. */
static struct conversation *converse(const char *const *texts)
{
    struct conversation *c = conversation_new();
    cr_assert(c);
    struct jinja_value message = jinja_value_dict(c->run), parts = jinja_value_list(c->run);
    for (size_t i = 0; texts[i]; i++) {
        struct jinja_value part = jinja_value_dict(c->run);
        jinja_value_set_text(c->run, part, "type", jinja_value_text(c->run, "text", 4, JINJA_TRUSTED));
        jinja_value_set_text(c->run, part, "text",
                             jinja_value_text(c->run, texts[i], strlen(texts[i]), JINJA_INPUT));
        jinja_value_push(c->run, parts, part);
    }
    jinja_value_set_text(c->run, message, "role", jinja_value_text(c->run, "user", 4, JINJA_TRUSTED));
    jinja_value_set_text(c->run, message, "content", parts);
    jinja_value_push(c->run, c->messages, message);
    return c;
}

/* The prompt of two parts, where the template is asked first whether it reads them. */
static void check_prompt(const char *text, bool takes_parts, const char *want)
{
    struct served served = {.chat = open_template(text)};
    struct notice *refusal = NULL;
    cr_assert_eq(conversation_try_parts(served.chat, &served.takes_parts), 0);
    cr_expect_eq(served.takes_parts, takes_parts, "%s", text);
    struct conversation *c = converse((const char *const[]){" a", "b ", NULL});
    cr_assert_eq(conversation_render(&served, c, 1, &refusal), 0, "%s", refusal ? refusal->message : "");
    cr_expect(c->text.n == strlen(want) && memcmp(c->text.text, want, c->text.n) == 0, "%s: '%.*s'", text,
              (int)c->text.n, c->text.text);
    cr_expect(c->text.n_input == 1 || takes_parts, "%zu ranges of input", c->text.n_input);
    conversation_free(c);
    chat_template_free(served.chat);
}

Test(conversation, parts_are_joined_where_the_template_does_not_read_them)
{
    check_prompt("{{ messages[0].content }}", false, " ab ");
    check_prompt("{{ messages[0].content | tojson }}", false, "\" ab \"");
    check_prompt("{% if messages[0].content is string %}<{{ messages[0].content }}>{% endif %}", false,
                 "< ab >");
    check_prompt("{% for p in messages[0].content %}[{{ p.text | trim }}]{% endfor %}", true, "[a][b]");
    check_prompt("{{ messages[0].content | map(attribute='text') | join('+') }}", true, " a+b ");
}

static void check_refusal(const struct served *served, const char *code, const char *part)
{
    struct notice *refusal = NULL;
    struct conversation *c = converse((const char *const[]){"x", NULL});
    cr_assert_eq(conversation_render(served, c, 7, &refusal), CHECK_E_REFUSED);
    cr_expect(refusal->kind == NOTICE_FAILED && refusal->job == 7);
    cr_expect_str_eq(refusal->code, code);
    cr_expect_str_eq(refusal->param, "messages");
    cr_expect_not_null(strstr(refusal->message, part), "%s", refusal->message);
    notice_free(refusal);
    conversation_free(c);
}

Test(conversation, what_is_wrong_is_told)
{
    struct served served = {.no_chat = {"there is none"}};
    check_refusal(&served, "not_supported", "there is none");
    served.chat = open_template("a\n  {{ 1 / 0 }}");
    check_refusal(&served, "invalid_request", "line 2 column");
    chat_template_free(served.chat);
    served.chat = open_template("{{ raise_exception('not so') }}");
    check_refusal(&served, "invalid_request", "not so");
    chat_template_free(served.chat);
}

/* One call with these arguments. */
static struct conversation *converse_call(const char *arguments)
{
    struct conversation *c = conversation_new();
    cr_assert(c);
    struct jinja_value message = jinja_value_dict(c->run), calls = jinja_value_list(c->run),
                       call = jinja_value_dict(c->run), called = jinja_value_dict(c->run);
    jinja_value_set_text(c->run, called, "arguments",
                         jinja_value_text(c->run, arguments, strlen(arguments), JINJA_INPUT));
    jinja_value_set_text(c->run, call, "function", called);
    jinja_value_push(c->run, calls, jinja_value_none());
    jinja_value_push(c->run, calls, call);
    jinja_value_set_text(c->run, message, "tool_calls", calls);
    jinja_value_push(c->run, c->messages, message);
    return c;
}

Test(conversation, arguments_in_json_become_values)
{
    struct served served = {
        .chat = open_template("{% for k, v in messages[0].tool_calls[1].function.arguments.items() %}"
                              "{{ k }}={{ v }};{% endfor %}")};
    struct notice *refusal = NULL;
    struct conversation *c = converse_call(" {\"a\": [1, \"x\"], \"b\": null} ");
    cr_assert_eq(conversation_render(&served, c, 1, &refusal), 0, "%s", refusal ? refusal->message : "");
    cr_expect(c->text.n == 18 && memcmp(c->text.text, "a=[1, 'x'];b=None;", 18) == 0, "'%.*s'",
              (int)c->text.n, c->text.text);
    cr_expect_eq(c->text.n_input, 3, "the keys and the string are input");
    conversation_free(c);

    static const struct {
        const char *text, *why;
    } cases[] = {{"{\"a\": }", "messages[0].tool_calls[1].function.arguments: line 1 column 7"},
                 {"[1]", "it is no object, but of type list"},
                 {"", "messages[0].tool_calls[1].function.arguments"},
                 {"{} x", "line 1 column 4"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        c = converse_call(cases[i].text);
        cr_assert_eq(conversation_render(&served, c, 7, &refusal), CHECK_E_REFUSED);
        cr_expect_str_eq(refusal->code, "invalid_request");
        cr_expect_str_eq(refusal->param, "messages");
        cr_expect_not_null(strstr(refusal->message, cases[i].why), "%s", refusal->message);
        notice_free(refusal);
        conversation_free(c);
    }
    chat_template_free(served.chat);
}
