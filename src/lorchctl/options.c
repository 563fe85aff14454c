/* The command line of one command: see options.h. */
#include "config.h"
#include "src/lorchctl/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/lorchctl/tree.h"

enum {
    MAX_LIST = 65536, /* numbers in a list */
};

/* Fields that commands set themselves, or that make no sense in a terminal. */
static bool is_hidden(enum proto_field field)
{
    switch (field) {
    case PROTO_GENERATE_ID:
    case PROTO_GENERATE_PROMPT:
    case PROTO_GENERATE_STREAM:
    case PROTO_GENERATE_RETURN_PROGRESS:
    case PROTO_TOKENIZE_ID:
    case PROTO_TOKENIZE_CONTENT:
    case PROTO_TOKENIZE_WITH_PIECES:
    case PROTO_DETOKENIZE_ID:
    case PROTO_DETOKENIZE_TOKENS:
    case PROTO_COUNT_ID:
    case PROTO_COUNT_CONTENT:
        return true;
    case PROTO_CHAT_ID:
    case PROTO_CHAT_MESSAGES:
    case PROTO_CHAT_TOOLS:
    case PROTO_CHAT_TOOL_CHOICE:
    case PROTO_CHAT_ADD_GENERATION_PROMPT:
    case PROTO_CHAT_CONTINUE_FINAL_MESSAGE:
    case PROTO_CHAT_LOGPROBS:
    case PROTO_CHAT_TOP_LOGPROBS:
    case PROTO_CHAT_PROMPT_LOGPROBS:
    case PROTO_CHAT_RETURN_TOKENS:
    case PROTO_CHAT_RETURN_PROGRESS:
    case PROTO_CHAT_STREAM:
        return true;
    default:
        if (field >= PROTO_COUNT_MESSAGES && field <= PROTO_COUNT_REASONING_EFFORT)
            return true;
        return !strcmp(proto_field(field)->key, "optional");
    }
}

static const char *argument_name(const struct proto_field_row *row)
{
    switch (row->type) {
    case PROTO_TYPE_BOOL:
        return NULL;
    case PROTO_TYPE_INT:
    case PROTO_TYPE_UINT:
        return "N";
    case PROTO_TYPE_FLOAT:
    case PROTO_TYPE_ABOVE:
        return "X";
    case PROTO_TYPE_CHOICE:
        return row->choices;
    case PROTO_TYPE_INTS:
        return "ID,...";
    case PROTO_TYPE_BIAS:
        return "ID=X,...";
    case PROTO_TYPE_TREE:
        return "JSON";
    default:
        return "TEXT";
    }
}

static struct options_row field_row(enum proto_field field)
{
    const struct proto_field_row *from = proto_field(field);
    bool negated = from->type == PROTO_TYPE_BOOL && from->fallback && !strcmp(from->fallback, "true");
    struct options_row row = {.argument = argument_name(from), .help = from->help, .own = -1, .field = field};
    if (from->type != PROTO_TYPE_BOOL && from->fallback && strcmp(from->fallback, "none"))
        row.fallback = from->fallback;
    snprintf(row.name, sizeof row.name, "%s%s", negated ? "no-" : "", from->key);
    for (char *c = row.name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    switch (field) {
    case PROTO_GENERATE_MAX_TOKENS:
    case PROTO_CHAT_MAX_TOKENS:
        row.letter = 'n';
        break;
    case PROTO_GENERATE_TEMPERATURE:
    case PROTO_CHAT_TEMPERATURE:
        row.letter = 't';
        break;
    default:
        break;
    }
    return row;
}

size_t options_collect(enum ctl_command command, struct options_row rows[OPTIONS_MAX_ROW])
{
    size_t n = 0;
    for (int i = 0; i < CTL_N_OPTION; i++) {
        const struct ctl_option_row *own = &ctl_options[i];
        if (own->command != command && own->command != CTL_ALL)
            continue;
        rows[n] = (struct options_row){
            .letter = own->letter, .argument = own->argument, .help = own->help, .own = i};
        snprintf(rows[n++].name, OPTIONS_MAX_NAME, "%s", own->name);
    }
    for (int f = 0; f < PROTO_N_FIELD; f++)
        if (command != CTL_ALL && proto_field(f)->message == ctl_commands[command].message && !is_hidden(f))
            rows[n++] = field_row(f);
    return n;
}

static void print_rows(const struct options_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char left[160];
        int used = rows[i].letter ? snprintf(left, sizeof left, "  -%c, --%s", rows[i].letter, rows[i].name)
                                  : snprintf(left, sizeof left, "      --%s", rows[i].name);
        if (rows[i].argument)
            snprintf(left + used, sizeof left - (size_t)used, " %s", rows[i].argument);
        printf("%-34s %s%s", left, strlen(left) > 34 ? "\n                                   " : "",
               rows[i].help);
        if (rows[i].fallback)
            printf(" (default: %s)", rows[i].fallback);
        putchar('\n');
    }
}

void options_help(void)
{
    struct options_row rows[OPTIONS_MAX_ROW];
    puts("Usage: lorchctl [-H PATH] COMMAND [OPTION...] [ARGUMENT...]\n"
         "Talk to lorchd, which serves a large language model on this machine.\n\nCommands:");
    for (int i = 0; i < CTL_N_COMMAND; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", ctl_commands[i].name, ctl_commands[i].arguments);
        printf("  %-20s %s\n", left, ctl_commands[i].help);
    }
    puts("\nOptions:");
    print_rows(rows, options_collect(CTL_ALL, rows));
    puts("\n'lorchctl COMMAND --help' shows the options of a command. Manual: lorchctl(1).");
}

void options_help_command(enum ctl_command command)
{
    struct options_row rows[OPTIONS_MAX_ROW];
    const struct ctl_command_row *row = &ctl_commands[command];
    printf("Usage: lorchctl %s [OPTION...] %s\n%c%s.\n\nOptions:\n", row->name, row->arguments,
           row->help[0] - 'a' + 'A', row->help + 1);
    print_rows(rows, options_collect(command, rows));
}

static int usage_error(enum ctl_command command)
{
    fprintf(stderr, "Try 'lorchctl %s --help'.\n", ctl_commands[command].name);
    return EX_USAGE;
}

int options_parse(struct options *ret_options, enum ctl_command command, int argc, char **argv)
{
    struct options_row rows[OPTIONS_MAX_ROW];
    struct option longs[OPTIONS_MAX_ROW + 1] = {{0}};
    char shorts[2 * OPTIONS_MAX_ROW + 1] = "", prefix[48];
    size_t n = options_collect(command, rows), n_short = 0;
    for (size_t i = 0; i < n; i++) {
        longs[i] = (struct option){rows[i].name, rows[i].argument ? required_argument : no_argument, NULL,
                                   256 + (int)i};
        if (rows[i].letter) {
            shorts[n_short++] = rows[i].letter;
            if (rows[i].argument)
                shorts[n_short++] = ':';
        }
    }
    *ret_options = (struct options){.command = command};
    /* getopt's own messages begin with argv[0]. */
    snprintf(prefix, sizeof prefix, "lorchctl %s", ctl_commands[command].name);
    argv[0] = prefix;
    optind = 0;
    for (int c; (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        size_t i = 0;
        while (i < n && c != 256 + (int)i && (!rows[i].letter || c != rows[i].letter))
            i++;
        if (c == '?' || i == n)
            return usage_error(command);
        const char *value = rows[i].argument ? optarg : "";
        if (rows[i].own == CTL_OPTION_HELP) {
            options_help_command(command);
            return 0;
        }
        if (rows[i].own >= 0) {
            ret_options->values[rows[i].own] = value;
        } else if (ret_options->n_field == OPTIONS_MAX_FIELD) {
            fprintf(stderr, "%s: %d options of the request at most\n", prefix, OPTIONS_MAX_FIELD);
            return EX_USAGE;
        } else {
            ret_options->fields[ret_options->n_field].field = rows[i].field;
            ret_options->fields[ret_options->n_field++].value = value;
        }
    }
    ret_options->arguments = argv + optind;
    ret_options->n_argument = argc - optind;
    return -1;
}

bool options_has(const struct options *options, enum ctl_option option)
{
    return options->values[option];
}

const char *options_field(const struct options *options, enum proto_field field)
{
    for (size_t i = options->n_field; i-- > 0;)
        if (options->fields[i].field == field)
            return options->fields[i].value;
    return NULL;
}

bool options_has_field(const struct options *options, enum proto_field field)
{
    return options_field(options, field);
}

bool options_int(const struct options *options, enum ctl_option option, long min, long max, long *ret)
{
    const char *text = options->values[option];
    char *end;
    if (!text)
        return true;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (end == text || *end || errno || v < min || v > max) {
        fprintf(stderr, "lorchctl: --%s takes a whole number from %ld to %ld, not '%s'\n",
                ctl_options[option].name, min, max, text);
        return false;
    }
    *ret = v;
    return true;
}

static bool bad_value(enum proto_field field, const char *what, const char *value)
{
    struct options_row row = field_row(field);
    fprintf(stderr, "lorchctl: --%s takes %s, not '%s'\n", row.name, what, value);
    return false;
}

/* Numbers separated by commas or white space. */
static bool write_ints(struct msg_out *out, enum proto_field field, const char *value)
{
    size_t n = 0;
    bool ok = false;
    int32_t *list = malloc(MAX_LIST * sizeof *list);
    if (!list)
        return bad_value(field, "less memory than there is", value);
    for (const char *p = value;; p++) {
        char *end;
        errno = 0;
        long v = strtol(p, &end, 10);
        if (end == p || errno || v < 0 || v > INT32_MAX || n == MAX_LIST)
            break;
        list[n++] = (int32_t)v;
        p = end;
        if (!*p) {
            ok = true;
            break;
        }
        if (*p != ',' && *p != ' ')
            break;
    }
    if (ok || !*value)
        msg_put_ints(out, field, list, ok ? n : 0);
    free(list);
    return ok || !*value || bad_value(field, "whole numbers separated by commas", value);
}

/* All pairs of all --logit-bias options, as one array. */
static bool write_bias(const struct options *options, enum proto_field field, struct msg_out *out)
{
    msg_array(out, field);
    for (size_t i = 0; i < options->n_field; i++) {
        if (options->fields[i].field != field)
            continue;
        for (const char *p = options->fields[i].value;; p++) {
            char *end;
            long id = strtol(p, &end, 10);
            if (end == p || *end != '=' || id < 0 || id > INT32_MAX)
                return bad_value(field, "pairs ID=X", options->fields[i].value);
            double bias = strtod(p = end + 1, &end);
            if (end == p || (*end && *end != ','))
                return bad_value(field, "pairs ID=X", options->fields[i].value);
            msg_array(out, PROTO_ELEMENT);
            msg_put_int(out, PROTO_ELEMENT, id);
            msg_put_double(out, PROTO_ELEMENT, bias);
            msg_close_part(out);
            if (!*(p = end))
                break;
        }
    }
    msg_close_part(out);
    return true;
}

static void write_stop(const struct options *options, enum proto_field field, struct msg_out *out)
{
    msg_array(out, field);
    for (size_t i = 0; i < options->n_field; i++)
        if (options->fields[i].field == field)
            msg_put_str(out, PROTO_ELEMENT, options->fields[i].value);
    msg_close_part(out);
}

/* A single value; of an option given twice, the last one holds. */
static bool write_field(struct msg_out *out, enum proto_field field, const char *value)
{
    const struct proto_field_row *row = proto_field(field);
    char *end;
    errno = 0;
    switch (row->type) {
    case PROTO_TYPE_BOOL:
        msg_put_bool(out, field, strcmp(row->fallback ? row->fallback : "", "true"));
        return true;
    case PROTO_TYPE_INT: {
        long long v = strtoll(value, &end, 10);
        if (end == value || *end || errno)
            return bad_value(field, "a whole number", value);
        msg_put_int(out, field, v);
        return true;
    }
    case PROTO_TYPE_UINT: {
        unsigned long long v = strtoull(value, &end, 10);
        if (end == value || *end || errno || *value == '-')
            return bad_value(field, "a whole number that is not negative", value);
        msg_put_uint(out, field, v);
        return true;
    }
    case PROTO_TYPE_FLOAT:
    case PROTO_TYPE_ABOVE: {
        double v = strtod(value, &end);
        if (end == value || *end)
            return bad_value(field, "a number", value);
        msg_put_double(out, field, v);
        return true;
    }
    case PROTO_TYPE_INTS:
        return write_ints(out, field, value);
    case PROTO_TYPE_TREE:
        return tree_write(out, field, value) || bad_value(field, "a JSON object, not too deep", value);
    default:
        msg_put_str(out, field, value);
        return true;
    }
}

/* Whether the option at index i is the only one of its field, or the first or last of several. */
static bool is_first(const struct options *options, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (options->fields[j].field == options->fields[i].field)
            return false;
    return true;
}

static bool is_last(const struct options *options, size_t i)
{
    for (size_t j = i + 1; j < options->n_field; j++)
        if (options->fields[j].field == options->fields[i].field)
            return false;
    return true;
}

bool options_write_fields(const struct options *options, struct msg_out *out)
{
    for (size_t i = 0; i < options->n_field; i++) {
        enum proto_field field = options->fields[i].field;
        enum proto_type type = proto_field(field)->type;
        bool ok = true;
        if (type == PROTO_TYPE_STOP && is_first(options, i))
            write_stop(options, field, out);
        else if (type == PROTO_TYPE_BIAS && is_first(options, i))
            ok = write_bias(options, field, out);
        else if (type != PROTO_TYPE_STOP && type != PROTO_TYPE_BIAS && is_last(options, i))
            ok = write_field(out, field, options->fields[i].value);
        if (!ok)
            return false;
    }
    return true;
}
