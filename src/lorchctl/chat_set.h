/* Settings of a conversation: fields of the chat request, given as options and changed by /set. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "src/lorchctl/options.h"

/* Gives a field a value (NULL: that of the server again). The name may be written with '-' or '_'. False,
 * printed: there is no such field, or it takes no such value; all is then as it was. */
bool chat_set(struct options *options, const char *name, const char *value);
/* Prints what is set, one a line. */
void chat_set_show(const struct options *options);
/* The i-th field that may be set, or NULL. */
const char *chat_set_name(size_t i);
/* Values that chat_set has made. */
void chat_set_free(struct options *options);
