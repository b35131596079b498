// Turns records into events, in two walks over the file. The first collects what
// may come too late in the file: schemas, images, methods, the stacks that keys
// refer to, and the tasks that existed before the trace. The second pushes:
// tasks, switches, wakeups and samples as our own kinds of events, everything
// else as generic events with the fields from their schemas.
#include "read/etl/events.h"
#include "base/log.h"
#include "read/etl/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { PROGRESS_EVERY = 1 << 20 }; // in records

int etl_push(struct etl_events *events, const struct event *event) {
	if (cpu_is_possible(event->cpu))
		return sink_push(events->sink, event);
	struct event elsewhere = *event;
	elsewhere.cpu = CPU_NONE;
	events->impossible++;
	return sink_push(events->sink, &elsewhere);
}

struct event etl_event_of(const struct etl_events *events, const struct etl_record *record,
			  enum event_kind kind) {
	struct event event = {.time = events->time, .cpu = record->cpu, .kind = kind};
	event.tid = record->tid == ETL_NONE ? 0 : record->tid;
	event.pid = record->pid == ETL_NONE ? 0 : record->pid;
	return event;
}

uint32_t etl_pid_of(const struct etl_events *events, uint32_t tid) {
	const uint64_t *known = map_get(&events->threads, tid);
	uint32_t pid = known ? (uint32_t)(*known - 1) : etl_state_pid(&events->state, tid);
	return pid == ETL_NONE ? 0 : pid;
}

// A thread has its own name, or its process's.
static uint32_t thread_name(struct etl_events *events, uint32_t tid, uint32_t pid) {
	const uint64_t *name = map_get(&events->state.thread_names, tid);
	if (name && *name)
		return (uint32_t)*name;
	const struct etl_process *process = etl_state_process(&events->state, pid);
	return process ? process->name : 0;
}

int etl_push_stack(struct etl_events *events, const struct event *event, uint32_t name, uint32_t stack) {
	struct event sample = {.kind = EVENT_SAMPLE,
			       .time = event->time,
			       .cpu = event->cpu,
			       .tid = event->tid,
			       .pid = event->pid};
	if (!stack)
		return 0;
	sample.sample.name = name;
	sample.sample.stack = stack;
	sample.sample.weight = 1;
	sample.sample.flags = SAMPLE_AT_EVENT;
	return etl_push(events, &sample);
}

// ---- generic events ----

static void name_type(struct etl_events *events, struct etl_type *type) {
	struct buffer text = {0};
	etl_type_provider(&events->schemas, type, &text);
	type->provider_string = strings_add_bytes(events->tables->strings, text.data, text.size);
	text.size = 0;
	etl_type_title(type, &text);
	type->name_string = strings_add_bytes(events->tables->strings, text.data, text.size);
	buffer_free(&text);
}

static void add_text_field(struct etl_events *events, const char *name, const void *text, size_t size) {
	array_push(&events->decoder.fields,
		   (struct event_field){.name = name, .type = FIELD_TEXT, .text = text, .size = size});
}

// The stack stored in the event itself, if the provider was enabled with stacks.
static uint32_t own_stack(struct etl_events *events, const struct etl_record *record) {
	struct etl_item item;
	bool wide = etl_item_find(record, ETL_ITEM_STACK64, &item);
	if (!wide && !etl_item_find(record, ETL_ITEM_STACK32, &item))
		return 0;
	size_t width = wide ? 8 : 4, match = 8; // the addresses follow an id that matches two halves
	if (item.size <= match)
		return 0;
	return etl_stacks_add(&events->stacks, 0, record->pid, item.data + match, (item.size - match) / width,
			      (unsigned)width);
}

// Records with only a CPU do not name the running thread: a field does, or the preceding switches.
static void attribute(struct etl_events *events, const struct etl_record *record, const struct etl_type *type,
		      struct event *event) {
	static const char *const fields[] = {"ThreadId", "StackThread", "IssuingThreadId"};
	uint64_t number;
	bool found = type->role == ROLE_HARD_FAULT &&
		     etl_decoded_number(&events->decoder, "TThreadId", &number);
	for (size_t i = 0; !found && i < ARRAY_SIZE(fields); i++)
		found = etl_decoded_number(&events->decoder, fields[i], &number);
	uint32_t running = etl_running(events, record);
	if (!found && running == ETL_NONE)
		return;
	event->tid = found ? (uint32_t)number : running;
	event->pid = etl_pid_of(events, event->tid);
}

// The text of a GUID, or NULL if it is all zeros.
static const char *guid_text(const void *guid, char text[37]) {
	static const struct etl_guid none;
	if (!guid || memcmp(guid, &none, sizeof(none)) == 0)
		return NULL;
	struct buffer out = {0};
	format_guid(&out, guid);
	buffer_append(&out, "", 1);
	memcpy(text, out.data, out.size);
	buffer_free(&out);
	return text;
}

static const struct event_numbers *numbers_of(struct etl_events *events, const struct etl_record *record,
					      struct etl_type *type) {
	struct event_numbers *numbers = &events->numbers;
	struct etl_item related;
	bool has_id = record->kind == ETL_EVENT32 || record->kind == ETL_EVENT64;
	*numbers = (struct event_numbers){.id = record->id,
					  .version = record->version,
					  .task = record->task,
					  .opcode = record->opcode,
					  .level = record->level,
					  .has_id = has_id,
					  .instance = record->instance,
					  .parent_instance = record->parent_instance,
					  .keywords = record->keyword};
	if (record->guid && !*type->guid_text)
		guid_text(record->guid, type->guid_text);
	numbers->provider = record->guid ? type->guid_text : NULL;
	if (has_id)
		numbers->activity = guid_text(record->activity, events->activity);
	if (record->items_size && etl_item_find(record, ETL_ITEM_RELATED_ACTIVITY, &related) &&
	    related.size == sizeof(struct etl_guid))
		numbers->related_activity = guid_text(related.data, events->related_activity);
	if (events->options->records && type->schema && type->schema->message &&
	    etl_message_text(&events->decoder, type->schema, &events->message))
		numbers->message = (const char *)events->message.data;
	return numbers;
}

// A stack that follows its event refers to it by time, and by thread if events on several CPUs have
// the same time.
static uint32_t following_stack(struct etl_events *events, const struct etl_record *record,
				const struct etl_type *type, uint32_t tid) {
	bool sampled = type->role == ROLE_SAMPLE || type->role == ROLE_PMC_SAMPLE;
	if (type->role >= ROLE_STACK && type->role <= ROLE_STACK_DEFINITION)
		return 0;
	return etl_stacks_of(&events->stacks, record->time, sampled ? tid : record->tid);
}

// Paths of devices begin with the letter of their drive, as in Windows' own programs. The texts are in
// buffers of our own.
static void map_paths(struct etl_events *events) {
	for (size_t i = 0; i < events->decoder.fields.count; i++) {
		struct event_field *field = &events->decoder.fields.items[i];
		if (field->type != FIELD_TEXT || !field->size || *field->text != '\\')
			continue;
		size_t size = field->size;
		field->text = etl_machine_path(&events->state.machine, (char *)(uintptr_t)field->text, &size);
		field->size = size;
	}
}

// The values of CPU counters at the event, under the names that the session gave them.
static void add_counters(struct etl_events *events, const struct etl_record *record) {
	static const char *const unnamed[ETL_MOST_COUNTERS] = {"Counter0", "Counter1", "Counter2", "Counter3",
							       "Counter4", "Counter5", "Counter6"};
	struct cursor in = cursor_of(record->counters, record->counter_count * 8u);
	for (size_t i = 0; i < record->counter_count && i < ETL_MOST_COUNTERS; i++)
		array_push(&events->decoder.fields,
			   (struct event_field){.name = i < events->state.counters.count
								? events->state.counters.items[i]
								: unnamed[i],
						.type = FIELD_UINT,
						.uint = cursor_u64(&in)});
}

static int push_generic(struct etl_events *events, const struct etl_record *record, struct etl_type *type,
			uint64_t ticks) {
	struct event event = etl_event_of(events, record, EVENT_GENERIC);
	if (!type->name_string)
		name_type(events, type);
	if (events->state.machine.mappings.count && !events->options->records)
		map_paths(events);
	if (record->counter_count)
		add_counters(events, record);
	if (record->tid == ETL_NONE)
		attribute(events, record, type, &event);
	// Network events name their process; the thread that recorded them is arbitrary.
	uint64_t pid;
	if (record->tid == ETL_NONE && (record->group == 6 || record->group == 8) &&
	    etl_decoded_number(&events->decoder, "PID", &pid)) {
		event.tid = 0;
		event.pid = (uint32_t)pid;
	}
	event.generic.provider = type->provider_string;
	event.generic.name = type->name_string;
	event.generic.fields = events->decoder.fields.items;
	event.generic.field_count = (uint32_t)events->decoder.fields.count;
	event.generic.duration = etl_file_span(&events->file, 0, ticks);
	event.generic.on_cpu = type->role == ROLE_DPC || type->role == ROLE_ISR;
	event.generic.numbers = numbers_of(events, record, type);
	if (record->items_size)
		event.generic.stack = own_stack(events, record);
	if (!event.generic.stack && (etl_is_kernel(record) || type->role == ROLE_CLR))
		event.generic.stack = following_stack(events, record, type, event.tid);
	int error = etl_push(events, &event);
	return error || events->options->records
		       ? error
		       : etl_push_stack(events, &event, type->name_string, event.generic.stack);
}

static int take_generic(struct etl_events *events, const struct etl_record *record, struct etl_type *type) {
	etl_decode(&events->decoder, record, type->schema);
	return push_generic(events, record, type, 0);
}

// ---- tasks ----

// The last part of a path.
static uint32_t file_name(struct strings *strings, const char *path, size_t size) {
	size_t begin = size;
	while (begin && path[begin - 1] != '\\')
		begin--;
	return strings_add_bytes(strings, path + begin, size - begin);
}

static int take_process(struct etl_events *events, const struct etl_record *record, struct etl_type *type) {
	etl_decode(&events->decoder, record, type->schema);
	bool provider = type->role == ROLE_PROVIDER_PROCESS;
	uint64_t pid = 0, parent = 0, status = 0;
	if (!etl_decoded_number(&events->decoder, provider ? "ProcessID" : "ProcessId", &pid) || !pid)
		return 0;
	etl_decoded_number(&events->decoder, provider ? "ParentProcessID" : "ParentId", &parent);
	etl_decoded_number(&events->decoder, provider ? "ExitCode" : "ExitStatus", &status);
	const struct event_field *image = etl_decoded_field(&events->decoder,
							    provider ? "ImageName" : "ImageFileName");
	const struct event_field *command = etl_decoded_field(&events->decoder, "CommandLine");
	struct strings *strings = events->tables->strings;
	uint32_t name = image && image->type == FIELD_TEXT ? file_name(strings, image->text, image->size) : 0;
	if (record->opcode == LIFE_STOP) {
		struct event event = etl_event_of(events, record, EVENT_EXIT);
		event.tid = event.pid = (uint32_t)pid;
		event.exit.last = true;
		event.exit.unknown = status > 255;
		event.exit.code = (int32_t)(status & 0xff) << 8;
		event.exit.status = (uint32_t)status;
		event.exit.has_status = true;
		return etl_push(events, &event);
	}
	if (record->opcode != LIFE_START)
		return 0;
	struct event event = etl_event_of(events, record, EVENT_FORK);
	event.fork.child_tid = event.fork.child_pid = (uint32_t)pid;
	event.fork.parent_pid = (uint32_t)parent;
	event.fork.name = name;
	int error = etl_push(events, &event);
	if (error)
		return error;
	event = etl_event_of(events, record, EVENT_EXEC);
	event.time++; // so that the start stays first after any sort
	event.tid = event.pid = event.exec.old_tid = (uint32_t)pid;
	event.exec.name = event.exec.file = name;
	if (command && command->type == FIELD_TEXT)
		event.exec.arguments = strings_add_bytes(strings, command->text, command->size);
	return etl_push(events, &event);
}

static int take_thread(struct etl_events *events, const struct etl_record *record) {
	uint32_t pid, tid;
	struct cursor in = cursor_of(record->payload, record->size);
	if (!etl_thread_take(record, &in, &pid, &tid) || !tid)
		return 0;
	if (record->opcode == LIFE_START) {
		*map_put(&events->threads, tid) = (uint64_t)pid + 1;
		struct event event = etl_event_of(events, record, EVENT_FORK);
		event.fork.child_tid = tid;
		event.fork.child_pid = pid;
		event.fork.name = thread_name(events, tid, pid);
		return etl_push(events, &event);
	}
	if (record->opcode != LIFE_STOP)
		return 0;
	struct event event = etl_event_of(events, record, EVENT_EXIT);
	event.tid = tid;
	event.pid = pid;
	event.exit.unknown = true;
	return etl_push(events, &event);
}

// What the kernel's provider says counts if the kernel itself does not say it; it stays an event.
static int take_provider_task(struct etl_events *events, const struct etl_record *record,
			      struct etl_type *type) {
	int error = 0;
	if (!events->state.kernel_processes)
		error = type->role == ROLE_PROVIDER_PROCESS ? take_process(events, record, type)
							    : take_thread(events, record);
	return error ? error : take_generic(events, record, type);
}

static int take_thread_name(struct etl_events *events, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	struct event event = etl_event_of(events, record, EVENT_RENAME);
	event.pid = cursor_u32(&in);
	event.tid = cursor_u32(&in);
	events->text.size = 0;
	format_utf16_terminated(&events->text, &in);
	if (in.failed || !event.tid)
		return 0;
	event.rename.name = strings_add_bytes(events->tables->strings, events->text.data, events->text.size);
	return etl_push(events, &event);
}

// Pushes the tasks that existed before the trace, before its first event.
static int push_tasks(struct etl_events *events) {
	int error = 0;
	for (size_t i = 0; !error && i < events->state.processes.count; i++) {
		const struct etl_process *process = &events->state.processes.items[i];
		if (process->begin || !process->pid)
			continue;
		error = etl_push(events, &(struct event){.kind = EVENT_TASK,
							 .time = events->time,
							 .cpu = CPU_NONE,
							 .tid = process->pid,
							 .pid = process->pid,
							 .task = {.parent_pid = process->parent,
								  .name = process->name,
								  .command_line = process->command_line}});
	}
	for (size_t i = 0; !error && i < events->state.at_start.count; i++) {
		const struct etl_thread *thread = &events->state.at_start.items[i];
		if (!thread->tid)
			continue;
		*map_put(&events->threads, thread->tid) = (uint64_t)thread->pid + 1;
		error = etl_push(events, &(struct event){.kind = EVENT_TASK,
							 .time = events->time,
							 .cpu = CPU_NONE,
							 .tid = thread->tid,
							 .pid = thread->pid,
							 .task = {.name = thread_name(events, thread->tid,
										      thread->pid)}});
	}
	return error;
}

// ---- samples ----

static int take_sample(struct etl_events *events, const struct etl_record *record) {
	struct etl_sample sample;
	if (!etl_sample_take(record, &sample) ||
	    (!sample.tid && !(sample.flags & (SAMPLE_IN_DPC | SAMPLE_IN_ISR))))
		return 0; // the idle thread
	struct event event = etl_event_of(events, record, EVENT_SAMPLE);
	event.tid = sample.tid;
	event.pid = etl_pid_of(events, sample.tid);
	event.sample.name = events->sample_name;
	event.sample.weight = events->state.interval * 100 * MAX(sample.count, 1);
	event.sample.stack = etl_stacks_of(&events->stacks, record->time, sample.tid);
	if (!event.sample.stack)
		event.sample.stack = etl_stacks_single(&events->stacks, event.pid, sample.address,
						       record->pointer);
	return etl_push(events, &event);
}

static int take_pmc_sample(struct etl_events *events, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	struct event event = etl_event_of(events, record, EVENT_SAMPLE);
	uint64_t address = record->pointer == 4 ? cursor_u32(&in) : cursor_u64(&in);
	event.tid = cursor_u32(&in);
	uint16_t source = cursor_u16(&in);
	if (in.failed)
		return 0;
	event.pid = etl_pid_of(events, event.tid);
	events->text.size = 0;
	buffer_printf(&events->text, "counter %u", source);
	event.sample.name = strings_add_bytes(events->tables->strings, events->text.data, events->text.size);
	event.sample.weight = 1;
	event.sample.stack = etl_stacks_of(&events->stacks, record->time, event.tid);
	if (!event.sample.stack)
		event.sample.stack = etl_stacks_single(&events->stacks, event.pid, address, record->pointer);
	return etl_push(events, &event);
}

// ---- what took time ----

// Adds the name of the file that an event is about, if known.
static void add_file_name(struct etl_events *events) {
	uint64_t object = 0;
	etl_decoded_number(&events->decoder, "FileObject", &object);
	const uint64_t *name = map_get(&events->state.files, object);
	if (!name)
		return;
	events->text.size = 0;
	buffer_append(&events->text, strings_get(events->tables->strings, (uint32_t)*name),
		      strings_length(events->tables->strings, (uint32_t)*name));
	add_text_field(events, "FileName", events->text.data, events->text.size);
}

static int take_disk(struct etl_events *events, const struct etl_record *record, struct etl_type *type) {
	uint64_t ticks = 0;
	etl_decode(&events->decoder, record, type->schema);
	etl_decoded_number(&events->decoder, "HighResResponseTime", &ticks);
	add_file_name(events);
	return push_generic(events, record, type, ticks);
}

static int take_hard_fault(struct etl_events *events, const struct etl_record *record,
			   struct etl_type *type) {
	uint64_t begin = record->time;
	etl_decode(&events->decoder, record, type->schema);
	etl_decoded_number(&events->decoder, "InitialTime", &begin);
	add_file_name(events);
	return push_generic(events, record, type, record->time > begin ? record->time - begin : 0);
}

static int take_interrupt(struct etl_events *events, const struct etl_record *record, struct etl_type *type) {
	uint64_t begin = record->time, routine = 0;
	etl_decode(&events->decoder, record, type->schema);
	etl_decoded_number(&events->decoder, "InitialTime", &begin);
	etl_decoded_number(&events->decoder, "Routine", &routine);
	events->text.size = 0;
	if (etl_stacks_symbol(&events->stacks, 0, routine, record->pointer, &events->text))
		add_text_field(events, "Function", events->text.data, events->text.size);
	return push_generic(events, record, type, record->time > begin ? MAX(record->time - begin, 1) : 1);
}

// ---- calls and objects ----

static int take_system_call(struct etl_events *events, const struct etl_record *record,
			    struct etl_type *type) {
	uint64_t address = 0;
	etl_decode(&events->decoder, record, type->schema);
	events->text.size = 0;
	if (etl_decoded_number(&events->decoder, "SysCallAddress", &address) &&
	    etl_stacks_symbol(&events->stacks, 0, address, record->pointer, &events->text))
		add_text_field(events, "Function", events->text.data, events->text.size);
	return push_generic(events, record, type, 0);
}

static int take_object(struct etl_events *events, const struct etl_record *record, struct etl_type *type) {
	uint64_t number = 0;
	etl_decode(&events->decoder, record, type->schema);
	etl_decoded_number(&events->decoder, "ObjectType", &number);
	const uint64_t *known = map_get(&events->state.object_types, number);
	if (known) {
		struct strings *strings = events->tables->strings;
		events->text.size = 0;
		buffer_append(&events->text, strings_get(strings, (uint32_t)*known),
			      strings_length(strings, (uint32_t)*known));
		add_text_field(events, "ObjectTypeName", events->text.data, events->text.size);
	}
	return push_generic(events, record, type, 0);
}

// ---- marks ----

// What `wpr -marker` writes is about the whole trace, whichever thread wrote it.
static int take_mark(struct etl_events *events, const struct etl_record *record, struct etl_type *type) {
	etl_decode(&events->decoder, record, type->schema);
	const struct event_field *message = etl_decoded_field(&events->decoder, "Message");
	if (!message || message->type != FIELD_TEXT)
		return push_generic(events, record, type, 0);
	struct event event = etl_event_of(events, record, EVENT_MARK);
	event.mark.type = MARK_INSTANT;
	event.mark.no_task = true;
	event.mark.name = strings_add_bytes(events->tables->strings, message->text, message->size);
	return etl_push(events, &event);
}

// ---- performance counters ----

static int take_pmu(struct etl_events *events, const struct etl_record *record, struct etl_type *type) {
	uint64_t core = 0, index = 0, counter = 0, value = 0;
	etl_decode(&events->decoder, record, type->schema);
	etl_decoded_number(&events->decoder, "Core", &core);
	const struct event_field *name = etl_decoded_field(&events->decoder, "Event");
	if (!name || !etl_decoded_number(&events->decoder, "Value", &value))
		return take_generic(events, record, type);
	events->text.size = 0;
	double number = (double)value;
	if (name->type == FIELD_TEXT) {
		buffer_append(&events->text, name->text, name->size);
	} else { // the driver's counter only grows
		index = name->uint;
		etl_decoded_number(&events->decoder, "GPCIdx", &counter);
		if (index == UINT32_MAX)
			buffer_printf(&events->text, "cycle");
		else
			buffer_printf(&events->text, "r%" PRIx64, index);
		uint64_t *last = map_put(&events->counters, hash_u64(core << 40 ^ counter << 32 ^ index));
		bool first = !*last;
		uint64_t before = *last - 1;
		*last = value + 1;
		number = first || value < before ? 0 : (double)(value - before);
		array_push(&events->decoder.fields,
			   (struct event_field){.name = "Difference",
						.type = FIELD_UINT,
						.uint = first || value < before ? 0 : value - before});
	}
	struct event event = etl_event_of(events, record, EVENT_COUNTER);
	event.cpu = (uint32_t)MIN(core, (uint64_t)CPU_NONE);
	event.tid = event.pid = 0; // counts everything that ran there, not just the thread that recorded it
	event.counter.name = strings_add_bytes(events->tables->strings, events->text.data, events->text.size);
	event.counter.value = number;
	event.counter.provider = strings_add(events->tables->strings, PROVIDER_PMU);
	event.counter.adds = true;
	int error = etl_push(events, &event);
	return error ? error : push_generic(events, record, type, 0);
}

// ---- records ----

// Records that only describe state are pushed only on request.
static bool only_state(const struct etl_record *record, enum etl_role role) {
	switch (role) {
	case ROLE_HEADER:
	case ROLE_INTERVAL:
	case ROLE_STACK:
	case ROLE_STACK_KEY:
	case ROLE_STACK_DEFINITION:
	case ROLE_FILE_NAME:
	case ROLE_IMAGE_ID:
	case ROLE_RUNDOWN:
	case ROLE_CLR_STACK:
	case ROLE_DESCRIPTION:
	case ROLE_OBJECT_TYPE:
		return true;
	case ROLE_IMAGE:
		return record->opcode == LIFE_RUNDOWN_START || record->opcode == LIFE_RUNDOWN_STOP;
	case ROLE_METHOD:
		return record->keyword == 0 || record->id == 144;
	default:
		return false;
	}
}

// Pushes every record unchanged, but still tracks tasks and which of them run.
static int take_plain(struct etl_events *events, const struct etl_record *record, struct etl_type *type,
		      enum etl_role role) {
	uint64_t next;
	int error = role == ROLE_PROCESS ? take_process(events, record, type) : 0;
	if (!error)
		error = take_generic(events, record, type);
	if (role == ROLE_SWITCH && etl_decoded_number(&events->decoder, "NewThreadId", &next))
		etl_set_running(events, record, (uint32_t)next);
	return error;
}

static int take_record(struct etl_events *events, const struct etl_record *record) {
	struct etl_type *type = etl_schemas_type(&events->schemas, record);
	enum etl_role role = etl_role_of(type);
	events->time = etl_file_time(&events->file, record->time);
	etl_stacks_advance(&events->stacks, record->time);
	if (events->options->records)
		return take_plain(events, record, type, role);
	switch (role) {
	case ROLE_PROCESS:
		return take_process(events, record, type);
	case ROLE_THREAD:
		return take_thread(events, record);
	case ROLE_PROVIDER_PROCESS:
	case ROLE_PROVIDER_THREAD:
		return take_provider_task(events, record, type);
	case ROLE_THREAD_NAME:
		return take_thread_name(events, record);
	case ROLE_SWITCH:
		return etl_take_switch(events, record);
	case ROLE_READY:
		return etl_take_ready(events, record);
	case ROLE_SAMPLE:
		return take_sample(events, record);
	case ROLE_PMC_SAMPLE:
		return take_pmc_sample(events, record);
	case ROLE_DISK:
		return take_disk(events, record, type);
	case ROLE_HARD_FAULT:
		return take_hard_fault(events, record, type);
	case ROLE_DPC:
	case ROLE_ISR:
		return take_interrupt(events, record, type);
	case ROLE_PMU:
		return take_pmu(events, record, type);
	case ROLE_SYSTEM_CALL:
		return take_system_call(events, record, type);
	case ROLE_OBJECT:
		return take_object(events, record, type);
	case ROLE_MARK:
		return take_mark(events, record, type);
	case ROLE_IMAGE:
	case ROLE_IMAGE_ID:
		return events->options->images || !only_state(record, role)
			       ? take_generic(events, record, type)
			       : 0;
	default:
		return only_state(record, role) ? 0 : take_generic(events, record, type);
	}
}

// ---- the two walks ----

static void survey(struct etl_events *events) {
	struct etl_walk walk;
	const struct etl_record *record;
	time_t begun = time(NULL);
	etl_walk_begin(&walk, &events->file);
	while ((record = etl_walk_next(&walk))) {
		if (walk.records % PROGRESS_EVERY == 0 && time(NULL) - begun > 1)
			log_progress("looking through %s: %" PRIu64 " %%", events->file.name,
				     events->file.input->offset * 100 / events->file.input->total);
		struct etl_type *type = etl_schemas_type(&events->schemas, record);
		if (etl_role_of(type) != ROLE_DESCRIPTION || !etl_schemas_learn(&events->schemas, record))
			etl_state_take(&events->state, record, type);
	}
	log_progress(NULL);
	uint64_t undecoded = walk.skipped + walk.unreadable;
	for (const struct etl_file *file = &events->file; file; file = file->next) {
		undecoded += file->damaged_bytes;
		if (file->cut_off)
			log_warning("%s: truncated inside a buffer; reading what is there", file->name);
	}
	if (undecoded)
		log_warning("%s: %" PRIu64 " bytes could not be decoded; 'tracelet info' shows details",
			    events->file.name, undecoded);
	etl_walk_end(&walk);
}

static int push_fact(struct etl_events *events, const char *key, const char *value) {
	return etl_push(events,
			&(struct event){.kind = EVENT_META,
					.time = events->time,
					.cpu = CPU_NONE,
					.meta = {.key = strings_add(events->tables->strings, key),
						 .value = strings_add(events->tables->strings, value)}});
}

// What the file says about the machine, if anything.
static int push_machine(struct etl_events *events) {
	const struct etl_machine *machine = &events->state.machine;
	const struct strings *strings = events->tables->strings;
	int error = 0;
	if (machine->computer)
		error = push_fact(events, "host", strings_get(strings, machine->computer));
	if (!error && machine->processor)
		error = push_fact(events, "cpu", strings_get(strings, machine->processor));
	return error;
}

// When a moment on the base's clock was, in nanoseconds since 1970.
static uint64_t wall_at(const struct etl_file *file, uint64_t ticks) {
	const uint64_t unix_epoch = 116444736000000000u; // 1970 in FILETIME
	uint64_t begin = file->header.start_time;
	uint64_t wall = begin - (etl_file_filetime(file, file->header.time) - etl_file_filetime(file, ticks));
	return wall > unix_epoch && wall <= begin ? (wall - unix_epoch) * 100 : 0;
}

// All sessions of the recording, or their log files; the first one as it is.
static const char *joined(struct etl_events *events, bool log_files) {
	const struct etl_header *first = &events->file.header;
	if (!events->file.next)
		return log_files ? first->log_file : first->session;
	events->text.size = 0;
	for (const struct etl_file *file = &events->file; file; file = file->next)
		buffer_printf(&events->text, "%s%s", events->text.size ? ", " : "",
			      log_files ? file->header.log_file : file->header.session);
	buffer_append(&events->text, "", 1);
	return (const char *)events->text.data;
}

struct losses {
	uint64_t events, buffers;
};

static struct losses losses_of(const struct etl_file *file) {
	struct losses losses = {0};
	for (; file; file = file->next) {
		losses.events += file->header.events_lost;
		losses.buffers += file->header.buffers_lost;
	}
	return losses;
}

static int push_facts(struct etl_events *events) {
	const struct etl_header *header = &events->file.header;
	const struct losses losses = losses_of(&events->file);
	uint64_t begin = etl_files_begin(&events->file);
	char release[32], build[32], lost[32], buffers[32];
	snprintf(release, sizeof(release), "%u.%u.%u", header->version & 0xff, header->version >> 8 & 0xff,
		 header->build);
	snprintf(build, sizeof(build), "build %u", header->build);
	snprintf(lost, sizeof(lost), "%" PRIu64, losses.events);
	snprintf(buffers, sizeof(buffers), "%" PRIu64, losses.buffers);
	events->time = etl_file_time(&events->file, begin);
	int error = etl_push(events,
			     &(struct event){.kind = EVENT_START, .time = events->time, .cpu = CPU_NONE});
	if (!error)
		error = etl_push(events, &(struct event){.kind = EVENT_CLOCK,
							 .time = events->time,
							 .cpu = CPU_NONE,
							 .clock = {.wall = wall_at(&events->file, begin)}});
	const struct {
		const char *key, *value;
	} facts[] = {{"system", "Windows"},
		     {"kernel", release},
		     {"kernel-version", build},
		     {"events-lost", lost},
		     {"buffers-lost", buffers}};
	for (size_t i = 0; !error && i < ARRAY_SIZE(facts); i++)
		error = push_fact(events, facts[i].key, facts[i].value);
	if (!error)
		error = push_fact(events, "session", joined(events, false));
	if (!error)
		error = push_fact(events, "log-file", joined(events, true));
	return error ? error : push_machine(events);
}

static int push_lost(struct etl_events *events, uint64_t count, enum event_source source) {
	return !count ? 0
		      : etl_push(events,
				 &(struct event){.kind = EVENT_LOST,
						 .time = events->time,
						 .cpu = CPU_NONE,
						 .lost = {.count = count, .source = (uint16_t)source}});
}

static int push_all(struct etl_events *events) {
	struct etl_walk walk;
	const struct etl_record *record;
	int error = push_facts(events);
	if (!error)
		error = push_tasks(events);
	events->file.input->offset = 0; // for the progress display
	etl_stacks_begin(&events->stacks, &events->file, &events->state, events->tables,
			 events->options->records);
	etl_walk_begin(&walk, &events->file);
	while (!error && (record = etl_walk_next(&walk)))
		error = take_record(events, record);
	etl_walk_end(&walk);
	const struct losses losses = losses_of(&events->file);
	if (!error)
		error = push_lost(events, losses.events, SOURCE_TRACE);
	return error ? error : push_lost(events, losses.buffers, SOURCE_BUFFER);
}

int etl_events_read(struct etl_events *events, const struct etl_inputs *inputs) {
	etl_schemas_init(&events->schemas);
	int error = etl_manifests_load(&events->schemas, events->options->manifests);
	if (!error)
		error = etl_files_open(&events->file, inputs);
	etl_state_init(&events->state, &events->file, &events->schemas, events->tables->strings);
	if (error)
		return error;
	events->state.keep = KEEP_METHODS | KEEP_DEFINITIONS | KEEP_FILES;
	events->sample_name = strings_add(events->tables->strings, EVENT_CPU_SAMPLES);
	events->wait_name = strings_add(events->tables->strings, EVENT_OFF_CPU);
	events->ready_name = strings_add(events->tables->strings, "Thread/ReadyThread");
	survey(events);
	error = push_all(events);
	reader_impossible_cpus(events->file.name, events->impossible);
	return error ? error : etl_files_error(&events->file);
}

void etl_events_free(struct etl_events *events) {
	etl_stacks_end(&events->stacks);
	etl_state_free(&events->state);
	etl_schemas_free(&events->schemas);
	etl_file_close(&events->file);
	etl_decoder_free(&events->decoder);
	array_free(&events->running);
	map_free(&events->threads);
	map_free(&events->counters);
	array_free(&events->waits);
	map_free(&events->wait_index);
	buffer_free(&events->text);
	buffer_free(&events->message);
}
