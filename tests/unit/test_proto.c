/* The tables: what other code takes for granted about them. */
#include "config.h"

#include <criterion/criterion.h>
#include <string.h>

#include "proto/proto.h"

Test(proto, keys_are_unique_and_short)
{
    for (enum proto_field a = 0; a < PROTO_N_FIELD; a++) {
        const struct proto_field_row *row = proto_field(a);
        cr_expect(strlen(row->key) > 0 && strlen(row->key) <= PROTO_MAX_KEY, "%s", row->key);
        cr_expect(strlen(row->help) > 0, "%s has no help", row->key);
        cr_expect_eq(proto_find_field(row->message, row->key, strlen(row->key)), a, "%s.%s is there twice",
                     proto_message(row->message)->tag, row->key);
    }
}

/* Decoding needs ranges that can hold, and knows what to do with every type of a request. */
Test(proto, rows_of_requests)
{
    size_t n = 0;
    for (enum proto_field a = 0; a < PROTO_N_FIELD; a++) {
        const struct proto_field_row *row = proto_field(a);
        enum proto_direction direction = proto_message(row->message)->direction;
        if (direction != PROTO_REQUEST && direction != PROTO_INPUT)
            continue;
        n++;
        cr_expect_leq(row->min, row->max, "%s", row->key);
        cr_expect_lt(row->type, PROTO_TYPE_BIN, "%s", row->key);
        cr_expect_eq(!row->choices, row->type != PROTO_TYPE_CHOICE, "%s", row->key);
        bool is_nested = row->type >= PROTO_TYPE_ONE;
        bool is_array = is_nested ? row->type > PROTO_TYPE_ONE
                                  : row->type >= PROTO_TYPE_INTS && row->type <= PROTO_TYPE_BIAS;
        cr_expect_eq(is_nested, row->part != PROTO_N_MESSAGE, "%s", row->key);
        cr_expect_eq(is_array, row->n_max > 0, "%s", row->key);
    }
    cr_assert_gt(n, 50);
}

/* A field that two verbs share is found by either's row. */
Test(proto, same_fields)
{
    cr_expect_eq(proto_same(PROTO_GENERATE, PROTO_GENERATE_SEED), PROTO_GENERATE_SEED);
    for (enum proto_field f = PROTO_GENERATE_MAX_TOKENS; f <= PROTO_GENERATE_DEADLINE_MS; f++)
        cr_expect_str_eq(proto_field(proto_same(PROTO_CHAT, f))->key, proto_field(f)->key);
    static const enum proto_message verbs[] = {PROTO_CHAT, PROTO_COUNT, PROTO_APPLY_TEMPLATE};
    for (size_t i = 0; i < 3; i++)
        for (enum proto_field f = PROTO_CHAT_MESSAGES; f <= PROTO_CHAT_REASONING_EFFORT; f++) {
            const struct proto_field_row *row = proto_field(proto_same(verbs[i], f));
            cr_expect_eq(row->message, verbs[i]);
            cr_expect_str_eq(row->key, proto_field(f)->key);
        }
}

Test(proto, messages)
{
    static const char *const verbs[] = {"hello",      "generate", "chat",          "cancel",
                                        "ping",       "status",   "props",         "tokenize",
                                        "detokenize", "count",    "apply_template"};
    cr_assert_eq(PROTO_N_VERB, 11);
    for (enum proto_message i = 0; i < PROTO_N_MESSAGE; i++) {
        cr_expect_eq(proto_message(i)->direction == PROTO_REQUEST, i < PROTO_N_VERB);
        cr_expect_eq(proto_message(i)->id != PROTO_ID_NONE, i < PROTO_N_VERB);
        size_t n = 0;
        for (enum proto_field a = 0; a < PROTO_N_FIELD; a++)
            n += proto_field(a)->message == i;
        cr_expect_gt(n, 0, "%s has no fields", proto_message(i)->tag);
    }
    for (enum proto_message i = 0; i < PROTO_N_VERB; i++) {
        cr_expect_str_eq(proto_message(i)->name, verbs[i]);
        cr_expect_eq(proto_find_verb(verbs[i], strlen(verbs[i])), i);
    }
    cr_expect_eq(proto_find_verb("generat", 7), PROTO_N_VERB);
    cr_expect_eq(proto_find_verb("pong", 4), PROTO_N_VERB);
    cr_expect_eq(proto_find_field(PROTO_PING, "prompt", 6), PROTO_N_FIELD);
}

Test(proto, errors)
{
    for (enum proto_error i = 0; i < PROTO_N_ERROR; i++) {
        const struct proto_error_row *row = proto_error(i);
        cr_expect_eq(proto_find_error(row->code), i, "%s is there twice", row->code);
        cr_expect(row->status >= 400 && row->status < 600, "%s", row->code);
        cr_expect((row->exit >= 64 && row->exit <= 78) || row->exit == 124, "%s", row->code);
    }
    cr_expect_eq(proto_find_error("no_such_error"), PROTO_N_ERROR);
    cr_expect_eq(proto_error(PROTO_E_QUEUE_FULL)->exit, 75);
    cr_expect(proto_error(PROTO_E_QUEUE_FULL)->retryable);
    cr_expect_eq(proto_error(PROTO_E_NON_FINITE)->status, 500);
    cr_expect_not(proto_error(PROTO_E_NON_FINITE)->retryable);
}
