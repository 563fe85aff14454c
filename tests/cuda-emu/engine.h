/* What a host program, or the emulated driver, calls of the emulator.
 *
 * Environment:
 *   CUEMU_ORDER     forward (default), reverse, or a number: a random seed
 *   CUEMU_RESIDENT  blocks of a launch that are interleaved with each other (default 1, and under
 *                   ThreadSanitizer always)
 *   CUEMU_STACK_KB  stack of a CUDA thread (default 64; 256 under a sanitizer)
 *
 * Errors (deadlock, divergent barrier, shuffle from an absent lane, ...) are printed with source positions
 * and end the program with abort(). */
#pragma once

#include "tests/cuda-emu/emu.h"

namespace cuemu
{
const Kernel *find_kernel(const char *name);
/* A kernel that has been begun; its arguments stay where they are until it is finished. */
struct Launch;
/* Begins a kernel. With a predecessor that has been begun and not finished it runs at once, as far as it can
 * get before it waits for that one's end (cu_pdl_wait): what it reads before of what others have not finished
 * it reads too early. MAX_AHEAD + 1 kernels may be begun at a time; they are finished in that order. */
enum { MAX_AHEAD = 3 };
Launch *begin(const Kernel *k, dim3 grid, dim3 block, size_t dynamic_bytes, void **args, bool cooperative,
              const Launch *predecessor);
void finish(Launch *launch);
} // namespace cuemu
