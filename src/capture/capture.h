// Capture: where events come from on this machine. One backend is chosen when
// it opens: BPF, else perf_event_open. A backend is open, follow, start, drain,
// stop, close, and has one door: it appends to the spool.
#pragma once

#include "base/array.h"
#include "capture/bpf/counting.h"
#include "capture/bpf/delivery.h"
#include "capture/spool.h"

#include <stdbool.h>
#include <sys/types.h>

enum capture_scope { SCOPE_TREE, SCOPE_SYSTEM };

struct capture_options {
	enum capture_scope scope;
	size_t buffer_size; // bytes of ring, 0: sized to the machine
	bool sparing;       // of memory: a flight recorder is on for long
	bool sources[RECORD_SOURCE_COUNT];
	unsigned sample_frequency; // of each CPU in a second; 0: no samples in time
	const char *sample_event;  // EVENT@PERIOD in place of that, where there is such an event; or NULL
	enum call_graph call_graph;
	struct counting_options counting;
	bool off_cpu;       // a sample whenever a thread leaves its CPU to wait
	bool hard_faults;   // of page faults only the major ones
	const char *stacks; // events at which stacks are taken (capture/bpf/event_stacks.h); NULL: none
};

// What the capture cost and missed, known after stop.
struct capture_totals {
	uint64_t lost[RECORD_SOURCE_COUNT];
	uint64_t unfollowed;
	uint64_t program_ns, program_runs; // the kernel's own statistics of our programs
	const char *sample_event;          // what the samples by time count; NULL: there are none
	struct sample_delivery delivery;   // of samples by the overflow of an event
	bool program_stats;                // they could be had
	bool program_estimated;            // and were on for a part of the time: program_ns is scaled up
};

// The processes that crashed: the newest ones, as far as the backend can see them.
struct capture_crash {
	uint64_t time;
	struct buffer record; // struct record_crash and what is behind it
};

struct capture_crashes {
	ARRAY(struct capture_crash) list;
};

struct capture;

struct capture_backend {
	const char *name;
	// On failure `why` (room for 256 bytes) says why in words for a user.
	int (*open)(const struct capture_options *options, struct capture **capture, char *why);
	int (*follow)(struct capture *capture, pid_t pid, int pidfd); // this process and all it starts
	int (*start)(struct capture *capture, char *why);
	int (*wait_fd)(const struct capture *capture); // readable when there is much to drain
	void (*drain)(struct capture *capture, struct spool *spool);
	// As drain, and everything that has happened by now is in the spool afterwards.
	void (*sync)(struct capture *capture, struct spool *spool);
	void (*stop)(struct capture *capture, struct spool *spool, struct capture_totals *totals);
	const struct capture_crashes *(*crashes)(const struct capture *capture); // NULL: it sees none
	void (*close)(struct capture *capture);
	const bool *sources; // those it knows; NULL: all
	const char *missing; // what this backend cannot see, for the summary; NULL: nothing
};

extern const struct capture_backend capture_bpf, capture_perf;
extern const struct capture_backend capture_marks; // where nothing else works: the test's own marks remain
