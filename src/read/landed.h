// Has a recording of Windows arrived where it should be? As tl_trace_landed() has it for a
// Perfetto trace: the file is there, it is large enough, it begins as an .etl file does and has
// whole buffers up to its last byte. The same codes, and the same kind of line.
#pragma once

#include <stddef.h>
#include <stdint.h>

int etl_landed(const char *path, uint64_t min_size, char *message, size_t size);
