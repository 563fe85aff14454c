/* How much memory this process can still get. */
#pragma once

#include <stdint.h>

/* Bytes: the system's available memory (without swap), or what is left under the memory limits of the control
 * groups of this process, version 2 or 1, whichever is less. File pages that can be dropped count as
 * available. `root` is put before /proc and /sys ("" in earnest); files that are missing there (a /proc that
 * is hidden) only loosen the answer: without any, it is what sysinfo(2) calls free. */
uint64_t memory_available(const char *root);
