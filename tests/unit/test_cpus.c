/* CPUs that this process may use: src/lorchd/cpus.c, on made-up trees of control groups. */
#include "config.h"
#include "src/lorchd/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

#include "tests/support.h"

static char root[SUPPORT_PATH];

static void make_dirs(const char *path)
{
    char full[2 * SUPPORT_PATH];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    mkdir(full, 0755);
}

static void put(const char *dir, const char *name, const char *text)
{
    char full[2 * SUPPORT_PATH];
    make_dirs(dir);
    snprintf(full, sizeof full, "%s/%s", root, dir);
    support_write(full, name, text, strlen(text));
}

static void set_up(void)
{
    support_dir_make(root);
}

static void tear_down(void)
{
    support_dir_remove(root);
}

TestSuite(cpus, .init = set_up, .fini = tear_down);

static int affinity(void)
{
    cpu_set_t set;
    cr_assert_eq(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

Test(cpus, without_control_groups_the_affinity_counts)
{
    cr_assert_eq(cpus_available(root), affinity());
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0)
        cr_assert_eq(cpus_available(root), 1);
}

/* A quota of whole CPUs minus a bit, so that the answer is 1 on any machine with two. */
Test(cpus, a_quota_of_version_2_counts_in_whole_cpus)
{
    put("proc/self", "cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/a/b", "cpu.max", "199999 100000\n");
    cr_assert_eq(cpus_available(root), 1);
    put("sys/fs/cgroup/a/b", "cpu.max", "5000 100000\n");
    cr_assert_eq(cpus_available(root), 1);
    put("sys/fs/cgroup/a/b", "cpu.max", "max 100000\n");
    cr_assert_eq(cpus_available(root), affinity());
    put("sys/fs/cgroup/a/b", "cpu.max", "100000000000 100000\n");
    cr_assert_eq(cpus_available(root), affinity());
}

Test(cpus, a_quota_above_the_own_group_counts_too)
{
    put("proc/self", "cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/a/b", "cpu.max", "max 100000\n");
    put("sys/fs/cgroup/a", "cpu.max", "100000 100000\n");
    cr_assert_eq(cpus_available(root), 1);
    put("sys/fs/cgroup/a", "cpu.max", "max 100000\n");
    put("sys/fs/cgroup", "cpu.max", "100000 100000\n"); /* what a container sees of its own group */
    cr_assert_eq(cpus_available(root), 1);
}

Test(cpus, a_quota_of_version_1_counts)
{
    put("proc/self", "cgroup", "5:memory:/m\n4:cpu,cpuacct:/a\n3:cpuset:/\n0::/\n");
    put("sys/fs/cgroup/cpu,cpuacct/a", "cpu.cfs_quota_us", "150000\n");
    put("sys/fs/cgroup/cpu,cpuacct/a", "cpu.cfs_period_us", "100000\n");
    cr_assert_eq(cpus_available(root), 1);
    put("sys/fs/cgroup/cpu,cpuacct/a", "cpu.cfs_quota_us", "-1\n");
    cr_assert_eq(cpus_available(root), affinity());
}

Test(cpus, nonsense_allows_everything)
{
    put("proc/self", "cgroup", "\n0\n0:\n::\n0::\n:cpu:/x\n");
    put("sys/fs/cgroup", "cpu.max", "x y z\n");
    cr_assert_eq(cpus_available(root), affinity());
    put("sys/fs/cgroup", "cpu.max", "100000 0\n");
    cr_assert_eq(cpus_available(root), affinity());
}
