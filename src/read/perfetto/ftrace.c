// Ftrace bundles: the events of one CPU. Switches and wakeups may come as columns
// of small numbers (compact_sched), everything else as messages. Each of the
// three streams is in time order; they are merged here.
//
// A column names only the next or the woken task. The previous task or the waker
// is the one on the CPU, which is known only once the events of all CPUs are in
// order: until then such events have NO_TID.
#include "read/perfetto/perfetto.h"
#include "event/points.h"

enum { CLONE_THREAD = 0x10000 };

// ---- numbers ----

// Converts a task id from scheduling data: this CPU's pseudo tasks become those of events.
static bool take_tid(uint64_t value, uint32_t cpu, uint32_t *tid) {
	*tid = (uint32_t)value;
	if (value < TID_OUTSIDE || value == (uint64_t)TID_LOST + cpu)
		return true;
	*tid = TID_OUTSIDE;
	return value == (uint64_t)TID_OUTSIDE + cpu;
}

static int16_t take_priority(uint64_t value) {
	int64_t priority = (int64_t)value;
	return (int16_t)MAX(MIN(priority, INT16_MAX), INT16_MIN);
}

// A message's numeric fields by field number; higher field numbers are ignored.
enum { MOST_NUMBERS = 8 };

struct numbers {
	uint64_t values[MOST_NUMBERS];
	struct cursor texts[MOST_NUMBERS];
	uint32_t present;
};

static bool take_numbers(struct cursor message, struct numbers *numbers) {
	struct wire_field field;
	*numbers = (struct numbers){0};
	while (wire_each(&message, &field)) {
		if (field.number >= MOST_NUMBERS)
			continue;
		numbers->present |= 1u << field.number;
		numbers->values[field.number] = field.value;
		if (field.wire == PROTO_BYTES)
			numbers->texts[field.number] = field.bytes;
		else
			numbers->texts[field.number] = (struct cursor){0};
	}
	return !message.failed;
}

static uint32_t text_of(struct perfetto_reader *reader, const struct numbers *numbers, uint32_t field) {
	return cursor_text(reader, numbers->texts[field]);
}

// ---- messages ----

static bool full_switch(struct perfetto_reader *reader, const struct numbers *in, struct event *event) {
	event->kind = EVENT_SWITCH;
	event->switched.state = (uint16_t)in->values[SWITCH_PREV_STATE];
	event->switched.priority = take_priority(in->values[SWITCH_PREV_PRIO]);
	event->switched.next_priority = take_priority(in->values[SWITCH_NEXT_PRIO]);
	event->switched.next_name = text_of(reader, in, SWITCH_NEXT_COMM);
	return take_tid(in->values[SWITCH_PREV_PID], event->cpu, &event->tid) &&
	       take_tid(in->values[SWITCH_NEXT_PID], event->cpu, &event->switched.next_tid);
}

static bool full_waking(struct perfetto_reader *reader, const struct numbers *in, struct event *event) {
	event->kind = EVENT_WAKING;
	event->waking.wakee_tid = (uint32_t)in->values[WAKING_PID];
	event->waking.priority = take_priority(in->values[WAKING_PRIO]);
	event->waking.target_cpu = (uint32_t)in->values[WAKING_TARGET_CPU];
	return is_task(in->values[WAKING_PID]) && in->values[WAKING_TARGET_CPU] < CPU_COUNT_MOST;
}

// Processes are known only once all events are in order; a thread's process is that of its creator.
static bool full_newtask(struct perfetto_reader *reader, const struct numbers *in, struct event *event) {
	bool thread = in->values[NEWTASK_CLONE_FLAGS] & CLONE_THREAD;
	event->kind = EVENT_FORK;
	event->fork.child_tid = (uint32_t)in->values[NEWTASK_PID];
	event->fork.child_pid = thread ? 0 : event->fork.child_tid;
	event->fork.name = text_of(reader, in, NEWTASK_COMM);
	return is_task(in->values[NEWTASK_PID]);
}

// If the old name is missing, the message only supplies a name: NO_TID means the process.
static bool full_rename(struct perfetto_reader *reader, const struct numbers *in, struct event *event) {
	event->kind = EVENT_RENAME;
	event->tid = (uint32_t)in->values[RENAME_PID];
	event->pid = in->present >> RENAME_OLD_COMM & 1 ? 0 : NO_TID;
	event->rename.name = text_of(reader, in, RENAME_NEW_COMM);
	return is_task(in->values[RENAME_PID]);
}

static bool full_exec(struct perfetto_reader *reader, const struct numbers *in, struct event *event) {
	event->kind = EVENT_EXEC;
	event->pid = (uint32_t)in->values[EXEC_PID];
	event->tid = event->cpu;
	event->cpu = CPU_NONE;
	event->exec.old_tid = (uint32_t)in->values[EXEC_OLD_PID];
	event->exec.file = text_of(reader, in, EXEC_FILE);
	return is_task(in->values[EXEC_PID]) && in->values[EXEC_OLD_PID] < TID_OUTSIDE;
}

static bool full_exit(struct perfetto_reader *reader, const struct numbers *in, struct event *event) {
	event->kind = EVENT_EXIT;
	event->tid = (uint32_t)in->values[EXIT_PID];
	event->exit.unknown = true;
	return is_task(in->values[EXIT_PID]);
}

static bool full_irq(struct perfetto_reader *reader, const struct numbers *in, struct event *event) {
	event->irq.number = (uint32_t)in->values[IRQ_NUMBER];
	if (event->kind == EVENT_IRQ_ENTRY)
		event->irq.name = text_of(reader, in, IRQ_NAME);
	else if (event->kind == EVENT_IRQ_EXIT)
		event->irq.result = (int32_t)in->values[IRQ_EXIT_RESULT];
	return true;
}

static const struct {
	uint32_t field;
	enum event_kind kind;
	bool (*take)(struct perfetto_reader *, const struct numbers *, struct event *);
} messages[] = {
	{FTRACE_SCHED_SWITCH, EVENT_SWITCH, full_switch},
	{FTRACE_SCHED_WAKING, EVENT_WAKING, full_waking},
	{FTRACE_TASK_NEWTASK, EVENT_FORK, full_newtask},
	{FTRACE_TASK_RENAME, EVENT_RENAME, full_rename},
	{FTRACE_PROCESS_EXEC, EVENT_EXEC, full_exec},
	{FTRACE_PROCESS_EXIT, EVENT_EXIT, full_exit},
	{FTRACE_PROCESS_FREE, EVENT_EXIT, full_exit}, // for tasks without an exit event
	{FTRACE_IRQ_ENTRY, EVENT_IRQ_ENTRY, full_irq},
	{FTRACE_IRQ_EXIT, EVENT_IRQ_EXIT, full_irq},
	{FTRACE_SOFTIRQ_ENTRY, EVENT_SOFTIRQ_ENTRY, full_irq},
	{FTRACE_SOFTIRQ_EXIT, EVENT_SOFTIRQ_EXIT, full_irq},
};

// ---- points ----

static uint64_t function_key(uint32_t sequence, uint64_t id) {
	return hash_u64((uint64_t)sequence << 32 ^ id);
}

static uint32_t function_of(const struct perfetto_reader *reader, uint64_t id) {
	const uint64_t *name = map_get(&reader->functions, function_key(reader->bundle_sequence, id));
	return name ? (uint32_t)(*name - 1) : 0;
}

void ftrace_learn(struct perfetto_reader *reader, const struct packet *packet) {
	struct cursor entries = packet->interned;
	struct wire_field entry, field;
	while (wire_each(&entries, &entry)) {
		if (entry.number != INTERNED_KERNEL_SYMBOLS || entry.wire != PROTO_BYTES)
			continue;
		uint64_t id = 0;
		uint32_t name = 0;
		while (wire_each(&entry.bytes, &field)) {
			if (field.number == INTERNED_IID)
				id = field.value;
			else if (field.number == INTERNED_STRING && field.wire == PROTO_BYTES)
				name = cursor_text(reader, field.bytes);
		}
		*map_put(&reader->functions, function_key(packet->head.sequence_id, id)) = name + 1ull;
	}
}

static const struct point_field *point_field(const struct point *point, uint32_t number) {
	for (size_t i = 0; i < POINT_MOST_FIELDS && point->fields[i].name; i++)
		if (point->fields[i].number == number)
			return &point->fields[i];
	return NULL;
}

static bool take_point(struct perfetto_reader *reader, const struct point *point, struct cursor body,
		       struct event *event) {
	struct wire_field field;
	size_t listed = 0;
	while (wire_each(&body, &field)) {
		const struct point_field *known = point_field(point, field.number);
		if (event->point.number == POINT_SYS_ENTER && field.number == FTRACE_CALL_PATH &&
		    field.wire == PROTO_BYTES)
			event->point.path = cursor_text(reader, field.bytes);
		if (!known || (known->type == POINT_TEXT) != (field.wire == PROTO_BYTES))
			continue;
		if (known->type == POINT_TEXT)
			point_set_text(event, known, (const char *)field.bytes.at, cursor_left(&field.bytes));
		else if (known->type == POINT_CODE)
			point_set(event, known, function_of(reader, field.value));
		else if (known->type != POINT_LIST)
			point_set(event, known, field.value);
		else if (listed < point_list(event, known))
			event->point.values[known->place + listed++] = field.value;
	}
	return !body.failed;
}

static bool same_text(struct cursor text, const char *name) {
	return cursor_left(&text) == strlen(name) && memcmp(text.at, name, strlen(name)) == 0;
}

static void take_generic_field(struct perfetto_reader *reader, const struct point *point, struct cursor body,
			       struct event *event) {
	struct wire_field field;
	struct cursor name = {0};
	uint64_t value = 0;
	while (wire_each(&body, &field)) {
		if (field.number == GENERIC_FIELD_NAME && field.wire == PROTO_BYTES)
			name = field.bytes;
		else if (field.number == GENERIC_FIELD_TEXT && field.wire == PROTO_BYTES)
			value = cursor_text(reader, field.bytes);
		else if (field.number == GENERIC_FIELD_INT || field.number == GENERIC_FIELD_UINT)
			value = field.value;
	}
	for (size_t i = 0; name.at && i < POINT_MOST_FIELDS && point->fields[i].name; i++)
		if (same_text(name, point->fields[i].name) && point->fields[i].type != POINT_WORD)
			point_set(event, &point->fields[i], value);
}

// A generic event is one of our points if it has the point's name, which precedes its fields.
static const struct point *take_generic(struct perfetto_reader *reader, struct cursor body,
					struct event *event) {
	const struct point *point = NULL;
	struct wire_field field;
	while (wire_each(&body, &field)) {
		if (field.wire != PROTO_BYTES)
			continue;
		for (uint16_t i = 0; field.number == GENERIC_NAME && i < POINT_COUNT; i++)
			if (!points[i].message && same_text(field.bytes, points[i].name)) {
				point = &points[i];
				event->point.number = i;
			}
		if (field.number == GENERIC_FIELD && point)
			take_generic_field(reader, point, field.bytes, event);
	}
	return body.failed ? NULL : point;
}

static bool full_point(struct perfetto_reader *reader, uint32_t message, struct cursor body,
		       struct event *event) {
	event->kind = EVENT_POINT;
	if (message == FTRACE_GENERIC)
		return take_generic(reader, body, event);
	for (uint16_t i = 0; i < POINT_COUNT; i++)
		if (points[i].message == message) {
			event->point.number = i;
			return take_point(reader, &points[i], body, event);
		}
	return false;
}

// ---- the three streams of a CPU ----

enum column {
	COLUMN_TIME,
	COLUMN_STATE,
	COLUMN_TID,
	COLUMN_PRIORITY,
	COLUMN_NAME,
	COLUMN_TARGET,
	COLUMN_FLAGS,
	COLUMN_COUNT
};

struct columns {
	struct cursor columns[COLUMN_COUNT];
	uint64_t values[COLUMN_COUNT]; // of the current row
	uint64_t time;
	bool there; // whether there is a current row
};

struct bundle {
	struct cursor events; // the bundle, from which events are taken one by one
	struct columns switches, wakings;
	struct event event; // the current message
	bool event_there;
	uint32_t cpu;
	uint64_t offset;       // from the bundle's clock to the trace's clock
	uint64_t io_wait_time; // of the switch that the last message about a wait is about, and what it says
	uint8_t io_wait;
};

// Moves to the next row; columns that the trace omits are empty.
static void next_row(struct perfetto_reader *reader, struct columns *columns) {
	columns->there = columns->columns[COLUMN_TIME].at != columns->columns[COLUMN_TIME].end;
	if (!columns->there)
		return;
	for (enum column i = 0; i < COLUMN_COUNT; i++) {
		struct cursor *column = &columns->columns[i];
		if (column->at == column->end) {
			columns->values[i] = 0;
		} else if (!(*column->at & 0x80)) {
			columns->values[i] = *column->at++;
		} else if (wire_varint(column, &columns->values[i]) != WIRE_FIELD) {
			reader->bad++;
			columns->there = false;
			return;
		}
	}
	columns->time += columns->values[COLUMN_TIME];
}

static uint32_t name_of(const struct perfetto_reader *reader, uint64_t index) {
	return index < reader->names.count ? reader->names.items[index] : 0;
}

// Our writer puts it a nanosecond after the switch that it is about. One with a function is about a wait that
// is over. Until its turn comes it is the current message, as if it were a watermark.
static bool take_io_wait(const struct perfetto_reader *reader, struct cursor body, struct event *event) {
	struct numbers numbers;
	if (!take_numbers(body, &numbers) || !event->time ||
	    function_of(reader, numbers.values[BLOCKED_CALLER]))
		return false;
	event->kind = EVENT_WATERMARK;
	event->time--;
	event->switched.io_wait = numbers.values[BLOCKED_IO_WAIT] ? IO_WAIT_YES : IO_WAIT_NO;
	return true;
}

static uint8_t io_wait_at(const struct bundle *bundle, uint64_t time) {
	return bundle->io_wait_time == time ? bundle->io_wait : IO_WAIT_UNKNOWN;
}

static int push_switch(struct perfetto_reader *reader, struct bundle *bundle) {
	const uint64_t *row = bundle->switches.values;
	struct event event = {.kind = EVENT_SWITCH,
			      .time = bundle->switches.time + bundle->offset,
			      .cpu = bundle->cpu,
			      .tid = NO_TID,
			      .switched = {.next_name = name_of(reader, row[COLUMN_NAME]),
					   .state = (uint16_t)row[COLUMN_STATE],
					   .next_priority = take_priority(row[COLUMN_PRIORITY])}};
	event.switched.io_wait = io_wait_at(bundle, event.time);
	if (!take_tid(row[COLUMN_TID], bundle->cpu, &event.switched.next_tid) || !is_time(event.time)) {
		reader->bad++;
		return 0;
	}
	return reader_push(reader, &event);
}

static uint8_t written_of(uint64_t flags) {
	uint64_t written = flags >> CONTEXT_WRITTEN_SHIFT & CONTEXT_WRITTEN_MASK;
	return written <= WRITTEN_SOCKET ? (uint8_t)written : WRITTEN_NOTHING;
}

static int push_waking(struct perfetto_reader *reader, struct bundle *bundle) {
	const uint64_t *row = bundle->wakings.values;
	struct event event = {
		.kind = EVENT_WAKING,
		.time = bundle->wakings.time + bundle->offset,
		.cpu = bundle->cpu,
		.tid = NO_TID,
		.waking = {.wakee_tid = (uint32_t)row[COLUMN_TID],
			   .target_cpu = (uint32_t)row[COLUMN_TARGET],
			   .priority = take_priority(row[COLUMN_PRIORITY]),
			   .context = row[COLUMN_FLAGS] & (CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ | CONTEXT_TIMER),
			   .written = written_of(row[COLUMN_FLAGS])}};
	if (!is_task(row[COLUMN_TID]) || row[COLUMN_TARGET] >= CPU_COUNT_MOST || !is_time(event.time)) {
		reader->bad++;
		return 0;
	}
	return reader_push(reader, &event);
}

static bool take_message(struct perfetto_reader *reader, struct bundle *bundle, struct cursor message) {
	struct event *event = &bundle->event;
	struct wire_field field, body = {0};
	uint64_t tid = 0, flags = 0;
	*event = (struct event){.cpu = bundle->cpu};
	while (wire_each(&message, &field)) {
		if (field.number == FTRACE_TIMESTAMP)
			event->time = field.value + bundle->offset;
		else if (field.number == FTRACE_PID)
			tid = field.value;
		else if (field.number == FTRACE_COMMON_FLAGS)
			flags = field.value;
		else if (field.wire == PROTO_BYTES)
			body = field;
	}
	event->tid = (uint32_t)tid;
	struct numbers numbers;
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		if (messages[i].field != body.number)
			continue;
		event->kind = messages[i].kind;
		bool good = !message.failed && take_numbers(body.bytes, &numbers) && tid < TID_OUTSIDE &&
			    is_time(event->time) && messages[i].take(reader, &numbers, event);
		if (event->kind == EVENT_WAKING) {
			event->waking.context = flags & (CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ);
			event->waking.written = written_of(flags);
		}
		reader->bad += !good;
		return good;
	}
	if (body.number == FTRACE_BLOCKED_REASON)
		return !message.failed && is_time(event->time) && take_io_wait(reader, body.bytes, event);
	if (!message.failed && tid < TID_OUTSIDE && is_time(event->time) &&
	    full_point(reader, body.number, body.bytes, event))
		return true;
	reader->unknown_events++;
	return false;
}

static void next_message(struct perfetto_reader *reader, struct bundle *bundle) {
	struct wire_field field;
	bundle->event_there = false;
	while (!bundle->event_there && wire_each(&bundle->events, &field))
		if (field.number == BUNDLE_EVENT && field.wire == PROTO_BYTES)
			bundle->event_there = take_message(reader, bundle, field.bytes);
}

static int push_message(struct perfetto_reader *reader, struct bundle *bundle) {
	struct event event = bundle->event;
	next_message(reader, bundle);
	const struct event *after = bundle->event_there ? &bundle->event : NULL;
	if (event.kind == EVENT_WATERMARK) {
		bundle->io_wait_time = event.time;
		bundle->io_wait = event.switched.io_wait;
		return 0;
	}
	if (event.kind == EVENT_SWITCH && after && after->kind == EVENT_WATERMARK &&
	    after->time == event.time)
		event.switched.io_wait = after->switched.io_wait;
	return reader_push(reader, &event);
}

static int merge(struct perfetto_reader *reader, struct bundle *bundle) {
	int error = 0;
	next_row(reader, &bundle->switches);
	next_row(reader, &bundle->wakings);
	next_message(reader, bundle);
	while (!error && (bundle->switches.there || bundle->wakings.there || bundle->event_there)) {
		uint64_t switched = bundle->switches.there ? bundle->switches.time : UINT64_MAX;
		uint64_t waking = bundle->wakings.there ? bundle->wakings.time : UINT64_MAX;
		uint64_t event = bundle->event_there ? bundle->event.time - bundle->offset : UINT64_MAX;
		if (bundle->event_there && event <= switched && event <= waking) {
			error = push_message(reader, bundle);
		} else if (bundle->switches.there && switched <= waking) {
			error = push_switch(reader, bundle);
			next_row(reader, &bundle->switches);
		} else {
			error = push_waking(reader, bundle);
			next_row(reader, &bundle->wakings);
		}
	}
	return error;
}

// ---- bundles ----

static struct cursor *column_of(struct bundle *bundle, uint32_t field) {
	static const struct {
		bool known, waking;
		enum column column;
	} fields[] = {
		[COMPACT_SWITCH_TIMESTAMP] = {true, false, COLUMN_TIME},
		[COMPACT_SWITCH_PREV_STATE] = {true, false, COLUMN_STATE},
		[COMPACT_SWITCH_NEXT_PID] = {true, false, COLUMN_TID},
		[COMPACT_SWITCH_NEXT_PRIO] = {true, false, COLUMN_PRIORITY},
		[COMPACT_SWITCH_NEXT_COMM] = {true, false, COLUMN_NAME},
		[COMPACT_WAKING_TIMESTAMP] = {true, true, COLUMN_TIME},
		[COMPACT_WAKING_PID] = {true, true, COLUMN_TID},
		[COMPACT_WAKING_TARGET_CPU] = {true, true, COLUMN_TARGET},
		[COMPACT_WAKING_PRIO] = {true, true, COLUMN_PRIORITY},
		[COMPACT_WAKING_COMM] = {true, true, COLUMN_NAME},
		[COMPACT_WAKING_FLAGS] = {true, true, COLUMN_FLAGS},
	};
	if (field >= ARRAY_SIZE(fields) || !fields[field].known)
		return NULL;
	struct columns *columns = fields[field].waking ? &bundle->wakings : &bundle->switches;
	return &columns->columns[fields[field].column];
}

static void take_compact(struct perfetto_reader *reader, struct bundle *bundle, struct cursor compact) {
	struct wire_field field;
	reader->names.count = 0;
	while (wire_each(&compact, &field)) {
		if (field.wire != PROTO_BYTES)
			continue;
		struct cursor *column = column_of(bundle, field.number);
		if (column)
			*column = field.bytes;
		else if (field.number == COMPACT_INTERN_TABLE)
			array_push(&reader->names, cursor_text(reader, field.bytes));
	}
	reader->bad += compact.failed;
}

// Only for losses that are not counted elsewhere: our own traces report them as events.
static int push_lost(struct perfetto_reader *reader, const struct bundle *bundle, struct cursor message) {
	struct event event = {
		.kind = EVENT_LOST, .cpu = bundle->cpu, .lost = {.count = 1, .source = SOURCE_TRACE}};
	return ftrace_begin(message, &event.time) && is_time(event.time) ? reader_push(reader, &event) : 0;
}

int ftrace_take(struct perfetto_reader *reader, const struct packet *packet) {
	struct cursor message = packet->data;
	struct bundle bundle = {.events = message, .cpu = CPU_NONE};
	struct cursor walk = message;
	struct wire_field field;
	uint64_t cpu = CPU_NONE, clock_time = 0, boot_time = 0, lost = 0;
	reader->bundle_sequence = packet->head.sequence_id;
	reader->names.count = 0;
	while (wire_each(&walk, &field)) {
		if (field.number == BUNDLE_CPU)
			cpu = field.value;
		else if (field.number == BUNDLE_LOST)
			lost = field.value;
		else if (field.number == BUNDLE_CLOCK_TIME)
			clock_time = field.value;
		else if (field.number == BUNDLE_BOOT_TIME)
			boot_time = field.value;
		else if (field.number == BUNDLE_COMPACT_SCHED && field.wire == PROTO_BYTES)
			take_compact(reader, &bundle, field.bytes);
	}
	if (cpu >= CPU_COUNT_MOST) {
		reader->bad++;
		return 0;
	}
	bundle.cpu = (uint32_t)cpu;
	if (clock_time && boot_time)
		bundle.offset = boot_time - clock_time;
	int error = lost && !reader->ours ? push_lost(reader, &bundle, message) : 0;
	return error ? error : merge(reader, &bundle);
}

static uint64_t first_number(struct cursor message, uint32_t number) {
	struct wire_field field;
	while (wire_each(&message, &field))
		if (field.number == number && field.wire == PROTO_VARINT)
			return field.value;
	return UINT64_MAX;
}

static uint64_t first_of_columns(struct cursor compact) {
	struct wire_field field;
	uint64_t first = UINT64_MAX, value;
	while (wire_each(&compact, &field))
		if ((field.number == COMPACT_SWITCH_TIMESTAMP || field.number == COMPACT_WAKING_TIMESTAMP) &&
		    field.wire == PROTO_BYTES && wire_varint(&field.bytes, &value) == WIRE_FIELD)
			first = MIN(first, value);
	return first;
}

bool ftrace_begin(struct cursor bundle, uint64_t *time) {
	struct wire_field field;
	uint64_t clock_time = 0, boot_time = 0, first = UINT64_MAX;
	bool event = false;
	while (wire_each(&bundle, &field)) {
		if (field.number == BUNDLE_CLOCK_TIME)
			clock_time = field.value;
		else if (field.number == BUNDLE_BOOT_TIME)
			boot_time = field.value;
		else if (field.number == BUNDLE_COMPACT_SCHED && field.wire == PROTO_BYTES)
			first = MIN(first, first_of_columns(field.bytes));
		if (field.number != BUNDLE_EVENT || field.wire != PROTO_BYTES || event)
			continue;
		first = MIN(first, first_number(field.bytes, FTRACE_TIMESTAMP));
		event = true;
	}
	*time = first + (clock_time && boot_time ? boot_time - clock_time : 0);
	return first != UINT64_MAX;
}
