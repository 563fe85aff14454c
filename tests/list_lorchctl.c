/* Prints the commands and options of lorchctl as lorchctl(1) has to list them: see tests/check_docs.sh. */
#include "config.h"

#include <ctype.h>
#include <stdio.h>

#include "src/lorchctl/options.h"

static void print_lower(const char *s)
{
    for (; *s; s++)
        putchar(tolower((unsigned char)*s));
}

static void print_row(const char *heading, const struct options_row *row)
{
    printf("%s\t", heading);
    if (row->letter)
        printf("Fl %c , ", row->letter);
    printf("Fl -%s", row->name);
    if (row->argument) {
        printf(" Ar ");
        print_lower(row->argument);
    }
    putchar('\n');
}

int main(void)
{
    struct options_row rows[OPTIONS_MAX_ROW];
    size_t n = options_collect(CTL_ALL, rows);
    for (size_t i = 0; i < n; i++)
        print_row("Every command", &rows[i]);
    for (int command = 0; command < CTL_N_COMMAND; command++) {
        n = options_collect(command, rows);
        for (size_t i = 0; i < n; i++)
            if (rows[i].own < 0 || ctl_options[rows[i].own].command != CTL_ALL)
                print_row(ctl_commands[command].name, &rows[i]);
    }
    return 0;
}
