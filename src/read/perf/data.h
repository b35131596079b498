// Internal to the perf.data reader: what its files share.
#pragma once

#include "base/array.h"
#include "base/buffer.h"
#include "base/cursor.h"
#include "event/event.h"
#include "event/spaces.h"

// ---- numbers of the format ----

enum {
	SAMPLE_TYPE_IP = 1 << 0,
	SAMPLE_TYPE_TID = 1 << 1,
	SAMPLE_TYPE_TIME = 1 << 2,
	SAMPLE_TYPE_ADDR = 1 << 3,
	SAMPLE_TYPE_READ = 1 << 4,
	SAMPLE_TYPE_CALLCHAIN = 1 << 5,
	SAMPLE_TYPE_ID = 1 << 6,
	SAMPLE_TYPE_CPU = 1 << 7,
	SAMPLE_TYPE_PERIOD = 1 << 8,
	SAMPLE_TYPE_STREAM_ID = 1 << 9,
	SAMPLE_TYPE_RAW = 1 << 10,
	SAMPLE_TYPE_BRANCH_STACK = 1 << 11,
	SAMPLE_TYPE_REGS_USER = 1 << 12,
	SAMPLE_TYPE_STACK_USER = 1 << 13,
	SAMPLE_TYPE_IDENTIFIER = 1 << 16,
};

enum record_type {
	PERF_MMAP = 1,
	PERF_LOST = 2,
	PERF_COMM = 3,
	PERF_EXIT = 4,
	PERF_FORK = 7,
	PERF_SAMPLE = 9,
	PERF_MMAP2 = 10,
	PERF_LOST_SAMPLES = 13,
	PERF_SWITCH = 14,
	PERF_SWITCH_CPU = 15,
	PERF_KSYMBOL = 17,
	PERF_KERNEL_TYPES = 64, // types below are written by the kernel, the others by perf
	PERF_HEADER_ATTR = 64,
	PERF_HEADER_EVENT_TYPE = 65,
	PERF_HEADER_TRACING_DATA = 66,
	PERF_HEADER_BUILD_ID = 67,
	PERF_FINISHED_ROUND = 68,
	PERF_AUXTRACE = 71,
	PERF_EVENT_UPDATE = 78,
	PERF_HEADER_FEATURE = 80,
	PERF_COMPRESSED = 81,
	PERF_COMPRESSED2 = 83,
};

enum {
	MISC_CPUMODE = 7,
	MISC_KERNEL = 1,
	MISC_USER = 2,
	MISC_GUEST_KERNEL = 4,
	MISC_COMM_EXEC = 1 << 13,
	MISC_SWITCH_OUT = 1 << 13,
	MISC_SWITCH_PREEMPTED = 1 << 14,
	MISC_BUILD_ID = 1 << 14
};

enum {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_CPU = 8,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12
};

enum { TYPE_HARDWARE, TYPE_SOFTWARE, TYPE_TRACEPOINT, TYPE_CACHE, TYPE_RAW };

struct perf_record {
	uint32_t type;
	uint16_t misc;
	struct cursor body; // after the header
};

// ---- recorded events ----

struct perf_attr {
	uint32_t type;
	uint64_t config, period, sample_type, read_format, branch_type, registers;
	bool frequency, sample_id_all;
	uint32_t name; // strings
};

struct perf_attrs {
	ARRAY(struct perf_attr) items;
	struct map by_id; // to index + 1
};

// The event that a record belongs to, or NULL if unknown. `sample`: the record is a sample; in
// other records the id is in the trailer.
const struct perf_attr *perf_attr_of(const struct perf_attrs *attrs, const struct perf_record *record);

// Reads a struct perf_event_attr of `size` bytes.
bool perf_attr_read(struct cursor *in, size_t size, struct perf_attr *attr);
// The name of an event in the file. On a machine with two kinds of CPUs, the same event of both has one name:
// "cpu_core/cycles/" and "cpu_atom/cycles/" are "cycles".
uint32_t perf_event_name(struct strings *strings, const char *name);
// Makes up a name for an event that has none in the file.
uint32_t perf_attr_name(const struct perf_attr *attr, struct strings *strings);

// ---- tracepoints ----

struct trace_field {
	char *name;
	uint32_t offset, size;
	bool is_signed, is_array;
	bool dynamic;  // has the place and size of the value, from the start of the record ...
	bool relative; // ... or from the end of the field
	bool is_text, is_pointer;
	bool common; // of every tracepoint
};

struct trace_format {
	uint64_t id;
	uint32_t name;          // strings: "sched:sched_switch"
	uint32_t system, event; // strings: its two parts
	uint32_t meaning;       // for data_points.c; 0 if not known yet
	ARRAY(struct trace_field) fields;
};

struct trace_formats {
	ARRAY(struct trace_format) items;
	struct map by_id; // to index + 1
};

void trace_formats_read(struct trace_formats *formats, struct cursor in, struct strings *strings);
struct trace_format *trace_format_by_id(const struct trace_formats *formats, uint64_t id);
const struct trace_field *trace_field_by_name(const struct trace_format *format, const char *name);
bool trace_field_number(const struct trace_field *field, const uint8_t *raw, size_t size, int64_t *value);
// The bytes of a text or array, up to the first NUL of a text. NULL if they are not in the record.
const uint8_t *trace_field_bytes(const struct trace_field *field, const uint8_t *raw, size_t size,
				 size_t *length);
void trace_formats_free(struct trace_formats *formats);

// ---- the reader's state ----

struct perf_data {
	const char *name;
	struct tables *tables;
	struct sink *sink;
	struct perf_attrs attrs;
	struct spaces spaces;
	struct trace_formats formats;
	struct map build_ids;    // module to build id, strings
	uint32_t kernel_release; // identifies the kernel until its build id is known
	struct map task_names;   // tid to strings
	struct map programs;     // modules that are a single kernel function: BPF programs, trampolines
	enum { ARCH_UNKNOWN, ARCH_X86, ARCH_ARM64, ARCH_OTHER } arch;
	uint64_t time;              // of the last record that has one; 0 before the first
	bool begun;                 // a record with a time or a sample has come
	ARRAY(struct event) before; // tasks that existed before that; pushed when it comes
	struct map before_places;   // tid to one more than the index in `before`
	uint64_t samples, bad_records, broken_stacks, unwound_stacks, lost;
	bool auxtrace;
	struct map group_values; // event id to the last value of a counter in a group
	ARRAY(uint32_t) chain;   // scratch: frames of a sample, innermost first
	bool has_waking;         // sched_waking is recorded, which comes before sched_wakeup
	bool has_switch;         // sched_switch, which says more than perf\'s own records of switches
	bool has_issue;          // block_rq_issue, which means the same as block_io_start
	ARRAY(struct event_field) fields; // scratch: of a tracepoint
	struct buffer text;               // scratch: their texts
};

struct perf_sample {
	uint64_t ip, time, period, id;
	uint32_t pid, tid, cpu;
	struct cursor chain, raw;
	uint64_t chain_count;
	struct cursor branches; // 24 bytes each: from, to, flags; the newest first
	struct cursor group;    // values of the event's group, each of `group_each` bytes, the id second
	size_t group_each;
	uint64_t register_abi;
	struct cursor registers, stack;
	uint64_t stack_used;
};

// Pushes what a tracepoint says, as an event of ours if there is one that means the same, otherwise as a
// generic event with its fields. 0 or -errno.
int perf_data_tracepoint(struct perf_data *data, const struct perf_attr *attr,
			 const struct perf_sample *sample);
// The name of the kernel function at an address, as a string.
uint32_t perf_data_function(struct perf_data *data, uint64_t address);

// Handles one record; call in time order, those without a time as they come. Returns 0 or -errno.
int perf_data_record(struct perf_data *data, const struct perf_record *record);
// Call at the end if no record has come: pushes what is known so far.
int perf_data_begin(struct perf_data *data, uint64_t time);
// Time of the record; 0 if it has none.
uint64_t perf_data_time(const struct perf_data *data, const struct perf_record *record);
// Handles a feature section of the header, or a record that replaces one.
void perf_data_feature(struct perf_data *data, uint64_t feature, struct cursor in);
void perf_data_settings(struct perf_data *data); // a fact: how events were recorded
void perf_data_build_id(struct perf_data *data, uint32_t size, struct cursor body);
