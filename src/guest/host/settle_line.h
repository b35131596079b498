// Adds the lines of a guest's manifest to the host's.
#pragma once

#include "guest/host/settle.h"

// Call it when the files have their final sizes.
void settle_lines(const struct settlement *settlement);
