/* What a host program, or the emulated driver, calls of the emulator.
 *
 * Environment:
 *   CUEMU_ORDER     forward (default), reverse, or a number: a random seed
 *   CUEMU_RESIDENT  blocks of a launch that are interleaved with each other (default 1)
 *   CUEMU_STACK_KB  stack of a CUDA thread (default 64; 256 under a sanitizer)
 *
 * Errors (deadlock, divergent barrier, shuffle from an absent lane, ...) are printed with source positions
 * and end the program with abort(). */
#pragma once

#include "tests/cuda-emu/emu.h"

namespace cuemu
{
const Kernel *find_kernel(const char *name);
void launch(const Kernel *k, dim3 grid, dim3 block, size_t smem, void **args, bool cooperative);
} // namespace cuemu
