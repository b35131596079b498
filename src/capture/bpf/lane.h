// Memory shared by the programs and the loader. A *slot* is one session; it has a ring, and a
// *lane* on every CPU. A lane collects its CPU's records into a batch, so that the ring (and its
// lock) is touched once per eighty events or so. The loader can see in place whether a lane holds
// anything.
#pragma once

#include "format/record.h"

enum {
	LANE_RECORDS = 2048, // bytes; about 85 switches
	NO_SLOT = 0,         // slots are numbered from 1
};

struct lane {
	uint32_t busy;                        // a program is writing here; others bypass the lane
	uint32_t counts[RECORD_SOURCE_COUNT]; // records in the batch, by source
	uint32_t lost[RECORD_SOURCE_COUNT];   // dropped records that no batch has reported yet
	uint32_t sequence;
	uint64_t late_until[2]; // the stacks of long waits so far are worth the time until then (waits.bpf.c)
	uint64_t sample_due;    // when the session wants its next sample here (stacks.bpf.c)
	struct batch batch;
	uint8_t records[LANE_RECORDS + sizeof(union any_record)]; // records are copied at full size
};

struct slot {
	uint32_t recording;    // 0 to ignore this slot's events
	uint32_t wakeup_bytes; // wake the reader once the ring holds this much
	uint64_t sources;      // a bit for each that is recorded
	uint64_t lost[RECORD_SOURCE_COUNT];
	uint64_t unfollowed; // children that could not be added to the session
};
