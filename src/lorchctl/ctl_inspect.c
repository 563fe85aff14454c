/* lorchctl inspect: what a model file or directory holds. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "src/base/mapfile.h"
#include "src/lorchctl/ctl.h"
#include "src/lorchctl/inspect.h"
#include "src/lorchctl/options.h"

static void show(const struct options *options, const struct inspect *in)
{
    if (options_has(options, CTL_OPTION_JSON_INSPECT))
        inspect_json(stdout, in);
    else
        inspect_text(stdout, in);
}

static int inspect_directory(const struct options *options, const char *path, struct why *why)
{
    struct checkpoint *checkpoint;
    int r = checkpoint_open(&checkpoint, path, why);
    if (r)
        return r;
    show(options, &(struct inspect){.path = path, .checkpoint = checkpoint});
    checkpoint_free(checkpoint);
    return 0;
}

static int inspect_gguf(const struct options *options, const char *path, struct why *why)
{
    struct gguf *gguf;
    int r = gguf_open(&gguf, path, why);
    if (r)
        return r;
    show(options, &(struct inspect){.path = path, .gguf = gguf});
    gguf_free(gguf);
    return 0;
}

static int inspect_safetensors(const struct options *options, const char *path, struct why *why)
{
    struct safetensors *safetensors;
    int r = safetensors_open(&safetensors, path, why);
    if (r)
        return r;
    show(options, &(struct inspect){.path = path, .safetensors = safetensors});
    safetensors_free(safetensors);
    return 0;
}

static int inspect_path(const struct options *options, const char *path, struct why *why)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return why_errno(why, errno, path);
    if (S_ISDIR(st.st_mode))
        return inspect_directory(options, path, why);
    struct mapfile map;
    int r = mapfile_open(&map, path, why);
    if (r)
        return r;
    bool is_gguf = gguf_is_magic(map.data, map.n);
    mapfile_close(&map);
    return is_gguf ? inspect_gguf(options, path, why) : inspect_safetensors(options, path, why);
}

int ctl_inspect(struct options *options)
{
    struct why why = {""};
    if (options->n_argument != 1) {
        fprintf(stderr, "lorchctl: inspect takes one file or directory, not %d\n", options->n_argument);
        return EX_USAGE;
    }
    int r = inspect_path(options, options->arguments[0], &why);
    if (r)
        fprintf(stderr, "lorchctl: %s\n", r < 0 ? strerror(-r) : why.text);
    return r < 0 ? EX_OSERR : r;
}
