/* src/model/verify.c: every value of each type that is no number is found, at its index; nothing else is. */
#include "config.h"

#include "src/model/verify.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "tests/model/fixture.h"

enum { ROWS = 67, COLUMNS = 131 }; /* more than two chunks, none of them full */

/* Verifies a matrix of zeros but for one element, given by its bits. */
static int verify_one(const char *type, uint32_t bits, int row, int column, struct why *why)
{
    size_t width = !strcmp(type, "F32") ? 4 : !strcmp(type, "U8") ? 1 : 2;
    const char *name = width == 1 ? "w_scales" : "w";
    char dir[SUPPORT_PATH];
    char *data = calloc((size_t)ROWS * COLUMNS, width);
    cr_assert(data);
    memcpy(data + ((size_t)row * COLUMNS + (size_t)column) * width, &bits, width);
    support_dir_make(dir);
    support_write(dir, "config.json", "{}", 2);
    struct fixture_tensor tensors[] = {
        {.name = "fine", .type = type, .n_dim = 1, .dim = {5}},
        {.name = name, .type = type, .n_dim = 2, .dim = {ROWS, COLUMNS}, .data = data}};
    fixture_safetensors(dir, tensors, 2);
    struct checkpoint *checkpoint = NULL;
    int r = checkpoint_open(&checkpoint, dir, why);
    cr_assert_eq(r, 0, "%s", why->text);
    r = verify_finite(checkpoint, NULL, NULL, why);
    checkpoint_free(checkpoint);
    support_dir_remove(dir);
    free(data);
    return r;
}

Test(verify, finds_what_is_no_number)
{
    static const struct {
        const char *type;
        uint32_t bits;
    } bad[] = {{"F32", 0x7f800000}, {"F32", 0xff800000}, {"F32", 0x7fc00000}, {"F32", 0x7f800001},
               {"F16", 0x7c00},     {"F16", 0xfc00},     {"F16", 0x7e00},     {"BF16", 0x7f80},
               {"BF16", 0xff80},    {"BF16", 0x7fc0},    {"U8", 255},         {"U8", 253}};
    static const int places[][2] = {{0, 0}, {ROWS - 1, COLUMNS - 1}, {31, 35}, {31, 34}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            struct why why = {""};
            char want[64];
            snprintf(want, sizeof want, "tensor '%s' has a NaN or an infinity at [%d,%d]",
                     strcmp(bad[i].type, "U8") ? "w" : "w_scales", places[p][0], places[p][1]);
            cr_assert_eq(verify_one(bad[i].type, bad[i].bits, places[p][0], places[p][1], &why), EX_DATAERR);
            cr_assert_str_eq(why.text, want);
        }
}

Test(verify, takes_the_greatest_numbers)
{
    static const struct {
        const char *type;
        uint32_t bits;
    } good[] = {{"F32", 0x7f7fffff}, {"F32", 0xff7fffff}, {"F32", 0x007fffff},
                {"F16", 0x7bff},     {"F16", 0x83ff},     {"BF16", 0x7f7f},
                {"BF16", 0xff7f},    {"BF16", 0x7c00},    {"U8", 252}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct why why = {""};
        cr_assert_eq(verify_one(good[i].type, good[i].bits, 40, 7, &why), 0, "%s", why.text);
    }
}
