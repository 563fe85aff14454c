/* Tests of src/sample/rng.h. */
#include "config.h"
#include "src/sample/rng.h"

#include <criterion/criterion.h>
#include <string.h>

/* The known answers that the authors of Philox publish (Random123, kat_vectors: philox4x32, 10 rounds). */
static const struct {
    uint32_t counter[4], key[2], want[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

Test(rng, gives_the_known_answers)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t got[4];
        rng_philox(known[i].counter, known[i].key, got);
        cr_expect(memcmp(got, known[i].want, sizeof got) == 0, "case %zu: %08x %08x %08x %08x", i, got[0],
                  got[1], got[2], got[3]);
    }
}

Test(rng, uniform_takes_the_first_53_bits)
{
    double want = (double)((UINT64_C(0x6627e8d5e169c58d)) >> 11) / (double)(UINT64_C(1) << 53);
    cr_expect(rng_uniform(0, 0) == want);
}

Test(rng, uniform_is_uniform)
{
    enum { N = 100000, N_BIN = 10 };
    int bin[N_BIN] = {0};
    for (uint64_t i = 0; i < N; i++) {
        double u = rng_uniform(UINT64_C(0x123456789abcdef), i);
        cr_assert(u >= 0 && u < 1);
        bin[(int)(u * N_BIN)]++;
    }
    /* Six standard deviations of a bin's count: sqrt(N * 0.1 * 0.9) is 95. */
    for (int i = 0; i < N_BIN; i++)
        cr_expect(bin[i] > N / N_BIN - 570 && bin[i] < N / N_BIN + 570, "bin %d: %d", i, bin[i]);
}

Test(rng, all_bits_of_seed_and_index_matter)
{
    for (int bit = 0; bit < 64; bit++) {
        cr_expect(rng_uniform(UINT64_C(1) << bit, 7) != rng_uniform(0, 7), "seed bit %d", bit);
        cr_expect(rng_uniform(7, UINT64_C(1) << bit) != rng_uniform(7, 0), "index bit %d", bit);
    }
}
