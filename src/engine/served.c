/* What is served: see served.h. */
#include "config.h"
#include "src/engine/served.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "src/base/json.h"
#include "src/engine/conversation.h"
#include "src/text/detok.h"

enum { SERVED_MAX_CONFIG = 16 << 20 }; /* bytes of tokenizer_config.json: some name every added token */

/* The directory that a model's files are in, for free(); NULL when out of memory. */
static char *model_dir(const char *path)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    if (stat(path, &st) < 0 || S_ISDIR(st.st_mode))
        return strdup(path);
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

/* Adds the eos_token of tokenizer_config.json, which is a string or a map with the string in `content`. That
 * there is no such file, no such entry or no such token is all right. */
static int add_config_end(struct served *served, const char *dir, struct why *why)
{
    char *path;
    if (asprintf(&path, "%s/tokenizer_config.json", dir) < 0)
        return -ENOMEM;
    struct json *config = NULL;
    struct why reason;
    int r = json_read_file(&config, path, SERVED_MAX_CONFIG, &reason);
    free(path);
    if (r == EX_NOINPUT)
        return 0;
    if (r != 0)
        return why_set(why, r, "%s", reason.text);

    const struct json *entry = json_get(config, "eos_token");
    const char *piece = json_string(json_is_object(entry) ? json_get(entry, "content") : entry, NULL);
    int32_t id = piece ? tokenizer_id(served->tokenizer, piece) : -1;
    json_free(config);
    for (int32_t i = 0; i < served->n_end; i++)
        if (served->end[i] == id)
            return 0;
    if (id >= 0)
        served->end[served->n_end++] = id;
    return 0;
}

static float known_or(float value, float fallback)
{
    return isnan(value) || value < 0 ? fallback : value;
}

static void fill_defaults(struct served *served)
{
    const struct model_defaults *d = &served->info->defaults;
    served->defaults = (struct sampler_params){
        .temperature = known_or(d->temperature, 1),
        .top_k = d->top_k > 0 ? d->top_k : 0,
        .top_p = known_or(d->top_p, 1),
        .min_p = known_or(d->min_p, 0),
        .typical_p = known_or(d->typical_p, 1),
        .repeat_penalty = known_or(d->repeat_penalty, 1),
        .repeat_last_n = -1,
    };
}

/* The thread that opens the tokenizer and the chat template. */
struct opening {
    char *dir;
    struct tokenizer *tokenizer;
    struct chat_template *chat;
    int result, chat_result;
    struct why why, chat_why;
};

static void *open_text(void *arg)
{
    struct opening *o = arg;
    o->result = tokenizer_open(&o->tokenizer, o->dir, &o->why);
    if (o->result == 0)
        o->chat_result = chat_template_open(&o->chat, o->dir, &o->chat_why);
    return NULL;
}

/* What the template shows of how the model chats. Codes as tokenizer_find_control. */
static int study_chat(struct served *served, const struct chat_template *chat, struct why *why)
{
    const char *plain = chat_template_source(chat, false), *tools = chat_template_source(chat, true);
    chat_format_find(&served->chat_format, tools, strlen(tools), served->tokenizer);
    int r = tokenizer_find_control(served->tokenizer, plain, strlen(plain), &served->control, why);
    if (r == 0)
        r = tokenizer_find_control(served->tokenizer, tools, strlen(tools), &served->control, why);
    return r == 0 ? conversation_try_parts(chat, &served->takes_parts) : r;
}

/* A model whose template is missing or beyond us still completes texts: what is wrong is told to those who
 * want to chat. */
static int take_chat(struct served *served, struct opening *o)
{
    struct why why;
    if (o->chat_result < 0)
        return o->chat_result;
    if (!served->tokenizer) {
        why_set(&served->no_chat, 0, "the model has no tokenizer: it takes ids (tokens) and no messages");
    } else if (o->chat_result == EX_NOINPUT) {
        why_set(&served->no_chat, 0,
                "the model has no chat template: put one into chat_template.jinja in its directory, or send "
                "generate with a prompt");
    } else if (o->chat_result != 0) {
        why_set(&served->no_chat, 0, "the model's chat template cannot be used: %s", o->chat_why.text);
    } else {
        int r = study_chat(served, o->chat, &why);
        if (r < 0)
            return r;
        if (r > 0) {
            why_set(&served->no_chat, 0, "the model cannot chat: %s", why.text);
            return 0;
        }
        served->chat = o->chat;
        o->chat = NULL; /* consumed */
    }
    return 0;
}

/* Joins model and tokenizer. */
static int take_tokenizer(struct served *served, struct opening *o, struct why *why)
{
    if (o->result == EX_NOINPUT)
        return 0;
    if (o->result != 0)
        return why_set(why, o->result, "%s", o->why.text);
    served->tokenizer = o->tokenizer;
    o->tokenizer = NULL; /* consumed */
    if (tokenizer_n_vocab(served->tokenizer) > served->info->n_vocab)
        return why_set(why, EX_DATAERR, "the tokenizer has ids up to %d, the model has %d embedding rows",
                       tokenizer_n_vocab(served->tokenizer) - 1, served->info->n_vocab);
    served->max_piece = tokenizer_max_piece(served->tokenizer);
    if (served->max_piece == 0)
        served->max_piece = 1;
    served->max_out = detok_max_out(served->tokenizer);
    return add_config_end(served, o->dir, why);
}

/* Puts together what was opened. */
static int join(struct served *served, struct opening *o, struct why *why)
{
    served->info = model_info(served->model);
    served->n_end = served->info->n_end;
    memcpy(served->end, served->info->end, (size_t)served->n_end * sizeof *served->end);
    fill_defaults(served);
    int r = take_tokenizer(served, o, why);
    return r == 0 ? take_chat(served, o) : r;
}

/* Frees what is left of the opening, and on failure all. */
static int conclude(struct served *served, struct opening *o, int r)
{
    tokenizer_free(o->tokenizer);
    chat_template_free(o->chat);
    free(o->dir);
    if (r != 0)
        served_deinit(served);
    return r;
}

int served_load(struct served *served, const struct model_options *options, model_progress_fn progress,
                void *ctx, struct why *why)
{
    struct opening o = {.dir = model_dir(options->path)};
    if (!o.dir)
        return -ENOMEM;
    pthread_t thread;
    int r = -pthread_create(&thread, NULL, open_text, &o);
    if (r == 0) {
        r = model_open(&served->model, options, progress, ctx, why);
        pthread_join(thread, NULL);
    }
    return conclude(served, &o, r == 0 ? join(served, &o, why) : r);
}

int served_check(struct served *served, const struct model_options *options, struct why *why)
{
    struct opening o = {.dir = model_dir(options->path)};
    if (!o.dir)
        return -ENOMEM;
    int r = model_check(&served->model, options, why);
    if (r == 0) {
        open_text(&o);
        r = join(served, &o, why);
    }
    return conclude(served, &o, r);
}

void served_deinit(struct served *served)
{
    served->model = model_free(served->model);
    served->tokenizer = tokenizer_free(served->tokenizer);
    served->chat = chat_template_free(served->chat);
    free(served->control);
    served->control = NULL;
    served->info = NULL;
}
