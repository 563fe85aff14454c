/* Time that only moves forward. */
#pragma once

#include <stdint.h>
#include <time.h>

/* Microseconds since some point before this process began; goes on while the machine is up. */
static inline int64_t clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
