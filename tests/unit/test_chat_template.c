/* Tests of src/text/chat_template.c; its rendering at large is compared with the reference's elsewhere. */
#include "config.h"
#include "src/text/chat_template.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "src/text/jinja_run.h"
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

static struct jinja_value text_of(struct jinja_run *run, const char *text)
{
    return jinja_value_text(run, text, strlen(text), JINJA_INPUT);
}

/* Whatever the memory, a message is continued whole or not at all. */
Test(chat_template, continuing_with_little_memory)
{
    enum { STEP = 8, PLENTY = 1 << 14 };
    static const char want[] = "<a b";
    struct chat_template *t = open_template("<{{ messages[0].content | trim }}>");
    size_t n_done = 0, n_failed = 0;
    for (size_t memory = STEP; memory <= PLENTY; memory += STEP) {
        struct jinja_limits limits = {memory, JINJA_DEFAULT_OUTPUT, JINJA_DEFAULT_STEPS};
        struct jinja_run *run;
        struct jinja_text text;
        struct why why = {""};
        cr_assert_eq(jinja_run_new(&run, &limits), 0);
        struct jinja_value messages = jinja_value_list(run), message = jinja_value_dict(run);
        jinja_value_set_text(run, message, "content", text_of(run, "a b  \n"));
        jinja_value_push(run, messages, message);
        struct chat_template_input input = {.messages = messages,
                                            .tools = jinja_value_none(),
                                            .kwargs = jinja_value_none(),
                                            .continue_final_message = true};
        int r = chat_template_render(t, run, &input, &text, &why);
        n_done += r == 0;
        n_failed += r > 0;
        cr_assert(r == 0 ? text.n == strlen(want) && memcmp(text.text, want, text.n) == 0
                         : why.text[0] != '\0',
                  "%zu bytes: %d, '%.*s', %s", memory, r, r == 0 ? (int)text.n : 0, text.text, why.text);
        jinja_run_free(run);
    }
    cr_expect(n_done > 0 && n_failed > 0);
    chat_template_free(t);
}
