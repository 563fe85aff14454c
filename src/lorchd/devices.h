/* What there is to compute with. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum { DEVICES_FORMAT = 1 }; /* version of the JSON object, its member "format" */

/* Prints this machine's devices, a line each, as a table for people or one object of JSON: the CPU, and the
 * GPUs or why there are none. The CUDA driver is opened for that and for nothing else. */
void devices_print(FILE *file, bool json);
