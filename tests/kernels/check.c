/* What the kernel tests share. */
#include "config.h"

#include "tests/kernels/check.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SLOT_BYTES = 72 << 20, /* a matrix of 2048 x 8192 in float32, and some */
    POISON_BYTES = 512,
    MAX_WRONG = 6, /* messages a point */
};

static struct {
    int n_point, n_bad, n_wrong;
    bool quiet;
    char where[256];
} state;

static void print_comment(const char *format, va_list args)
{
    printf("# ");
    vprintf(format, args);
    printf("\n");
}

void check_point(bool ok, const char *format, ...)
{
    printf("%sok %d - ", ok ? "" : "not ", ++state.n_point);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    state.n_bad += !ok;
    state.n_wrong = 0;
    state.where[0] = '\0';
}

/* A kernel that touches a guard page ends the program; this says where. */
static void on_crash(int signal)
{
    static const char text[] = "# crashed in: ";
    ssize_t unused = write(STDOUT_FILENO, text, sizeof text - 1);
    unused = write(STDOUT_FILENO, state.where, strlen(state.where));
    unused = write(STDOUT_FILENO, "\n", 1);
    (void)unused;
    _exit(128 + signal);
}

void check_case(const char *format, ...)
{
    static bool installed;
    if (!installed) {
        signal(SIGSEGV, on_crash);
        signal(SIGBUS, on_crash);
        installed = true;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(state.where, sizeof state.where, format, args);
    va_end(args);
}

bool check_wrong(const char *format, ...)
{
    if (state.quiet || state.n_wrong++ >= MAX_WRONG)
        return false;
    printf("# %s:\n", state.where);
    va_list args;
    va_start(args, format);
    print_comment(format, args);
    va_end(args);
    return false;
}

int check_done(void)
{
    printf("1..%d\n", state.n_point);
    return state.n_bad != 0 || state.n_point == 0;
}

uint64_t check_seed(void)
{
    static uint64_t seed;
    if (!seed) {
        const char *text = getenv("LORCH_TEST_SEED");
        seed = text ? strtoull(text, NULL, 0) : 20240229;
        printf("# LORCH_TEST_SEED=%llu\n", (unsigned long long)seed);
    }
    return seed;
}

struct check_rng check_rng_for(uint64_t stream)
{
    return (struct check_rng){check_seed() * 1000003 + stream};
}

uint64_t check_u64(struct check_rng *rng)
{
    uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int32_t check_range(struct check_rng *rng, int32_t min, int32_t max)
{
    return min + (int32_t)(check_u64(rng) % (uint64_t)((int64_t)max - min + 1));
}

float check_uniform(struct check_rng *rng, float limit)
{
    return ((float)(check_u64(rng) >> 40) * 0x1p-23f - 1) * limit;
}

void check_fill(struct check_rng *rng, float *x, size_t n, enum check_kind kind)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = check_uniform(rng, 1);
        if (kind != CHECK_WIDE)
            continue;
        int32_t draw = check_range(rng, 0, 15);
        x[i] = draw == 0 ? 0.0f : draw == 1 ? x[i] * 0x1p-130f : ldexpf(x[i], check_range(rng, -20, 6));
    }
    if (kind == CHECK_OUTLIER && n)
        x[check_u64(rng) % n] = 3e4f;
}

/* Every float16, from the definition of the format. */
static double value_of_f16(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double x = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return h & 0x8000 ? -x : x;
}

/* The float16 next to f towards zero. */
static uint16_t f16_below(float f)
{
    static double values[0x7c00]; /* of the finite ones */
    if (!values[1])
        for (uint16_t h = 0; h < 0x7c00; h++)
            values[h] = value_of_f16(h);
    double a = fabs((double)f);
    uint16_t h = 0, sign = signbit(f) ? 0x8000 : 0;
    for (uint16_t bit = 0x4000; bit; bit >>= 1)
        if ((h | bit) < 0x7c00 && values[h | bit] <= a)
            h |= bit;
    return sign | h;
}

size_t check_whole(enum lk_dtype type, size_t n)
{
    return type == LK_MXFP4 ? (n + LK_MXFP4_BLOCK - 1) / LK_MXFP4_BLOCK * LK_MXFP4_BLOCK : n;
}

/* One block, by the definition of the format: the scale brings the greatest magnitude to [4, 8). */
static void store_mxfp4(struct lk_mxfp4 *dst, const float *src, double *ret_value)
{
    static const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    double greatest = 0;
    for (int i = 0; i < LK_MXFP4_BLOCK; i++)
        greatest = fmax(greatest, fabs((double)src[i]));
    int exponent = greatest > 0 ? ilogb(greatest) - 2 : -127;
    exponent = exponent < -127 ? -127 : exponent;
    memset(dst->q, 0, sizeof dst->q);
    dst->scale = (uint8_t)(exponent + 127);
    for (int i = 0; i < LK_MXFP4_BLOCK; i++) {
        int half = 0;
        while (half < 7 && magnitudes[half + 1] <= fabs(ldexp((double)src[i], -exponent)))
            half++;
        double value = ldexp(magnitudes[half], exponent);
        half |= signbit(src[i]) ? 8 : 0;
        dst->q[i % 16] |= (uint8_t)(half << (i < 16 ? 0 : 4));
        if (ret_value)
            ret_value[i] = signbit(src[i]) ? -value : value;
    }
}

void check_store(void *dst, enum lk_dtype type, const float *src, size_t n, double *ret_value)
{
    if (type == LK_MXFP4)
        for (size_t i = 0; i < n; i += LK_MXFP4_BLOCK)
            store_mxfp4((struct lk_mxfp4 *)dst + i / LK_MXFP4_BLOCK, src + i,
                        ret_value ? ret_value + i : NULL);
    for (size_t i = 0; i < n && type != LK_MXFP4; i++) {
        float value = src[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (type == LK_BF16) {
            ((uint16_t *)dst)[i] = (uint16_t)(bits >> 16);
            bits &= 0xffff0000;
            memcpy(&value, &bits, sizeof value);
        } else if (type == LK_F16) {
            uint16_t h = f16_below(value);
            ((uint16_t *)dst)[i] = h;
            value = (float)value_of_f16(h);
        } else {
            ((float *)dst)[i] = value;
        }
        if (ret_value)
            ret_value[i] = (double)value;
    }
}

static struct slot {
    uint8_t *start, *end; /* what may be touched */
    uint8_t *place;
    size_t bytes;
} slots[CHECK_N_SLOT];

static void slot_init(struct slot *s)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *all =
        mmap(NULL, SLOT_BYTES + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || mprotect(all + page, SLOT_BYTES, PROT_READ | PROT_WRITE)) {
        perror("guarded memory");
        exit(2);
    }
    s->start = all + page;
    s->end = s->start + SLOT_BYTES;
}

static void poison_of(const struct slot *s, uint8_t **ret_from, size_t *ret_n)
{
    bool at_end = s->place + s->bytes == s->end;
    size_t room = SLOT_BYTES - s->bytes, n = room < POISON_BYTES ? room : POISON_BYTES;
    *ret_from = at_end ? s->place - n : s->place + s->bytes;
    *ret_n = n;
}

void *check_memory(int slot, size_t bytes, bool at_end)
{
    struct slot *s = &slots[slot];
    if (!s->start)
        slot_init(s);
    if (bytes > SLOT_BYTES) {
        fprintf(stderr, "%zu bytes do not fit in a slot\n", bytes);
        exit(2);
    }
    s->bytes = bytes;
    s->place = at_end ? s->end - bytes : s->start;
    uint8_t *from;
    size_t n;
    poison_of(s, &from, &n);
    memset(from, 0xff, n); /* NaN in every type */
    return s->place;
}

bool check_intact(int slot)
{
    uint8_t *from;
    size_t n;
    poison_of(&slots[slot], &from, &n);
    for (size_t i = 0; i < n; i++)
        if (from[i] != 0xff)
            return check_wrong("wrote %zd bytes from the end of operand %d", from + i - slots[slot].place,
                               slot);
    return true;
}

float *check_floats(struct check_rng *rng, int slot, size_t n, enum check_kind kind, bool at_end)
{
    float *x = check_memory(slot, n * sizeof *x, at_end);
    check_fill(rng, x, n, kind);
    return x;
}

void *check_allocate(size_t n, size_t size)
{
    void *mem = calloc(n ? n : 1, size);
    if (!mem) {
        perror("calloc");
        exit(2);
    }
    return mem;
}

bool check_same(const float *want, const float *got, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&want[i], &got[i], sizeof *want) && !(isnan(want[i]) && isnan(got[i])))
            return check_wrong("%s: element %zu is %a, not %a", what, i, (double)got[i], (double)want[i]);
    return true;
}

bool check_close(float got, double want, double bound, size_t i)
{
    if (fabs((double)got - want) <= bound)
        return true;
    return check_wrong("element %zu is %.9g, not %.9g: off by %.3g, allowed %.3g", i, (double)got, want,
                       (double)got - want, bound);
}

int check_count(const struct check_op *op, const struct lk_cpu *got)
{
    state.quiet = true;
    int n = op->n_wrong(got);
    state.quiet = false;
    return n;
}

void check_table(const struct lk_cpu *got, const char *name)
{
    check_seed();
    for (int i = 0; i < check_n_op; i++) {
        int n = check_ops[i].n_wrong(got);
        check_point(n == 0, "%s: %s", name, check_ops[i].name);
    }
}
