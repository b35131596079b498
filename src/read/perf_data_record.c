// One record of perf.data: what it does to the address spaces and names that are
// known, and the events it becomes.
#include "read/perf_data.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CHAIN = 4096, MOST_INLINED = 64, MOST_UNWOUND = 1024 };

// Marks in a call chain: what follows was in this mode.
enum { CONTEXT_MARKS = -4095 };
#define CONTEXT_KERNEL       ((uint64_t)-128)
#define CONTEXT_USER         ((uint64_t)-512)
#define CONTEXT_GUEST_KERNEL ((uint64_t)-2176)

// ---- what stands at the end of records that are no samples ----

struct trailer {
	uint64_t time;
	uint32_t pid, tid, cpu;
	bool has_tid;
};

static struct trailer read_trailer(const struct perf_attr *attr, struct cursor body) {
	struct trailer trailer = {.cpu = CPU_NONE};
	if (!attr || !attr->sample_id_all)
		return trailer;
	uint64_t type = attr->sample_type;
	uint64_t fields = type & (SAMPLE_TYPE_TID | SAMPLE_TYPE_TIME | SAMPLE_TYPE_ID |
				  SAMPLE_TYPE_STREAM_ID | SAMPLE_TYPE_CPU | SAMPLE_TYPE_IDENTIFIER);
	size_t size = 8 * (size_t)__builtin_popcountll(fields);
	if (size > cursor_left(&body))
		return trailer;
	cursor_take(&body, cursor_left(&body) - size);
	if (type & SAMPLE_TYPE_TID) {
		trailer.pid = cursor_u32(&body);
		trailer.tid = cursor_u32(&body);
		trailer.has_tid = true;
	}
	if (type & SAMPLE_TYPE_TIME)
		trailer.time = cursor_u64(&body);
	if (type & SAMPLE_TYPE_ID)
		cursor_u64(&body);
	if (type & SAMPLE_TYPE_STREAM_ID)
		cursor_u64(&body);
	if (type & SAMPLE_TYPE_CPU)
		trailer.cpu = cursor_u32(&body);
	return trailer;
}

uint64_t perf_data_time(const struct perf_data *data, const struct perf_record *record) {
	const struct perf_attr *attr = perf_attr_of(&data->attrs, record);
	if (!attr || !(attr->sample_type & SAMPLE_TYPE_TIME))
		return 0;
	if (record->type != PERF_SAMPLE)
		return read_trailer(attr, record->body).time;
	struct cursor in = record->body;
	uint64_t before = attr->sample_type & (SAMPLE_TYPE_IDENTIFIER | SAMPLE_TYPE_IP | SAMPLE_TYPE_TID);
	cursor_take(&in, 8 * (size_t)__builtin_popcountll(before));
	return cursor_u64(&in);
}

// ---- tasks ----

static uint32_t task_name(struct perf_data *data, uint32_t tid, uint32_t pid) {
	uint64_t *known = map_get(&data->task_names, tid);
	if (!known)
		known = map_get(&data->task_names, pid);
	if (known)
		return (uint32_t)*known;
	char *made = tid ? memory_format(":%d", (int)tid) : memory_string("swapper");
	uint32_t name = strings_add(data->tables->strings, made);
	free(made);
	*map_put(&data->task_names, tid) = name;
	return name;
}

static int take_comm(struct perf_data *data, const struct perf_record *record,
		     const struct trailer *trailer) {
	struct cursor in = record->body;
	uint32_t pid = cursor_u32(&in), tid = cursor_u32(&in);
	const char *text = cursor_string(&in);
	if (!text)
		return -EBADMSG;
	bool known = map_get(&data->task_names, tid);
	uint32_t name = strings_add(data->tables->strings, text);
	*map_put(&data->task_names, tid) = name;
	struct event event = {.time = trailer->time, .cpu = trailer->cpu, .tid = tid, .pid = pid};
	if (record->misc & MISC_COMM_EXEC) {
		spaces_exec(&data->spaces, pid);
		event.kind = EVENT_EXEC;
		event.exec.old_tid = tid;
		event.exec.name = name;
	} else if (known) {
		event.kind = EVENT_RENAME;
		event.rename.name = name;
	} else {
		event.kind = EVENT_TASK;
		event.task.name = name;
	}
	return sink_push(data->sink, &event);
}

static int take_fork(struct perf_data *data, const struct perf_record *record,
		     const struct trailer *trailer) {
	struct cursor in = record->body;
	uint32_t pid = cursor_u32(&in), parent_pid = cursor_u32(&in), tid = cursor_u32(&in),
		 parent_tid = cursor_u32(&in);
	uint64_t time = cursor_u64(&in);
	if (in.failed)
		return -EBADMSG;
	if (record->type == PERF_EXIT) {
		struct event event = {
			.kind = EVENT_EXIT, .time = time, .cpu = trailer->cpu, .tid = tid, .pid = pid};
		event.exit.unknown = true;
		event.exit.last = tid == pid;
		return sink_push(data->sink, &event);
	}
	spaces_fork(&data->spaces, parent_pid, pid);
	uint32_t name = task_name(data, parent_tid, parent_pid);
	*map_put(&data->task_names, tid) = name;
	struct event event = {
		.kind = EVENT_FORK, .time = time, .cpu = trailer->cpu, .tid = parent_tid, .pid = parent_pid};
	event.fork.child_tid = tid;
	event.fork.child_pid = pid;
	event.fork.parent_pid = parent_pid;
	event.fork.name = name;
	return sink_push(data->sink, &event);
}

// ---- mappings ----

static bool starts(const char *text, const char *prefix) {
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static uint32_t hex_string(struct perf_data *data, const uint8_t *bytes, size_t size) {
	char text[2 * 20 + 1] = "";
	for (size_t i = 0; i < size && i < 20; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return strings_add(data->tables->strings, text);
}

// perf names the kernel's text after the symbol that it is measured from.
static uint32_t module_name(struct perf_data *data, const char *file) {
	size_t size = strlen(file);
	const char *bracket = strchr(file, ']');
	if (starts(file, "[kernel.kallsyms]") || starts(file, "[guest.kernel.kallsyms"))
		size = bracket ? (size_t)(bracket + 1 - file) : size;
	return strings_add_bytes(data->tables->strings, file, size);
}

static int take_mmap(struct perf_data *data, const struct perf_record *record) {
	struct cursor in = record->body;
	uint32_t pid = cursor_u32(&in);
	cursor_u32(&in); // tid
	struct space_map map = {.begin = cursor_u64(&in)};
	uint64_t length = cursor_u64(&in);
	map.end = map.begin + length < map.begin ? UINT64_MAX : map.begin + length;
	map.offset = cursor_u64(&in);
	if (record->type == PERF_MMAP2) {
		if (record->misc & MISC_BUILD_ID) {
			uint8_t size = cursor_u8(&in);
			cursor_take(&in, 3);
			const uint8_t *id = cursor_take(&in, 20);
			map.build_id = id && size <= 20 ? hex_string(data, id, size) : 0;
		} else {
			cursor_take(&in, 24); // device, inode, its generation
		}
		cursor_take(&in, 8); // protection, flags
	}
	const char *file = cursor_string(&in);
	if (!file)
		return -EBADMSG;
	unsigned mode = record->misc & MISC_CPUMODE;
	bool kernel = mode == MISC_KERNEL || mode == MISC_GUEST_KERNEL || pid == UINT32_MAX;
	struct space *space = kernel ? &data->spaces.kernel : space_of(&data->spaces, pid);
	map.kind = FRAME_KERNEL;
	if (kernel)
		map.module = module_name(data, file);
	else
		space_name(space, data->tables->strings, file, &map);
	uint64_t *build_id = map_get(&data->build_ids, map.module);
	if (!map.build_id && build_id)
		map.build_id = (uint32_t)*build_id;
	space_add(space, &map);
	return 0;
}

// A function that came into the kernel while it ran, such as a BPF program: a module with its own name.
static int take_kernel_symbol(struct perf_data *data, const struct perf_record *record) {
	enum { UNREGISTER = 1 };
	struct cursor in = record->body;
	struct space_map map = {.begin = cursor_u64(&in), .kind = FRAME_KERNEL};
	map.end = map.begin + cursor_u32(&in);
	cursor_u16(&in); // what kind of function
	uint16_t flags = cursor_u16(&in);
	const char *name = cursor_string(&in);
	if (!name || map.end < map.begin)
		return -EBADMSG;
	if (flags & UNREGISTER || map.end == map.begin || !*name)
		return 0;
	map.module = strings_add(data->tables->strings, name);
	*map_put(&data->programs, map.module) = 1;
	space_add(&data->spaces.kernel, &map);
	return 0;
}

// ---- frames ----

static bool find_code(struct perf_data *data, uint32_t pid, uint64_t address, bool kernel,
		      struct frame *frame) {
	struct space *space = kernel ? &data->spaces.kernel : space_of(&data->spaces, pid);
	const struct space_map *map = space_find(space, address);
	*frame = (struct frame){.address = address, .kind = kernel ? FRAME_KERNEL : FRAME_USER};
	if (!map)
		return false;
	*frame = space_frame(space, map, address);
	if (kernel && map_get(&data->programs, map->module)) {
		frame->symbol = map->module;
		frame->offset = (uint32_t)(address - map->begin);
		return true;
	}
	if (!map->build_id && map->kind == FRAME_KERNEL)
		frame->build_id = data->kernel_release;
	// The kernel's map is one of addresses; its offset is where its symbol _text was.
	if (map->offset > UINT64_MAX / 2)
		frame->position = address - map->offset;
	return true;
}

// A caller's address is where the call returns to, which may be another function's
// first byte: the call is before it.
static void add_address(struct perf_data *data, uint32_t pid, uint64_t address, bool kernel, bool caller) {
	struct tables *tables = data->tables;
	struct frame frame;
	uint64_t back = caller && address;
	find_code(data, pid, address - back, kernel, &frame);
	if (tables->symbolizer && !frame.symbol) {
		uint32_t ids[MOST_INLINED];
		size_t count = tables->symbolizer->resolve(tables->symbolizer, tables, &frame, ids,
							   MOST_INLINED);
		for (size_t i = 0; i < count; i++)
			array_push(&data->chain, ids[i]);
		return;
	}
	frame.address += back;
	frame.position = 0;
	if (tables->addresses == ADDRESSES_NONE)
		frame.address = 0;
	array_push(&data->chain, stacks_add_frame(tables->stacks, &frame));
}

// ---- samples ----

struct sample {
	uint64_t ip, time, period, id;
	uint32_t pid, tid, cpu;
	struct cursor chain, raw;
	uint64_t chain_count;
	uint64_t register_abi;
	struct cursor registers, stack;
	uint64_t stack_used;
};

static void skip_read(struct cursor *in, uint64_t format) {
	enum { ENABLED = 1, RUNNING = 2, ID = 4, GROUP = 8, LOST = 16 };
	size_t times = !!(format & ENABLED) + !!(format & RUNNING);
	size_t each = 1 + !!(format & ID) + !!(format & LOST);
	if (!(format & GROUP)) {
		cursor_take(in, 8 * (times + each));
		return;
	}
	uint64_t count = cursor_u64(in);
	if (count > cursor_left(in) / (8 * each))
		in->failed = true;
	else
		cursor_take(in, 8 * (times + (size_t)count * each));
}

static struct cursor take_counted(struct cursor *in, uint64_t count, size_t each) {
	if (count > cursor_left(in) / each)
		in->failed = true;
	return cursor_slice(in, in->failed ? 0 : (size_t)count * each);
}

// The fields behind the call chain, as far as they are of use.
static void read_behind_chain(struct cursor *in, const struct perf_attr *attr, struct sample *sample) {
	uint64_t type = attr->sample_type;
	if (type & SAMPLE_TYPE_RAW) {
		uint32_t size = cursor_u32(in);
		sample->raw = take_counted(in, size, 1);
		size_t over = (size + 4) % 8;
		cursor_take(in, over ? MIN(8 - over, cursor_left(in)) : 0);
	}
	if (type & SAMPLE_TYPE_BRANCH_STACK) {
		enum { HARDWARE_INDEX = 1 << 17 };
		uint64_t count = cursor_u64(in);
		if (attr->branch_type & HARDWARE_INDEX)
			cursor_u64(in);
		take_counted(in, count, 24);
	}
	if (type & SAMPLE_TYPE_REGS_USER) {
		sample->register_abi = cursor_u64(in);
		if (sample->register_abi)
			sample->registers = take_counted(in, (uint64_t)__builtin_popcountll(attr->registers),
							 8);
	}
	if (type & SAMPLE_TYPE_STACK_USER) {
		uint64_t size = cursor_u64(in);
		if (size) {
			sample->stack = take_counted(in, size, 1);
			sample->stack_used = cursor_u64(in);
		}
	}
}

static bool read_sample(struct cursor in, const struct perf_attr *attr, struct sample *sample) {
	uint64_t type = attr->sample_type;
	*sample = (struct sample){.cpu = CPU_NONE, .period = attr->frequency ? 1 : MAX(attr->period, 1u)};
	if (type & SAMPLE_TYPE_IDENTIFIER)
		sample->id = cursor_u64(&in);
	if (type & SAMPLE_TYPE_IP)
		sample->ip = cursor_u64(&in);
	if (type & SAMPLE_TYPE_TID) {
		sample->pid = cursor_u32(&in);
		sample->tid = cursor_u32(&in);
	}
	if (type & SAMPLE_TYPE_TIME)
		sample->time = cursor_u64(&in);
	if (type & SAMPLE_TYPE_ADDR)
		cursor_u64(&in);
	if (type & SAMPLE_TYPE_ID)
		sample->id = cursor_u64(&in);
	if (type & SAMPLE_TYPE_STREAM_ID)
		cursor_u64(&in);
	if (type & SAMPLE_TYPE_CPU)
		sample->cpu = (uint32_t)cursor_u64(&in);
	if (type & SAMPLE_TYPE_PERIOD)
		sample->period = cursor_u64(&in);
	if (type & SAMPLE_TYPE_READ)
		skip_read(&in, attr->read_format);
	if (type & SAMPLE_TYPE_CALLCHAIN) {
		sample->chain_count = cursor_u64(&in);
		sample->chain = take_counted(&in, sample->chain_count, 8);
	}
	if (in.failed)
		return false;
	read_behind_chain(&in, attr, sample);
	return !in.failed;
}

// ---- stacks that were copied ----

struct space_of_process {
	struct perf_data *data;
	uint32_t pid;
};

static bool find_for_unwinder(void *context, uint64_t address, struct frame *frame) {
	struct space_of_process *space = context;
	return find_code(space->data, space->pid, address, false, frame);
}

static void take_registers(const struct perf_attr *attr, const struct sample *sample,
			   struct user_state *state) {
	struct cursor values = sample->registers;
	for (unsigned i = 0; i < 64; i++) {
		if (!(attr->registers >> i & 1))
			continue;
		uint64_t value = cursor_u64(&values);
		if (i < ARRAY_SIZE(state->registers)) {
			state->registers[i] = value;
			state->valid |= UINT64_C(1) << i;
		}
	}
}

// A recording that has no end (perf was killed, or crashed) does not tell its machine; the registers
// that were asked for do.
static int machine_of(const struct perf_data *data, const struct perf_attr *attr) {
	enum { PERF_X86_IP = 8, PERF_X86_DS = 12, PERF_X86_R15 = 23, PERF_ARM64_PC = 32 };
	bool last_of_x86 = attr->registers >> PERF_X86_R15 == 1;
	bool segments = attr->registers >> PERF_X86_DS & 15;
	if (data->arch == ARCH_X86 ||
	    (data->arch == ARCH_UNKNOWN && last_of_x86 && !segments && attr->registers >> PERF_X86_IP & 1))
		return MACHINE_X86_64;
	if (data->arch == ARCH_ARM64 || (data->arch == ARCH_UNKNOWN && attr->registers >> PERF_ARM64_PC == 1))
		return MACHINE_ARM64;
	return MACHINE_UNKNOWN;
}

// The user's part of the stack, from its copy. False: there is none.
static bool add_unwound(struct perf_data *data, const struct perf_attr *attr, const struct sample *sample) {
	struct symbolizer *symbolizer = data->tables->symbolizer;
	enum { ABI_64 = 2 };
	if (!symbolizer || sample->register_abi != ABI_64 || !cursor_left(&sample->stack))
		return false;
	struct space_of_process space = {data, sample->pid};
	struct user_state state = {
		.machine = machine_of(data, attr),
		.stack = sample->stack.at,
		.stack_size = MIN((uint64_t)cursor_left(&sample->stack), sample->stack_used),
		.find = find_for_unwinder,
		.context = &space};
	take_registers(attr, sample, &state);
	bool complete = false;
	array_reserve(&data->chain, data->chain.count + MOST_UNWOUND);
	size_t count = symbolizer->unwind(symbolizer, data->tables, &state,
					  data->chain.items + data->chain.count, MOST_UNWOUND, &complete);
	data->chain.count += count;
	data->unwound_stacks++;
	data->broken_stacks += !complete;
	return count > 0;
}

static void build_chain(struct perf_data *data, const struct perf_attr *attr,
			const struct perf_record *record, struct sample *sample) {
	unsigned mode = record->misc & MISC_CPUMODE;
	bool kernel = mode == MISC_KERNEL || mode == MISC_GUEST_KERNEL, caller = false, user_seen = false;
	data->chain.count = 0;
	uint64_t count = MIN(sample->chain_count, MOST_CHAIN);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t address = cursor_u64(&sample->chain);
		if (address >= (uint64_t)CONTEXT_MARKS) {
			kernel = address == CONTEXT_KERNEL || address == CONTEXT_GUEST_KERNEL;
			caller = caller && kernel == false ? false : caller;
			continue;
		}
		// With a copied stack the chain's user part is what frame pointers made of it.
		if (!kernel && cursor_left(&sample->stack) && data->tables->symbolizer)
			continue;
		user_seen = user_seen || !kernel;
		add_address(data, sample->pid, address, kernel, caller);
		caller = true;
	}
	if (!user_seen && add_unwound(data, attr, sample))
		return;
	if (!data->chain.count && attr->sample_type & SAMPLE_TYPE_IP)
		add_address(data, sample->pid, sample->ip, mode == MISC_KERNEL || mode == MISC_GUEST_KERNEL,
			    false);
}

// ---- scheduling ----

static uint32_t field_string(struct perf_data *data, const struct trace_format *format, const char *name,
			     const struct cursor *raw) {
	const struct trace_field *field = trace_field_by_name(format, name);
	if (!field || field->offset > cursor_left(raw) || field->size > cursor_left(raw) - field->offset)
		return 0;
	const char *text = (const char *)raw->at + field->offset;
	return strings_add_bytes(data->tables->strings, text, strnlen(text, field->size));
}

static int64_t field_number(const struct trace_format *format, const char *name, const struct cursor *raw) {
	int64_t value = 0;
	trace_field_number(trace_field_by_name(format, name), raw->at, cursor_left(raw), &value);
	return value;
}

static int push_switch(struct perf_data *data, const struct trace_format *format,
		       const struct sample *sample) {
	struct event event = {
		.kind = EVENT_SWITCH, .time = sample->time, .cpu = sample->cpu, .pid = sample->pid};
	event.tid = (uint32_t)field_number(format, "prev_pid", &sample->raw);
	event.switched.next_tid = (uint32_t)field_number(format, "next_pid", &sample->raw);
	event.switched.next_name = field_string(data, format, "next_comm", &sample->raw);
	event.switched.state = (uint16_t)field_number(format, "prev_state", &sample->raw);
	event.switched.priority = (int16_t)field_number(format, "prev_prio", &sample->raw);
	event.switched.next_priority = (int16_t)field_number(format, "next_prio", &sample->raw);
	return sink_push(data->sink, &event);
}

static int push_waking(struct perf_data *data, const struct trace_format *format,
		       const struct sample *sample) {
	struct event event = {.kind = EVENT_WAKING,
			      .time = sample->time,
			      .cpu = sample->cpu,
			      .tid = sample->tid,
			      .pid = sample->pid};
	event.waking.wakee_tid = (uint32_t)field_number(format, "pid", &sample->raw);
	event.waking.target_cpu = (uint32_t)field_number(format, "target_cpu", &sample->raw);
	event.waking.priority = (int16_t)field_number(format, "prio", &sample->raw);
	return sink_push(data->sink, &event);
}

// sched_wakeup comes with sched_waking for the same wakeup; only one may count.
static int push_sched(struct perf_data *data, const struct perf_attr *attr, const struct sample *sample) {
	const struct trace_format *format = attr->type == TYPE_TRACEPOINT
						    ? trace_format_by_id(&data->formats, attr->config)
						    : NULL;
	if (!format || !cursor_left(&sample->raw))
		return 0;
	const char *name = strings_get(data->tables->strings, format->name);
	if (strcmp(name, "sched:sched_switch") == 0)
		return push_switch(data, format, sample);
	if (strcmp(name, "sched:sched_waking") == 0)
		return push_waking(data, format, sample);
	return 0;
}

static int take_sample(struct perf_data *data, const struct perf_attr *attr,
		       const struct perf_record *record) {
	struct sample sample;
	if (!attr || !read_sample(record->body, attr, &sample))
		return -EBADMSG;
	int error = push_sched(data, attr, &sample);
	if (error)
		return error;
	build_chain(data, attr, record, &sample);
	uint32_t stack = 0;
	for (size_t i = data->chain.count; i-- > 0;)
		stack = stacks_add(data->tables->stacks, stack, data->chain.items[i]);
	data->samples++;
	struct event event = {.kind = EVENT_SAMPLE,
			      .time = sample.time,
			      .cpu = sample.cpu,
			      .tid = sample.tid,
			      .pid = sample.pid};
	event.sample.weight = sample.period ? sample.period : 1;
	event.sample.stack = stack;
	event.sample.name = attr->name;
	if (attr->sample_type & SAMPLE_TYPE_TID)
		event.sample.comm = task_name(data, sample.tid, sample.pid);
	else
		event.sample.flags = SAMPLE_NO_TASK;
	return sink_push(data->sink, &event);
}

// ---- losses ----

static int take_lost(struct perf_data *data, const struct perf_record *record,
		     const struct trailer *trailer) {
	struct cursor in = record->body;
	if (record->type == PERF_LOST)
		cursor_u64(&in); // id
	struct event event = {.kind = EVENT_LOST, .time = trailer->time, .cpu = trailer->cpu};
	event.lost.count = cursor_u64(&in);
	event.lost.source = SOURCE_TRACE;
	if (in.failed)
		return -EBADMSG;
	data->lost += event.lost.count;
	return sink_push(data->sink, &event);
}

int perf_data_record(struct perf_data *data, const struct perf_record *record) {
	const struct perf_attr *attr = perf_attr_of(&data->attrs, record);
	struct trailer trailer = record->type == PERF_SAMPLE ? (struct trailer){0}
							     : read_trailer(attr, record->body);
	int error = 0;
	switch (record->type) {
	case PERF_SAMPLE:
		error = take_sample(data, attr, record);
		break;
	case PERF_MMAP:
	case PERF_MMAP2:
		error = take_mmap(data, record);
		break;
	case PERF_KSYMBOL:
		error = take_kernel_symbol(data, record);
		break;
	case PERF_COMM:
		error = take_comm(data, record, &trailer);
		break;
	case PERF_FORK:
	case PERF_EXIT:
		error = take_fork(data, record, &trailer);
		break;
	case PERF_LOST:
	case PERF_LOST_SAMPLES:
		error = take_lost(data, record, &trailer);
		break;
	default:
		break;
	}
	if (error != -EBADMSG)
		return error;
	data->bad_records++; // a record that contradicts itself is left out
	return 0;
}
