/* src/model/memory.c: the least of what machine and control groups leave, on imitations of /proc and /sys. */
#include "config.h"

#include "src/model/memory.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[PATH_MAX / 2];

static void set_up(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/lorch-memory-XXXXXX", tmp ? tmp : "/tmp");
    cr_assert(mkdtemp(root));
}

static int delete_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void tear_down(void)
{
    nftw(root, delete_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(memory, .init = set_up, .fini = tear_down);

static void put(const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *f = fopen(path, "w");
    cr_assert(f, "%s: %m", path);
    fputs(text, f);
    fclose(f);
}

Test(memory, machine)
{
    put("/proc/meminfo",
        "MemTotal:       16000000 kB\nMemFree:         1000 kB\nMemAvailable:    8000000 kB\n");
    cr_assert_eq(memory_available(root), 8000000ull * 1024);
}

Test(memory, hidden_proc)
{
    uint64_t available = memory_available(root);
    cr_assert(available > 0 && available < UINT64_MAX);
}

Test(memory, group_of_version_2)
{
    put("/proc/meminfo", "MemAvailable:    8000000 kB\n");
    put("/proc/self/cgroup", "0::/system.slice/lorchd.service\n");
    put("/sys/fs/cgroup/system.slice/lorchd.service/memory.max", "1000000\n");
    put("/sys/fs/cgroup/system.slice/lorchd.service/memory.current", "700000\n");
    put("/sys/fs/cgroup/system.slice/lorchd.service/memory.stat",
        "anon 5\nfile 600000\ninactive_file 400000\nactive_file 100000\n");
    cr_assert_eq(memory_available(root), 1000000 - (700000 - 500000));
    put("/sys/fs/cgroup/system.slice/memory.max", "max\n");
    cr_assert_eq(memory_available(root), 800000);
    put("/sys/fs/cgroup/system.slice/memory.max", "750000\n"); /* the parent's is tighter */
    put("/sys/fs/cgroup/system.slice/memory.current", "800000\n");
    put("/sys/fs/cgroup/system.slice/memory.stat", "inactive_file 100000\n");
    cr_assert_eq(memory_available(root), 50000);
    put("/sys/fs/cgroup/system.slice/memory.max", "10000\n"); /* already over */
    cr_assert_eq(memory_available(root), 0);
}

/* A container sees its own limit at the mount, whatever its group is called. */
Test(memory, container)
{
    put("/proc/meminfo", "MemAvailable:    8000000 kB\n");
    put("/sys/fs/cgroup/memory.max", "4096000\n");
    put("/sys/fs/cgroup/memory.current", "96000\n");
    cr_assert_eq(memory_available(root), 4000000);
    put("/proc/self/cgroup", "0::/../outside\n");
    cr_assert_eq(memory_available(root), 4000000);
}

Test(memory, group_of_version_1)
{
    put("/proc/meminfo", "MemAvailable:    8000000 kB\n");
    put("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/jobs/one\n0::/\n");
    put("/sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes", "500000\n");
    put("/sys/fs/cgroup/memory/jobs/one/memory.usage_in_bytes", "400000\n");
    put("/sys/fs/cgroup/memory/jobs/one/memory.stat", "inactive_file 1\ntotal_inactive_file 100000\n");
    cr_assert_eq(memory_available(root), 200000);
    put("/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    cr_assert_eq(memory_available(root), 200000);
}
