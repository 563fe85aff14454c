/* Settings of a conversation: see chat_set.h. */
#include "config.h"
#include "src/lorchctl/chat_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"

/* Fields that are options of the command. */
static const struct options_row *rows(size_t *ret_n)
{
    static struct options_row all[OPTIONS_MAX_ROW];
    static size_t n;
    if (n == 0)
        n = options_collect(CTL_chat, all);
    *ret_n = n;
    return all;
}

const char *chat_set_name(size_t i)
{
    size_t n, n_field = 0;
    const struct options_row *row = rows(&n);
    for (; n > 0; n--, row++)
        if (row->own < 0 && n_field++ == i)
            return proto_field(row->field)->key;
    return NULL;
}

static bool is_same(const char *key, const char *name)
{
    while (*key && (*key == *name || (*key == '_' && *name == '-'))) {
        key++;
        name++;
    }
    return *key == *name;
}

static enum proto_field find(const char *name)
{
    size_t n;
    const struct options_row *row = rows(&n);
    for (; n > 0; n--, row++)
        if (row->own < 0 && is_same(proto_field(row->field)->key, name))
            return row->field;
    return PROTO_N_FIELD;
}

static bool is_flag(enum proto_field field)
{
    return proto_field(field)->type == PROTO_TYPE_BOOL;
}

/* Whether the last setting is one that the request can carry; printed where not. */
static bool try_last(const struct options *options)
{
    struct options one = {.n_field = 1, .fields = {options->fields[options->n_field - 1]}};
    struct buf frame;
    struct msg_out out;
    buf_init(&frame, (size_t)FRAME_MAX_IN + FRAME_HEADER);
    msg_begin(&out, &frame, PROTO_CHAT, FRAME_MAX_IN);
    bool ok = options_write_fields(&one, &out);
    buf_deinit(&frame);
    return ok;
}

/* Takes out all settings of a field but the last one of the list. */
static void drop(struct options *options, enum proto_field field, size_t n_keep)
{
    size_t n = 0, end = options->n_field - n_keep;
    for (size_t i = 0; i < options->n_field; i++) {
        if (i < end && options->fields[i].field == field)
            free(options->fields[i].owned);
        else
            options->fields[n++] = options->fields[i];
    }
    options->n_field = n;
}

bool chat_set(struct options *options, const char *name, const char *value)
{
    enum proto_field field = find(name);
    if (field == PROTO_N_FIELD) {
        fprintf(stderr, "lorchctl: no setting '%s'; the tabulator after '/set ' lists them\n", name);
        return false;
    }
    bool is_off = is_flag(field) && value && !strcmp(value, "false");
    if (is_flag(field) && value && !is_off && strcmp(value, "true") != 0) {
        fprintf(stderr, "lorchctl: %s is true or false, not '%s'\n", name, value);
        return false;
    }
    if (!value || is_off) {
        drop(options, field, 0);
        return true;
    }
    char *copy = options->n_field < OPTIONS_MAX_FIELD ? strdup(value) : NULL;
    if (!copy) {
        fprintf(stderr, "lorchctl: %d settings at most, or memory ran out\n", OPTIONS_MAX_FIELD);
        return false;
    }
    options->fields[options->n_field].field = field;
    options->fields[options->n_field].value = copy;
    options->fields[options->n_field++].owned = copy;
    if (!try_last(options)) {
        free(options->fields[--options->n_field].owned);
        return false;
    }
    drop(options, field, 1);
    return true;
}

void chat_set_show(const struct options *options)
{
    for (size_t i = 0; i < options->n_field; i++) {
        enum proto_field field = options->fields[i].field;
        printf("%s = %s\n", proto_field(field)->key, is_flag(field) ? "true" : options->fields[i].value);
    }
    if (options->n_field == 0)
        puts("nothing is set");
}

void chat_set_free(struct options *options)
{
    for (size_t i = 0; i < options->n_field; i++)
        free(options->fields[i].owned);
    options->n_field = 0;
}
