// What only our own traces contain: execs, exits, crashes and losses as instants
// with known names, and marks. An exec appears twice: as a process tree with the
// words of its command line and, a nanosecond later, as an instant. The two
// become one event.
#include "read/perfetto/perfetto.h"

#include <stdlib.h>

// ---- annotations ----

static uint64_t number_of(const struct perfetto_reader *reader, const char *name, uint64_t otherwise) {
	const struct event_field *field = tracks_field(reader, name);
	char text[24];
	if (!field)
		return otherwise;
	if (field->type != FIELD_TEXT)
		return field->uint;
	size_t size = MIN(field->size, sizeof(text) - 1);
	memcpy(text, field->text, size);
	text[size] = 0;
	return *text == '-' ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 0);
}

static uint32_t string_of(const struct perfetto_reader *reader, const char *name) {
	const struct event_field *field = tracks_field(reader, name);
	return field && field->type == FIELD_TEXT
		       ? strings_add_bytes(reader->tables->strings, field->text, field->size)
		       : 0;
}

static bool text_is(const struct perfetto_reader *reader, const char *name, const char *text) {
	const struct event_field *field = tracks_field(reader, name);
	return field && field->type == FIELD_TEXT && field->size == strlen(text) &&
	       memcmp(field->text, text, field->size) == 0;
}

static uint32_t cpu_of(const struct perfetto_reader *reader) {
	uint64_t cpu = number_of(reader, "cpu", CPU_NONE);
	return cpu < CPU_COUNT_MOST ? (uint32_t)cpu : CPU_NONE;
}

static bool begins(const char *text, const char *with) {
	return strncmp(text, with, strlen(with)) == 0;
}

// ---- process trees ----

int own_pending(struct perfetto_reader *reader) {
	struct event event = reader->pending;
	reader->pending.kind = EVENT_WATERMARK;
	return event.kind == EVENT_TASK ? reader_push(reader, &event) : 0;
}

static void take_process(struct perfetto_reader *reader, struct cursor process, struct event *task) {
	struct wire_field field;
	uint64_t pid = 0, parent = 0;
	struct buffer *words = &reader->words;
	words->size = 0;
	while (wire_each(&process, &field)) {
		if (field.number == PROCESS_PID)
			pid = field.value;
		else if (field.number == PROCESS_PPID)
			parent = field.value;
		else if (field.number == PROCESS_OWN_NAME && field.wire == PROTO_BYTES)
			task->task.name = cursor_text(reader, field.bytes);
		if (field.number != PROCESS_CMDLINE || field.wire != PROTO_BYTES)
			continue;
		buffer_append(words, field.bytes.at, cursor_left(&field.bytes));
		buffer_append(words, "", 1);
	}
	task->tid = task->pid = is_task(pid) ? (uint32_t)pid : 0;
	task->task.parent_pid = parent < TID_OUTSIDE ? (uint32_t)parent : 0;
	task->task.command_line = strings_add_bytes(reader->tables->strings, words->data, words->size);
}

static void take_thread(struct perfetto_reader *reader, struct cursor thread, struct event *task) {
	struct wire_field field;
	uint64_t tid = 0, pid = 0;
	while (wire_each(&thread, &field)) {
		if (field.number == THREAD_TID)
			tid = field.value;
		else if (field.number == THREAD_TGID)
			pid = field.value;
		else if (field.number == THREAD_NAME && field.wire == PROTO_BYTES)
			task->task.name = cursor_text(reader, field.bytes);
	}
	task->tid = is_task(tid) && pid < TID_OUTSIDE ? (uint32_t)tid : 0;
	task->pid = (uint32_t)pid;
}

// The last process is held back: it may turn out to be an exec.
int own_process_tree(struct perfetto_reader *reader, const struct packet *packet) {
	struct cursor tree = packet->data;
	struct wire_field field;
	int error = own_pending(reader);
	while (!error && wire_each(&tree, &field)) {
		struct event task = {.kind = EVENT_TASK,
				     .time = packet->has_time ? packet->time
							      : MAX(reader->start, reader->watermark),
				     .cpu = CPU_NONE};
		if (field.number == TREE_PROCESSES && field.wire == PROTO_BYTES)
			take_process(reader, field.bytes, &task);
		else if (field.number == TREE_THREADS && field.wire == PROTO_BYTES)
			take_thread(reader, field.bytes, &task);
		if (!task.tid)
			continue;
		error = own_pending(reader);
		reader->pending = task;
	}
	return error;
}

// ---- tasks ----

static int take_exec(struct perfetto_reader *reader, const struct track_event *event) {
	struct event exec = {.kind = EVENT_EXEC,
			     .time = event->time,
			     .cpu = CPU_NONE,
			     .tid = cpu_of(reader), // see tasks.c
			     .pid = event->track->pid,
			     .exec = {.file = string_of(reader, "file")}};
	uint64_t old = number_of(reader, "old_tid", 0);
	exec.exec.old_tid = is_task(old) ? (uint32_t)old : 0;
	const struct event_field *words = tracks_field(reader, "arguments");
	exec.exec.truncated = words && words->type == FIELD_TEXT && words->size >= 4 &&
			      memcmp(words->text + words->size - 4, " ...", 4) == 0;
	const struct event *tree = &reader->pending;
	if (tree->kind == EVENT_TASK && tree->pid == exec.pid && tree->time == exec.time + 1) {
		exec.exec.name = tree->task.name;
		exec.exec.arguments = tree->task.command_line;
		reader->pending.kind = EVENT_WATERMARK;
	}
	int error = own_pending(reader);
	return error ? error : reader_push(reader, &exec);
}

#define NO_STATUS INT64_MAX

static int take_exit(struct perfetto_reader *reader, const struct track_event *event) {
	uint64_t signal = number_of(reader, "signal", 0), status = number_of(reader, "status", NO_STATUS);
	struct event exit = {.kind = EVENT_EXIT,
			     .time = event->time,
			     .cpu = cpu_of(reader),
			     .tid = event->track->tid,
			     .pid = event->track->pid,
			     .exit = {.last = number_of(reader, "last_thread", 0),
				      .unknown = !signal && status == NO_STATUS}};
	exit.exit.code = (int32_t)(signal ? signal & 0x7f : exit.exit.unknown ? 0 : (status & 0xff) << 8);
	// Only Windows exit codes exceed a byte.
	if (!signal && !exit.exit.unknown && status > 0xff) {
		exit.exit.has_status = true;
		exit.exit.status = (uint32_t)status;
		exit.exit.code = 0;
	}
	if (number_of(reader, "core_dumped", 0))
		exit.exit.code |= 0x80;
	return reader_push(reader, &exit);
}

static int take_crash(struct perfetto_reader *reader, const struct track_event *event) {
	struct event crash = {.kind = EVENT_CRASH,
			      .time = event->time,
			      .cpu = cpu_of(reader),
			      .tid = event->track->tid,
			      .pid = event->track->pid,
			      .crash = {.signal = (uint32_t)number_of(reader, "signal", 0),
					.code = (int32_t)number_of(reader, "code", 0),
					.address = number_of(reader, "address", 0),
					.instruction = number_of(reader, "instruction", 0)}};
	uint32_t stack = string_of(reader, "stack");
	if (stack)
		array_push(&reader->crash_stacks,
			   (struct event){.kind = EVENT_CRASH_STACK,
					  .cpu = CPU_NONE,
					  .tid = event->track->tid,
					  .crash_stack = {.crash_time = event->time, .text = stack}});
	return reader_push(reader, &crash);
}

// ---- losses ----

// "7 sched events lost"
static int take_lost(struct perfetto_reader *reader, const struct track_event *event, const char *title,
		     bool *taken) {
	const char *word = strchr(title, ' ');
	struct event lost = {.kind = EVENT_LOST, .time = event->time, .cpu = cpu_of(reader)};
	for (uint16_t source = 0; word && source < SOURCE_COUNT; source++) {
		size_t length = strlen(event_source_names[source]);
		const char *rest = source == SOURCE_BUFFER ? "s lost" : " events lost";
		if (strncmp(word + 1, event_source_names[source], length) == 0 &&
		    strcmp(word + 1 + length, rest) == 0) {
			lost.lost.source = source;
			lost.lost.count = number_of(reader, "count", 0);
			*taken = true;
		}
	}
	return *taken && lost.lost.count ? reader_push(reader, &lost) : 0;
}

// ---- marks ----

static double result_of(const struct perfetto_reader *reader) {
	return text_is(reader, "result", "passed") ? 0 : text_is(reader, "result", "skipped") ? 77 : 1;
}

int own_mark(struct perfetto_reader *reader, const struct track_event *event) {
	static const uint16_t types[] = {[TYPE_SLICE_BEGIN] = MARK_SLICE_BEGIN,
					 [TYPE_SLICE_END] = MARK_SLICE_END,
					 [TYPE_INSTANT] = MARK_INSTANT,
					 [TYPE_COUNTER] = MARK_COUNTER};
	const struct strings *strings = reader->tables->strings;
	const struct track *track = event->track;
	if (!track || !event->type || event->type >= ARRAY_SIZE(types)) {
		reader->bad++;
		return 0;
	}
	struct event mark = {.kind = EVENT_MARK,
			     .time = event->time,
			     .cpu = CPU_NONE,
			     .tid = track->tid,
			     .pid = track->pid,
			     .mark = {.name = event->name, .type = types[event->type]}};
	mark.mark.cut = tracks_field(reader, "text") != NULL;
	if (event->type == TYPE_SLICE_BEGIN && strcmp(strings_get(strings, event->category), "test") == 0)
		mark.mark.type = MARK_TEST_BEGIN;
	if (event->type == TYPE_SLICE_END && tracks_field(reader, "result")) {
		mark.mark.type = MARK_TEST_END;
		mark.mark.value = result_of(reader);
	}
	if (event->type == TYPE_COUNTER) {
		const struct track *parent = track->parent ? tracks_find(reader, track->parent) : NULL;
		mark.mark.value = event->value;
		mark.mark.name = track->name;
		mark.tid = mark.pid = parent ? parent->pid : 0;
	}
	mark.mark.no_task = !mark.tid;
	if (strcmp(strings_get(strings, mark.mark.name), NAME_NO_TEXT) == 0)
		mark.mark.name = 0;
	return reader_push(reader, &mark);
}

// ---- counters ----

// "name cpu 3"
static int take_counter(struct perfetto_reader *reader, const struct track_event *event) {
	if (!event->track) {
		reader->bad++;
		return 0;
	}
	struct strings *strings = reader->tables->strings;
	const char *title = strings_get(strings, event->track->name), *at = NULL;
	for (const char *next = strstr(title, " cpu "); next; next = strstr(next + 1, " cpu "))
		at = next;
	char *end = NULL;
	unsigned long cpu = at ? strtoul(at + 5, &end, 10) : 0;
	bool has_cpu = at && end != at + 5 && !*end && cpu < CPU_COUNT_MOST;
	struct event counter = {
		.kind = EVENT_COUNTER,
		.time = event->time,
		.cpu = has_cpu ? (uint32_t)cpu : CPU_NONE,
		.counter = {.value = event->value,
			    .adds = event->adds,
			    .provider = event->adds ? strings_add(strings, PROVIDER_PMU) : 0,
			    .unit = event->adds ? event->track->unit : 0,
			    .name = has_cpu ? strings_add_bytes(strings, title, (size_t)(at - title))
					    : event->track->name}};
	return reader_push(reader, &counter);
}

// "name cpu 3", or "name test" for all tasks of the test.
static int take_pmu_counter(struct perfetto_reader *reader, const struct track_event *event) {
	struct track_event plain = *event;
	struct track track = event->track ? *event->track : (struct track){0};
	struct strings *strings = reader->tables->strings;
	const char *title = strings_get(strings, track.name);
	size_t length = strlen(title), suffix = strlen(COUNTER_OF_TEST);
	plain.track = event->track ? &track : NULL;
	plain.adds = true;
	if (length > suffix && strcmp(title + length - suffix, COUNTER_OF_TEST) == 0)
		track.name = strings_add_bytes(strings, title, length - suffix);
	return take_counter(reader, &plain);
}

// ---- all of them ----

static int take_instant(struct perfetto_reader *reader, const struct track_event *event, bool *taken) {
	const char *title = strings_get(reader->tables->strings, event->name);
	const struct track *track = event->track;
	if (!track)
		return 0;
	if (track->uuid == UUID_TEST) {
		*taken = strcmp(title, "time limit over") == 0; // already known as a fact
		return *taken ? 0 : take_lost(reader, event, title, taken);
	}
	*taken = track->tid;
	if (track->tid && begins(title, "exec "))
		return take_exec(reader, event);
	if (track->tid && (begins(title, "exit") || begins(title, "killed by signal")))
		return take_exit(reader, event);
	if (track->tid && begins(title, "crash: "))
		return take_crash(reader, event);
	*taken = false;
	return 0;
}

int own_take(struct perfetto_reader *reader, const struct packet *packet, const struct track_event *event,
	     bool *taken) {
	*taken = true;
	if (packet->head.sequence_id == SEQUENCE_PATH)
		return 0; // computed from the other events
	if (packet->head.sequence_id == SEQUENCE_MARKS)
		return own_mark(reader, event);
	bool whole = event->type == TYPE_SLICE_BEGIN || event->type == TYPE_SLICE_END;
	if (packet->head.sequence_id == SEQUENCE_COUNTERS && event->type == TYPE_COUNTER)
		return take_pmu_counter(reader, event);
	if (packet->head.sequence_id == SEQUENCE_EVENTS && event->type == TYPE_COUNTER)
		return take_counter(reader, event);
	if (packet->head.sequence_id == SEQUENCE_EVENTS && event->type == TYPE_INSTANT)
		return take_instant(reader, event, taken);
	*taken = whole && event->track &&
		 event->track->uuid == UUID_TEST; // the test, whose facts are already known
	return 0;
}
