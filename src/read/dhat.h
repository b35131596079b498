// Inside the reader of DHAT's files: dhat.c reads the file and its places, dhat_frame.c
// what a frame is called, dhat_info.c tells what is in it.
#pragma once

#include "base/json_read.h"
#include "event/heap_metrics.h"
#include "read/reader.h"

struct dhat_head {
	struct buffer mode, verb, command, units[HEAP_UNIT_COUNT]; // texts, each ends with a NUL
	uint64_t version, pid;
	uint64_t sample;      // bytes between samples that all is estimated from, on average; 0: all is exact
	uint64_t end, peak;   // in its unit of time
	bool lives, accesses; // they were watched
	bool has_end, has_peak;
};

struct dhat_file {
	const char *name;
	const uint8_t *bytes;
	size_t size;
	struct dhat_head head;
	size_t points_at; // where "pps" begins; 0: there are none
	size_t frames_at; // the same of "ftbl"
};

// A place that allocates.
struct dhat_place {
	uint64_t values[HEAP_METRIC_COUNT];
	ARRAY(uint32_t) frames; // indexes, innermost first
};

// What is in the file apart from places and frames. 0 or -errno, said in one line.
int dhat_open(struct dhat_file *file, struct stream *input, const char *name);
void dhat_close(struct dhat_file *file);
int dhat_damaged(const struct dhat_file *file, const char *where); // says so; returns -EINVAL

// Does the file tell this metric?
bool dhat_has(const struct dhat_head *head, enum heap_metric_id metric);

// Calls `take` for each place; it returns 0 or an error, which ends it.
int dhat_places(const struct dhat_file *file, int (*take)(void *context, const struct dhat_place *place),
		void *context);

// The frame that a line of "ftbl" names; UINT32_MAX: it is none of the program's.
uint32_t dhat_frame(struct tables *tables, const char *text);

int dhat_describe(struct stream *input, const char *name, const struct read_options *options,
		  struct buffer *out);
