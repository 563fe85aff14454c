/* Opening a back end by name. */
#include "config.h"

#include "kernels/backend.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cpu/backend_cpu.h"

static const struct {
    const char *name;
    int (*open)(const struct lk_options *options, struct lk_backend **ret_be, char why[256]);
} backends[] = {
    {"cpu", backend_cpu_open},
};

int lk_open(const char *name, const struct lk_options *options, struct lk_backend **ret_be, char why[256])
{
    if (options->n_thread < 1 || options->n_thread > LK_MAX_THREAD || options->max_row < 1 ||
        options->max_row > LK_MAX_ROW)
        return -EINVAL;
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (!strcmp(backends[i].name, name))
            return backends[i].open(options, ret_be, why);
    if (!strcmp(name, "cuda") || !strncmp(name, "cuda:", 5))
        snprintf(why, 256, "device '%.64s': this version computes on the CPU alone (--device cpu)", name);
    else
        snprintf(why, 256, "device '%.64s' is not in this build", name);
    return LK_E_NO_DEVICE;
}
