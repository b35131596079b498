// What `tracelet info` prints about an ETL file, gathered in one walk.
#pragma once

#include "base/json.h"
#include "read/etl/state.h"

struct etl_inputs;

struct etl_seen { // an event whose stack may still come
	uint64_t time;
	uint32_t type;
	uint16_t cpu;
	bool busy, has_stack; // a sample outside the idle thread
};

struct etl_info {
	struct etl_file file;
	struct etl_schemas schemas;
	struct etl_state state;
	struct tables tables;
	uint64_t total, by_kind[ETL_KIND_COUNT], items[32];
	uint64_t skipped, unreadable; // bytes
	uint64_t first_time, last_time;
	// Samples.
	uint64_t samples, idle, dpc, isr, samples_with_stack, frames;
	ARRAY(uint64_t) by_cpu;
	struct map by_tid;           // busy samples of threads whose process was unknown
	struct map by_pid;           // busy samples
	struct map leaves;           // (pid, address) to count
	ARRAY(struct etl_seen) seen; // a ring of the latest events
	size_t seen_next;
	// Stacks.
	uint64_t definitions, references, direct, matched, events_with_stack;
	struct map keys;    // to their number of definitions
	struct map pending; // key to the number of busy samples waiting for its definition
	ARRAY(uint64_t) stacks_by_type;
	uint64_t switches;
};

int etl_info_gather(struct etl_info *info, const struct etl_inputs *inputs, const char *const *manifests);
void etl_info_free(struct etl_info *info);

// The part about the machine; nothing if the file does not describe it.
void etl_info_machine_json(const struct etl_info *info, struct json *json);
void etl_info_machine_text(const struct etl_info *info, struct buffer *out);

void etl_info_json(struct etl_info *info, struct buffer *out);
void etl_info_text(struct etl_info *info, struct buffer *out);
