/* lorchd --check: examines a model and prints what it found. */
#pragma once

#include "src/base/err.h"
#include "src/model/model.h"

/* 0, or a <sysexits.h> code with the sentence; -errno. Prints to standard output. */
int check_model(const struct model_options *options, const char *model_id, struct why *why);
