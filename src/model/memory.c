/* How much memory this process can still get: see memory.h. */
#include "config.h"

#include "src/model/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

enum { MAX_LINE = 4096 };

/* The first number after `key` at a line's start; with an empty key, the file's first number. "max" and
 * nothing at all are UINT64_MAX. */
static uint64_t read_number(const char *path, const char *key)
{
    uint64_t value = UINT64_MAX;
    size_t n = strlen(key);
    FILE *f = fopen(path, "re");
    if (!f)
        return value;
    char line[MAX_LINE];
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, key, n))
            continue;
        char *end;
        errno = 0;
        unsigned long long number = strtoull(line + n, &end, 10);
        if (end != line + n && !errno)
            value = number;
        break;
    }
    fclose(f);
    return value;
}

static uint64_t system_available(const char *root)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    uint64_t kib = read_number(path, "MemAvailable:");
    if (kib < UINT64_MAX / 1024)
        return kib * 1024;
    struct sysinfo info;
    if (sysinfo(&info))
        return UINT64_MAX;
    return ((uint64_t)info.freeram + info.bufferram) * info.mem_unit;
}

/* Names of one version's files, and of the lines of memory.stat that count file pages. */
struct cgroup_files {
    const char *mount, *limit, *usage, *cache[2];
};

static const struct cgroup_files cgroup_v2 = {
    .mount = "/sys/fs/cgroup",
    .limit = "memory.max",
    .usage = "memory.current",
    .cache = {"inactive_file ", "active_file "},
};

static const struct cgroup_files cgroup_v1 = {
    .mount = "/sys/fs/cgroup/memory",
    .limit = "memory.limit_in_bytes",
    .usage = "memory.usage_in_bytes",
    .cache = {"total_inactive_file ", "total_active_file "},
};

/* What is left in one group. */
static uint64_t group_left(const char *root, const struct cgroup_files *files, const char *group)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s%s/%s", root, files->mount, group, files->limit);
    uint64_t limit = read_number(path, "");
    if (limit == UINT64_MAX)
        return UINT64_MAX;
    snprintf(path, sizeof path, "%s%s%s/%s", root, files->mount, group, files->usage);
    uint64_t usage = read_number(path, "");
    if (usage == UINT64_MAX)
        return limit;
    snprintf(path, sizeof path, "%s%s%s/memory.stat", root, files->mount, group);
    for (size_t i = 0; i < sizeof files->cache / sizeof *files->cache; i++) {
        uint64_t cache = read_number(path, files->cache[i]);
        if (cache != UINT64_MAX)
            usage -= cache < usage ? cache : usage;
    }
    return usage < limit ? limit - usage : 0;
}

/* The least of a group and its ancestors. */
static uint64_t groups_left(const char *root, const struct cgroup_files *files, char *group)
{
    uint64_t least = UINT64_MAX;
    for (;;) {
        if (!strcmp(group, "/"))
            *group = '\0';
        uint64_t left = group_left(root, files, group);
        least = left < least ? left : least;
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* Lines are "0::/group" in version 2 and "4:memory:/group" in version 1. A group that is not below the mount
 * (a container's own view) leaves the mount itself, where the container's limit is. */
static uint64_t cgroup_available(const char *root)
{
    char path[PATH_MAX], line[MAX_LINE], v2[MAX_LINE] = "", v1[MAX_LINE] = "";
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        const char *controllers = strchr(line, ':'),
                   *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group || strstr(group, "/.."))
            continue;
        if (!strncmp(controllers, "::", 2))
            snprintf(v2, sizeof v2, "%s", group + 1);
        else if (!strncmp(controllers, ":memory:", 8))
            snprintf(v1, sizeof v1, "%s", group + 1);
    }
    if (f)
        fclose(f);
    uint64_t left = groups_left(root, &cgroup_v2, v2), left_v1 = groups_left(root, &cgroup_v1, v1);
    return left < left_v1 ? left : left_v1;
}

uint64_t memory_available(const char *root)
{
    uint64_t machine = system_available(root), groups = cgroup_available(root);
    return machine < groups ? machine : groups;
}
