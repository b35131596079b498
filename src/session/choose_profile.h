// From the name of a profile to what is recorded.
#pragma once

#include "settings/settings.h"

// Copies what the profile asks for into the settings, except where an option or a file has set them. If the
// profile is missing or invalid, warns and uses the built-in one. With --strict returns false instead, after
// reporting the reason.
bool choose_profile(struct settings *settings);
