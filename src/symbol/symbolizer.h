// Names for addresses from what this machine has: ELF files by path and build id,
// the running kernel, its vdso. Fills the door that event/symbolizer.h describes.
#pragma once

#include "event/tables.h"

// `inlined`: with the functions that were inlined, where files have debug information.
struct symbolizer *symbolizer_new(bool inlined);
void symbolizer_free(struct symbolizer *symbolizer);
