// What follows from the events of an ETL file: who lived when, what was loaded
// where, which stack a key stands for. Filled by etl_state_take(), record after
// record in the order of time; asked by `info` and by the reader.
#pragma once

#include "read/etl_schema.h"

// What a type of event is to the state and the reader.
enum etl_role {
	ROLE_UNKNOWN,
	ROLE_OTHER,
	ROLE_HEADER,
	ROLE_PROCESS,
	ROLE_THREAD,
	ROLE_THREAD_NAME,
	ROLE_IMAGE,
	ROLE_IMAGE_ID,
	ROLE_SAMPLE,
	ROLE_PMC_SAMPLE,
	ROLE_INTERVAL,
	ROLE_SWITCH,
	ROLE_READY,
	ROLE_STACK,
	ROLE_STACK_KEY,
	ROLE_STACK_DEFINITION,
	ROLE_DISK,
	ROLE_DPC,
	ROLE_ISR,
	ROLE_HARD_FAULT,
	ROLE_FILE_NAME,
	ROLE_METHOD,
	ROLE_RUNDOWN,
	ROLE_PMU,
	ROLE_DESCRIPTION, // schemas, system configuration
};
enum etl_role etl_role_of(struct etl_type *type);

// The opcodes that processes, threads and images share.
enum { LIFE_START = 1, LIFE_STOP, LIFE_RUNDOWN_START, LIFE_RUNDOWN_STOP, LIFE_LOAD = 10, LIFE_DEFUNCT = 39 };

struct etl_process {
	uint32_t pid, parent, name, command_line; // strings
	uint64_t begin, end;                      // raw; 0: before or after the trace
	int32_t exit_status;
	ARRAY(uint8_t) events; // opcodes in the order of time
};

struct etl_thread {
	uint32_t tid, pid;
};

struct etl_image {
	uint32_t pid, name, path;
	uint64_t base, size, begin, end;
};

struct etl_method {
	uint32_t pid, name;
	uint32_t size;
	uint64_t start;
};

// A stack that a key stands for, until the next definition of that key.
struct etl_definition {
	uint64_t key, time;
	uint32_t list; // of addresses
	uint32_t next; // definition of the same key, + 1
};

struct etl_sample {
	uint64_t address;
	uint32_t tid;
	uint16_t count, flags;
};
enum { SAMPLE_IN_DPC = 1, SAMPLE_IN_ISR = 2 };

// The part of a stack that one record tells: addresses, or a key.
struct etl_stack_part {
	uint64_t event_time;
	uint32_t pid, tid;
	uint64_t key; // 0: the addresses are here
	const uint8_t *addresses;
	size_t count;
};

enum { KEEP_METHODS = 1, KEEP_DEFINITIONS = 2, KEEP_FILES = 4 };

struct etl_state {
	struct etl_file *file;
	struct etl_schemas *schemas;
	struct strings *strings;
	unsigned keep;
	struct etl_decoder decoder;
	ARRAY(struct etl_process) processes;
	struct map live;                   // pid to index + 1
	struct map threads;                // tid to pid + 1
	struct map thread_names;           // tid to string
	ARRAY(struct etl_thread) at_start; // threads that were there before the trace
	uint64_t image_events[5];          // DCStart, Load, Unload, DCStop
	ARRAY(struct etl_image) images;
	struct map image_index; // of (pid, base) to index + 1
	ARRAY(struct etl_method) methods;
	struct map method_index;
	struct map files; // file object to string
	bool sorted;
	ARRAY(struct etl_definition) definitions;
	struct map first_definition, last_definition; // of a key, index + 1
	ARRAY(uint64_t) addresses;                    // of all lists: how many, then they
	struct map list_index;                        // hash to place + 1
	uint64_t interval;                            // of samples, in 100 ns
	uint64_t stacks_seen;
};

void etl_state_init(struct etl_state *state, struct etl_file *file, struct etl_schemas *schemas,
		    struct strings *strings);
void etl_state_free(struct etl_state *state);
void etl_state_take(struct etl_state *state, const struct etl_record *record, struct etl_type *type);

uint32_t etl_state_pid(const struct etl_state *state, uint32_t tid);          // ETL_NONE: not known
struct etl_process *etl_state_process(struct etl_state *state, uint32_t pid); // that lived last, or NULL

bool etl_sample_take(const struct etl_record *record, struct etl_sample *sample);
bool etl_stack_take(const struct etl_record *record, enum etl_role role, struct etl_stack_part *part);

// The addresses that a key stood for at a time, innermost first; NULL: it was never defined.
const uint64_t *etl_state_stack(struct etl_state *state, uint64_t key, uint64_t time, uint64_t now,
				size_t *count);

// Once all is known: what lies at an address.
bool etl_is_kernel_address(uint64_t address, unsigned pointer);
const struct etl_image *etl_state_image(struct etl_state *state, uint32_t pid, uint64_t address,
					unsigned pointer);
const struct etl_method *etl_state_method(struct etl_state *state, uint32_t pid, uint64_t address);
