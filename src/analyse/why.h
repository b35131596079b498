// Where the time of a test went: the critical path as segments, one for each thread, state, reason and
// function of the program, and as their order in time. Sentences and JSON are made from it.
#pragma once

#include "analyse/critical_path.h"
#include "base/buffer.h"
#include "base/json.h"

enum { WHY_CHAIN = 8 };

struct why_waiter {
	uint32_t thread;
	enum reason reason;
	uint32_t own;      // as in struct place
	const char *words; // the same
};

struct why_segment {
	uint32_t thread;
	enum path_state state;
	enum reason reason;
	enum reason limited; // for a time limit: what was waited for
	uint32_t own;        // as in struct place
	uint32_t caller;     // the same, for at least half of the time; 0 if none
	uint32_t inner;      // symbol of the kernel function; 0 if unknown
	const char *words;   // as in struct place
	uint64_t ns, longest;
	uint32_t pieces;
	uint32_t number; // before it was sorted
	uint32_t
		waker; // thread that ended the longest piece, or had the CPU meanwhile if ready; 0 if unknown
	uint8_t woken; // WOKEN_ bits of the longest piece
	bool has_wakeup;
	bool in_beat;                       // throttled: it got the CPU whenever a period began
	uint64_t waker_ns;                  // of a ready segment: how long that one had the CPU
	struct why_waiter chain[WHY_CHAIN]; // that waited for it, the nearest first
	uint32_t chain_count;
	uint64_t chain_weight; // by how much time more it has waited than others
};

// The part of a segment in which its function was called by another function of the program.
struct why_called {
	uint32_t segment;
	uint32_t caller; // as in struct place
	uint64_t ns;
};

// The end of a long time without a CPU.
struct why_beat {
	uint32_t segment;
	uint64_t end;
};

struct why_step {
	uint64_t to; // begins at the end of the previous one
	uint32_t segment;
};

struct why;

struct why_question {
	const char *thread; // name or id; NULL for the first thread of the test
	const char *test_case;
	bool has_from, has_to;
	uint64_t from, to; // since the recording began
	// Called with each piece of the path, the last one first, and the segment that it becomes part of; or
	// NULL.
	void (*watch)(void *context, struct why *why, const struct path_piece *piece,
		      const struct why_segment *segment);
	void *context;
};

struct why {
	struct timeline *timeline;
	struct places places;
	uint64_t from, to;
	uint32_t thread; // the path ends in it
	uint32_t last;   // another thread of its process, if that one ends later
	bool cut;        // the recording does not have the beginning of the test
	const char *result;
	ARRAY(struct why_segment) segments; // the largest first
	ARRAY(struct why_step) path;        // in order of time
	ARRAY(struct why_called) called;    // all of the time
	uint64_t unknown_ns, tracer_ns;
	ARRAY(struct why_beat) beats;
	struct map by_key, by_caller, holders;
	const struct why_question *question; // while it is answered
	char error[160];                     // why there is no answer
};

// 0, or -errno with a sentence in `error`. The timeline must stay.
int why_find(struct why *why, struct timeline *timeline, const struct why_question *question);
void why_free(struct why *why);

// Internal: finds threads that wait for a CPU limit rather than for other tasks.
void why_note_beat(struct why *why, const struct path_piece *piece, uint32_t segment);
void why_find_throttled(struct why *why);

// The program's own function: its name without arguments, source file and line; NULL and 0 if unknown.
struct why_place {
	const char *function, *file;
	uint32_t line;
};
struct why_place why_place(const struct why *why, uint32_t own);

bool why_is_tracer(const struct why *why, uint32_t thread); // a task of tracelet

// Threads that do the same have the same role: their name without numbers. To be freed.
char *why_role(const struct why *why, uint32_t thread);

// Pushes the path as EVENT_PATH, in order of time. At most a few thousand: short pieces that follow each
// other become one, which has the name of the largest of them. 0 or -errno.
int why_push_path(const struct why *why, struct sink *sink);

// ---- the end of a test that was killed ----

// The signal that ended the test, if its sender is known and not the test itself or the tracer; or NULL.
const struct timeline_signal *why_killer(const struct why *why);

// The crash that ended the test, or the newest of a process that it started; NULL if none.
const struct timeline_crash *why_crash(const struct why *why);

// The process that the kernel ended for lack of memory: the test's, or the newest; NULL if none.
const struct timeline_victim *why_victim(const struct why *why);

// Processes of the test that were still there when it ended. Free the list.
struct why_left {
	ARRAY(uint32_t) threads;
};
void why_left(const struct why *why, struct why_left *left);

// What a thread waited for when it was killed.
struct why_ending {
	uint32_t thread;
	enum reason reason;
	uint32_t own;
	const char *words; // as in struct place
	uint64_t ns;
};

struct why_endings {
	ARRAY(struct why_ending) list; // the longest wait first
	bool killed;                   // by a signal, as at a time limit
	bool stuck; // nothing could run at the end, and at least two threads wait for locks
};

void why_endings(struct why *why, struct why_endings *endings); // free the list

// Whether the thread of this segment, which sleeps again and again or runs, may have looked for the end of
// what another thread of the test did. Then `other` explains the end of that, and is to be freed.
bool why_meanwhile(struct why *why, const struct why_segment *segment, struct why *other);

// ---- difference ----

// The time of a run by role, reason, function and caller, the largest first.
struct why_part {
	char *role, *reason, *function, *caller; // function and caller are NULL if unknown
	uint64_t ns;
};

struct why_parts {
	uint64_t wall;
	uint64_t missing; // what is not in the list of a digest took at most this long
	ARRAY(struct why_part) list;
};

void why_parts_of(struct why_parts *parts, const struct why *why);
void why_digest(const struct why_parts *parts, struct buffer *out); // JSON, at most 4 kB
bool why_parts_read(struct why_parts *parts,
		    const char *digest); // false if it is not one. Free it in any case
void why_parts_free(struct why_parts *parts);

struct why_change {
	const char *role, *reason, *function;
	const char *caller; // NULL if the function has only one
	uint64_t ns, baseline_ns;
	bool grew; // by more than chance
};

struct why_difference {
	const char *baseline; // its path
	bool chosen;          // by the user; otherwise it is the last passing run
	bool few;             // too few passing runs are known to tell a small growth from chance
	uint64_t baseline_wall;
	ARRAY(struct why_change) changes; // the largest growth first
	// A thread that was still there when the test failed; in the baseline it ended this long before the
	// test did. NULL if none. Belongs to the timeline of the test.
	const char *unfinished;
	uint64_t unfinished_ns;
};

// Other passing runs of the test: what differs among them differs by chance.
enum {
	WHY_PASSES = 8, // as many are enough
	WHY_FEW = 3,    // with fewer runs to compare with, less is said
};
struct why_passes {
	ARRAY(struct why_parts) list;
};
void why_passes_add(struct why_passes *passes, const char *digest); // not if it is NULL or none
void why_passes_free(struct why_passes *passes);

// What grew. The texts of the changes are those of `parts` and `baseline`. `others` may be NULL.
void why_compare(struct why_difference *difference, const struct why_parts *parts,
		 const struct why_parts *baseline, const struct why_passes *others);
// What ended in another order.
void why_compare_order(struct why_difference *difference, const struct why *why, const struct why *baseline);
// All parts of both, what changed most comes first.
void why_changes(struct why_difference *difference, const struct why_parts *parts,
		 const struct why_parts *baseline);
void why_difference_free(struct why_difference *difference);

// ---- output ----

// At most five sentences, as plain text (base/text.h), whatever the names in them. `difference` may be NULL.
void why_sentences(struct why *why, const struct why_difference *difference, struct buffer *out);
void why_cause(struct why *why, struct buffer *out); // of these, what took longest and what waited for it
void why_say_difference(const struct why_difference *difference, struct buffer *out); // after a blank
void why_table(const struct why *why, size_t limit, struct buffer *out);
void why_json(struct why *why, const struct why_difference *difference, struct buffer *out);
void why_json_part(struct json *json, const struct why_change *change); // what changed, without its times
void why_duration(struct buffer *out, uint64_t nanoseconds);            // "117 ms"
