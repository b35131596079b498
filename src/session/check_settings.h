// Checks what settings name (events, files) before anything starts.
#pragma once

#include "settings/settings.h"

// False if something does not exist; the error has been reported. An event that only this machine lacks is
// not an error.
bool check_settings(const struct settings *settings);

// Checks that the user for the test exists and that we may become it. If not, reports one line and
// returns false.
bool check_user(const struct settings *settings);
