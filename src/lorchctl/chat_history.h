/* Where the lines that were entered are kept. */
#pragma once

#include <stdbool.h>

enum { CHAT_HISTORY_PATH = 4096 };

/* The path of the file, whose folder is made if it is not there: $LORCH_HISTFILE, else lorch/chat_history in
 * $XDG_STATE_HOME or ~/.local/state. False: there is no such place. */
bool chat_history_path(char ret_path[CHAT_HISTORY_PATH]);
