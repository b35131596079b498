// The flight recorder: the newest part of a recording, in a bounded amount of
// memory. It receives what would go to the spool, and drops the oldest part. Of the
// dropped part it keeps what is needed to understand the rest: the facts about the
// recording, and the tasks that are still alive, with their names.
#pragma once

#include "capture/spool.h"

struct flight;

// Keeps at most `size` bytes, and nothing older than `seconds` (0 to limit only the size).
struct flight *flight_new(size_t size, double seconds);
void flight_free(struct flight *flight);

// Makes the spool write here; does not touch its descriptor.
void flight_take(struct flight *flight, struct spool *spool);

// Writes the whole content as a spool. 0 or -errno.
int flight_save(struct flight *flight, int fd);
