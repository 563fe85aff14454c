/* What else of the emulated device runs in streams: the products of cuBLAS. */
#pragma once

#include <functional>

#include "kernels/cuda/driver.h"
#include "tests/cuda-emu/engine.h"

namespace cuemu
{
/* Queues work, or captures it. */
CUresult submit(CUstream s, std::function<void()> work);
} // namespace cuemu
