/* Prints the tables of proto/ as lorch-protocol(7) has to list them: see tests/check_docs.sh.
 *
 *   list_protocol            a line "heading <tab> item" for each row, item as the page's .It has it
 *   list_protocol --fields   a line "tag <tab> name <tab> key" for each field */
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/proto.h"

static void print_heading(const struct proto_message_row *row)
{
    if (row->direction == PROTO_REQUEST)
        printf("%s request", row->name);
    else if (row->direction == PROTO_PART || row->direction == PROTO_INPUT)
        printf("%s map", row->name);
    else if (strcmp(row->name, "result"))
        printf("%s reply", row->name);
    else {
        printf("result of ");
        for (const char *c = row->tag; *c && *c != '_'; c++)
            putchar(tolower((unsigned char)*c));
    }
}

static void print_limit(int64_t v)
{
    if (v == INT64_MAX)
        printf("2^63-1");
    else if (v == INT64_MIN)
        printf("-2^63");
    else if (v == INT32_MAX)
        printf("2^31-1");
    else
        printf("%" PRId64, v);
}

static void print_range(const struct proto_field_row *row)
{
    const char *unit = "";
    switch (row->type) {
    case PROTO_TYPE_BOOL:
    case PROTO_TYPE_UINT:
    case PROTO_TYPE_TREE:
    case PROTO_TYPE_ARGUMENTS:
    case PROTO_TYPE_ONE:
        return;
    case PROTO_TYPE_LIST:
    case PROTO_TYPE_CONTENT:
        printf(" , at most %zu", row->n_max);
        return;
    case PROTO_TYPE_CHOICE:
        printf(" , %s", row->choices);
        return;
    case PROTO_TYPE_ABOVE:
        printf(" , above %" PRId64 " to %" PRId64, row->min, row->max);
        return;
    case PROTO_TYPE_STR:
    case PROTO_TYPE_TEXT:
        unit = " bytes";
        break;
    case PROTO_TYPE_STRS:
    case PROTO_TYPE_STOP:
        printf(" , at most %zu", row->n_max);
        unit = " bytes each";
        break;
    case PROTO_TYPE_INTS:
    case PROTO_TYPE_BIAS:
        printf(" , at most %zu", row->n_max);
        unit = " each";
        break;
    default:
        break;
    }
    printf(" , ");
    print_limit(row->min);
    printf(" to ");
    print_limit(row->max);
    printf("%s", unit);
}

static void print_field(enum proto_field field)
{
    const struct proto_field_row *row = proto_field(field);
    print_heading(proto_message(row->message));
    printf("\tCm %s No %s", row->key, proto_type_name(row->type));
    enum proto_direction direction = proto_message(row->message)->direction;
    if (direction == PROTO_REQUEST || direction == PROTO_INPUT) {
        print_range(row);
        if (row->fallback)
            printf(" ; default: %s", row->fallback);
        else
            printf(" ; required");
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--fields")) {
        for (enum proto_field i = 0; i < PROTO_N_FIELD; i++) {
            const struct proto_message_row *row = proto_message(proto_field(i)->message);
            printf("%s\t%s\t%s\n", row->tag, row->name, proto_field(i)->key);
        }
        return 0;
    }
    for (enum proto_field i = 0; i < PROTO_N_FIELD; i++)
        print_field(i);
    for (enum proto_error i = 0; i < PROTO_N_ERROR; i++) {
        const struct proto_error_row *row = proto_error(i);
        printf("ERROR CODES\tCm %s No %s , %d , exit %d%s\n", row->code, row->error_type, row->status,
               row->exit, row->retryable ? " , retryable" : "");
    }
    return 0;
}
