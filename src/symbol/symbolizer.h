// Names for addresses from what this machine has: ELF files by path and build id,
// the running kernel, its vdso. Fills the door that event/symbolizer.h describes.
#pragma once

#include "event/tables.h"

struct symbolizer *symbolizer_new(void);
void symbolizer_free(struct symbolizer *symbolizer);
