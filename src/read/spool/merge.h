// Part of the spool reader: merges the records of all CPUs into time order.
//
// Most batches are runs: records of one CPU, sorted by time. They wait undecoded, which takes a
// third of the memory that events would.
#pragma once

#include "base/buffer.h"
#include "event/heads.h"
#include "event/queue.h"
#include "format/record.h"

struct spool_run {
	uint32_t cpu, size;
	const uint8_t *bytes; // valid during the call
	uint64_t base;        // base of the records' times
	uint64_t last;        // time of the last record
};

struct spool_queue;
struct spool_merge;

// Decodes a record of a run into an event whose time and CPU are already set. False: drop the
// record.
typedef bool spool_decode(struct spool_merge *merge, struct record head, const uint8_t *body,
			  struct event *event);

struct spool_merge {
	struct sink sink; // takes events and watermarks
	struct sink *next;
	spool_decode *decode;
	ARRAY(struct spool_queue) queues; // by CPU + 1; the first is for events without a CPU
	head_array heads;
	uint64_t watermark;
	uint64_t late;
};

void spool_merge_init(struct spool_merge *merge, struct sink *next, spool_decode *decode);

// False if the caller must push the run as events: it begins before a watermark, or inside other
// runs of its CPU.
bool spool_merge_take(struct spool_merge *merge, const struct spool_run *run);

int spool_merge_flush(struct spool_merge *merge); // pushes all waiting events, then EVENT_LATE
void spool_merge_free(struct spool_merge *merge);
