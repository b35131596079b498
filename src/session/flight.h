// The flight recorder: the newest part of a recording, in a bounded piece of
// memory. What a spool would write goes here instead; the oldest is let go. Of
// what is let go stays what the rest needs to be understood: the facts about the
// whole, and the tasks that are still there, with their names.
#pragma once

#include "capture/spool.h"

struct flight;

// Keeps at most `size` bytes, and nothing older than `seconds` (0: as long as there is room).
struct flight *flight_new(size_t size, double seconds);
void flight_free(struct flight *flight);

// Makes the spool write here; its descriptor is left alone.
void flight_take(struct flight *flight, struct spool *spool);

// Writes all that is there as a spool. 0 or -errno.
int flight_save(struct flight *flight, int fd);
