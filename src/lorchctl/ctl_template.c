/* lorchctl template: the prompt that a chat template makes of a conversation, without a server.
 *
 * A conversation is a JSON array of messages, or an object with `messages` and what else apply_template takes
 * (lorch-protocol(7)). */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "src/lorchctl/ctl.h"
#include "src/lorchctl/input.h"
#include "src/lorchctl/lines.h"
#include "src/lorchctl/options.h"
#include "src/lorchctl/out.h"
#include "src/text/chat_template.h"
#include "src/text/jinja_json.h"

struct renderer {
    struct chat_template *template;
    struct tm now;
    bool has_now;
};

static int take_bool(struct jinja_value v, const char *key, bool *ret, struct why *why)
{
    if (v.kind != JINJA_BOOL)
        return why_set(why, EX_DATAERR, "'%s' must be true or false", key);
    *ret = v.boolean;
    return 0;
}

/* A value of one of two kinds; null is none. */
static int take_kind(struct jinja_value v, enum jinja_kind kind, const char *key, struct jinja_value *ret,
                     struct why *why)
{
    if (v.kind != JINJA_NONE && v.kind != kind)
        return why_set(why, EX_DATAERR, "'%s' must be %s", key,
                       kind == JINJA_LIST ? "an array" : "an object");
    *ret = v;
    return 0;
}

static int take_member(const char *key, struct jinja_value v, struct chat_template_input *in,
                       bool *ret_has_generation, struct why *why)
{
    if (!strcmp(key, "messages"))
        return take_kind(v, JINJA_LIST, key, &in->messages, why);
    if (!strcmp(key, "tools"))
        return take_kind(v, JINJA_LIST, key, &in->tools, why);
    if (!strcmp(key, "chat_template_kwargs"))
        return take_kind(v, JINJA_DICT, key, &in->kwargs, why);
    if (!strcmp(key, "continue_final_message"))
        return take_bool(v, key, &in->continue_final_message, why);
    if (!strcmp(key, "add_generation_prompt")) {
        *ret_has_generation = true;
        return take_bool(v, key, &in->add_generation_prompt, why);
    }
    return why_set(why, EX_DATAERR, "'%s' is not a known member", key);
}

static int take_conversation(struct jinja_value v, struct chat_template_input *in, struct why *why)
{
    bool has_generation = false;
    *in = (struct chat_template_input){
        .messages = jinja_value_none(), .tools = jinja_value_none(), .kwargs = jinja_value_none()};
    if (v.kind == JINJA_LIST)
        in->messages = v;
    else if (v.kind != JINJA_DICT)
        return why_set(why, EX_DATAERR, "a conversation is an array of messages, or an object that has one");
    for (size_t i = 0; v.kind == JINJA_DICT && i < v.dict->n; i++) {
        const struct jinja_string *key = v.dict->entries[i].key.string;
        char name[64]; /* a longer one is none of ours */
        snprintf(name, sizeof name, "%.*s", (int)(key->n < sizeof name ? key->n : sizeof name), key->text);
        int r = take_member(name, v.dict->entries[i].value, in, &has_generation, why);
        if (r)
            return r;
    }
    if (in->messages.kind == JINJA_NONE)
        return why_set(why, EX_DATAERR, "'messages' is missing");
    if (!has_generation)
        in->add_generation_prompt = !in->continue_final_message;
    if (in->add_generation_prompt && in->continue_final_message)
        return why_set(why, EX_DATAERR,
                       "add_generation_prompt and continue_final_message cannot both be true");
    return 0;
}

/* Renders the conversation that n bytes of JSON are and hands the prompt to `print`. */
static int render(const struct renderer *x, const char *json, size_t n,
                  void (*print)(const struct jinja_text *text), struct why *why)
{
    struct jinja_run *run;
    struct jinja_value v;
    struct chat_template_input input;
    struct jinja_text text;
    int r = jinja_run_new(&run, NULL);
    if (r)
        return r;
    r = jinja_json_read(run, json, n, JINJA_INPUT, &v, why);
    if (r > 0)
        why_prefix(why, r, "the conversation");
    r = r ? r : take_conversation(v, &input, why);
    if (r == 0) {
        input.now = x->has_now ? &x->now : NULL;
        r = chat_template_render(x->template, run, &input, &text, why);
    }
    if (r == 0)
        print(&text);
    jinja_run_free(run);
    return r;
}

static void print_member(const struct jinja_text *text)
{
    fputs("{\"prompt\": ", stdout);
    out_json_string(stdout, text->text, text->n);
    putchar('}');
}

static void print_plain(const struct jinja_text *text)
{
    fwrite(text->text, 1, text->n, stdout);
}

static int render_line(void *ctx, struct jsonread *reader, struct why *why)
{
    return render(ctx, reader->text, reader->n, print_member, why);
}

static int report(int r, const struct why *why)
{
    if (r)
        fprintf(stderr, "lorchctl: %s\n", r < 0 ? strerror(-r) : why->text);
    return r < 0 ? EX_OSERR : r ? EX_DATAERR : 0;
}

static int render_text(const struct renderer *x, const char *argument)
{
    struct why why = {""};
    struct buf text;
    int r = input_read(&text, NULL, argument);
    if (r)
        return r;
    r = render(x, (const char *)text.data, text.n, print_plain, &why);
    buf_deinit(&text);
    return report(r, &why);
}

/* "2025-03-09" or "2025-03-09 17:04:05", a T between the two is all right: local time. */
static bool read_now(const char *s, struct tm *ret)
{
    struct tm tm = {.tm_isdst = -1};
    const char *end = strptime(s, "%Y-%m-%d", &tm);
    if (end && (*end == ' ' || *end == 'T'))
        end = strptime(end + 1, "%H:%M:%S", &tm);
    if (!end || *end)
        return false;
    struct tm whole = tm; /* mktime knows the day of the week and of the year */
    if (mktime(&whole) == (time_t)-1)
        return false;
    tm.tm_wday = whole.tm_wday;
    tm.tm_yday = whole.tm_yday;
    *ret = tm;
    return true;
}

static int open_template(const struct options *options, struct chat_template **ret)
{
    const char *model = options->values[CTL_OPTION_TOKENIZER_TEMPLATE];
    const char *file = options->values[CTL_OPTION_TEMPLATE];
    struct why why = {""};
    if (!model == !file) {
        fprintf(stderr, "lorchctl: template needs --tokenizer or --template, one of them\n");
        return EX_USAGE;
    }
    int r = model ? chat_template_open(ret, model, &why) : chat_template_open_file(ret, file, &why);
    if (r)
        fprintf(stderr, "lorchctl: %s\n", r < 0 ? strerror(-r) : why.text);
    return r < 0 ? EX_OSERR : r;
}

int ctl_template(struct options *options)
{
    struct renderer x = {0};
    const char *now = options->values[CTL_OPTION_NOW];
    bool by_line = options_has(options, CTL_OPTION_JSONL_TEMPLATE);
    if (options->n_argument > (by_line ? 0 : 1)) {
        fprintf(stderr, "lorchctl: %s\n",
                by_line ? "--jsonl reads standard input, there is no argument"
                        : "one conversation: quote it");
        return EX_USAGE;
    }
    if (now && !(x.has_now = read_now(now, &x.now))) {
        fprintf(stderr, "lorchctl: --now takes a time like 2025-03-09 17:04:05, not '%s'\n", now);
        return EX_USAGE;
    }
    int r = open_template(options, &x.template);
    if (r)
        return r;
    r = by_line ? lines_run(render_line, &x)
                : render_text(&x, options->n_argument ? options->arguments[0] : NULL);
    chat_template_free(x.template);
    return r;
}
