/* Prints the options of lorchd as lorchd(8) has to list them: see tests/check_docs.sh. */
#include "config.h"

#include <ctype.h>
#include <stdio.h>

#include "src/lorchd/options.h"

int main(void)
{
    for (int i = 0; i < N_OPTION; i++) {
        const struct options_row *row = &options_rows[i];
        printf("OPTIONS\t");
        if (row->letter)
            printf("Fl %c , ", row->letter);
        printf("Fl -%s", row->name);
        if (row->argument) {
            printf(" Ar ");
            for (const char *c = row->argument; *c; c++)
                putchar(tolower((unsigned char)*c));
        }
        putchar('\n');
    }
    return 0;
}
