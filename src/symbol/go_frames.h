// Programs of Go have no .eh_frame, and those that `go test` runs no .debug_frame either. The runtime's own
// table of functions (.gopclntab) is always there, and knows how far the stack pointer has moved at each
// instruction.
#pragma once

#include "base/buffer.h"

#include <stdbool.h>

// Appends what .debug_frame would say to `out`. `text` is the address of .text, for files that do not say
// where their code begins. False if the table is none that is known (Go 1.18 and later) or is damaged.
bool go_frames(const uint8_t *table, size_t size, uint64_t text, struct buffer *out);
