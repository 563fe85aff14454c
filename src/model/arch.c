/* Which architecture a config.json asks for. */
#include "config.h"

#include "src/model/arch.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sysexits.h>

static const struct arch *const archs[] = {
#define ARCH(name) &arch_##name,
#include "src/model/arch_list.def"
#undef ARCH
};

enum { N_ARCH = sizeof archs / sizeof *archs };

static bool is_listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (!strcasecmp(*names, name))
            return true;
    return false;
}

int arch_find(const struct json *config, const struct arch **ret_arch, struct why *why)
{
    const char *type = json_string(json_get(config, "model_type"), "");
    const char *class = json_string(json_first(json_get(config, "architectures")), "");
    for (size_t i = 0; i < N_ARCH; i++)
        if (is_listed(archs[i]->model_types, type)) {
            *ret_arch = archs[i];
            return 0;
        }
    for (size_t i = 0; i < N_ARCH; i++)
        if (is_listed(archs[i]->classes, class)) {
            *ret_arch = archs[i];
            return 0;
        }
    char known[512] = "";
    for (size_t i = 0, n = 0; i < N_ARCH && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", archs[i]->model_types[0]);
    return why_set(why, EX_DATAERR,
                   "model_type '%.64s', architectures '%.64s': not known here%s; known are: %s", type, class,
                   json_get(config, "vision_config") ? " (images are not implemented)" : "", known);
}
