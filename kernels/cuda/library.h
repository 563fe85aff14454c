/* Functions of a library that was opened at run time. */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* Stores the address of a function in the pointer at ret_function; false, and NULL there, if there is none.
 * ISO C has no cast from an object's address to a function's, so the pointer's bytes are copied. */
static inline bool library_find(void *library, const char *name, void *ret_function)
{
    void *symbol = dlsym(library, name);
    memcpy(ret_function, &symbol, sizeof symbol);
    return symbol != NULL;
}
