/* The structural walk: each malformed body and its exact complaint. */
#include "config.h"

#include <criterion/criterion.h>

#include "proto/wire.h"
#include "tests/unit/hex.h"

static const struct {
    const char *body;
    const char *complaint; /* NULL: none */
} cases[] = {
    /* Every kind of value. */
    {"80", NULL},
    {"81 a1'a' c0", NULL},
    {"83 a1'a' c2 a1'b' c3 a1'c' 7f", NULL},
    {"85 a1'a' cc ff a1'b' cd ffff a1'c' ce ffffffff a1'd' cf 7fffffffffffffff a1'e' e0", NULL},
    {"84 a1'a' d0 80 a1'b' d1 8000 a1'c' d2 80000000 a1'd' d3 8000000000000000", NULL},
    {"82 a1'a' ca 7fc00000 a1'b' cb fff0000000000000", NULL},
    {"84 a1'a' a0 a1'b' d9 01'x' a1'c' da 0002 c3a4 a1'd' db 00000004 f09f9880", NULL},
    {"83 a1'a' c4 01 ff a1'b' c5 0000 a1'c' c6 00000002 fffe", NULL},
    {"83 a1'a' 90 a1'b' dc 0001 c0 a1'c' dd 00000002 01 91 02", NULL},
    {"82 a1'a' 80 a1'b' de 0001 a1'a' df 00000000", NULL},
    {"81 d9 02 'ab' c0", NULL},
    {"81 a4'seed' cf ffffffffffffffff", NULL},
    /* A key that is the beginning of another one is not that one. */
    {"82 a2'ab' c0 a1'a' c0", NULL},
    {"82 a1'a' 81 a1'a' c0 a1'b' 81 a1'a' c0", NULL},
    /* Keys with one FNV-1a hash: the same number of bytes, and one the beginning of the other. */
    {"82 a9'declinate' c0 a9'macallums' c0", NULL},
    {"82 a8'aywybmkg' c0 a1'a' c0", NULL},

    /* No map, or not one map. */
    {"", "byte 0: the frame ends inside a value"},
    {"c0", "byte 0: the frame is not a map"},
    {"90", "byte 0: the frame is not a map"},
    {"a1'a'", "byte 0: the frame is not a map"},
    {"80 80", "byte 1: 1 bytes after the end of the map"},
    {"81 a1'a' c0 c0 c0", "byte 4: 2 bytes after the end of the map"},

    /* Counts beyond the bytes left. */
    {"df ffffffff", "byte 0: the map announces 4294967295 elements, 0 bytes are left"},
    {"dd ffffffff", "byte 0: the frame is not a map"},
    {"81 a1'a' dd ffffffff", "byte 3: the array announces 4294967295 elements, 0 bytes are left"},
    {"81 a1'a' dd 00000003 0102", "byte 3: the array announces 3 elements, 2 bytes are left"},
    {"82 a1'a' c0", "byte 0: the map announces 2 elements, 3 bytes are left"},
    {"81 a1'a' 82 a1'a' c0 a1", "byte 3: the map announces 2 elements, 4 bytes are left"},
    {"81 a1'a' a2'x'", "byte 4: a string of 2 bytes, 1 are left"},
    {"81 a1'a' db ffffffff", "byte 8: a string of 4294967295 bytes, 0 are left"},
    {"81 a1'a' c6 ffffffff 00", "byte 8: binary data of 4294967295 bytes, 1 are left"},
    {"81 a1'a' cd 00", "byte 4: the frame ends inside a value"},
    {"81 a1'a' cf 00000000000000", "byte 4: the frame ends inside a value"},
    {"81 a1'a' cb 00000000000000", "byte 4: the frame ends inside a value"},
    {"81 a1'a' d3 00000000000000", "byte 4: the frame ends inside a value"},
    {"81 a1'a' da 00", "byte 4: the frame ends inside a value"},
    {"81 a1'a' dc 00", "byte 4: the frame ends inside a value"},

    /* Keys. */
    {"81 01 c0 c0", "byte 1: a key is not a string"},
    {"81 c4 01 61 c0", "byte 1: a key is not a string"},
    {"81 a0 c0 c0", "byte 1: a key has 0 bytes, 1 to 64 are allowed"},
    {"81 d9 41 c0", "byte 1: a key has 65 bytes, 1 to 64 are allowed"},
    {"82 a1'a' c0 a1'a' c0", "byte 4: the key 'a' is there twice"},
    {"82 a1'a' c0 d9 01 'a' c0", "byte 4: the key 'a' is there twice"},
    {"81 a1'x' 82 a2'id' 01 a2'id' 02", "byte 8: the key 'id' is there twice"},
    {"81 a1 ff c0", "byte 2: a string is not UTF-8"},

    /* Values that are not used. */
    {"81 a1'a' c1", "byte 3: 0xc1 begins no value"},
    {"81 a1'a' d4 01 00", "byte 3: extension types are not used"},
    {"81 a1'a' d8 01 00", "byte 3: extension types are not used"},
    {"81 a1'a' c7 01 00 00", "byte 3: extension types are not used"},
    {"81 a1'a' c9 ffffffff", "byte 3: extension types are not used"},
    {"81 a1'a' cf 8000000000000000", "byte 3: an integer is beyond 2^63 - 1"},
    {"81 a4'seec' cf 8000000000000000", "byte 6: an integer is beyond 2^63 - 1"},
    {"81 a1'a' 81 a4'seed' cf 8000000000000000", "byte 9: an integer is beyond 2^63 - 1"},
    {"81 a1'a' 91 cf 8000000000000000", "byte 4: an integer is beyond 2^63 - 1"},

    /* Text: a lone surrogate, a long form, a cut character. */
    {"81 a1'a' a3 eda080", "byte 4: a string is not UTF-8"},
    {"81 a1'a' a3 'x' c080", "byte 5: a string is not UTF-8"},
    {"81 a1'a' a3 'ab' c3", "byte 6: a string is not UTF-8"},
    {"81 a1'a' a4 f4908080", "byte 4: a string is not UTF-8"},
};

Test(wire, cases)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hex hex = hex_parse(cases[i].body);
        struct why why = {"untouched"};
        int r = wire_check(hex.data, hex.n, &why);
        cr_expect_eq(r, cases[i].complaint ? WIRE_E_MALFORMED : 0, "'%s': %d, %s", cases[i].body, r,
                     why.text);
        cr_expect_str_eq(why.text, cases[i].complaint ? cases[i].complaint : "untouched", "'%s': %s",
                         cases[i].body, why.text);
        cr_expect_eq(wire_check(hex.data, hex.n, NULL), r);
        free(hex.data);
    }
}

/* {"a": x} with x an array in an array in ..., `depth` levels in all. */
static int nested(int depth, struct why *why)
{
    uint8_t body[3 + 64];
    memcpy(body,
           "\x81\xa1"
           "a",
           3);
    memset(body + 3, 0x91, sizeof body - 3);
    body[3 + depth - 2] = 0x90;
    return wire_check(body, (size_t)(3 + depth - 1), why);
}

Test(wire, depth)
{
    struct why why;
    cr_assert_eq(nested(WIRE_MAX_DEPTH, &why), 0);
    cr_assert_eq(nested(WIRE_MAX_DEPTH + 1, &why), WIRE_E_MALFORMED);
    cr_assert_str_eq(why.text, "byte 34: the array is nested deeper than 32 levels");
}

/* {"a": [0, 0, ...]}: the pair is an element too. */
static int long_array(uint32_t n, struct why *why)
{
    uint8_t *body = calloc(1, 8 + (size_t)n);
    memcpy(body, "\x81\xa1", 2);
    body[2] = 'a';
    body[3] = 0xdd;
    for (int i = 0; i < 4; i++)
        body[4 + i] = (uint8_t)(n >> (24 - 8 * i));
    int r = wire_check(body, 8 + (size_t)n, why);
    free(body);
    return r;
}

Test(wire, elements)
{
    struct why why;
    cr_assert_eq(long_array(WIRE_MAX_ELEMENT - 1, &why), 0);
    cr_assert_eq(long_array(WIRE_MAX_ELEMENT, &why), WIRE_E_MALFORMED);
    cr_assert_str_eq(why.text, "byte 3: the frame has more than 1000000 elements");
}

/* A map of n pairs "kNNN": nil. */
static int wide_map(unsigned n, struct why *why)
{
    uint8_t body[3 + 6 * 256] = {0xde, (uint8_t)(n >> 8), (uint8_t)n};
    for (unsigned i = 0; i < n; i++) {
        body[3 + 6 * i] = 0xa4;
        char key[16];
        snprintf(key, sizeof key, "k%03u", i);
        memcpy(body + 4 + 6 * i, key, 4);
        body[8 + 6 * i] = 0xc0;
    }
    return wire_check(body, 3 + 6 * (size_t)n, why);
}

Test(wire, pairs)
{
    struct why why;
    cr_assert_eq(wide_map(WIRE_MAX_PAIR, &why), 0);
    cr_assert_eq(wide_map(WIRE_MAX_PAIR + 1, &why), WIRE_E_MALFORMED);
    cr_assert_str_eq(why.text, "byte 0: the map has 129 pairs, at most 128 are allowed");
}

/* Every beginning of a good body is refused, and no byte beyond its end is read (the sanitizer would say). */
Test(wire, cut_anywhere)
{
    struct hex hex = hex_golden("generate");
    cr_assert_gt(hex.n, 100);
    for (size_t n = 4; n < hex.n; n++) {
        uint8_t *cut = malloc(n - 4 ? n - 4 : 1);
        memcpy(cut, hex.data + 4, n - 4);
        cr_expect_eq(wire_check(cut, n - 4, NULL), WIRE_E_MALFORMED, "%zu bytes", n);
        free(cut);
    }
    cr_assert_eq(wire_check(hex.data + 4, hex.n - 4, NULL), 0);
    free(hex.data);
}
