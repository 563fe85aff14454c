/* Time that only moves forward: src/base/clock.h. */
#include "config.h"
#include "src/base/clock.h"

#include <criterion/criterion.h>

Test(clock, counts_microseconds_forward)
{
    int64_t begin = clock_us(), last = begin, now;
    do {
        now = clock_us();
        cr_assert_geq(now, last);
        last = now;
    } while (now - begin < 2000);
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t seconds = clock_us() / 1000000;
    cr_assert(seconds == t.tv_sec || seconds == t.tv_sec + 1, "the unit is a microsecond");
}
