// The critical path as a profile: a sink that takes a recording and, when it is finished, pushes the pieces
// of the path as samples into the next sink. The outermost function of a sample is the reason, its weight the
// length of the piece.
#pragma once

#include "event/event.h"

// `flags` are added to each sample: SAMPLE_BASELINE or 0. Finishing and destroying it does neither to `next`.
struct sink *path_samples_new(struct tables *tables, uint32_t flags, struct sink *next);
const char *path_samples_error(const struct sink *sink); // why finish() failed; "" if a push did
