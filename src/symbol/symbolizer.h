// Names for addresses from what this machine has: ELF files by path and build id,
// the running kernel, its vdso. Fills the door that event/symbolizer.h describes.
#pragma once

#include "event/tables.h"

// `inlined`: with the functions that were inlined, where files have debug information.
struct symbolizer *symbolizer_new(bool inlined);
// While a recording goes on: files that are written meanwhile, or are not found, are looked at when wait()
// has come back, which it does when the recording has ended.
void symbolizer_wait_by(struct symbolizer *symbolizer, void (*wait)(void *context), void *context);
void symbolizer_free(struct symbolizer *symbolizer);
