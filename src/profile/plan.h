// A plan: what one profile wants recorded, with everything that it inherits worked
// out. Built-in profiles and .wprp files come to the same.
#pragma once

#include "base/array.h"
#include "base/buffer.h"
#include "profile/keywords.h"

enum plan_detail { DETAIL_LIGHT, DETAIL_VERBOSE };
enum plan_mode { MODE_FILE, MODE_MEMORY };
enum plan_collector_kind { COLLECTOR_SYSTEM, COLLECTOR_EVENT, COLLECTOR_HEAP, COLLECTOR_HYPERVISOR };

extern const char *const plan_detail_names[], *const plan_mode_names[], *const plan_collector_names[];

struct plan_collector {
	char *id;
	char *name;
	enum plan_collector_kind kind;
	unsigned buffer_size; // KB
	unsigned buffers;     // so many, or
	bool buffers_percent; // so much of all memory
	bool sized;           // somebody has said so; else WPR's default
	unsigned file_limit;  // MB, 0: none
	bool circular;        // the oldest gives way then, else recording stops
};

struct plan_provider {
	char *id;
	char *name;      // a registered name, or a GUID: lower case, no braces
	char *collector; // its id
	uint64_t keywords;
	bool has_keywords; // else all
	unsigned level;    // 0: all
	bool stack;
	bool non_paged; // WPR's buffers must be: the provider speaks inside the kernel
};

struct plan {
	char *name;
	char *file; // NULL: built in
	enum plan_detail detail;
	enum plan_mode mode;
	bool keywords[KEYWORD_COUNT];
	uint32_t custom_keywords;
	bool stacks[STACK_COUNT];
	ARRAY(struct plan_collector) collectors;
	ARRAY(struct plan_provider) providers;
};

void plan_free(struct plan *plan);

// Takes in what another one wants, which is gone then. The larger sizes will win (profile/sizes.h).
void plan_add(struct plan *plan, struct plan *more);

// Whether it wants what this source records, RECORD_SOURCE_*.
bool plan_wants(const struct plan *plan, int source);

// Why a source cannot be recorded on this machine; NULL: it can. For what is shown: plans know only
// what could be recorded on some Linux.
typedef const char *plan_why_not(int source);

// The keywords that it names and nobody records here, as "A, B"; nothing if there are none.
void plan_missing(const struct plan *plan, struct buffer *text);

// What is recorded here, line by line; the same as JSON.
void plan_show(const struct plan *plan, plan_why_not *why_not, struct buffer *text);
void plan_json(const struct plan *plan, plan_why_not *why_not, struct buffer *text);

// As a .wprp file that WPR takes, with a profile for each logging mode.
void plan_export(const struct plan *plan, struct buffer *text);
