// A profile: samples added up in a tree of names, with the name of the task at
// the root of each stack. What writes profiles (folded stacks, flame graphs,
// speedscope, pprof, tables) fills one of these and walks over it at the end.
//
// Names are those that people know from stackcollapse-perf.pl: without argument
// lists, with "[module]" for what has no name, and marked as the options want.
#pragma once

#include "event/event.h"
#include "event/heap_metrics.h"

struct profile_options {
	bool pid, tid;     // behind the task's name
	bool kernel, jit;  // mark their frames "_[k]", "_[j]"
	bool addresses;    // of frames without a name: "[module <address>]"
	bool whole_names;  // with argument lists
	const char *event; // only samples of this one; NULL: of the first that occurs
	bool every_event;
	bool no_inline; // of the reader's matters: debug information is not looked at
	bool source;    // file and line behind names, where they are known
};

enum { PROFILE_ROOT = 0 };

struct profile_node {
	uint32_t parent;
	uint32_t name;                      // strings
	uint32_t first_child, next_sibling; // 0: none
	uint32_t module;                    // strings; of the first frame of this name here
	uint32_t kind;                      // enum frame_kind, or PROFILE_TASK
	uint64_t self, total;               // weights; totals are there after profile_finish()
	uint64_t base_self, base_total;     // of the profile this one is compared with
};

enum { PROFILE_TASK = 100 }; // a node's kind: the task's own

// The nodes of stacks below a label, one more than each; in pages, because a label has few of all stacks.
enum { LABEL_PAGE = 1024 };
struct label_nodes {
	ARRAY(uint32_t *) pages;
};

struct profile {
	struct sink sink;
	struct tables *tables;
	struct profile_options options;
	ARRAY(struct profile_node) nodes;
	struct map children;                   // parent and name to node
	bool children_known;                   // all nodes are in there; as long as nobody asks, none are
	struct map label_numbers;              // label to one more than its number
	ARRAY(struct label_nodes) label_nodes; // by that number
	uint32_t last_label;                   // the label of the sample before, and one more than its number
	size_t last_label_number;
	ARRAY(uint32_t) path;             // scratch
	ARRAY(uint32_t) names[2];         // of frames, 0: not made yet; the second is for tasks of Java
	struct map labels;                // of tasks
	struct map task_names;            // tid to name
	struct map sources;               // name and module to one more than a frame that has a source file
	uint32_t event;                   // the one that counts
	const struct heap_metric *metric; // that one, of a heap profile; or NULL
	uint32_t heap_units[HEAP_UNIT_COUNT]; // strings: what they are called there; 0: as usual
	bool event_chosen, event_warned;
	bool second_choice;                 // that one gives way to samples in time
	uint64_t samples, weight, left_out; // left_out: samples of other events
	uint64_t base_samples, base_weight;
	uint64_t divisor,
		base_divisor; // of all weights of lines that stand for many samples; 0: there are none
};

// Does a profile look at this one at all? For who has several: most events are switches.
static inline bool profile_takes(const struct event *event) {
	enum {
		KINDS = 1 << EVENT_SAMPLE | 1 << EVENT_META | 1 << EVENT_TASK | 1 << EVENT_RENAME |
			1 << EVENT_EXEC | 1 << EVENT_FORK
	};
	return KINDS >> event->kind & 1;
}

void profile_init(struct profile *profile, struct tables *tables, const struct profile_options *options);
void profile_free(struct profile *profile);
void profile_finish(struct profile *profile); // adds up totals

// The node of a name below another one; made if it is not there.
uint32_t profile_child(struct profile *profile, uint32_t parent, uint32_t name);

static inline struct profile_node *profile_node(const struct profile *profile, uint32_t node) {
	return &profile->nodes.items[node];
}

// The event whose samples are counted, "" if they have none; are weights nanoseconds?
const char *profile_event_name(const struct profile *profile);
bool profile_in_nanoseconds(const struct profile *profile);

// What weights count, "samples" or as a heap profile has it; are they bytes?
const char *profile_unit(const struct profile *profile);
bool profile_in_bytes(const struct profile *profile);

// The frame's name as it is shown, a string's id.
uint32_t profile_frame_name(struct tables *tables, const struct frame *frame,
			    const struct profile_options *options, bool java);

// A frame of this name in this module that tells its source file and line; NULL: there is none.
const struct frame *profile_source(const struct profile *profile, uint32_t name, uint32_t module);

// Walks the tree depth first with each node's children in the order of their
// names, as sorting whole lines of folded stacks would have it. A node comes up
// to twice: for its own weight (`self`), and when it is entered.
struct profile_walk;
struct profile_step {
	uint32_t node;
	uint32_t depth; // 1 below the root
	bool self;
};
struct profile_walk *profile_walk_new(const struct profile *profile);
bool profile_walk_next(struct profile_walk *walk, struct profile_step *step);
void profile_walk_free(struct profile_walk *walk);
