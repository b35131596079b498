// Has a Windows recording arrived where it should be? Like tl_trace_landed() for a Perfetto trace: the file
// exists, is large enough, begins as an .etl file does and has complete buffers up to its last byte. The same
// error codes, and the same kind of message.
#pragma once

#include "base/memory.h"

int etl_landed(const char *path, uint64_t min_size, char *message, size_t size);

// ---- shared by both ----

// Writes the line into `message`, which may be NULL, and returns `error`.
int landed_say(int error, char *message, size_t size, const char *format, ...) PRINTF_LIKE(4, 5);
int landed_unreadable(int error, const char *path, char *message, size_t size);
// The checks before its content: it exists and is a regular file of at least `min_size` bytes (0 for
// TL_LEAST_TRACE).
int landed_file(const char *path, uint64_t min_size, char *message, size_t size);
