// From records to events, in two walks over the file. The first learns what
// comes too late in the file: schemas, images, methods, what the keys of stacks
// stand for, and who was there before the trace. The second pushes: what our
// kinds of events cover (tasks, switches, wakeups, samples) as these, everything
// else as generic events with the fields that their schemas give.
#include "read/etl_events.h"
#include "base/log.h"
#include "read/etl_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { PROGRESS_EVERY = 1 << 20 }; // records

static int push(struct etl_events *events, const struct event *event) {
	return sink_push(events->sink, event);
}

static struct event event_of(const struct etl_events *events, const struct etl_record *record,
			     enum event_kind kind) {
	struct event event = {.time = events->time, .cpu = record->cpu, .kind = kind};
	event.tid = record->tid == ETL_NONE ? 0 : record->tid;
	event.pid = record->pid == ETL_NONE ? 0 : record->pid;
	return event;
}

static uint32_t pid_of(const struct etl_events *events, uint32_t tid) {
	const uint64_t *known = map_get(&events->threads, tid);
	uint32_t pid = known ? (uint32_t)(*known - 1) : etl_state_pid(&events->state, tid);
	return pid == ETL_NONE ? 0 : pid;
}

// A thread has its own name, or that of its process.
static uint32_t thread_name(struct etl_events *events, uint32_t tid, uint32_t pid) {
	const uint64_t *name = map_get(&events->state.thread_names, tid);
	if (name && *name)
		return (uint32_t)*name;
	const struct etl_process *process = etl_state_process(&events->state, pid);
	return process ? process->name : 0;
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

// A stack in the event itself, for events that were asked for one.
static uint32_t own_stack(struct etl_events *events, const struct etl_record *record) {
	struct etl_item item;
	bool wide = etl_item_find(record, ETL_ITEM_STACK64, &item);
	if (!wide && !etl_item_find(record, ETL_ITEM_STACK32, &item))
		return 0;
	size_t width = wide ? 8 : 4, match = 8; // before the addresses stands an id that matches two halves
	if (item.size <= match)
		return 0;
	return etl_stacks_add(&events->stacks, 0, record->pid, item.data + match, (item.size - match) / width,
			      (unsigned)width);
}

// Records of the processor's own kind do not say who ran: a field does, or the switches before.
static void attribute(struct etl_events *events, const struct etl_record *record, const struct etl_type *type,
		      struct event *event) {
	static const char *const fields[] = {"ThreadId", "StackThread", "IssuingThreadId"};
	uint64_t number;
	bool found = type->role == ROLE_HARD_FAULT &&
		     etl_decoded_number(&events->decoder, "TThreadId", &number);
	for (size_t i = 0; !found && i < ARRAY_SIZE(fields); i++)
		found = etl_decoded_number(&events->decoder, fields[i], &number);
	bool known = record->cpu < events->running.count && events->running.items[record->cpu] != ETL_NONE;
	if (!found && !known)
		return;
	event->tid = found ? (uint32_t)number : events->running.items[record->cpu];
	event->pid = pid_of(events, event->tid);
}

// The text of a GUID that is not all zeros, or NULL.
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
	return numbers;
}

// A stack that follows its event names it by time, and by its thread, where events of several CPUs have
// the same time.
static uint32_t following_stack(struct etl_events *events, const struct etl_record *record,
				const struct etl_type *type, uint32_t tid) {
	bool sampled = type->role == ROLE_SAMPLE || type->role == ROLE_PMC_SAMPLE;
	if (type->role >= ROLE_STACK && type->role <= ROLE_STACK_DEFINITION)
		return 0;
	return etl_stacks_of(&events->stacks, record->time, sampled ? tid : record->tid);
}

static int push_generic(struct etl_events *events, const struct etl_record *record, struct etl_type *type,
			uint64_t ticks) {
	struct event event = event_of(events, record, EVENT_GENERIC);
	if (!type->name_string)
		name_type(events, type);
	if (record->tid == ETL_NONE)
		attribute(events, record, type, &event);
	// Network events name their process and are recorded by whoever ran.
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
	else if (etl_is_kernel(record))
		event.generic.stack = following_stack(events, record, type, event.tid);
	return push(events, &event);
}

static int take_generic(struct etl_events *events, const struct etl_record *record, struct etl_type *type) {
	etl_decode(&events->decoder, record, type->schema);
	return push_generic(events, record, type, 0);
}

// ---- tasks ----

static int take_process(struct etl_events *events, const struct etl_record *record, struct etl_type *type) {
	etl_decode(&events->decoder, record, type->schema);
	uint64_t pid = 0, parent = 0, status = 0;
	if (!etl_decoded_number(&events->decoder, "ProcessId", &pid) || !pid)
		return 0;
	etl_decoded_number(&events->decoder, "ParentId", &parent);
	etl_decoded_number(&events->decoder, "ExitStatus", &status);
	const struct event_field *image = etl_decoded_field(&events->decoder, "ImageFileName");
	const struct event_field *command = etl_decoded_field(&events->decoder, "CommandLine");
	struct strings *strings = events->tables->strings;
	uint32_t name = image && image->type == FIELD_TEXT
				? strings_add_bytes(strings, image->text, image->size)
				: 0;
	if (record->opcode == LIFE_STOP) {
		struct event event = event_of(events, record, EVENT_EXIT);
		event.tid = event.pid = (uint32_t)pid;
		event.exit.last = true;
		event.exit.unknown = status > 255;
		event.exit.code = (int32_t)(status & 0xff) << 8;
		event.exit.status = (uint32_t)status;
		event.exit.has_status = true;
		return push(events, &event);
	}
	if (record->opcode != LIFE_START)
		return 0;
	struct event event = event_of(events, record, EVENT_FORK);
	event.fork.child_tid = event.fork.child_pid = (uint32_t)pid;
	event.fork.parent_pid = (uint32_t)parent;
	event.fork.name = name;
	int error = push(events, &event);
	if (error)
		return error;
	event = event_of(events, record, EVENT_EXEC);
	event.time++; // the birth comes first, whoever sorts
	event.tid = event.pid = event.exec.old_tid = (uint32_t)pid;
	event.exec.name = event.exec.file = name;
	if (command && command->type == FIELD_TEXT)
		event.exec.arguments = strings_add_bytes(strings, command->text, command->size);
	return push(events, &event);
}

static int take_thread(struct etl_events *events, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	uint32_t pid = cursor_u32(&in), tid = cursor_u32(&in);
	if (in.failed || !tid)
		return 0;
	if (record->opcode == LIFE_START) {
		*map_put(&events->threads, tid) = (uint64_t)pid + 1;
		struct event event = event_of(events, record, EVENT_FORK);
		event.fork.child_tid = tid;
		event.fork.child_pid = pid;
		event.fork.name = thread_name(events, tid, pid);
		return push(events, &event);
	}
	if (record->opcode != LIFE_STOP)
		return 0;
	struct event event = event_of(events, record, EVENT_EXIT);
	event.tid = tid;
	event.pid = pid;
	event.exit.unknown = true;
	return push(events, &event);
}

static int take_thread_name(struct etl_events *events, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	struct event event = event_of(events, record, EVENT_RENAME);
	event.pid = cursor_u32(&in);
	event.tid = cursor_u32(&in);
	events->text.size = 0;
	format_utf16_terminated(&events->text, &in);
	if (in.failed || !event.tid)
		return 0;
	event.rename.name = strings_add_bytes(events->tables->strings, events->text.data, events->text.size);
	return push(events, &event);
}

// Who was there before the trace, told before its first event.
static int push_tasks(struct etl_events *events) {
	int error = 0;
	for (size_t i = 0; !error && i < events->state.processes.count; i++) {
		const struct etl_process *process = &events->state.processes.items[i];
		if (process->begin || !process->pid)
			continue;
		error = push(events, &(struct event){.kind = EVENT_TASK,
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
		error = push(events, &(struct event){.kind = EVENT_TASK,
						     .time = events->time,
						     .cpu = CPU_NONE,
						     .tid = thread->tid,
						     .pid = thread->pid,
						     .task = {.name = thread_name(events, thread->tid,
										  thread->pid)}});
	}
	return error;
}

// ---- scheduling ----

static void set_running(struct etl_events *events, const struct etl_record *record, uint32_t tid) {
	while (events->running.count <= record->cpu)
		array_push(&events->running, ETL_NONE);
	events->running.items[record->cpu] = tid;
}

static int take_switch(struct etl_events *events, const struct etl_record *record) {
	enum { WAITING = 5, TERMINATED = 4 };
	struct cursor in = cursor_of(record->payload, record->size);
	struct event event = event_of(events, record, EVENT_SWITCH);
	event.switched.next_tid = cursor_u32(&in);
	event.tid = cursor_u32(&in);
	event.pid = pid_of(events, event.tid);
	event.switched.next_priority = (int8_t)cursor_u8(&in);
	event.switched.priority = (int8_t)cursor_u8(&in);
	cursor_take(&in, 2); // C-state, spare
	event.switched.wait_reason = cursor_u8(&in) + 1u;
	cursor_u8(&in); // mode
	uint8_t state = cursor_u8(&in);
	if (in.failed)
		return 0;
	event.switched.state = state == WAITING      ? STATE_SLEEPING
			       : state == TERMINATED ? STATE_DEAD
						     : STATE_RUNNING; // ready: it was taken from the CPU
	set_running(events, record, event.switched.next_tid);
	return push(events, &event);
}

static int take_ready(struct etl_events *events, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	struct event event = event_of(events, record, EVENT_WAKING);
	event.waking.wakee_tid = cursor_u32(&in);
	event.waking.target_cpu = record->cpu;
	if (in.failed)
		return 0;
	bool known = record->cpu < events->running.count && events->running.items[record->cpu] != ETL_NONE;
	if (record->tid == ETL_NONE && known)
		event.tid = events->running.items[record->cpu];
	return push(events, &event);
}

// ---- samples ----

static int take_sample(struct etl_events *events, const struct etl_record *record) {
	struct etl_sample sample;
	if (!etl_sample_take(record, &sample) ||
	    (!sample.tid && !(sample.flags & (SAMPLE_IN_DPC | SAMPLE_IN_ISR))))
		return 0; // the idle thread
	struct event event = event_of(events, record, EVENT_SAMPLE);
	event.tid = sample.tid;
	event.pid = pid_of(events, sample.tid);
	event.sample.name = events->sample_name;
	event.sample.weight = events->state.interval * 100 * MAX(sample.count, 1);
	event.sample.stack = etl_stacks_of(&events->stacks, record->time, sample.tid);
	if (!event.sample.stack)
		event.sample.stack = etl_stacks_single(&events->stacks, event.pid, sample.address,
						       record->pointer);
	return push(events, &event);
}

static int take_pmc_sample(struct etl_events *events, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	struct event event = event_of(events, record, EVENT_SAMPLE);
	uint64_t address = record->pointer == 4 ? cursor_u32(&in) : cursor_u64(&in);
	event.tid = cursor_u32(&in);
	uint16_t source = cursor_u16(&in);
	if (in.failed)
		return 0;
	event.pid = pid_of(events, event.tid);
	events->text.size = 0;
	buffer_printf(&events->text, "counter %u", source);
	event.sample.name = strings_add_bytes(events->tables->strings, events->text.data, events->text.size);
	event.sample.weight = 1;
	event.sample.stack = etl_stacks_of(&events->stacks, record->time, event.tid);
	if (!event.sample.stack)
		event.sample.stack = etl_stacks_single(&events->stacks, event.pid, address, record->pointer);
	return push(events, &event);
}

// ---- what took time ----

// The name of the file that an event is about, where it is known.
static void add_file_name(struct etl_events *events) {
	uint64_t object = 0;
	etl_decoded_number(&events->decoder, "FileObject", &object);
	const uint64_t *name = map_get(&events->state.files, object);
	if (name)
		add_text_field(events, "FileName", strings_get(events->tables->strings, (uint32_t)*name),
			       strings_length(events->tables->strings, (uint32_t)*name));
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
	if (etl_stacks_symbol(&events->state, 0, routine, record->pointer, &events->text))
		add_text_field(events, "Function", events->text.data, events->text.size);
	return push_generic(events, record, type, record->time > begin ? MAX(record->time - begin, 1) : 1);
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
	} else { // the driver's counter: its value only grows
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
	struct event event = event_of(events, record, EVENT_COUNTER);
	event.cpu = (uint32_t)MIN(core, (uint64_t)CPU_NONE);
	event.tid = event.pid = 0; // of all that ran there, not of the thread that tells it
	event.counter.name = strings_add_bytes(events->tables->strings, events->text.data, events->text.size);
	event.counter.value = number;
	event.counter.provider = strings_add(events->tables->strings, PROVIDER_PMU);
	event.counter.adds = true;
	int error = push(events, &event);
	return error ? error : push_generic(events, record, type, 0);
}

// ---- records ----

// What only describes the state is told when it is asked for.
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
	case ROLE_DESCRIPTION:
		return true;
	case ROLE_IMAGE:
		return record->opcode == LIFE_RUNDOWN_START || record->opcode == LIFE_RUNDOWN_STOP;
	case ROLE_METHOD:
		return record->keyword == 0 || record->id == 144;
	default:
		return false;
	}
}

// Every record as it stands; besides, who is who and who runs is followed.
static int take_plain(struct etl_events *events, const struct etl_record *record, struct etl_type *type,
		      enum etl_role role) {
	uint64_t next;
	int error = role == ROLE_PROCESS ? take_process(events, record, type) : 0;
	if (!error)
		error = take_generic(events, record, type);
	if (role == ROLE_SWITCH && etl_decoded_number(&events->decoder, "NewThreadId", &next))
		set_running(events, record, (uint32_t)next);
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
	case ROLE_THREAD_NAME:
		return take_thread_name(events, record);
	case ROLE_SWITCH:
		return take_switch(events, record);
	case ROLE_READY:
		return take_ready(events, record);
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
		if (etl_role_of(type) == ROLE_DESCRIPTION)
			etl_schemas_learn(&events->schemas, record);
		else
			etl_state_take(&events->state, record, type);
	}
	log_progress(NULL);
	if (walk.skipped + walk.unreadable + events->file.damaged_bytes)
		log_warning("%s: %" PRIu64 " bytes could not be understood; 'tracelet info' tells more",
			    events->file.name, walk.skipped + walk.unreadable + events->file.damaged_bytes);
	if (events->file.cut_off)
		log_warning("%s: ends inside a buffer; what is there was read", events->file.name);
	etl_walk_end(&walk);
}

static int push_fact(struct etl_events *events, const char *key, const char *value) {
	return push(events, &(struct event){.kind = EVENT_META,
					    .time = events->time,
					    .cpu = CPU_NONE,
					    .meta = {.key = strings_add(events->tables->strings, key),
						     .value = strings_add(events->tables->strings, value)}});
}

static int push_facts(struct etl_events *events) {
	const struct etl_header *header = &events->file.header;
	const uint64_t unix_epoch = 116444736000000000u; // 1970 in FILETIME
	uint64_t wall = header->start_time > unix_epoch ? (header->start_time - unix_epoch) * 100 : 0;
	char release[32], build[32], lost[32], buffers[32];
	snprintf(release, sizeof(release), "%u.%u.%u", header->version & 0xff, header->version >> 8 & 0xff,
		 header->build);
	snprintf(build, sizeof(build), "build %u", header->build);
	snprintf(lost, sizeof(lost), "%u", header->events_lost);
	snprintf(buffers, sizeof(buffers), "%u", header->buffers_lost);
	events->time = etl_file_time(&events->file, header->time);
	int error = push(events, &(struct event){.kind = EVENT_START, .time = events->time, .cpu = CPU_NONE});
	if (!error)
		error = push(events, &(struct event){.kind = EVENT_CLOCK,
						     .time = events->time,
						     .cpu = CPU_NONE,
						     .clock = {.wall = wall}});
	const struct {
		const char *key, *value;
	} facts[] = {{"system", "Windows"},          {"kernel", release},
		     {"kernel-version", build},      {"session", header->session},
		     {"log-file", header->log_file}, {"events-lost", lost},
		     {"buffers-lost", buffers}};
	for (size_t i = 0; !error && i < ARRAY_SIZE(facts); i++)
		error = push_fact(events, facts[i].key, facts[i].value);
	return error;
}

static int push_lost(struct etl_events *events, uint32_t count, enum event_source source) {
	return !count ? 0
		      : push(events, &(struct event){.kind = EVENT_LOST,
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
	events->file.input->offset = 0; // for whoever shows how far the reading has come
	etl_stacks_begin(&events->stacks, &events->file, &events->state, events->tables);
	etl_walk_begin(&walk, &events->file);
	while (!error && (record = etl_walk_next(&walk)))
		error = take_record(events, record);
	etl_walk_end(&walk);
	const struct etl_header *header = &events->file.header;
	if (!error)
		error = push_lost(events, header->events_lost, SOURCE_TRACE);
	return error ? error : push_lost(events, header->buffers_lost, SOURCE_BUFFER);
}

int etl_events_read(struct etl_events *events, struct stream *input, const char *name) {
	etl_schemas_init(&events->schemas);
	int error = 0;
	const char *const *manifest = events->options->manifests;
	for (; !error && manifest && *manifest; manifest++)
		error = etl_manifest_load(&events->schemas, *manifest);
	if (!error)
		error = etl_file_open(&events->file, input, name);
	etl_state_init(&events->state, &events->file, &events->schemas, events->tables->strings);
	if (error)
		return error;
	events->state.keep = KEEP_METHODS | KEEP_DEFINITIONS | KEEP_FILES;
	events->sample_name = strings_add(events->tables->strings, "CPU samples");
	survey(events);
	error = push_all(events);
	if (!error && input->error) {
		error = input->error;
		log_error("%s: cannot be read: %s", name, strerror(-error));
	}
	return error;
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
	buffer_free(&events->text);
}
