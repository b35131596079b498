// A plan: what one profile records, with inheritance resolved. Built-in profiles and .wprp
// files both become plans.
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
	unsigned buffers;     // number of buffers, or
	bool buffers_percent; // percent of all memory
	bool sized;           // given explicitly; otherwise WPR's default
	unsigned file_limit;  // MB; 0 for none
	bool circular;        // overwrite the oldest at the limit; otherwise recording stops
};

struct plan_provider {
	char *id;
	char *name;      // a registered name, or a GUID: lower case, no braces
	char *collector; // its id
	uint64_t keywords;
	bool has_keywords; // otherwise all
	unsigned level;    // 0 for all
	bool stack;
	bool non_paged; // as WPR's buffers must be: the provider runs inside the kernel
};

struct plan {
	char *name;
	char *file; // NULL if built in
	enum plan_detail detail;
	enum plan_mode mode;
	bool keywords[KEYWORD_COUNT];
	uint32_t custom_keywords;
	bool stacks[STACK_COUNT];
	ARRAY(struct plan_collector) collectors;
	ARRAY(struct plan_provider) providers;
};

void plan_free(struct plan *plan);

// Adds another plan, which is consumed. The larger sizes win (profile/sizes.h).
void plan_add(struct plan *plan, struct plan *more);

// Whether it asks for this source, an enum event_source.
bool plan_wants(const struct plan *plan, int source);

// Why a source cannot be recorded on this machine; NULL if it can. For display: plans only know what
// can be recorded on some Linux.
typedef const char *plan_why_not(int source);

// The keywords in it that are not recorded here, as "A, B"; empty if none.
void plan_missing(const struct plan *plan, struct buffer *text);

// What is recorded here, as lines or as JSON.
void plan_show(const struct plan *plan, plan_why_not *why_not, struct buffer *text);
void plan_json(const struct plan *plan, plan_why_not *why_not, struct buffer *text);

// As a .wprp file for WPR, with a profile for each logging mode.
void plan_export(const struct plan *plan, struct buffer *text);
