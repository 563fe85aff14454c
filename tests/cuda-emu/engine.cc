/* The engine: schedules the threads of a launch; see engine.h.
 *
 * The engine is compiled WITHOUT sanitizers, even where the kernels and the program use them: it finds the
 * sanitizers at run time through weak symbols and tells them about fibers and about the happens-before edges
 * of the CUDA model: a barrier orders its participants, a shuffle or vote orders nothing, blocks of one
 * launch are unordered, a launch boundary orders everything but what comes before a wait for the predecessor.
 */
#include "tests/cuda-emu/parts.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <string>

namespace cuemu
{

/* Under ThreadSanitizer blocks take different fibers as far as a pool reaches, and so stay unordered with
 * each other. */
enum { TSAN_FIBERS = 1024, MAX_IDLE = 1000000 };

Engine &E = *new Engine;
Launch *L;
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

uint64_t rnd()
{
    E.rng ^= E.rng << 13;
    E.rng ^= E.rng >> 7;
    return E.rng ^= E.rng << 17;
}

static void describe(Fiber **f, size_t n)
{
    std::map<std::string, unsigned> where;
    static const char *const names[] = {"running or yielding", "at barrier", "", "at grid barrier",
                                        "waiting for the predecessor"};
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

void die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "cuda-emu: kernel %s: ", L && L->kernel ? L->kernel->name : "?");
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    describe(L->live.data(), L->live.size());
    abort();
}

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
    /* To ThreadSanitizer blocks are unordered anyway. */
    E.resident = r && atoi(r) > 0 && !__tsan_create_fiber ? unsigned(atoi(r)) : 1;
}

/* The order of this pass, and in a random one those warps that sit it out, so that others run ahead. */
static uint64_t shuffle(std::vector<unsigned> &order, bool stuck)
{
    const size_t n = order.size();
    if (E.order == 1)
        for (size_t i = 0; i < n; i++)
            order[i] = unsigned(n - 1 - i);
    if (E.order == 2)
        for (size_t i = n; i > 1; i--)
            std::swap(order[i - 1], order[rnd() % i]);
    return E.order == 2 && !stuck ? rnd() & rnd() : 0;
}

static bool open_what_is_full(size_t n_done)
{
    bool opened = false;
    for (size_t b = 0; b * L->n_thread < L->live.size(); b++) {
        opened = try_warps(L->blocks[b]) || opened;
        opened = try_barriers(L->blocks[b]) || opened;
    }
    if (!L->grid_blocks || !L->grid_waiting || L->grid_waiting != L->live.size() - n_done)
        return opened;
    L->grid_waiting = 0;
    L->grid_phase++;
    for (Fiber *f : L->live)
        if (f->state == AT_GRID)
            f->state = READY;
    return true;
}

/* Runs the threads of the blocks that have begun, to their end or, while the predecessor has not ended, until
 * none can go on. */
static void run_live()
{
    const size_t n = L->live.size();
    std::vector<unsigned> order(n);
    for (size_t i = 0; i < n; i++)
        order[i] = unsigned(i);
    unsigned idle = 0;
    for (bool stuck = false;;) {
        const uint64_t nap = shuffle(order, stuck), yields = E.n_yield;
        size_t n_done = 0, n_ran = 0;
        for (size_t i = 0; i < n; i++) {
            Fiber *f = L->live[order[i]];
            if (f->state == READY && !(nap >> ((f->ctx.warp + 7 * f->ctx.bid.x) & 63) & 1)) {
                resume(f);
                n_ran++;
            }
            n_done += f->state == DONE;
        }
        const bool opened = open_what_is_full(n_done);
        if (n_done == n)
            return;
        stuck = !n_ran && !opened;
        idle = n_ran == E.n_yield - yields && !opened ? idle + 1 : 0;
        if (!L->is_free && ((stuck && !nap) || idle > MAX_IDLE))
            return;
        if (stuck && !nap)
            die("deadlock: no thread can go on");
        if (idle > MAX_IDLE)
            die("livelock: every thread that runs only yields");
    }
}

static void start_thread(Fiber *f, Block *b, unsigned id, unsigned t)
{
    const dim3 &grid = L->grid, &block = L->block;
    f->ctx.tid = {t % block.x, t / block.x % block.y, t / block.x / block.y};
    f->ctx.bid = {id % grid.x, id / grid.x % grid.y, id / grid.x / grid.y};
    f->ctx.bdim = block;
    f->ctx.gdim = grid;
    f->ctx.lin = t;
    f->ctx.lane = t & 31;
    f->ctx.warp = t >> 5;
    f->ctx.dyn_smem = b->dyn;
    f->blk = b;
    f->state = READY;
    f->group = 0;
    f->copies.clear();
}

static void start_block(Block &b, unsigned id, Fiber **fibers)
{
    const unsigned n = L->n_thread;
    b.n = n;
    b.done = 0;
    b.shared.clear();
    b.shared_bytes = 0;
    b.dyn = L->dynamic_bytes ? fresh(L->dynamic_bytes) : nullptr;
    memset(b.bar, 0, sizeof b.bar);
    while (b.warps.size() < (n + 31) / 32)
        b.warps.push_back(new Warp());
    for (Warp *w : b.warps)
        w->waiting = w->exited = w->next = 0;
    if (n & 31)
        b.warps[n / 32]->exited = ~0u << (n & 31);
    b.fib = fibers;
    for (unsigned t = 0; t < n; t++)
        start_thread(fibers[t], &b, id, t);
}

/* The next blocks of the launch; false if there are none. */
static bool start_blocks()
{
    const unsigned n = std::min(L->group, L->n_block - L->next);
    if (n == 0)
        return false;
    const auto from = L->pool.begin() + long(size_t(L->next) * L->n_thread % L->pool.size());
    L->live.assign(from, from + long(size_t(n) * L->n_thread));
    for (unsigned i = 0; i < n; i++)
        start_block(*L->blocks[i], L->next + i, &L->live[size_t(i) * L->n_thread]);
    L->next += n;
    release(L->launch_sync);
    return true;
}

static void collect_garbage(bool at_end)
{
    /* Under ThreadSanitizer freeing must wait: it counts as a write. */
    if (__tsan_acquire && !at_end)
        return;
    for (char *m : L->garbage)
        free(m);
    L->garbage.clear();
}

static void end_blocks()
{
    for (size_t b = 0; b * L->n_thread < L->live.size(); b++) {
        if (L->blocks[b]->dyn)
            L->garbage.push_back(L->blocks[b]->dyn);
        for (Shared &s : L->blocks[b]->shared)
            L->garbage.push_back(s.mem);
    }
    L->live.clear();
    collect_garbage(false);
}

/* Fibers for a launch, from those that no other has. Blocks go round a whole number of groups; those of a
 * kernel that has to wait anyway take no more than they need: each fiber costs ThreadSanitizer megabytes. */
static void take_fibers()
{
    const size_t group = std::min(L->group, L->n_block), need = group * L->n_thread;
    size_t n = need;
    if (__tsan_create_fiber && !L->predecessor)
        n = std::max(need, std::min<size_t>(size_t(L->n_block) * L->n_thread, TSAN_FIBERS) / need * need);
    while (E.spare.size() < n)
        E.spare.push_back(new_fiber());
    L->pool.assign(E.spare.end() - long(n), E.spare.end());
    E.spare.resize(E.spare.size() - n);
    while (L->blocks.size() < group)
        L->blocks.push_back(new Block());
}

static void give_fibers_back()
{
    E.spare.insert(E.spare.end(), L->pool.begin(), L->pool.end());
    L->pool.clear();
}

Launch *begin(const Kernel *k, dim3 grid, dim3 block, size_t dynamic_bytes, void **args, bool cooperative,
              const Launch *predecessor)
{
    /* One more than can be begun: the predecessor of one that has not been finished keeps its place. */
    static Launch *const slots = new Launch[MAX_AHEAD + 2];
    configure();
    L = predecessor ? slots + (predecessor - slots + 1) % (MAX_AHEAD + 2) : slots;
    L->kernel = k;
    L->args = args;
    L->grid = grid;
    L->block = block;
    L->dynamic_bytes = dynamic_bytes;
    L->n_block = grid.x * grid.y * grid.z;
    L->n_thread = block.x * block.y * block.z;
    L->group = cooperative ? L->n_block : E.resident;
    L->grid_blocks = cooperative ? L->n_block : 0;
    L->grid_waiting = 0;
    L->next = 0;
    L->predecessor = predecessor;
    L->is_free = !predecessor;
    if (__tsan_get_current_fiber)
        E.sched_tsan = __tsan_get_current_fiber();
    take_fibers();
    release(L->launch_sync);
    if (predecessor && start_blocks())
        run_live();
    return L;
}

void finish(Launch *launch)
{
    L = launch;
    L->is_free = true;
    for (Fiber *f : L->live)
        if (f->state == AT_PREDECESSOR)
            f->state = READY;
    if (__tsan_get_current_fiber)
        E.sched_tsan = __tsan_get_current_fiber();
    while (!L->live.empty() || start_blocks()) {
        run_live();
        end_blocks();
    }
    acquire(L->done_sync);
    collect_garbage(true);
    give_fibers_back();
}

} // namespace cuemu
