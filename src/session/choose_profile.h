// From the name of a profile to what is recorded.
#pragma once

#include "session/settings.h"

// Set in the environment of one whose caller has already said what is not recorded.
#define CHOICE_TOLD "TRACELET_TOLD"

// Takes what the profile wants into the settings, where no flag or file has said otherwise. One
// that is missing or broken gives a warning and the built-in one. False: that, with --strict; one
// line has said why.
bool choose_profile(struct settings *settings);
