/* What threads meet at: barriers, warp collectives, tensor cores, asynchronous copies, the end of a
 * predecessor. */
#include "tests/cuda-emu/parts.h"

namespace cuemu
{

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
char *fresh(size_t size)
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
            acquire(key);
            return s.mem;
        }
    if ((b->shared_bytes += size) > SMEM_STATIC_MAX)
        die("more than 48 KiB of static shared memory");
    tsan_as(E.sched_tsan);
    char *m = fresh(size);
    release(key);
    tsan_as(f->tsan);
    acquire(key);
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
bool try_barriers(Block *b)
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

bool try_warps(Block *b)
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
    if (L->grid_blocks == 0)
        die("%s:%d: grid barrier in a launch that is not cooperative", file, line);
    f->sync = L->grid_sync[L->grid_phase & 1];
    release(f->sync);
    L->grid_waiting++;
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
/* A thread of a kernel that began before its predecessor ended. */
void predecessor_wait(const char *file, int line)
{
    if (!L->is_free)
        wait_as(AT_PREDECESSOR, file, line);
    if (L->predecessor)
        acquire(L->predecessor->done_sync);
}

void flush_copies(Fiber *f, unsigned before_group)
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

} // namespace cuemu
