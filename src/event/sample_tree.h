// Samples added up in a tree of names, with the name of the task at the root of each
// stack. Writers of profiles (folded stacks, flame graphs, speedscope, pprof, tables) fill
// such a tree and walk it at the end.
//
// Names are as in stackcollapse-perf.pl: without argument lists, with "[module]" where
// there is no name, and marked as the options say.
#pragma once

#include "event/event.h"
#include "event/heap_metrics.h"

struct sample_options {
	bool pid, tid;     // after the task's name
	bool kernel, jit;  // mark their frames "_[k]", "_[j]"
	bool addresses;    // for frames without a name: "[module <address>]"
	bool whole_names;  // with argument lists
	const char *event; // only samples of this event; NULL for the first that occurs
	bool every_event;
	bool no_inline; // for the reader: do not look at debug information
	bool source;    // append file and line to names, where known
	bool context;   // the same with those of the code, not of the function
	bool places;    // a node for each address, not for each name
};

enum { SAMPLE_ROOT = 0 };

struct sample_node {
	uint32_t parent;
	uint32_t name;                      // strings
	uint32_t first_child, next_sibling; // 0 if none
	uint32_t module;                    // strings; of the first frame with this name here
	uint32_t kind;                      // enum frame_kind, or SAMPLE_TASK
	uint64_t self, total;               // weights; totals are valid after sample_tree_finish()
	uint64_t base_self, base_total;     // of the profile that this one is compared with
	uint64_t self_samples, samples;     // the number of samples in `self` and `total`
};

enum { SAMPLE_TASK = 100 }; // kind of a node for a task

// The nodes of stacks below a label, plus 1; in pages, because a label has few of all stacks.
enum { LABEL_PAGE = 1024 };
struct label_nodes {
	ARRAY(uint32_t *) pages;
};

struct sample_tree {
	struct sink sink;
	struct tables *tables;
	struct sample_options options;
	ARRAY(struct sample_node) nodes;
	struct map children;                   // parent and name to node
	bool children_known;                   // filled on first use: all nodes are in `children`
	struct map label_numbers;              // label to its number + 1
	ARRAY(struct label_nodes) label_nodes; // by that number
	uint32_t last_label;                   // the previous sample's label, and its number + 1
	size_t last_label_number;
	ARRAY(uint32_t) path;                 // scratch
	struct map place_children;            // with `places`: parent and frame to node
	ARRAY(uint32_t) node_frames;          // with `places`: frame + 1 of each node; 0 for a task's
	ARRAY(uint32_t) names[2];             // of frames; 0 if not made yet; the second is for Java tasks
	struct map labels;                    // of tasks
	struct map task_names;                // tid to name
	struct map sources;                   // name and module to a frame with a source file, + 1
	uint32_t event;                       // the event that counts
	struct map other_names;               // of events: 2 if it is the same event, 1 if not
	const struct heap_metric *metric;     // the same, for a heap profile; or NULL
	uint32_t heap_units[HEAP_UNIT_COUNT]; // strings: their names there; 0 for the usual ones
	bool event_chosen, event_warned;
	bool second_choice;                 // samples on the clock take precedence over that event
	uint32_t last_node;                 // of the last sample that was counted
	uint64_t samples, weight, left_out; // left_out: samples of other events
	uint64_t base_samples, base_weight;
	uint64_t divisor,
		base_divisor; // of all weights of lines that stand for many samples; 0 if none
};

// Whether a profile uses this event at all. Useful with several profiles: most events are switches.
static inline bool sample_tree_takes(const struct event *event) {
	enum {
		KINDS = 1 << EVENT_SAMPLE | 1 << EVENT_META | 1 << EVENT_TASK | 1 << EVENT_RENAME |
			1 << EVENT_EXEC | 1 << EVENT_FORK
	};
	return KINDS >> event->kind & 1;
}

void sample_tree_init(struct sample_tree *profile, struct tables *tables,
		      const struct sample_options *options);
void sample_tree_free(struct sample_tree *profile);
void sample_tree_finish(struct sample_tree *profile); // adds up totals

// The node with this name below another one; created if new.
uint32_t sample_tree_child(struct sample_tree *profile, uint32_t parent, uint32_t name);

static inline struct sample_node *sample_node(const struct sample_tree *profile, uint32_t node) {
	return &profile->nodes.items[node];
}

// The event whose samples are counted, "" if none; whether weights are nanoseconds.
const char *sample_tree_event_name(const struct sample_tree *profile);
bool sample_tree_in_nanoseconds(const struct sample_tree *profile);
bool sample_event_in_nanoseconds(const char *name); // whether the weights of this event are

// Whether the number of samples is known and differs from their weight. Folded stacks do not have it.
bool sample_tree_is_weighted(const struct sample_tree *profile);

// How weights are shown: times in milliseconds, otherwise what was counted; and the factor for that.
struct sample_unit {
	const char *name;
	double factor;
};
struct sample_unit sample_tree_shown(const struct sample_tree *profile);

// The unit of weights, "samples" or that of a heap profile; whether they are bytes.
const char *sample_tree_unit(const struct sample_tree *profile);
bool sample_tree_in_bytes(const struct sample_tree *profile);

// The string id of the frame's name as shown.
uint32_t sample_frame_name(struct tables *tables, const struct frame *frame,
			   const struct sample_options *options, bool java);

// With `places`: the frame of a node; NULL for a task's.
const struct frame *sample_tree_frame(const struct sample_tree *profile, uint32_t node);
// A frame with this name in this module that has a source file and line; NULL if none.
const struct frame *sample_tree_source(const struct sample_tree *profile, uint32_t name, uint32_t module);

// Walks the tree depth first, with each node's children in order of their names, as if
// whole lines of folded stacks were sorted. A node may come twice: for its own weight
// (`self`), and when it is entered.
struct sample_walk;
struct sample_step {
	uint32_t node;
	uint32_t depth; // 1 below the root
	bool self;
};
struct sample_walk *sample_walk_new(const struct sample_tree *profile);
bool sample_walk_next(struct sample_walk *walk, struct sample_step *step);
void sample_walk_free(struct sample_walk *walk);
