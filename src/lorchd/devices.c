/* What there is to compute with: see devices.h. */
#include "config.h"
#include "src/lorchd/devices.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cuda/driver.h"
#include "kernels/cuda/image.h"
#include "kernels/lk.h"
#include "src/base/cleanup.h"
#include "src/base/err.h"
#include "src/base/jsonwrite.h"
#include "src/lorchd/cpus.h"
#include "src/model/memory.h"

enum { MAX_NAME = 128 };

struct cpu {
    char name[MAX_NAME];
    const char *level;
    int n_thread;
    uint64_t total_bytes, available_bytes;
};

struct gpus {
    char why[DRIVER_WHY]; /* why there are none; empty: there are */
    int version;          /* of CUDA, that the driver supports; 0: there is no driver that works */
    int n;
    struct {
        struct driver_device device;
        char why[DRIVER_WHY]; /* why it cannot be used */
    } gpu[DRIVER_MAX_DEVICE];
};

/* The name is the one that Linux has on x86; other processors have none there. */
static void read_cpu_name(char name[MAX_NAME])
{
    char line[MAX_NAME * 2], *colon;
    CLEANUP_FCLOSE FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(name, MAX_NAME, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "model name", 10) || !(colon = strchr(line, ':')))
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, MAX_NAME, "%.*s", MAX_NAME - 1, colon + 1 + strspn(colon + 1, " "));
        why_make_visible(name);
        return;
    }
}

static struct cpu find_cpu(void)
{
    struct lk_cpu kernels;
    lk_cpu_init(&kernels, lk_cpu_flags());
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    struct cpu cpu = {
        .level = kernels.level,
        .n_thread = cpus_available(""),
        .total_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0,
        .available_bytes = memory_available(""),
    };
    read_cpu_name(cpu.name);
    return cpu;
}

/* Why this GPU cannot be used: its own fault first, then the build's, then this version's. */
static void judge(const struct driver_device *device, char why[DRIVER_WHY])
{
    if (driver_check(device, why))
        return;
    snprintf(why, DRIVER_WHY,
             *image_archs() ? "this version computes on the CPU alone" : "this build has no CUDA kernels");
}

static void find_gpus(struct gpus *ret)
{
    struct driver driver;
    *ret = (struct gpus){0};
    if (driver_open(&driver, ret->why) == 0) {
        ret->version = driver.version;
        if (driver_count(&driver, &ret->n, ret->why))
            ret->n = 0;
        for (int i = 0; i < ret->n; i++)
            if (driver_describe(&driver, i, &ret->gpu[i].device, ret->gpu[i].why) == 0)
                judge(&ret->gpu[i].device, ret->gpu[i].why);
        driver_close(&driver);
    }
    why_make_visible(ret->why);
    for (int i = 0; i < ret->n; i++) {
        why_make_visible(ret->gpu[i].device.name);
        why_make_visible(ret->gpu[i].why);
    }
}

static void print_row(FILE *file, const char *device, const char *name, const char *kernels, int n_core,
                      uint64_t bytes)
{
    fprintf(file, "%-8s %-44s %-12s %5d %10.1f GiB\n", device, name, kernels, n_core,
            (double)bytes / (1 << 30));
}

static void print_table(FILE *file, const struct cpu *cpu, const struct gpus *gpus)
{
    fprintf(file, "%-8s %-44s %-12s %5s %14s\n", "DEVICE", "NAME", "LEVEL", "CORES", "MEMORY");
    print_row(file, "cpu", cpu->name, cpu->level, cpu->n_thread, cpu->total_bytes);
    for (int i = 0; i < gpus->n; i++) {
        const struct driver_device *d = &gpus->gpu[i].device;
        char device[24], level[32];
        snprintf(device, sizeof device, "cuda:%d", d->ordinal);
        snprintf(level, sizeof level, "compute %d.%d", d->major, d->minor);
        print_row(file, device, d->name, level, d->n_multiprocessor, d->total_bytes);
    }
    if (gpus->version)
        fprintf(file, "The CUDA driver supports CUDA %d.%d.\n", gpus->version / 1000,
                gpus->version % 1000 / 10);
    if (*gpus->why)
        fprintf(file, "No GPU: %s.\n", gpus->why);
    for (int i = 0; i < gpus->n; i++)
        fprintf(file, "cuda:%d cannot be used: %s.\n", gpus->gpu[i].device.ordinal, gpus->gpu[i].why);
}

static void print_member(FILE *file, const char *key, const char *text)
{
    fprintf(file, ", \"%s\": ", key);
    jsonwrite_string(file, text, strlen(text));
}

static void print_version(FILE *file, const char *key, int major, int minor)
{
    fprintf(file, ", \"%s\": \"%d.%d\"", key, major, minor);
}

static void print_gpu_json(FILE *file, const struct driver_device *device, int version, const char *why)
{
    fprintf(file, ", {\"device\": \"cuda:%d\"", device->ordinal);
    print_member(file, "name", device->name);
    print_version(file, "compute_capability", device->major, device->minor);
    fprintf(file, ", \"cores\": %d, \"memory_bytes\": %zu", device->n_multiprocessor, device->total_bytes);
    print_version(file, "driver", version / 1000, version % 1000 / 10);
    fprintf(file, ", \"usable\": false");
    print_member(file, "why", why);
    putc('}', file);
}

static void print_json(FILE *file, const struct cpu *cpu, const struct gpus *gpus)
{
    fprintf(file, "{\"format\": %d, \"devices\": [{\"device\": \"cpu\"", DEVICES_FORMAT);
    print_member(file, "name", cpu->name);
    print_member(file, "level", cpu->level);
    fprintf(file,
            ", \"cores\": %d, \"memory_bytes\": %" PRIu64 ", \"available_bytes\": %" PRIu64
            ", \"usable\": true}",
            cpu->n_thread, cpu->total_bytes, cpu->available_bytes);
    for (int i = 0; i < gpus->n; i++)
        print_gpu_json(file, &gpus->gpu[i].device, gpus->version, gpus->gpu[i].why);
    putc(']', file);
    if (*gpus->why)
        print_member(file, "no_gpu", gpus->why);
    print_member(file, "cuda_archs", image_archs());
    fputs("}\n", file);
}

void devices_print(FILE *file, bool json)
{
    struct gpus gpus;
    const struct cpu cpu = find_cpu();
    find_gpus(&gpus);
    if (json)
        print_json(file, &cpu, &gpus);
    else
        print_table(file, &cpu, &gpus);
}
