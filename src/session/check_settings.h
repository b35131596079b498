// What settings name (events, files), looked at before anything begins.
#pragma once

#include "session/settings.h"

// False: there is no such thing, as was said. An event that only this machine lacks is no mistake.
bool check_settings(const struct settings *settings);
