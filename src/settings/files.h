// Inside settings/: the files that settings come from.
#pragma once

#include "settings/settings.h"

// tracelet.ini in this directory or one above it, up to the root of the project; and the user's.
// NULL if there is none. The caller frees it.
char *settings_project_file(void);
char *settings_user_file(void);

// False if it cannot be read or has a bad line, after an error message.
bool settings_take_file(struct settings *settings, const char *path, enum setting_origin origin);
