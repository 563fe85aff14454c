/* Writing JSON. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* A JSON string of n bytes of UTF-8, quotes included. */
void jsonwrite_string(FILE *file, const char *s, size_t n);
