/* src/model/fingerprint.c: what changes the number and what does not. */
#include "config.h"

#include "src/model/fingerprint.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/model/fixture.h"

static uint64_t fingerprint(const char *config, const struct fixture_tensor *tensor)
{
    char dir[SUPPORT_PATH];
    support_dir_make(dir);
    support_write(dir, "config.json", config, strlen(config));
    fixture_safetensors(dir, tensor, 1);
    struct checkpoint *checkpoint = NULL;
    struct why why = {""};
    cr_assert_eq(checkpoint_open(&checkpoint, dir, &why), 0, "%s", why.text);
    uint64_t hash = fingerprint_of(checkpoint);
    checkpoint_free(checkpoint);
    support_dir_remove(dir);
    return hash;
}

Test(fingerprint, of)
{
    static const struct fixture_tensor plain = {"a", "F32", 2, {2, 3}, NULL};
    static const struct fixture_tensor others[] = {{"b", "F32", 2, {2, 3}, NULL},
                                                   {"a", "F16", 2, {2, 3}, NULL},
                                                   {"a", "F32", 2, {3, 2}, NULL},
                                                   {"a", "F32", 1, {2}, NULL}};
    static const char *const configs[] = {
        "{\"a\": 1, \"b\": [true, \"x\"]}",       "{\"a\": 2, \"b\": [true, \"x\"]}",
        "{\"c\": 1, \"b\": [true, \"x\"]}",       "{\"a\": 1, \"b\": [false, \"x\"]}",
        "{\"a\": 1, \"b\": [true], \"x\": null}", "{\"a\": 1, \"b\": {\"true\": \"x\"}}"};
    uint64_t hash = fingerprint(configs[0], &plain);
    cr_assert_eq(fingerprint("{ \"a\":1.0,\n\"b\":[ true,\"x\" ] }", &plain), hash);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_assert_neq(fingerprint(configs[0], &others[i]), hash, "tensor %zu", i);
    for (size_t i = 1; i < sizeof configs / sizeof *configs; i++)
        cr_assert_neq(fingerprint(configs[i], &plain), hash, "config %zu", i);
}
