// Inside settings/: every value is parsed here, wherever it comes from.
#pragma once

#include "settings/table.h"

// Parses `text`, which must live as long as the settings, and records where it came from. False if
// the value is invalid; the caller reports it.
bool setting_take(struct settings *settings, enum setting_id id, enum setting_origin origin,
		  const char *text);

// Frees a text when the settings are freed.
const char *setting_keep(struct settings *settings, char *text);

// Parses yes and no in the usual spellings: 1, 0, or -1 if it is neither.
int setting_yes_no(const char *text);
