/* Mail for the engine, and the passing of time. Of the engine's thread. */
#pragma once

#include "src/engine/run.h"

/* Reads all mail that is there. 0 or -ENOMEM. */
int inbox_read(struct run *run);
/* Ends the jobs whose deadline has passed. 0 or -ENOMEM. */
int inbox_expire(struct run *run);
