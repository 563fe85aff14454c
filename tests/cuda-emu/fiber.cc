/* Fibers: the stack of a CUDA thread, and switching to and from it; see parts.h. */
#include "tests/cuda-emu/parts.h"

#include <sys/mman.h>

/* Stack switch: push the callee-saved registers, store sp, load sp, pop. */
#if FAST_SWITCH
extern "C" void cuemu_switch(void **save, void *to);
asm(".text\n.p2align 4\n.globl cuemu_switch\n.hidden cuemu_switch\n"
    ".type cuemu_switch,@function\ncuemu_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size cuemu_switch,.-cuemu_switch\n");
#endif

namespace cuemu
{

void to_scheduler()
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

static void fiber_main()
{
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(nullptr, &E.sched_bottom, &E.sched_size);
    for (;;) {
        Fiber *f = E.self;
        acquire(L->launch_sync);
        L->kernel->thunk(L->kernel->fn, L->args);
        flush_copies(f, ~0u);
        release(L->done_sync);
        f->state = DONE;
        f->blk->done++;
        Warp &w = *f->blk->warps[f->ctx.warp];
        w.exited |= 1u << f->ctx.lane;
        to_scheduler();
    }
}

void resume(Fiber *f)
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

Fiber *new_fiber()
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

void wait_as(State s, const char *file, int line)
{
    Fiber *f = E.self;
    f->state = s;
    f->file = file;
    f->line = line;
    to_scheduler();
}

} // namespace cuemu
