/* The engine: scheduler, barriers, collectives; see engine.h.
 *
 * Compiled WITHOUT sanitizers, even where the kernels and the program use them: it finds the sanitizers at
 * run time through weak symbols and tells them about fibers and about the happens-before edges of the CUDA
 * model: a barrier orders its participants, a shuffle or vote orders nothing, blocks of one launch are
 * unordered, a launch boundary orders everything. */
#include "tests/cuda-emu/engine.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <sys/mman.h>

#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

#define WEAK __attribute__((weak))
extern "C" {
void WEAK __sanitizer_start_switch_fiber(void **, const void *, size_t);
void WEAK __sanitizer_finish_switch_fiber(void *, const void **, size_t *);
void *WEAK __tsan_get_current_fiber(void);
void *WEAK __tsan_create_fiber(unsigned);
void WEAK __tsan_switch_to_fiber(void *, unsigned);
void WEAK __tsan_acquire(void *);
void WEAK __tsan_release(void *);
}

/* Without the assembly below, ucontext does it: any CPU, two system calls a switch. */
#if defined __x86_64__ && !defined CUEMU_UCONTEXT
#define FAST_SWITCH 1
#else
#define FAST_SWITCH 0
#endif
/* Stack switch: push the callee-saved registers, store sp, load sp, pop. */
#if FAST_SWITCH
extern "C" void cuemu_switch(void **save, void *to);
asm(".text\n.p2align 4\n.globl cuemu_switch\n.hidden cuemu_switch\n"
    ".type cuemu_switch,@function\ncuemu_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size cuemu_switch,.-cuemu_switch\n");
#else
#include <ucontext.h>
#endif

namespace cuemu
{

enum State { READY, AT_BARRIER, AT_WARP, AT_GRID, DONE };
enum { RING = 64, BARRIERS = 16, SMEM_STATIC_MAX = 48 * 1024, TSAN_FIBERS = 1024 };

struct Block;
struct Copy {
    char *dst;
    const char *src;
    unsigned n, zero_from;
    unsigned group;
};

struct Fiber {
    Ctx ctx;
    Block *blk;
#if FAST_SWITCH
    void *sp;
#else
    ucontext_t uc;
#endif
    char *stack;
    State state;
    int bar;
    unsigned mask;
    uint64_t val;
    const char *what, *file;
    int line;
    const uint64_t *snap;
    void *sync; /* what to acquire on resumption */
    unsigned frag[2][6], frag_phase;
    std::vector<Copy> copies;
    unsigned group; /* the async-copy group now open */
    void *tsan, *fake;
};

struct Warp {
    unsigned waiting, exited, next;
    uint64_t ring[RING][33];
};

struct Barrier {
    unsigned waiting, need, phase;
    int votes, result;
    char sync[2][8];
};

struct Shared {
    const void *key;
    char *mem;
};

struct Block {
    unsigned n, done;
    std::vector<Warp *> warps;
    Barrier bar[BARRIERS];
    std::vector<Shared> shared;
    size_t shared_bytes;
    char *dyn;
    Fiber **fib;
};

struct Engine {
    std::vector<Fiber *> pool;
    std::vector<Block *> blocks; /* reused, never freed: kernels hold pointers into them */
    size_t stack_size = 0;
    int order = 0; /* 0 forward, 1 reverse, 2 random */
    uint64_t rng = 1;
    unsigned resident = 1;
    const Kernel *kernel = nullptr;
    void **args = nullptr;
    Fiber *self = nullptr;
    unsigned grid_waiting = 0, grid_blocks = 0, grid_phase = 0;
    char grid_sync[2][8] = {}, launch_sync[8] = {}, done_sync[8] = {}, fence_sync[8] = {};
    std::vector<char *> garbage;
    uint64_t n_yield = 0;
    void *sched_tsan = nullptr, *sched_fake = nullptr;
    const void *sched_bottom = nullptr;
    size_t sched_size = 0;
#if FAST_SWITCH
    void *sched_sp = nullptr;
#else
    ucontext_t sched_uc;
#endif
};
static std::vector<Fiber *> &live = *new std::vector<Fiber *>; /* of the resident blocks */
static Engine &E = *new Engine; /* never destroyed: streams may drain at exit */

Ctx *cur;
static Kernel *kernels;

void register_kernel(Kernel *k)
{
    k->next = kernels;
    kernels = k;
}
const Kernel *find_kernel(const char *name)
{
    for (const Kernel *k = kernels; k; k = k->next)
        if (!strcmp(k->name, name))
            return k;
    return nullptr;
}

static uint64_t rnd()
{
    E.rng ^= E.rng << 13;
    E.rng ^= E.rng >> 7;
    return E.rng ^= E.rng << 17;
}

static void acquire(void *p)
{
    if (__tsan_acquire)
        __tsan_acquire(p);
}
static void release(void *p)
{
    if (__tsan_release)
        __tsan_release(p);
}
static void tsan_as(void *fiber)
{
    if (__tsan_switch_to_fiber)
        __tsan_switch_to_fiber(fiber, 1);
}

static void describe(Fiber **f, size_t n)
{
    std::map<std::string, unsigned> where;
    static const char *const names[] = {"running or yielding", "at barrier", "", "at grid barrier"};
    for (size_t i = 0; i < n; i++) {
        char b[300];
        if (f[i]->state == DONE)
            snprintf(b, sizeof b, "exited");
        else if (f[i]->state == READY)
            snprintf(b, sizeof b, "%s", names[READY]);
        else if (f[i]->state == AT_WARP)
            snprintf(b, sizeof b, "at %s mask %08x, %s:%d", f[i]->what, f[i]->mask, f[i]->file, f[i]->line);
        else
            snprintf(b, sizeof b, "%s, %s:%d", names[f[i]->state], f[i]->file, f[i]->line);
        where[b]++;
    }
    for (auto &w : where)
        fprintf(stderr, "cuda-emu:   %u threads %s\n", w.second, w.first.c_str());
}

[[noreturn]] static void die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "cuda-emu: kernel %s: ", E.kernel ? E.kernel->name : "?");
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    describe(live.data(), live.size());
    abort();
}

/* ---- switching ------------------------------------------------------------ */
static void to_scheduler()
{
    Fiber *f = E.self;
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(&f->fake, E.sched_bottom, E.sched_size);
    tsan_as(E.sched_tsan);
#if FAST_SWITCH
    cuemu_switch(&f->sp, E.sched_sp);
#else
    swapcontext(&f->uc, &E.sched_uc);
#endif
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(f->fake, &E.sched_bottom, &E.sched_size);
}

static void flush_copies(Fiber *f, unsigned before_group);

static void fiber_main()
{
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(nullptr, &E.sched_bottom, &E.sched_size);
    for (;;) {
        Fiber *f = E.self;
        acquire(E.launch_sync);
        E.kernel->thunk(E.kernel->fn, E.args);
        flush_copies(f, ~0u);
        release(E.done_sync);
        f->state = DONE;
        f->blk->done++;
        Warp &w = *f->blk->warps[f->ctx.warp];
        w.exited |= 1u << f->ctx.lane;
        to_scheduler();
    }
}

static void resume(Fiber *f)
{
    E.self = f;
    cur = &f->ctx;
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(&E.sched_fake, f->stack, E.stack_size);
    tsan_as(f->tsan);
#if FAST_SWITCH
    cuemu_switch(&E.sched_sp, f->sp);
#else
    swapcontext(&E.sched_uc, &f->uc);
#endif
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(E.sched_fake, nullptr, nullptr);
}

static Fiber *new_fiber()
{
    Fiber *f = new Fiber();
    size_t page = 4096;
    char *m = static_cast<char *>(mmap(nullptr, E.stack_size + page, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (m == MAP_FAILED)
        die("no memory for a stack");
    mprotect(m, page, PROT_NONE);
    f->stack = m + page;
    if (__tsan_create_fiber)
        f->tsan = __tsan_create_fiber(0);
#if FAST_SWITCH
    void **top = reinterpret_cast<void **>(f->stack + E.stack_size);
    *--top = nullptr; /* a null return address; leaves the entry's sp at 8 mod 16 */
    *--top = reinterpret_cast<void *>(fiber_main);
    for (int i = 0; i < 6; i++)
        *--top = nullptr;
    f->sp = top;
#else
    getcontext(&f->uc);
    f->uc.uc_stack.ss_sp = f->stack;
    f->uc.uc_stack.ss_size = E.stack_size;
    f->uc.uc_link = nullptr;
    makecontext(&f->uc, fiber_main, 0);
#endif
    return f;
}

/* ---- what kernels call ---------------------------------------------------- */
static void wait_as(State s, const char *file, int line)
{
    Fiber *f = E.self;
    f->state = s;
    f->file = file;
    f->line = line;
    to_scheduler();
}

void yield()
{
    E.n_yield++;
    to_scheduler();
}

void fence()
{
    acquire(E.fence_sync);
    release(E.fence_sync);
}

/* Shared memory of its exact size (so ASan sees one byte too many), full of NaN. */
static char *fresh(size_t size)
{
    void *m = nullptr;
    if (posix_memalign(&m, 128, size))
        die("no memory");
    memset(m, 0xff, size);
    return static_cast<char *>(m);
}

void *block_shared(const void *key, size_t size)
{
    Fiber *f = E.self;
    Block *b = f->blk;
    for (Shared &s : b->shared)
        if (s.key == key) {
            acquire(const_cast<void *>(key));
            return s.mem;
        }
    if ((b->shared_bytes += size) > SMEM_STATIC_MAX)
        die("more than 48 KiB of static shared memory");
    tsan_as(E.sched_tsan);
    char *m = fresh(size);
    release(const_cast<void *>(key));
    tsan_as(f->tsan);
    acquire(const_cast<void *>(key));
    b->shared.push_back({key, m});
    return m;
}

static void arrive(int id, unsigned nthreads, const char *file, int line)
{
    Fiber *f = E.self;
    Block *b = f->blk;
    Barrier &r = b->bar[id];
    r.need = nthreads;
    f->bar = id;
    f->sync = r.sync[r.phase & 1];
    release(f->sync);
    r.waiting++;
    wait_as(AT_BARRIER, file, line);
    acquire(f->sync);
}

void block_barrier(int id, unsigned nthreads, const char *file, int line)
{
    arrive(id, nthreads, file, line);
}

int block_vote(int pred, int kind, const char *file, int line)
{
    Barrier &r = E.self->blk->bar[0];
    E.self->val = pred != 0;
    arrive(0, 0, file, line);
    int yes = r.result, n = r.votes;
    return kind == 0 ? yes : kind == 1 ? yes == n : yes != 0;
}

/* A barrier opens when every thread that must come has come. */
static bool try_barriers(Block *b)
{
    bool any = false;
    for (int id = 0; id < BARRIERS; id++) {
        Barrier &r = b->bar[id];
        if (!r.waiting)
            continue;
        unsigned need = r.need ? r.need : b->n - b->done;
        if (r.waiting < need)
            continue;
        Fiber **fs = b->fib;
        const Fiber *one = nullptr;
        for (unsigned i = 0; i < b->n; i++)
            if (fs[i]->state == AT_BARRIER && fs[i]->bar == id) {
                if (!one)
                    one = fs[i];
                if (one->line != fs[i]->line || strcmp(one->file, fs[i]->file))
                    die("divergent barrier: threads of one block met at different barriers");
            }
        r.result = 0;
        r.votes = int(r.waiting);
        for (unsigned i = 0; i < b->n; i++)
            if (fs[i]->state == AT_BARRIER && fs[i]->bar == id) {
                r.result += int(fs[i]->val & 1);
                fs[i]->state = READY;
            }
        r.waiting = 0;
        r.phase ^= 1;
        any = true;
    }
    return any;
}

const uint64_t *warp_meet(unsigned mask, uint64_t v, const char *what, const char *file, int line)
{
    Fiber *f = E.self;
    Block *b = f->blk;
    Warp &w = *b->warps[f->ctx.warp];
    if (!(mask >> f->ctx.lane & 1))
        die("%s:%d: %s: lane %u is not in its own mask %08x", file, line, what, f->ctx.lane, mask);
    f->mask = mask;
    f->val = v;
    f->what = what;
    f->sync = nullptr;
    w.waiting |= 1u << f->ctx.lane;
    wait_as(AT_WARP, file, line);
    if (f->sync)
        acquire(f->sync);
    return f->snap;
}

uint64_t warp_absent(unsigned lane, const char *what, const char *file, int line)
{
    die("%s:%d: %s reads lane %u, which does not take part", file, line, what, lane);
}

/* Tensor-core product of one warp, fragments as in the PTX manual: P elements a
 * register; A 16 x 8P, B 8P x 8, D 16 x 8.  Here, not in a header, so that TSan
 * does not take the exchange of registers for an exchange through memory. */
template <class Acc, unsigned P, class Get>
static void mma(Acc *d, const unsigned *a, const unsigned *b, Get get, const char *what)
{
    Fiber *f = E.self;
    unsigned *mine = f->frag[f->frag_phase ^= 1], row = f->ctx.lane >> 2, pair = f->ctx.lane & 3;
    memcpy(mine, a, 16);
    memcpy(mine + 4, b, 8);
    const uint64_t *s = warp_meet(~0u, reinterpret_cast<uint64_t>(mine), what, "kernels/cuda/port.cuh", 0);
    for (unsigned e = 0; e < 4; e++) {
        unsigned r = row + (e >> 1) * 8, c = pair * 2 + (e & 1);
        for (unsigned k = 0; k < 8 * P; k++) {
            unsigned lane_k = k % (4 * P) / P, hi = k / (4 * P);
            const unsigned *fa = reinterpret_cast<const unsigned *>(s[(r & 7) * 4 + lane_k]);
            const unsigned *fb = reinterpret_cast<const unsigned *>(s[c * 4 + lane_k]);
            d[e] += get(fa[hi * 2 + (r >> 3)], k % P) * get(fb[4 + hi], k % P);
        }
    }
}
void mma_bf16(float *d, const unsigned *a, const unsigned *b)
{
    mma<float, 2>(
        d, a, b, [](unsigned v, unsigned i) { return __uint_as_float((v >> (16 * i)) << 16); }, "mma.bf16");
}
void mma_f16(float *d, const unsigned *a, const unsigned *b)
{
    mma<float, 2>(
        d, a, b, [](unsigned v, unsigned i) { return __half2float(__half{uint16_t(v >> (16 * i))}); },
        "mma.f16");
}
void mma_s8(int *d, const unsigned *a, const unsigned *b)
{
    mma<int, 4>(
        d, a, b, [](unsigned v, unsigned i) { return int(int8_t(v >> (8 * i))); }, "mma.s8");
}

static bool try_warps(Block *b)
{
    bool any = false;
    Fiber **fs = b->fib;
    for (size_t wi = 0; wi < (b->n + 31) / 32; wi++) {
        Warp &w = *b->warps[wi];
        unsigned seen = 0;
        while (w.waiting & ~seen) {
            unsigned l = unsigned(__builtin_ctz(w.waiting & ~seen));
            Fiber *lead = fs[wi * 32 + l];
            unsigned mask = lead->mask, need = mask & ~w.exited;
            seen |= 1u << l;
            if ((w.waiting & need) != need)
                continue;
            bool same = true;
            for (unsigned i = 0; i < 32; i++)
                if (need >> i & 1) {
                    Fiber *f = fs[wi * 32 + i];
                    same = same && f->mask == mask && !strcmp(f->what, lead->what);
                }
            if (!same)
                continue;
            uint64_t *snap = w.ring[w.next++ % RING];
            bool ordered = !strcmp(lead->what, "__syncwarp");
            snap[32] = need;
            for (unsigned i = 0; i < 32; i++) {
                if (!(need >> i & 1))
                    continue;
                Fiber *f = fs[wi * 32 + i];
                snap[i] = f->val;
                f->snap = snap;
                f->state = READY;
                if (ordered && __tsan_release) {
                    tsan_as(f->tsan);
                    release(snap);
                    tsan_as(E.sched_tsan);
                    f->sync = snap;
                }
            }
            w.waiting &= ~need;
            seen |= need;
            any = true;
        }
    }
    return any;
}

void grid_barrier(const char *file, int line)
{
    Fiber *f = E.self;
    if (E.grid_blocks == 0)
        die("%s:%d: grid barrier in a launch that is not cooperative", file, line);
    f->sync = E.grid_sync[E.grid_phase & 1];
    release(f->sync);
    E.grid_waiting++;
    wait_as(AT_GRID, file, line);
    acquire(f->sync);
}

/* cp.async: a copy lands as late as the program allows, or at once; the seed
 * decides, so that both a missing wait and a too early overwrite show up. */
void async_copy(void *dst, const void *src, unsigned bytes, unsigned zero_from)
{
    Fiber *f = E.self;
    if ((reinterpret_cast<uintptr_t>(dst) | reinterpret_cast<uintptr_t>(src)) % bytes)
        die("misaligned cp.async of %u bytes", bytes);
    f->copies.push_back(
        {static_cast<char *>(dst), static_cast<const char *>(src), bytes, zero_from, f->group});
    if (E.order == 2 && (rnd() & 1))
        flush_copies(f, ~0u);
}
void async_commit()
{
    E.self->group++;
}
void async_wait(unsigned left)
{
    Fiber *f = E.self;
    flush_copies(f, f->group > left ? f->group - left : 0);
}
static void flush_copies(Fiber *f, unsigned before_group)
{
    size_t k = 0;
    for (Copy &c : f->copies)
        if (c.group < before_group) {
            memcpy(c.dst, c.src, c.zero_from);
            memset(c.dst + c.zero_from, 0, c.n - c.zero_from);
        } else
            f->copies[k++] = c;
    f->copies.resize(k);
}

/* ---- scheduler -------------------------------------------------------------- */
static void set_order(const char *o)
{
    if (!strcmp(o, "forward"))
        E.order = 0;
    else if (!strcmp(o, "reverse"))
        E.order = 1;
    else {
        E.order = 2;
        E.rng = strtoull(o, nullptr, 0) * 0x9e3779b97f4a7c15ull + 1;
    }
}

static void configure()
{
    if (E.stack_size)
        return;
    const char *s = getenv("CUEMU_STACK_KB"), *o = getenv("CUEMU_ORDER"), *r = getenv("CUEMU_RESIDENT");
    bool san = __tsan_create_fiber || __sanitizer_start_switch_fiber;
    E.stack_size = size_t(s ? atoi(s) : san ? 256 : 64) << 10;
    set_order(o ? o : "forward");
    E.resident = r && atoi(r) > 0 ? unsigned(atoi(r)) : 1;
}

static void run_resident(unsigned nblocks)
{
    size_t n = live.size();
    std::vector<unsigned> order(n);
    for (size_t i = 0; i < n; i++)
        order[i] = unsigned(i);
    uint64_t idle = 0;
    bool stuck = false;
    for (;;) {
        if (E.order == 1)
            for (size_t i = 0; i < n; i++)
                order[i] = unsigned(n - 1 - i);
        if (E.order == 2)
            for (size_t i = n; i > 1; i--)
                std::swap(order[i - 1], order[rnd() % i]);
        /* In random order some warps sit out a pass, so that others run ahead. */
        uint64_t nap = E.order == 2 && !stuck ? rnd() & rnd() : 0;
        size_t done = 0, ran = 0;
        uint64_t yields = E.n_yield;
        for (size_t i = 0; i < n; i++) {
            Fiber *f = live[order[i]];
            if (f->state == READY && !(nap >> ((f->ctx.warp + 7 * f->ctx.bid.x) & 63) & 1)) {
                resume(f);
                ran++;
            }
            done += f->state == DONE;
        }
        bool opened = false;
        for (unsigned b = 0; b < nblocks; b++) {
            if (try_warps(E.blocks[b]))
                opened = true;
            if (try_barriers(E.blocks[b]))
                opened = true;
        }
        if (E.grid_blocks && E.grid_waiting && E.grid_waiting == n - done) {
            E.grid_waiting = 0;
            E.grid_phase++;
            for (Fiber *f : live)
                if (f->state == AT_GRID)
                    f->state = READY;
            opened = true;
        }
        if (done == n)
            return;
        stuck = !ran && !opened;
        if (stuck && !nap)
            die("deadlock: no thread can go on");
        idle = ran == E.n_yield - yields && !opened ? idle + 1 : 0;
        if (idle > 1000000)
            die("livelock: every thread that runs only yields");
    }
}

void launch(const Kernel *k, dim3 grid, dim3 block, size_t smem, void **args, bool cooperative)
{
    configure();
    unsigned nthr = block.x * block.y * block.z, nblk = grid.x * grid.y * grid.z;
    unsigned group = cooperative ? nblk : E.resident;
    E.kernel = k;
    E.args = args;
    E.grid_blocks = cooperative ? nblk : 0;
    E.grid_waiting = 0;
    if (__tsan_get_current_fiber)
        E.sched_tsan = __tsan_get_current_fiber();
    /* Under TSan blocks take different fibers as far as a pool reaches, and so stay
     * unordered with each other: reusing one would order block 0 before block 1. */
    size_t need = size_t(std::min(group, nblk)) * nthr, pool = need;
    if (__tsan_create_fiber)
        pool = std::max(need, std::min<size_t>(size_t(nblk) * nthr, TSAN_FIBERS) / need * need);
    while (E.pool.size() < pool)
        E.pool.push_back(new_fiber());
    release(E.launch_sync);
    while (E.blocks.size() < std::min(group, nblk))
        E.blocks.push_back(new Block());
    for (unsigned first = 0; first < nblk; first += group) {
        unsigned nb = std::min(group, nblk - first);
        auto from = E.pool.begin() + long(size_t(first) * nthr % pool);
        live.assign(from, from + long(size_t(nb) * nthr));
        for (unsigned bi = 0; bi < nb; bi++) {
            Block &b = *E.blocks[bi];
            unsigned id = first + bi;
            b.n = nthr;
            b.done = 0;
            b.shared.clear();
            b.shared_bytes = 0;
            b.dyn = nullptr;
            memset(b.bar, 0, sizeof b.bar);
            while (b.warps.size() < (nthr + 31) / 32)
                b.warps.push_back(new Warp());
            b.fib = &live[size_t(bi) * nthr];
            if (smem)
                b.dyn = fresh(smem);
            for (unsigned t = 0; t < nthr; t++) {
                Fiber *f = live[size_t(bi) * nthr + t];
                f->ctx.tid = {t % block.x, t / block.x % block.y, t / block.x / block.y};
                f->ctx.bid = {id % grid.x, id / grid.x % grid.y, id / grid.x / grid.y};
                f->ctx.bdim = block;
                f->ctx.gdim = grid;
                f->ctx.lin = t;
                f->ctx.lane = t & 31;
                f->ctx.warp = t >> 5;
                f->ctx.dyn_smem = b.dyn;
                f->blk = &b;
                f->state = READY;
                f->group = 0;
                f->copies.clear();
            }
            for (Warp *w : b.warps)
                w->waiting = w->exited = w->next = 0;
            if (nthr & 31)
                b.warps[nthr / 32]->exited = ~0u << (nthr & 31);
        }
        release(E.launch_sync);
        run_resident(nb);
        for (unsigned bi = 0; bi < nb; bi++) {
            if (E.blocks[bi]->dyn)
                E.garbage.push_back(E.blocks[bi]->dyn);
            for (Shared &s : E.blocks[bi]->shared)
                E.garbage.push_back(s.mem);
        }
        if (!__tsan_acquire) { /* under TSan freeing must wait: it counts as a write */
            for (char *m : E.garbage)
                free(m);
            E.garbage.clear();
        }
    }
    acquire(E.done_sync);
    for (char *m : E.garbage)
        free(m);
    E.garbage.clear();
}

} // namespace cuemu
