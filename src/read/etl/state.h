// State that follows from the events of an ETL file: lifetimes of processes and
// threads, loaded images, the stacks that keys refer to. etl_state_take() fills
// it from records in time order; `info` and the reader query it.
#pragma once

#include "read/etl/machine.h"
#include "read/etl/schema.h"

// The meaning of an event type for the state and the reader.
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
	ROLE_MARK,
	ROLE_SYSTEM_CALL,
	ROLE_OBJECT_TYPE, // which kinds of objects have handles
	ROLE_OBJECT,
	ROLE_COUNTER_NAMES,
	ROLE_CLR_STACK, // of the last event of the .NET runtime in the same thread
	ROLE_CLR,
	ROLE_PROVIDER_PROCESS, // of Microsoft-Windows-Kernel-Process
	ROLE_PROVIDER_THREAD,
	ROLE_PROVIDER_IMAGE,
};
enum etl_role etl_role_of(struct etl_type *type);

// The opcodes common to processes, threads and images.
enum { LIFE_START = 1, LIFE_STOP, LIFE_RUNDOWN_START, LIFE_RUNDOWN_STOP, LIFE_LOAD = 10, LIFE_DEFUNCT = 39 };

struct etl_process {
	uint32_t pid, parent, name, command_line; // strings
	uint64_t begin, end;                      // raw; 0 if before or after the trace
	int32_t exit_status;
	ARRAY(uint8_t) events; // opcodes in time order
};

struct etl_thread {
	uint32_t tid, pid;
};

struct etl_image {
	uint32_t pid, name, path;
	uint64_t base, size, begin, end;
	uint32_t time; // when it was linked, or a hash; 0 if unknown
};

// Which PDB file belongs to an image.
struct etl_symbols {
	uint32_t name; // string
	uint32_t id;   // string: GUID and age
};

struct etl_method {
	uint32_t pid, name;
	uint32_t size;
	uint64_t start;
};

// The stack that a key refers to, until the next definition of that key.
struct etl_definition {
	uint64_t key, time;
	uint32_t list; // index of the address list
	uint32_t next; // next definition of the same key, + 1
};

struct etl_sample {
	uint64_t address;
	uint32_t tid;
	uint16_t count, flags;
};
enum { SAMPLE_IN_DPC = 1, SAMPLE_IN_ISR = 2 };

// The part of a stack in one record: addresses, or a key.
struct etl_stack_part {
	uint64_t event_time;
	uint32_t pid, tid;
	uint64_t key; // 0 if the addresses are in this record
	const uint8_t *addresses;
	size_t count;
};

enum { KEEP_METHODS = 1, KEEP_DEFINITIONS = 2, KEEP_FILES = 4 };

enum { ETL_MOST_COUNTERS = 7 }; // at one event

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
	ARRAY(struct etl_thread) at_start; // threads that existed before the trace
	uint64_t image_events[5];          // DCStart, Load, Unload, DCStop
	ARRAY(struct etl_image) images;
	struct map image_index; // (pid, base) to index + 1
	ARRAY(struct etl_symbols) symbols;
	struct map symbols_index; // the same to that
	ARRAY(struct etl_method) methods;
	struct map method_index;
	struct map files;        // file object to string
	struct map object_types; // number to string
	bool sorted;
	ARRAY(struct etl_definition) definitions;
	struct map first_definition, last_definition; // key to index + 1
	ARRAY(uint64_t) addresses;                    // all lists, each a count followed by the addresses
	struct map list_index;                        // hash to offset + 1
	uint64_t interval;                            // sampling interval, in 100 ns
	uint64_t stacks_seen;
	bool kernel_processes; // the kernel's own events describe processes; then a provider's are not needed
	bool kernel_images;
	struct etl_machine machine;
	ARRAY(char *) counters; // names of the CPU counters at kernel events
};

void etl_state_init(struct etl_state *state, struct etl_file *file, struct etl_schemas *schemas,
		    struct strings *strings);
void etl_state_free(struct etl_state *state);
void etl_state_take(struct etl_state *state, const struct etl_record *record, struct etl_type *type);

uint32_t etl_state_pid(const struct etl_state *state, uint32_t tid); // ETL_NONE if unknown
struct etl_process *etl_state_process(struct etl_state *state,
				      uint32_t pid); // the last process with this pid, or NULL

// The beginning of a thread's event: its process and itself. False if the record is too short.
bool etl_thread_take(const struct etl_record *record, struct cursor *in, uint32_t *pid, uint32_t *tid);
bool etl_sample_take(const struct etl_record *record, struct etl_sample *sample);
bool etl_stack_take(const struct etl_record *record, enum etl_role role, struct etl_stack_part *part);

// The addresses that a key referred to at a time, innermost first; NULL if it was never defined.
const uint64_t *etl_state_stack(struct etl_state *state, uint64_t key, uint64_t time, uint64_t now,
				size_t *count);

// Once the state is complete: what is at an address.
bool etl_is_kernel_address(uint64_t address, unsigned pointer);
const struct etl_image *etl_state_image(struct etl_state *state, uint32_t pid, uint64_t address,
					unsigned pointer);
const struct etl_symbols *etl_state_symbols(const struct etl_state *state, const struct etl_image *image);
const struct etl_method *etl_state_method(struct etl_state *state, uint32_t pid, uint64_t address);
