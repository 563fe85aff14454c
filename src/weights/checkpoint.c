/* A model directory: see checkpoint.h. */
#include "config.h"
#include "src/weights/checkpoint.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/base/arena.h"
#include "src/weights/safetensors.h"

#define SINGLE_FILE "model.safetensors"
#define INDEX_FILE "model.safetensors.index.json"

enum {
    MAX_SHARD = 1000,            /* the largest models of today have fewer than 200 */
    MAX_CONFIG_BYTES = 64 << 20, /* tokenizer_config.json may list each added token */
    MAX_INDEX_BYTES = 100000000, /* as a header */
    SLICE_BYTES = 32 << 20,      /* between two calls of progress: about 10 ms from a fast disk */
};

/* One line of the weight_map. */
struct entry {
    const char *name, *file_name; /* in the arena */
};

/* A tensor and the index of its file. */
struct place {
    const struct tensor *tensor;
    size_t i_file;
    bool is_released;
};

struct checkpoint {
    char *path;
    struct json *config, *generation_config, *tokenizer_config;
    struct safetensors **files;
    const char **file_names; /* in the directory, sorted */
    size_t n_file;
    struct place *places; /* sorted by name */
    size_t n_tensor;
    uint64_t n_byte;
    struct arena arena; /* the arrays and names above */
};

static int out_of_memory(struct why *why)
{
    return why_set(why, -ENOMEM, "out of memory");
}

static int join(const struct checkpoint *cp, const char *name, char ret_path[PATH_MAX], struct why *why)
{
    if ((size_t)snprintf(ret_path, PATH_MAX, "%s/%s", cp->path, name) >= PATH_MAX)
        return why_set(why, EX_NOINPUT, "%s: the path is longer than %d bytes", cp->path, PATH_MAX - 1);
    return 0;
}

/* Whether there is an entry of this name, also one that leads nowhere: a broken link is not a missing file.
 */
static bool has_entry(const struct checkpoint *cp, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    return join(cp, name, path, NULL) == 0 && (lstat(path, &st) == 0 || errno != ENOENT);
}

static int read_config(const struct checkpoint *cp, const char *name, bool required, struct json **ret_root,
                       struct why *why)
{
    char path[PATH_MAX];
    if (!required && !has_entry(cp, name))
        return 0;
    int r = join(cp, name, path, why);
    r = r ? r : json_read_file(ret_root, path, MAX_CONFIG_BYTES, why);
    if (r == 0 && !json_is_object(*ret_root))
        r = why_set(why, EX_DATAERR, "%s: %s, must be an object", path, json_kind(*ret_root));
    return r;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->tensor->name, ((const struct place *)b)->tensor->name);
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A shard lies beside its index, nowhere else. */
static bool is_plain_name(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* The weight_map, sorted by tensor. */
static int read_entries(struct checkpoint *cp, const struct json *map, struct entry **ret_entries,
                        size_t *ret_n_entry, struct why *why)
{
    if (!json_is_object(map))
        return why_set(why, EX_DATAERR, "'weight_map' is %s, must be an object", json_kind(map));
    size_t n_entry = json_count(map), i = 0;
    struct entry *entries = arena_array(&cp->arena, n_entry, sizeof *entries);
    if (!entries)
        return out_of_memory(why);
    for (const struct json *v = json_first(map); v; v = json_next(v), i++) {
        if (!json_is_string(v))
            return why_set(why, EX_DATAERR, "'weight_map': '%s' is %s, must be the name of a file",
                           json_key(v), json_kind(v));
        if (!is_plain_name(json_string(v, "")))
            return why_set(why, EX_DATAERR, "'weight_map': '%s' is in '%s', must be a file of this directory",
                           json_key(v), json_string(v, ""));
        entries[i].name = arena_strdup(&cp->arena, json_key(v));
        entries[i].file_name = arena_strdup(&cp->arena, json_string(v, ""));
        if (!entries[i].name || !entries[i].file_name)
            return out_of_memory(why);
    }
    qsort(entries, n_entry, sizeof *entries, compare_entries);
    for (i = 1; i < n_entry; i++)
        if (strcmp(entries[i - 1].name, entries[i].name) == 0)
            return why_set(why, EX_DATAERR, "'weight_map' names tensor '%s' twice", entries[i].name);
    *ret_entries = entries;
    *ret_n_entry = n_entry;
    return 0;
}

/* The distinct file names of the entries, sorted, into file_names. */
static int collect_files(struct checkpoint *cp, const struct entry *entries, size_t n_entry, struct why *why)
{
    cp->file_names = arena_array(&cp->arena, n_entry, sizeof *cp->file_names);
    if (!cp->file_names)
        return out_of_memory(why);
    for (size_t i = 0; i < n_entry; i++)
        cp->file_names[i] = entries[i].file_name;
    qsort(cp->file_names, n_entry, sizeof *cp->file_names, compare_strings);
    for (size_t i = 0; i < n_entry; i++)
        if (i == 0 || strcmp(cp->file_names[cp->n_file - 1], cp->file_names[i]) != 0)
            cp->file_names[cp->n_file++] = cp->file_names[i];
    if (cp->n_file > MAX_SHARD)
        return why_set(why, EX_DATAERR, "'weight_map' names %zu files, at most %d are read", cp->n_file,
                       MAX_SHARD);
    return 0;
}

static int open_files(struct checkpoint *cp, struct why *why)
{
    cp->files = arena_array(&cp->arena, cp->n_file, sizeof(struct safetensors *));
    if (!cp->files)
        return out_of_memory(why);
    for (size_t i = 0; i < cp->n_file; i++) {
        char path[PATH_MAX];
        int r = join(cp, cp->file_names[i], path, why);
        r = r ? r : safetensors_open(&cp->files[i], path, why);
        if (r != 0)
            return r;
        cp->n_tensor += safetensors_count(cp->files[i]);
    }
    return 0;
}

/* Fills places; refuses a tensor that two files hold. */
static int collect_tensors(struct checkpoint *cp, struct why *why)
{
    cp->places = arena_array(&cp->arena, cp->n_tensor, sizeof *cp->places);
    if (!cp->places)
        return out_of_memory(why);
    size_t n = 0;
    for (size_t i_file = 0; i_file < cp->n_file; i_file++) {
        for (size_t i = 0; i < safetensors_count(cp->files[i_file]); i++) {
            const struct tensor *t = safetensors_at(cp->files[i_file], i);
            cp->places[n++] = (struct place){.tensor = t, .i_file = i_file};
            cp->n_byte += t->n_byte;
        }
    }
    qsort(cp->places, n, sizeof *cp->places, compare_places);
    for (size_t i = 1; i < n; i++)
        if (compare_places(&cp->places[i - 1], &cp->places[i]) == 0)
            return why_set(why, EX_DATAERR, "tensor '%s' is in '%s' and in '%s'", cp->places[i].tensor->name,
                           cp->file_names[cp->places[i - 1].i_file], cp->file_names[cp->places[i].i_file]);
    return 0;
}

/* The index and the shards name the same tensors in the same files. Both lists are sorted by name. */
static int compare_with_index(const struct checkpoint *cp, const struct entry *entries, size_t n_entry,
                              struct why *why)
{
    for (size_t i = 0, k = 0; i < n_entry || k < cp->n_tensor; i++, k++) {
        int order = i == n_entry        ? 1
                    : k == cp->n_tensor ? -1
                                        : strcmp(entries[i].name, cp->places[k].tensor->name);
        if (order < 0)
            return why_set(why, EX_DATAERR, "tensor '%s' is not in '%s', where the index says it is",
                           entries[i].name, entries[i].file_name);
        const char *file_name = cp->file_names[cp->places[k].i_file];
        if (order > 0)
            return why_set(why, EX_DATAERR, "tensor '%s' of '%s' is not in the index",
                           cp->places[k].tensor->name, file_name);
        if (strcmp(entries[i].file_name, file_name) != 0)
            return why_set(why, EX_DATAERR, "tensor '%s' is in '%s', the index says in '%s'", entries[i].name,
                           file_name, entries[i].file_name);
    }
    return 0;
}

static int open_single(struct checkpoint *cp, struct why *why)
{
    static const char *name = SINGLE_FILE;
    cp->file_names = &name;
    cp->n_file = 1;
    int r = open_files(cp, why);
    return r ? r : collect_tensors(cp, why);
}

static int open_shards(struct checkpoint *cp, const struct json *index, struct why *why)
{
    struct entry *entries = NULL;
    size_t n_entry = 0;
    int r = read_entries(cp, json_get(index, "weight_map"), &entries, &n_entry, why);
    r = r ? r : collect_files(cp, entries, n_entry, why);
    r = r ? r : open_files(cp, why);
    r = r ? r : collect_tensors(cp, why);
    return r ? r : compare_with_index(cp, entries, n_entry, why);
}

static int open_weights(struct checkpoint *cp, struct why *why)
{
    char path[PATH_MAX];
    if (has_entry(cp, SINGLE_FILE))
        return open_single(cp, why);
    if (!has_entry(cp, INDEX_FILE))
        return why_set(why, EX_NOINPUT, "%s: neither " SINGLE_FILE " nor " INDEX_FILE " is there", cp->path);
    struct json *index = NULL;
    int r = join(cp, INDEX_FILE, path, why);
    r = r ? r : json_read_file(&index, path, MAX_INDEX_BYTES, why);
    if (r != 0)
        return r;
    r = open_shards(cp, index, why);
    json_free(index);
    return r ? why_prefix(why, r, "%s", path) : 0;
}

static int check_directory(const char *path, struct why *why)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return why_errno(why, errno, path);
    if (!S_ISDIR(st.st_mode))
        return why_set(
            why, EX_DATAERR,
            "%s: a file; a model is a directory with config.json and " SINGLE_FILE " or " INDEX_FILE, path);
    return 0;
}

int checkpoint_open(struct checkpoint **ret_checkpoint, const char *path, struct why *why)
{
    int r = check_directory(path, why);
    if (r != 0)
        return r;
    struct checkpoint *cp = calloc(1, sizeof *cp);
    if (!cp || !(cp->path = strdup(path))) {
        checkpoint_free(cp);
        return out_of_memory(why);
    }
    r = read_config(cp, "config.json", true, &cp->config, why);
    r = r ? r : read_config(cp, "generation_config.json", false, &cp->generation_config, why);
    r = r ? r : read_config(cp, "tokenizer_config.json", false, &cp->tokenizer_config, why);
    r = r ? r : open_weights(cp, why);
    if (r != 0) {
        checkpoint_free(cp);
        return r;
    }
    *ret_checkpoint = cp;
    return 0;
}

struct checkpoint *checkpoint_free(struct checkpoint *cp)
{
    if (!cp)
        return NULL;
    for (size_t i = 0; cp->files && i < cp->n_file; i++)
        safetensors_free(cp->files[i]);
    arena_deinit(&cp->arena);
    json_free(cp->config);
    json_free(cp->generation_config);
    json_free(cp->tokenizer_config);
    free(cp->path);
    free(cp);
    return NULL;
}

const char *checkpoint_path(const struct checkpoint *cp)
{
    return cp->path;
}

const struct json *checkpoint_config(const struct checkpoint *cp)
{
    return cp->config;
}

const struct json *checkpoint_generation_config(const struct checkpoint *cp)
{
    return cp->generation_config;
}

const struct json *checkpoint_tokenizer_config(const struct checkpoint *cp)
{
    return cp->tokenizer_config;
}

size_t checkpoint_n_tensor(const struct checkpoint *cp)
{
    return cp->n_tensor;
}

const struct tensor *checkpoint_tensor_at(const struct checkpoint *cp, size_t i)
{
    return cp->places[i].tensor;
}

static struct place *find(const struct checkpoint *cp, const char *name)
{
    struct tensor wanted = {.name = name};
    struct place key = {.tensor = &wanted};
    return bsearch(&key, cp->places, cp->n_tensor, sizeof key, compare_places);
}

const struct tensor *checkpoint_find(const struct checkpoint *cp, const char *name)
{
    const struct place *found = find(cp, name);
    return found ? found->tensor : NULL;
}

uint64_t checkpoint_bytes(const struct checkpoint *cp)
{
    return cp->n_byte;
}

/* Reads each page of the range, which begins at a page's border, into memory. 0, or an errno. */
static int populate(const uint8_t *data, size_t n)
{
#ifdef MADV_POPULATE_READ
    int r;
    do
        r = madvise((void *)data, n, MADV_POPULATE_READ);
    while (r != 0 && errno == EINTR);
    if (r == 0 || errno != EINVAL) /* EINVAL: a kernel before 5.14 */
        return r == 0 ? 0 : errno;
#endif
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < n; i += page_bytes)
        (void)*(const volatile uint8_t *)(data + i);
    return 0;
}

static int populate_part(const struct mapfile *map, size_t at, size_t n, struct why *why)
{
    int error = populate(map->data + at, n);
    /* EFAULT: what would be a SIGBUS, a file that has become shorter. */
    if (error == EFAULT)
        return why_set(why, EX_IOERR, "%s: cannot be read at byte %zu of %zu", map->path, at, map->n);
    return error ? why_errno(why, error, map->path) : 0;
}

/* Bytes [begin, end) of a map. */
struct range {
    size_t begin, end;
};

/* The whole pages within a tensor, or those that it touches; none if it was copied out of its map. */
static struct range pages_of(const struct mapfile *map, const struct tensor *t, bool is_within)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), more = is_within ? page - 1 : 0;
    uintptr_t first = (uintptr_t)map->data, data = (uintptr_t)t->data;
    if (data < first || data - first >= map->n)
        return (struct range){0, 0};
    size_t begin = (data - first + more) / page * page, end = data - first + t->n_byte;
    end = is_within ? end / page * page : end;
    return begin < end ? (struct range){begin, end} : (struct range){0, 0};
}

int checkpoint_hold(const struct checkpoint *cp, const struct tensor *t, struct why *why)
{
    const struct mapfile *map = safetensors_map(cp->files[find(cp, t->name)->i_file]);
    struct range r = pages_of(map, t, false);
    return r.end ? populate_part(map, r.begin, r.end - r.begin, why) : 0;
}

void checkpoint_release(struct checkpoint *cp, const struct tensor *t)
{
    struct place *place = find(cp, t->name);
    const struct mapfile *map = safetensors_map(cp->files[place->i_file]);
    struct range r = pages_of(map, t, true);
    place->is_released = true;
    if (r.end)
        madvise((void *)(map->data + r.begin), r.end - r.begin, MADV_DONTNEED);
}

/* The released range at or behind a byte that is in none; none: the end of the map. */
static struct range next_released(const struct checkpoint *cp, size_t i_file, size_t at)
{
    const struct mapfile *map = safetensors_map(cp->files[i_file]);
    struct range next = {map->n, map->n};
    for (const struct place *p = cp->places; p < cp->places + cp->n_tensor; p++) {
        if (p->i_file != i_file || !p->is_released)
            continue;
        struct range r = pages_of(map, p->tensor, true);
        if (r.end > at && r.begin < next.begin)
            next = r;
    }
    return next;
}

int checkpoint_populate(struct checkpoint *cp, checkpoint_progress_fn progress, void *ctx, struct why *why)
{
    uint64_t n_all = 0, n_done = 0;
    for (size_t i = 0; i < cp->n_file; i++)
        n_all += safetensors_map(cp->files[i])->n;
    for (size_t i = 0; i < cp->n_file; i++) {
        const struct mapfile *map = safetensors_map(cp->files[i]);
        for (size_t at = 0, n; at < map->n; at += n) {
            struct range gap = next_released(cp, i, at);
            n = gap.begin - at < SLICE_BYTES ? gap.begin - at : SLICE_BYTES;
            int r = n ? populate_part(map, at, n, why) : 0;
            if (r)
                return r;
            n = n ? n : gap.end - at;
            n_done += n;
            if (!progress(ctx, (double)n_done / (double)n_all))
                return 0;
        }
    }
    return 0;
}
