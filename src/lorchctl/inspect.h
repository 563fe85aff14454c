/* What a model file or directory holds, for people and as JSON: metadata and tensors, as their headers say.
 *
 * Files are not trusted: what people see has no control characters, and what is no UTF-8 is an array of byte
 * values in JSON. */
#pragma once

#include <stdio.h>

#include "src/weights/checkpoint.h"
#include "src/weights/gguf.h"
#include "src/weights/safetensors.h"

/* Exactly one of the three is not NULL. */
struct inspect {
    const char *path;
    const struct gguf *gguf;
    const struct safetensors *safetensors;
    const struct checkpoint *checkpoint;
};

void inspect_text(FILE *file, const struct inspect *in);
void inspect_json(FILE *file, const struct inspect *in);
