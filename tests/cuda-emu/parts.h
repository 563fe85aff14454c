/* What the parts of the engine share: threads, warps, blocks, launches. */
#pragma once

#include <vector>

#include "tests/cuda-emu/engine.h"

#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

/* Sanitizers, if the program has one. */
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
#if !FAST_SWITCH
#include <ucontext.h>
#endif

namespace cuemu
{

/* What a thread waits for. */
enum State { READY, AT_BARRIER, AT_WARP, AT_GRID, AT_PREDECESSOR, DONE };
enum { RING = 64, BARRIERS = 16, SMEM_STATIC_MAX = 48 * 1024 };

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

/* A kernel that has been begun: one that runs, or one that waits for its predecessor. */
struct Launch {
    const Kernel *kernel = nullptr;
    void **args = nullptr;
    dim3 grid, block;
    size_t dynamic_bytes = 0;
    unsigned n_block = 0, n_thread = 0;  /* of the grid, of a block */
    unsigned group = 0, next = 0;        /* blocks that are interleaved; the first that has not begun */
    bool is_free = true;                 /* what it depends on has ended */
    const Launch *predecessor = nullptr; /* whose end it waits for by itself */
    std::vector<Fiber *> pool;
    std::vector<Fiber *> live;   /* of the blocks that have begun */
    std::vector<Block *> blocks; /* reused, never freed: kernels hold pointers into them */
    std::vector<char *> garbage; /* shared memory, to be freed */
    unsigned grid_waiting = 0, grid_blocks = 0, grid_phase = 0;
    char grid_sync[2][8] = {}, launch_sync[8] = {}, done_sync[8] = {};
};

struct Engine {
    size_t stack_size = 0;
    int order = 0; /* 0 forward, 1 reverse, 2 random */
    uint64_t rng = 1;
    unsigned resident = 1;
    Fiber *self = nullptr;
    std::vector<Fiber *> spare; /* of no launch */
    uint64_t n_yield = 0;
    char fence_sync[8] = {};
    void *sched_tsan = nullptr, *sched_fake = nullptr;
    const void *sched_bottom = nullptr;
    size_t sched_size = 0;
#if FAST_SWITCH
    void *sched_sp = nullptr;
#else
    ucontext_t sched_uc;
#endif
};

extern Engine &E; /* never destroyed: streams may drain at exit */
extern Launch *L; /* whose threads run */

static inline void acquire(const void *p)
{
    if (__tsan_acquire)
        __tsan_acquire(const_cast<void *>(p));
}
static inline void release(const void *p)
{
    if (__tsan_release)
        __tsan_release(const_cast<void *>(p));
}
static inline void tsan_as(void *fiber)
{
    if (__tsan_switch_to_fiber)
        __tsan_switch_to_fiber(fiber, 1);
}

/* engine.cc */
uint64_t rnd();
[[noreturn]] void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* fiber.cc: a thread that runs until it waits. */
Fiber *new_fiber();
void resume(Fiber *f);
void to_scheduler();
void wait_as(State s, const char *file, int line);

/* sync.cc: what opens when all have come who must; whether any did. */
bool try_barriers(Block *b);
bool try_warps(Block *b);
void flush_copies(Fiber *f, unsigned before_group);
char *fresh(size_t size);

} // namespace cuemu
