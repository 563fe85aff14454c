/* The CUDA kernels against the C definitions of their operations, on a GPU or on the emulated driver.
 *
 *   test_cuda IMAGE [--quick]      IMAGE: the fatbin of tests/gpu/probe.cu; any file for the emulated driver
 *
 * Plain C over the driver API, needing neither CUDA's headers nor configure. Every bound is derived from the
 * operands. Speaks TAP; without a driver that works all is skipped. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tests/gpu/rig_cuda.h"

int main(int argc, char **argv)
{
    struct driver driver;
    char why[DRIVER_WHY];
    rig_quick = argc == 3 && !strcmp(argv[2], "--quick");
    if (argc != 2 && !rig_quick) {
        fprintf(stderr, "usage: test_cuda IMAGE [--quick]\n");
        return 64;
    }
    if (driver_open(&driver, why)) {
        printf("ok 1 - the CUDA kernels # SKIP %s\n1..1\n", why);
        return 0;
    }
    driver_close(&driver);
    rig_open(argv[1]);
    printf("# %s\n", rig_device()->name);
    test_rows();
    test_products();
    test_attend();
    test_sample();
    test_graphs();
    test_overlap();
    rig_close();
    return check_done();
}
