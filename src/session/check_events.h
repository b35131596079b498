// The events that settings name, looked at before anything begins.
#pragma once

#include "session/settings.h"

// False: there is no such event, as was said. One that only this machine lacks is no mistake.
bool check_events(const struct settings *settings);
