/* Where the lines that were entered are kept: see chat_history.h. */
#include "config.h"
#include "src/lorchctl/chat_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FOLDER_MODE = 0700 };

static const char *set(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Makes every folder of a path that is not there; the last part is a file's name. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, FOLDER_MODE); /* if it fails, so does writing the file */
        *slash = '/';
    }
}

bool chat_history_path(char ret_path[CHAT_HISTORY_PATH])
{
    const char *file = set("LORCH_HISTFILE"), *state = set("XDG_STATE_HOME"), *home = set("HOME");
    int n;
    if (file)
        n = snprintf(ret_path, CHAT_HISTORY_PATH, "%s", file);
    else if (state)
        n = snprintf(ret_path, CHAT_HISTORY_PATH, "%s/lorch/chat_history", state);
    else if (home)
        n = snprintf(ret_path, CHAT_HISTORY_PATH, "%s/.local/state/lorch/chat_history", home);
    else
        return false;
    if (n >= CHAT_HISTORY_PATH)
        return false;
    make_folders(ret_path);
    return true;
}
