/* The CUDA driver API, opened at run time: see driver.h. */
#include "config.h"

#include "kernels/cuda/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/backend.h"
#include "kernels/cuda/library.h"

/* Copies of instructions that the kernels use came with this compute capability: mma.sync of BF16, cp.async.
 */
enum { MIN_MAJOR = 8 };

#define LAYOUT(type, member, offset, size)                                                    \
    _Static_assert(offsetof(type, member) == (offset) && sizeof((type *)0)->member == (size), \
                   #type "." #member " as the driver has it");
#include "kernels/cuda/driver.def"

const char *driver_error(const struct driver *driver, CUresult error)
{
    const char *name = NULL;
    if (driver->cuGetErrorName && driver->cuGetErrorName(error, &name) == CUDA_SUCCESS && name)
        return name;
    return "an error that the driver has no name for";
}

static int failed(const struct driver *driver, const char *call, CUresult error, char why[DRIVER_WHY])
{
    snprintf(why, DRIVER_WHY, "the CUDA driver's %s failed: %s", call, driver_error(driver, error));
    return LK_E_NO_DEVICE;
}

/* The version comes first: an old driver should be called old, not incomplete. */
static int check_version(struct driver *driver, const char *file, char why[DRIVER_WHY])
{
    if (!library_find(driver->library, "cuDriverGetVersion", &driver->cuDriverGetVersion) ||
        !library_find(driver->library, "cuGetErrorName", &driver->cuGetErrorName)) {
        snprintf(why, DRIVER_WHY, "%s is no CUDA driver: it lacks cuDriverGetVersion or cuGetErrorName",
                 file);
        return LK_E_NO_DEVICE;
    }
    CUresult r = driver->cuDriverGetVersion(&driver->version);
    if (r)
        return failed(driver, "cuDriverGetVersion", r, why);
    if (driver->version >= DRIVER_MIN_VERSION)
        return 0;
    snprintf(why, DRIVER_WHY, "the CUDA driver is too old: it supports CUDA %d.%d, and %d.%d is needed",
             driver->version / 1000, driver->version % 1000 / 10, DRIVER_MIN_VERSION / 1000,
             DRIVER_MIN_VERSION % 1000 / 10);
    return LK_E_NO_DEVICE;
}

static int find_all(struct driver *driver, char why[DRIVER_WHY])
{
    const char *missing = NULL;
#define DRIVER(name, arguments)                                           \
    if (!missing && !library_find(driver->library, #name, &driver->name)) \
        missing = #name;
#include "kernels/cuda/driver.def"
    if (!missing)
        return 0;
    snprintf(why, DRIVER_WHY, "the CUDA driver lacks %s, although it supports CUDA %d.%d", missing,
             driver->version / 1000, driver->version % 1000 / 10);
    return LK_E_NO_DEVICE;
}

static int initialize(struct driver *driver, char why[DRIVER_WHY])
{
    CUresult r = driver->cuInit(0);
    if (r == CUDA_ERROR_NO_DEVICE) {
        snprintf(why, DRIVER_WHY, "the CUDA driver sees no GPU: %s%s", driver_error(driver, r),
                 getenv("CUDA_VISIBLE_DEVICES") ? ", with CUDA_VISIBLE_DEVICES set" : "");
        return LK_E_NO_DEVICE;
    }
    return r ? failed(driver, "cuInit", r, why) : 0;
}

int driver_open(struct driver *ret_driver, char why[DRIVER_WHY])
{
    const char *file = getenv("LORCH_LIBCUDA");
    if (!file || !*file)
        file = "libcuda.so.1";
    *ret_driver = (struct driver){.library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};
    if (!ret_driver->library) {
        const char *message = dlerror();
        snprintf(why, DRIVER_WHY, "there is no CUDA driver: %.200s", message ? message : file);
        return LK_E_NO_DEVICE;
    }
    int r = check_version(ret_driver, file, why);
    if (r == 0)
        r = find_all(ret_driver, why);
    if (r == 0)
        r = initialize(ret_driver, why);
    if (r)
        driver_close(ret_driver);
    return r;
}

void driver_close(struct driver *driver)
{
    if (driver->library)
        dlclose(driver->library);
    *driver = (struct driver){0};
}

int driver_count(const struct driver *driver, int *ret_n, char why[DRIVER_WHY])
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int n = 0;
    CUresult r = driver->cuDeviceGetCount(&n);
    if (r)
        return failed(driver, "cuDeviceGetCount", r, why);
    if (n < 1) {
        snprintf(why, DRIVER_WHY, "the CUDA driver sees no GPU%s%.100s%s",
                 visible ? ": CUDA_VISIBLE_DEVICES is '" : "", visible ? visible : "", visible ? "'" : "");
        return LK_E_NO_DEVICE;
    }
    *ret_n = n < DRIVER_MAX_DEVICE ? n : DRIVER_MAX_DEVICE;
    return 0;
}

/* The properties that are numbers. */
static int read_attributes(const struct driver *driver, CUdevice handle, struct driver_device *device,
                           char why[DRIVER_WHY])
{
    int l2 = 0, shared = 0;
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } rows[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &device->major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &device->minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &device->n_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &shared},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, &device->cooperative},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CUresult r = driver->cuDeviceGetAttribute(rows[i].value, rows[i].attribute, handle);
        if (r)
            return failed(driver, "cuDeviceGetAttribute", r, why);
    }
    device->l2_bytes = l2 > 0 ? (size_t)l2 : 0;
    device->shared_bytes = shared > 0 ? (size_t)shared : 0;
    return 0;
}

int driver_describe(const struct driver *driver, int ordinal, struct driver_device *ret_device,
                    char why[DRIVER_WHY])
{
    CUdevice handle;
    *ret_device = (struct driver_device){.ordinal = ordinal};
    CUresult r = driver->cuDeviceGet(&handle, ordinal);
    if (r)
        return failed(driver, "cuDeviceGet", r, why);
    r = driver->cuDeviceGetName(ret_device->name, (int)sizeof ret_device->name, handle);
    if (r)
        return failed(driver, "cuDeviceGetName", r, why);
    ret_device->name[sizeof ret_device->name - 1] = '\0';
    r = driver->cuDeviceTotalMem_v2(&ret_device->total_bytes, handle);
    if (r)
        return failed(driver, "cuDeviceTotalMem", r, why);
    return read_attributes(driver, handle, ret_device, why);
}

int driver_check(const struct driver_device *device, char why[DRIVER_WHY])
{
    if (device->major >= MIN_MAJOR)
        return 0;
    snprintf(why, DRIVER_WHY,
             "GPU %d (%.100s) is too old: its compute capability is %d.%d, and %d.0 is needed",
             device->ordinal, device->name, device->major, device->minor, MIN_MAJOR);
    return LK_E_NO_DEVICE;
}
