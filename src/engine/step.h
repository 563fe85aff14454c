/* One step: who may begin, what is computed, and what comes of it. Of the engine's thread. */
#pragma once

#include "src/engine/run.h"

/* Admits the jobs for which there is room. 0 or -ENOMEM. */
int step_admit(struct run *run);
/* Computes the batch that was chosen and hands out what comes of it. 0 or -errno. */
int step_run(struct run *run);
