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

/* What is said to `lorchctl chat` itself. */
static void print_chat_commands(void)
{
    static const char *const commands[][2] = {
#define COMMAND(name, arguments, help) {#name, arguments},
#include "src/lorchctl/chat_commands.def"
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        printf("chat\tCm /%s%s%s\n", commands[i][0], *commands[i][1] ? " No " : "", commands[i][1]);
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
    print_chat_commands();
    return 0;
}
