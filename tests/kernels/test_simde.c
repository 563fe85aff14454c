/* The kernels for AVX-512 on any processor, through SIMDe; and what stands in for intrinsics that SIMDe
 * lacks, against the processor where it has them. */
#include "config.h"

#include <string.h>

#include "tests/kernels/check.h"
#include "tests/kernels/simde_kernels.h"

enum {
    ROUNDS = 65536 / 16, /* of 16 values: every float16 occurs */
    OPERAND_BYTES = 64,
};

/* Equal bits, or both NaN: a NaN's bits differ from one way of computing to another. */
static bool same(const uint32_t *a, const uint32_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool nan = (a[i] & 0x7fffffff) > 0x7f800000 && (b[i] & 0x7fffffff) > 0x7f800000;
        if (a[i] != b[i] && !nan)
            return check_wrong("word %zu is %08x, not %08x", i, a[i], b[i]);
    }
    return true;
}

/* The first 32 bytes count up through all pairs of bytes, the rest is random. */
static void fill(struct check_rng *rng, uint8_t *in, uint32_t round)
{
    for (uint32_t i = 0; i < 16; i++) {
        uint16_t half = (uint16_t)(round * 16 + i);
        memcpy(in + 2 * i, &half, sizeof half);
    }
    for (size_t i = 32; i < 3 * OPERAND_BYTES; i++)
        in[i] = (uint8_t)check_u64(rng);
}

static bool same_gap(const struct simde_gap *got, const struct simde_gap *want)
{
    struct check_rng rng = {check_seed()};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint8_t in[3 * OPERAND_BYTES];
        uint32_t a[OPERAND_BYTES / 4] = {0}, b[OPERAND_BYTES / 4] = {0};
        size_t n = round % 17;
        fill(&rng, in, round);
        const void *operand = in;
        if (got->element_bytes)
            operand = memcpy(check_memory(0, n * got->element_bytes, true), in, n * got->element_bytes);
        got->run(a, operand, n);
        want->run(b, operand, n);
        if (!same(a, b, OPERAND_BYTES / 4))
            return false;
    }
    return true;
}

int main(void)
{
    struct lk_cpu table;
    simde_kernels_init(&table);
    check_table(&table, "simde");
    for (int i = 0; i < SIMDE_N_GAP; i++)
        if (lk_cpu_flags() & LK_CPU_AVX512)
            check_point(same_gap(&simde_gaps_simde[i], &simde_gaps_avx512[i]), "%s",
                        simde_gaps_simde[i].name);
        else
            check_point(true, "%s # SKIP this processor has no AVX-512", simde_gaps_simde[i].name);
    return check_done();
}
