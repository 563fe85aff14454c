/* How many CPUs this process may use: see cpus.h. The files are those of the kernel's cgroup-v2.rst and
 * scheduler/sched-bwc.rst. */
#include "config.h"
#include "src/lorchd/cpus.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/cleanup.h"

enum { MAX_CPU = 1 << 16 };

static int count_affinity(void)
{
    /* The kernel refuses a set smaller than its own. */
    for (int n = CPU_SETSIZE; n <= MAX_CPU; n *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)n);
        size_t bytes = CPU_ALLOC_SIZE((size_t)n);
        int count = set && sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online <= MAX_CPU ? (int)online : 1;
}

/* Reads up to two words of a file; how many there are. */
static int read_words(const char *path, char a[32], char b[32])
{
    CLEANUP_FCLOSE FILE *file = fopen(path, "re");
    int n = file ? fscanf(file, "%31s %31s", a, b) : 0;
    return n > 0 ? n : 0;
}

/* Whole CPUs of "quota period" in microseconds; INT_MAX for no limit. */
static int whole_cpus(const char *quota, const char *period)
{
    long long q = atoll(quota), p = atoll(period);
    if (q <= 0 || p <= 0) /* "max" or -1 */
        return INT_MAX;
    return q < p ? 1 : q / p < INT_MAX ? (int)(q / p) : INT_MAX;
}

static int quota_v2(const char *dir)
{
    char path[PATH_MAX + 16], quota[32], period[32];
    snprintf(path, sizeof path, "%s/cpu.max", dir);
    return read_words(path, quota, period) == 2 ? whole_cpus(quota, period) : INT_MAX;
}

static int quota_v1(const char *dir)
{
    char path[PATH_MAX + 32], quota[32], period[32], none[32];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir);
    int n = read_words(path, quota, none);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    return n == 1 && read_words(path, period, none) == 1 ? whole_cpus(quota, period) : INT_MAX;
}

/* The least quota of a group and those above it, down to the mount point. Where a container sees only its own
 * part of the tree, a path of /proc/self/cgroup may not exist there; the mount point does. */
static int least_quota(const char *mount, const char *group, int (*quota)(const char *))
{
    char dir[PATH_MAX];
    int least = INT_MAX, n = snprintf(dir, sizeof dir, "%s%s", mount, group);
    size_t n_mount = strlen(mount);
    if (n < 0 || (size_t)n >= sizeof dir)
        return quota(mount);
    for (;;) {
        int here = quota(dir);
        if (here < least)
            least = here;
        char *slash = strrchr(dir + n_mount, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* Is `cpu` among the controllers "cpu,cpuacct"? */
static int has_cpu(const char *controllers, size_t n)
{
    for (const char *end = controllers + n; controllers < end;) {
        size_t word = strcspn(controllers, ",:");
        if (word == 3 && !memcmp(controllers, "cpu", 3))
            return 1;
        controllers += word + 1;
    }
    return 0;
}

/* A line of /proc/self/cgroup: "0::/group" of version 2, "4:cpu,cpuacct:/group" of version 1. */
static int line_quota(const char *root, char *line)
{
    char mount[PATH_MAX];
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return INT_MAX;
    controllers++;
    size_t n = (size_t)(group++ - controllers);
    group[strcspn(group, "\n")] = '\0';
    if (n == 0) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        return least_quota(mount, group, quota_v2);
    }
    if (!has_cpu(controllers, n))
        return INT_MAX;
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%.*s", root, (int)n, controllers);
    return least_quota(mount, group, quota_v1);
}

int cpus_available(const char *root)
{
    char path[PATH_MAX], line[PATH_MAX];
    int n = count_affinity();
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    CLEANUP_FCLOSE FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        int quota = line_quota(root, line);
        if (quota < n)
            n = quota;
    }
    return n;
}
