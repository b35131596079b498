// Internal to the DHAT reader: dhat.c reads the file and its allocation sites, dhat_frame.c parses
// frames, dhat_info.c implements `tracelet info`.
#pragma once

#include "base/json_read.h"
#include "event/heap_metrics.h"
#include "read/reader.h"

struct dhat_head {
	struct buffer mode, verb, command, units[HEAP_UNIT_COUNT]; // NUL-terminated
	uint64_t version, pid;
	uint64_t sample; // average number of bytes between samples if the values are estimates; 0 if they are
			 // exact
	uint64_t end, peak;   // in the file's unit of time
	bool lives, accesses; // whether lifetimes and accesses were recorded
	bool has_end, has_peak;
};

struct dhat_file {
	const char *name;
	const uint8_t *bytes;
	size_t size;
	struct dhat_head head;
	size_t points_at; // where "pps" begins; 0 if missing
	size_t frames_at; // where "ftbl" begins; 0 if missing
};

// An allocation site.
struct dhat_place {
	uint64_t values[HEAP_METRIC_COUNT];
	ARRAY(uint32_t) frames; // indexes, innermost first
};

// Reads everything except sites and frames. Returns 0 or -errno, with the error logged.
int dhat_open(struct dhat_file *file, struct stream *input, const char *name);
void dhat_close(struct dhat_file *file);
int dhat_damaged(const struct dhat_file *file, const char *where); // logs the error; returns -EINVAL

// Does the file contain this metric?
bool dhat_has(const struct dhat_head *head, enum heap_metric_id metric);

// Calls `take` for each site; stops at the first error that it returns.
int dhat_places(const struct dhat_file *file, int (*take)(void *context, const struct dhat_place *place),
		void *context);

// The frame that a line of "ftbl" describes; UINT32_MAX if it is not part of the program.
uint32_t dhat_frame(struct tables *tables, const char *text);

int dhat_describe(struct stream *input, const char *name, const struct read_options *options,
		  struct buffer *out);
