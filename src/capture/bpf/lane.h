// How the programs and the loader share memory. A *slot* is one session; it has
// a ring, and a *lane* on every CPU. A lane collects that CPU's records into a
// batch, so that the ring (and its lock) is touched once for some eighty
// events; the loader can see in place whether a lane holds anything.
#pragma once

#include "event/record.h"

enum {
	LANE_RECORDS = 2048, // bytes; about 85 switches
	NO_SLOT = 0,         // slots are numbered from 1
};

struct lane {
	uint32_t busy;                        // a program is writing here: others go around
	uint32_t counts[RECORD_SOURCE_COUNT]; // records in the batch, by source
	uint32_t lost[RECORD_SOURCE_COUNT];   // records dropped that no batch has told about yet
	uint32_t sequence;
	struct batch batch;
	uint8_t records[LANE_RECORDS + sizeof(union any_record)]; // records are copied in full size
};

struct slot {
	uint32_t recording;    // 0: events of this slot are left alone
	uint32_t wakeup_bytes; // wake the reader when the ring holds as much
	uint64_t lost[RECORD_SOURCE_COUNT];
	uint64_t unfollowed; // children that could not be marked as the session's
};
