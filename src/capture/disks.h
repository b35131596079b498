// Names of disks. Events have only their numbers, whose meaning another machine, or this one after its next
// start, does not know.
#pragma once

#include "base/buffer.h"

// Appends "254:0 vda, 7:1 loop1": all disks that are not empty, as far as /sys lists them.
void disks_list(struct buffer *out);
