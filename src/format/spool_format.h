// The spool: the raw capture file. A header, then blocks, appended as they come. What
// was written can be read: a truncated block ends the spool, and everything before it
// counts.
#pragma once

#include "format/record.h"

#define SPOOL_MAGIC "tracelet spool\n" // and its NUL: 16 bytes
enum { SPOOL_VERSION = 5, SPOOL_LARGEST_BLOCK = 1 << 20 };

// The address of _text where the location of the kernel is hidden: in recordings for other users than root.
#define HIDDEN_TEXT 0xffffffff81000000ull

struct spool_header {
	char magic[16];
	uint32_t version;
	uint32_t header_size;
	uint64_t start; // start of recording, CLOCK_BOOTTIME; earlier events are left out
};

enum spool_block_type {
	SPOOL_BATCH = 1, // struct batch and its records
	SPOOL_WATERMARK, // uint64_t: everything before this time has been written
	SPOOL_CLOCK,     // struct spool_clock
	SPOOL_META,      // key, NUL, value, NUL
	SPOOL_TASK,      // struct spool_task, name, NUL, command line (arguments with NULs)
	SPOOL_LOST,      // struct spool_lost: the totals, at the end
	SPOOL_MAPPING,   // struct spool_mapping, path, NUL
	SPOOL_FORGOTTEN, // struct spool_lost: the part of the totals from before this spool begins
	SPOOL_CRASH,     // struct spool_crash, the stack as text, NUL
	SPOOL_COUNTERS,  // struct spool_counters; for each event: name, NUL, unit, NUL, scale, NUL
	SPOOL_READING,   // struct spool_reading, its name, NUL
};

// A fact: the event whose overflows are sampled. Without it, sampling uses the clock.
#define SPOOL_SAMPLE_EVENT "sample-event"

struct spool_crash {
	uint64_t time; // of the RECORD_CRASH
	uint32_t tid, unused;
};

// Describes the values of RECORD_COUNTS, except the first.
struct spool_counters {
	uint32_t count;
	uint32_t per_slice; // counts are wanted for each slice of a thread
};

// A number that the tracer read about a process.
struct spool_reading {
	uint64_t time;
	double value;
	uint32_t pid, unused;
};

struct spool_block {
	uint32_t type;
	uint32_t size; // of the content that follows, without padding; the next block is 8-aligned
};

struct spool_clock {
	uint64_t boot, wall, monotonic;
};

struct spool_task {
	uint32_t tid, pid, parent_pid, unused;
};

enum { SPOOL_BUILD_ID_LOST = 255 }; // for BUILD_ID_LOST

// Code mapped into a process. size 0 if the address space is new and empty.
struct spool_mapping {
	uint64_t time, start, size, offset;
	uint32_t pid;
	uint8_t build_id_size, build_id[20]; // the size may be SPOOL_BUILD_ID_LOST
	uint8_t unused[7];
};

struct spool_lost {
	uint64_t time;
	uint64_t count[RECORD_SOURCE_COUNT]; // as many as the block's size says
	uint64_t unfollowed;                 // tasks of the test that could not be followed
};
