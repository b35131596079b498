// perf.data, taken apart: what the files of its reader share.
#pragma once

#include "base/array.h"
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
	PERF_KSYMBOL = 17,
	PERF_KERNEL_TYPES = 64, // those below are written by the kernel, the others by perf
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
	MISC_BUILD_ID = 1 << 14
};

enum {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_ARCH = 6,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12
};

enum { TYPE_HARDWARE, TYPE_SOFTWARE, TYPE_TRACEPOINT, TYPE_CACHE, TYPE_RAW };

struct perf_record {
	uint32_t type;
	uint16_t misc;
	struct cursor body; // behind the header
};

// ---- events that were recorded ----

struct perf_attr {
	uint32_t type;
	uint64_t config, period, sample_type, read_format, branch_type, registers;
	bool frequency, sample_id_all;
	uint32_t name; // strings
};

struct perf_attrs {
	ARRAY(struct perf_attr) items;
	struct map by_id; // to one more than the index
};

// The event a record belongs to. `sample`: it is a sample; else what stands at the end tells. NULL: none.
const struct perf_attr *perf_attr_of(const struct perf_attrs *attrs, const struct perf_record *record);

// Reads a struct perf_event_attr of `size` bytes.
bool perf_attr_read(struct cursor *in, size_t size, struct perf_attr *attr);
// A name for what has none in the file.
uint32_t perf_attr_name(const struct perf_attr *attr, struct strings *strings);

// ---- tracepoints ----

struct trace_field {
	char *name;
	uint32_t offset, size;
	bool is_signed, is_array, dynamic;
};

struct trace_format {
	uint64_t id;
	uint32_t name; // strings: "sched:sched_switch"
	ARRAY(struct trace_field) fields;
};

struct trace_formats {
	ARRAY(struct trace_format) items;
};

void trace_formats_read(struct trace_formats *formats, struct cursor in, struct strings *strings);
const struct trace_format *trace_format_by_id(const struct trace_formats *formats, uint64_t id);
const struct trace_field *trace_field_by_name(const struct trace_format *format, const char *name);
bool trace_field_number(const struct trace_field *field, const uint8_t *raw, size_t size, int64_t *value);
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
	uint32_t kernel_release; // what stands for the kernel's build id as long as that is not known
	struct map task_names;   // tid to strings
	struct map programs;     // modules that are one function of the kernel: BPF programs, trampolines
	enum { ARCH_UNKNOWN, ARCH_X86, ARCH_ARM64, ARCH_OTHER } arch;
	uint64_t samples, bad_records, broken_stacks, unwound_stacks, lost;
	bool auxtrace;
	ARRAY(uint32_t) chain; // scratch: frames of a sample, innermost first
};

// One record, in order of time. 0 or -errno.
int perf_data_record(struct perf_data *data, const struct perf_record *record);
// When it happened; 0: not told.
uint64_t perf_data_time(const struct perf_data *data, const struct perf_record *record);
// Facts from the header or from records that stand for it.
void perf_data_feature(struct perf_data *data, uint64_t feature, struct cursor in);
void perf_data_build_id(struct perf_data *data, uint32_t size, struct cursor body);
