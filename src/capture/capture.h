// Capture: where events come from on this machine. Opening chooses one backend: BPF, else
// perf_event_open; a resident collector, where there is one, comes first. A backend offers open, follow,
// start, drain, stop and close, and has one output: it appends to the spool.
#pragma once

#include "base/array.h"
#include "capture/delivery.h"
#include "capture/spool.h"

#include <stdbool.h>
#include <sys/types.h>

struct counting_options {
	const char *events; // a list as for `stat -e`; NULL if none
	uint64_t interval;  // nanoseconds between ticks
	bool per_slice;     // record the counts of each slice of a thread
};

struct capture_options {
	enum capture_scope scope;
	size_t buffer_size; // size of the ring; 0 to choose it for this machine
	bool sparing;       // save memory: a flight recorder runs for long
	bool sources[RECORD_SOURCE_COUNT];
	unsigned sample_frequency; // samples per second on each CPU; 0 for no samples by time
	const char *sample_event;  // EVENT@PERIOD to sample on instead, if this machine has it; or NULL
	enum call_graph call_graph;
	struct counting_options counting;
	bool off_cpu;           // take a sample whenever a thread leaves its CPU to wait
	uint64_t long_waits;    // take one of each wait of at least so many nanoseconds; 0 for none
	bool waits_by_default;  // the user did not ask for those: a backend may do without
	uint32_t owner;         // if root records: the user who gets the recording, without others' memory
	uint32_t owner_group;   // that user's
	bool keeps_members;     // processes that get other rights than the owner's stay, without their memory
	bool hide_kernel;       // hide the kernel's location in memory (capture/bpf/hidden.h)
	bool hard_faults;       // record only major page faults
	const char *stacks;     // events at which to take stacks (capture/bpf/event_stacks.h), or NULL
	const char *collector;  // the socket of the collector (capture/collector.c)
	bool collector_or_less; // what the collector cannot record, nothing else can: it may leave it out
};

// Whether stacks are taken so often that tables with which the kernel walks them are worth their time.
static inline bool capture_stacks_are_many(const struct capture_options *options) {
	return options->sample_frequency || options->off_cpu || options->stacks;
}

// What the capture cost and missed, known after stop.
struct capture_totals {
	uint64_t lost[RECORD_SOURCE_COUNT];
	uint64_t unfollowed;
	uint64_t program_ns, program_runs; // from the kernel's statistics of our programs
	const char *sample_event;          // what samples by time count; NULL if there are none
	struct sample_delivery delivery;   // of samples at an event's overflow
	bool program_stats;                // statistics were available
	bool program_estimated;            // they were on only part of the time, so program_ns is scaled up
	uint64_t program_measured;         // nanoseconds for which they were on
};

// The processes that crashed, as far as the backend can see them: the first ones and the latest.
struct capture_crash {
	uint64_t time;
	struct buffer record; // struct record_crash and what follows it
};

struct capture_crashes {
	ARRAY(struct capture_crash) list;
	uint64_t more; // crashes left out before the last one in the list
};

struct capture;

struct capture_backend {
	const char *name;
	// On failure `why` (256 bytes) explains it to the user.
	int (*open)(const struct capture_options *options, struct capture **capture, char *why);
	int (*follow)(struct capture *capture, pid_t pid, int pidfd); // this process and all its descendants
	int (*start)(struct capture *capture, char *why);
	int (*wait_fd)(const struct capture *capture); // readable when there is much to drain
	void (*drain)(struct capture *capture, struct spool *spool);
	// Like drain, but afterwards everything up to now is in the spool.
	void (*sync)(struct capture *capture, struct spool *spool);
	void (*stop)(struct capture *capture, struct spool *spool, struct capture_totals *totals);
	const struct capture_crashes *(*crashes)(const struct capture *capture); // NULL if it sees none
	void (*close)(struct capture *capture);
	// Why it records no more, although it should; NULL if it does. May be missing.
	const char *(*broken)(const struct capture *capture);
	bool pushes;         // it sends by itself what it has: sync only if everything is needed
	const bool *sources; // those it supports; NULL for all
	const char *missing; // what this backend cannot see, for the summary; NULL if nothing
	const char *(*lacks)(const struct capture *capture); // instead, if it is known only now
};

extern const struct capture_backend capture_bpf, capture_perf, capture_collector;
extern const struct capture_backend capture_marks; // last resort: only the test's own marks
