// The crashes that a backend has seen.
#pragma once

#include "capture/capture.h"

// Keeps a copy of the batch if it is that of a crash. Its size has been checked.
void crashes_note(struct capture_crashes *crashes, const struct batch *batch);
void crashes_free(struct capture_crashes *crashes);
