/* Prints the architectures as lorch-models(7) has to list them: see tests/check_docs.sh. */
#include "config.h"

#include <stdio.h>

#include "src/model/arch.h"

static const struct arch *const archs[] = {
#define ARCH(name) &arch_##name,
#include "src/model/arch_list.def"
#undef ARCH
};

static void print_names(const char *const *names, const char *before)
{
    for (; *names; names++, before = " , ")
        printf("%s%s", before, *names);
}

int main(void)
{
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        printf("ARCHITECTURES\tCm %s No ", archs[i]->name);
        print_names(archs[i]->model_types, "");
        print_names(archs[i]->classes, " , ");
        putchar('\n');
    }
    return 0;
}
