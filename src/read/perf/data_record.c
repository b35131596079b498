// Handles one record of perf.data: updates the known address spaces and names,
// and pushes the events that it describes.
#include "read/perf/data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CHAIN = 4096, MOST_INLINED = 64, MOST_UNWOUND = 1024 };

// Markers in a call chain: the addresses that follow belong to this mode.
enum { CONTEXT_MARKS = -4095 };
#define CONTEXT_KERNEL       ((uint64_t)-128)
#define CONTEXT_USER         ((uint64_t)-512)
#define CONTEXT_GUEST_KERNEL ((uint64_t)-2176)

// ---- the trailer of records other than samples ----

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

// perf also describes the tasks that existed before it, in records without a time: forks and names of an
// earlier time, which are no events of the recording.
static int task_from_before(struct perf_data *data, uint32_t tid, uint32_t pid, uint32_t parent_pid,
			    uint32_t name) {
	struct event event = {.kind = EVENT_TASK,
			      .time = data->time,
			      .cpu = CPU_NONE,
			      .tid = tid,
			      .pid = pid,
			      .task = {.parent_pid = parent_pid, .name = name}};
	if (data->begun)
		return sink_push(data->sink, &event);
	uint64_t *place = map_put(&data->before_places, tid);
	if (!*place) {
		array_push(&data->before, event);
		*place = data->before.count;
	}
	struct event *known = &data->before.items[*place - 1];
	known->task.name = name;
	if (parent_pid)
		known->task.parent_pid = parent_pid;
	return 0;
}

int perf_data_begin(struct perf_data *data, uint64_t time) {
	if (time)
		data->time = time;
	if (data->begun)
		return 0;
	data->begun = true;
	struct event start = {.kind = EVENT_START, .time = time, .cpu = CPU_NONE};
	int error = time ? sink_push(data->sink, &start) : 0;
	for (size_t i = 0; !error && i < data->before.count; i++) {
		data->before.items[i].time = time;
		error = sink_push(data->sink, &data->before.items[i]);
	}
	array_free(&data->before);
	map_free(&data->before_places);
	return error;
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
	if (!trailer->time)
		return task_from_before(data, tid, pid, 0, name);
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
	if (!time)
		return task_from_before(data, tid, pid, tid == pid ? parent_pid : 0, name);
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

// perf names the kernel's text after the symbol that addresses are relative to.
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

// A function added to the running kernel, such as a BPF program, becomes a module of its own name.
static int take_kernel_symbol(struct perf_data *data, const struct perf_record *record) {
	enum { UNREGISTER = 1 };
	struct cursor in = record->body;
	struct space_map map = {.begin = cursor_u64(&in), .kind = FRAME_KERNEL};
	map.end = map.begin + cursor_u32(&in);
	cursor_u16(&in); // kind of function
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
	// The kernel is mapped by address: its offset is where the symbol _text was.
	if (map->offset > UINT64_MAX / 2)
		frame->position = address - map->offset;
	return true;
}

// The frame with the address as recorded, if addresses are wanted.
static uint32_t with_address(struct tables *tables, uint32_t id, uint64_t address) {
	if (tables->addresses != ADDRESSES_ALL)
		return id;
	struct frame frame = *stacks_frame(tables->stacks, id);
	frame.address = address;
	return stacks_add_frame(tables->stacks, &frame);
}

// A caller's address is the return address, which may already be the first byte of another
// function; the call comes before it.
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
			array_push(&data->chain, with_address(tables, ids[i], address));
		return;
	}
	frame.address += back;
	frame.position = 0;
	if (tables->addresses == ADDRESSES_NONE)
		frame.address = 0;
	array_push(&data->chain, stacks_add_frame(tables->stacks, &frame));
}

uint32_t perf_data_function(struct perf_data *data, uint64_t address) {
	struct tables *tables = data->tables;
	struct frame frame;
	uint32_t ids[MOST_INLINED];
	find_code(data, 0, address, true, &frame);
	if (tables->symbolizer && !frame.symbol) {
		size_t count = tables->symbolizer->resolve(tables->symbolizer, tables, &frame, ids,
							   MOST_INLINED);
		frame.symbol = count ? stacks_frame(tables->stacks, ids[count - 1])->symbol : 0;
	}
	if (frame.symbol)
		return frame.symbol;
	char text[24];
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return strings_add(tables->strings, text);
}

// ---- samples ----

static struct cursor take_counted(struct cursor *in, uint64_t count, size_t each) {
	if (count > cursor_left(in) / each)
		in->failed = true;
	return cursor_slice(in, in->failed ? 0 : (size_t)count * each);
}

static void take_read(struct cursor *in, uint64_t format, struct perf_sample *sample) {
	enum { ENABLED = 1, RUNNING = 2, ID = 4, GROUP = 8, LOST = 16 };
	size_t times = !!(format & ENABLED) + !!(format & RUNNING);
	size_t each = 1 + !!(format & ID) + !!(format & LOST);
	if (!(format & GROUP)) {
		cursor_take(in, 8 * (times + each));
		return;
	}
	uint64_t count = cursor_u64(in);
	cursor_take(in, 8 * times);
	struct cursor values = take_counted(in, count, 8 * each);
	if (format & ID) {
		sample->group = values;
		sample->group_each = 8 * each;
	}
}

// Reads the useful fields after the call chain.
static void read_behind_chain(struct cursor *in, const struct perf_attr *attr, struct perf_sample *sample) {
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
		sample->branches = take_counted(in, count, 24);
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

static bool read_sample(struct cursor in, const struct perf_attr *attr, struct perf_sample *sample) {
	uint64_t type = attr->sample_type;
	*sample = (struct perf_sample){.cpu = CPU_NONE,
				       .period = attr->frequency ? 1 : MAX(attr->period, 1u)};
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
		take_read(&in, attr->read_format, sample);
	if (type & SAMPLE_TYPE_CALLCHAIN) {
		sample->chain_count = cursor_u64(&in);
		sample->chain = take_counted(&in, sample->chain_count, 8);
	}
	if (in.failed)
		return false;
	read_behind_chain(&in, attr, sample);
	return !in.failed;
}

// `perf record --off-cpu` since 6.15: a BPF program writes thread and process, how long it was off the CPU
// and where it waits into the raw part of a sample, which otherwise describes the moment of writing.
static bool take_off_cpu(struct perf_sample *sample, const struct perf_attr *attr, const char *name) {
	enum { BPF_OUTPUT = 10 };
	if (attr->type != TYPE_SOFTWARE || attr->config != BPF_OUTPUT ||
	    !(attr->sample_type & SAMPLE_TYPE_RAW) || strcmp(name, "offcpu-time") != 0)
		return false;
	struct cursor in = sample->raw;
	uint32_t tid = cursor_u32(&in), pid = cursor_u32(&in);
	uint64_t waited = cursor_u64(&in), count = cursor_u64(&in);
	struct cursor chain = take_counted(&in, count, 8);
	if (in.failed)
		return false;
	sample->tid = tid;
	sample->pid = pid;
	sample->period = waited;
	sample->chain = chain;
	sample->chain_count = count;
	sample->ip = 0;
	sample->branches = sample->stack = sample->group = cursor_of(NULL, 0);
	return true;
}

// ---- copied stacks ----

struct space_of_process {
	struct perf_data *data;
	uint32_t pid;
};

static bool find_for_unwinder(void *context, uint64_t address, struct frame *frame) {
	struct space_of_process *space = context;
	return find_code(space->data, space->pid, address, false, frame);
}

static void take_registers(const struct perf_attr *attr, const struct perf_sample *sample,
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

// An unfinished recording (perf was killed or crashed) does not name its machine; the set of
// requested registers does.
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

// Adds the user part of the stack, unwound from its copy. Returns false if there is no copy.
static bool add_unwound(struct perf_data *data, const struct perf_attr *attr,
			const struct perf_sample *sample) {
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

// `--call-graph lbr`: the CPU keeps the calls that have not returned, newest first. They continue from the
// innermost user address, and are addresses of the calls themselves.
static bool has_call_stack(const struct perf_attr *attr, const struct perf_sample *sample) {
	enum { BRANCH_CALL_STACK = 1 << 11 };
	return attr->branch_type & BRANCH_CALL_STACK && cursor_left(&sample->branches);
}

static void add_calls(struct perf_data *data, const struct perf_sample *sample) {
	enum { MOST_CALLS = 256 };
	struct cursor branches = sample->branches;
	for (size_t i = 0; i < MOST_CALLS && cursor_left(&branches) >= 24; i++) {
		uint64_t from = cursor_u64(&branches);
		cursor_take(&branches, 16); // where to, flags
		if (from && from < (uint64_t)INT64_MAX)
			add_address(data, sample->pid, from, false, false);
	}
}

static void build_chain(struct perf_data *data, const struct perf_attr *attr,
			const struct perf_record *record, struct perf_sample *sample) {
	unsigned mode = record->misc & MISC_CPUMODE;
	bool kernel = mode == MISC_KERNEL || mode == MISC_GUEST_KERNEL, caller = false, user_seen = false;
	bool calls = has_call_stack(attr, sample);
	data->chain.count = 0;
	uint64_t count = MIN(sample->chain_count, MOST_CHAIN);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t address = cursor_u64(&sample->chain);
		if (address >= (uint64_t)CONTEXT_MARKS) {
			kernel = address == CONTEXT_KERNEL || address == CONTEXT_GUEST_KERNEL;
			caller = caller && kernel == false ? false : caller;
			continue;
		}
		// With a copied stack, the user part of the chain is only what frame pointers gave.
		if (!kernel && cursor_left(&sample->stack) && data->tables->symbolizer)
			continue;
		if (!kernel && calls && user_seen)
			continue;
		user_seen = user_seen || !kernel;
		add_address(data, sample->pid, address, kernel, caller);
		caller = true;
	}
	if (!user_seen && add_unwound(data, attr, sample))
		return;
	if (calls && user_seen)
		add_calls(data, sample);
	if (!data->chain.count && attr->sample_type & SAMPLE_TYPE_IP)
		add_address(data, sample->pid, sample->ip, mode == MISC_KERNEL || mode == MISC_GUEST_KERNEL,
			    false);
}

// A group that only its first event samples ({cycles,instructions}:S): each value says how much was counted
// since the sample before, and is a sample of its own event.
static int push_group(struct perf_data *data, const struct perf_sample *sample, const struct event *event) {
	struct cursor values = sample->group;
	int error = 0;
	while (!error && cursor_left(&values)) {
		struct cursor value = cursor_slice(&values, sample->group_each);
		uint64_t count = cursor_u64(&value), id = cursor_u64(&value);
		const uint64_t *index = map_get(&data->attrs.by_id, id);
		uint64_t *last = map_put(&data->group_values, id);
		uint64_t since = count - MIN(*last, count);
		*last = count;
		if (!index || !since)
			continue;
		struct event one = *event;
		one.sample.weight = since;
		one.sample.name = data->attrs.items.items[*index - 1].name;
		error = sink_push(data->sink, &one);
	}
	return error;
}

static int take_sample(struct perf_data *data, const struct perf_attr *attr,
		       const struct perf_record *record) {
	struct perf_sample sample;
	if (!attr || !read_sample(record->body, attr, &sample))
		return -EBADMSG;
	int error = take_off_cpu(&sample, attr, strings_get(data->tables->strings, attr->name))
			    ? 0
			    : perf_data_tracepoint(data, attr, &sample);
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
	return cursor_left(&sample.group) ? push_group(data, &sample, &event) : sink_push(data->sink, &event);
}

// ---- switches ----

// perf's own records of switches: for the whole machine they name both threads, for a process only the one
// that leaves its CPU or comes back to it.
static int take_switch(struct perf_data *data, const struct perf_record *record,
		       const struct trailer *trailer) {
	struct cursor in = record->body;
	bool out = record->misc & MISC_SWITCH_OUT, both = record->type == PERF_SWITCH_CPU;
	struct event event = {.kind = EVENT_SWITCH, .time = trailer->time, .cpu = trailer->cpu};
	if (data->has_switch || !trailer->time || !trailer->has_tid || trailer->cpu == CPU_NONE ||
	    (both && !out))
		return 0;
	uint32_t other = TID_OUTSIDE + trailer->cpu;
	if (both) {
		cursor_u32(&in); // the other one's process
		other = cursor_u32(&in);
		if (in.failed)
			return -EBADMSG;
	}
	event.tid = out ? trailer->tid : other;
	event.pid = out ? trailer->pid : 0;
	event.switched.next_tid = out ? other : trailer->tid;
	event.switched.outside = !out;
	event.switched.next_outside = out && !both;
	if (event.switched.next_tid < TID_OUTSIDE)
		event.switched.next_name = task_name(data, event.switched.next_tid, trailer->pid);
	event.switched.state = !out || record->misc & MISC_SWITCH_PREEMPTED ? STATE_RUNNING : STATE_SLEEPING;
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
	uint64_t time = perf_data_time(data, record);
	int error = time || record->type == PERF_SAMPLE ? perf_data_begin(data, time) : 0;
	if (error)
		return error;
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
	case PERF_SWITCH:
	case PERF_SWITCH_CPU:
		error = take_switch(data, record, &trailer);
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
	data->bad_records++; // drop a record that contradicts itself
	return 0;
}
