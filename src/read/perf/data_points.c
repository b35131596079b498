// What tracepoints say, from the formats in the file. Those that mean the same as an event of ours become
// that event: switches, wakeups, interrupts, and all that format/point_table.h has under the same name with
// the same names of fields. Everything else is a generic event with the tracepoint's own fields.
#include "event/points.h"
#include "read/perf/data.h"

#include <stdio.h>
#include <string.h>

enum meaning {
	NOT_KNOWN,
	NO_MEANING, // only a sample
	SWITCH,
	WAKING,
	WAKEUP, // the same, if there is no sched_waking
	IRQ_ENTRY,
	IRQ_EXIT,
	SOFTIRQ_ENTRY,
	SOFTIRQ_EXIT,
	CALL_ENTER, // syscalls:sys_enter_openat
	CALL_EXIT,
	GENERIC,
	FIRST_POINT, // and the number of the point
};

static const struct {
	const char *name; // up to a *
	uint32_t meaning;
} meanings[] = {
	{"sched:sched_switch", SWITCH},
	{"sched:sched_waking", WAKING},
	{"sched:sched_wakeup", WAKEUP},
	{"sched:sched_wakeup_new", WAKEUP},
	{"irq:irq_handler_entry", IRQ_ENTRY},
	{"irq:irq_handler_exit", IRQ_EXIT},
	{"irq:softirq_entry", SOFTIRQ_ENTRY},
	{"irq:softirq_exit", SOFTIRQ_EXIT},
	{"block:block_rq_issue", FIRST_POINT + POINT_BLOCK_ISSUE},
	{"block:block_rq_complete", FIRST_POINT + POINT_BLOCK_COMPLETE},
	{"syscalls:sys_enter_*", CALL_ENTER},
	{"syscalls:sys_exit_*", CALL_EXIT},
};

static bool is_called(const char *name, const char *pattern) {
	size_t length = strcspn(pattern, "*");
	return pattern[length] ? strncmp(name, pattern, length) == 0 : strcmp(name, pattern) == 0;
}

static uint32_t meaning_of(const struct perf_data *data, const struct trace_format *format) {
	const struct strings *strings = data->tables->strings;
	const char *name = strings_get(strings, format->name);
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		if (is_called(name, meanings[i].name))
			return meanings[i].meaning;
	// The same requests once more, under the names that ours have: only one of them counts.
	if (data->has_issue && is_called(name, "block:block_io_*"))
		return NO_MEANING;
	for (uint32_t i = 0; i < POINT_COUNT; i++)
		if (strcmp(points[i].group, strings_get(strings, format->system)) == 0 &&
		    strcmp(points[i].name, strings_get(strings, format->event)) == 0)
			return FIRST_POINT + i;
	return GENERIC;
}

// ---- fields ----

static int64_t number(const struct trace_format *format, const char *name, const struct perf_sample *sample) {
	int64_t value = 0;
	trace_field_number(trace_field_by_name(format, name), sample->raw.at, cursor_left(&sample->raw),
			   &value);
	return value;
}

static uint32_t text(struct perf_data *data, const struct trace_format *format, const char *name,
		     const struct perf_sample *sample) {
	const struct trace_field *field = trace_field_by_name(format, name);
	size_t length;
	const uint8_t *bytes = field && field->is_text ? trace_field_bytes(field, sample->raw.at,
									   cursor_left(&sample->raw), &length)
						       : NULL;
	return bytes ? strings_add_bytes(data->tables->strings, (const char *)bytes, length) : 0;
}

static struct event event_of(const struct perf_sample *sample, enum event_kind kind) {
	return (struct event){.kind = (uint16_t)kind,
			      .time = sample->time,
			      .cpu = sample->cpu,
			      .tid = sample->tid,
			      .pid = sample->pid};
}

// ---- scheduling and interrupts ----

static int push_switch(struct perf_data *data, const struct trace_format *format,
		       const struct perf_sample *sample) {
	struct event event = event_of(sample, EVENT_SWITCH);
	event.tid = (uint32_t)number(format, "prev_pid", sample);
	event.switched.next_tid = (uint32_t)number(format, "next_pid", sample);
	event.switched.next_name = text(data, format, "next_comm", sample);
	event.switched.state = (uint16_t)number(format, "prev_state", sample);
	event.switched.priority = (int16_t)number(format, "prev_prio", sample);
	event.switched.next_priority = (int16_t)number(format, "next_prio", sample);
	return sink_push(data->sink, &event);
}

// Both sched_waking and sched_wakeup are about the same wakeup, but the second may come from another CPU,
// later, and without the waker.
static int push_waking(struct perf_data *data, const struct trace_format *format,
		       const struct perf_sample *sample) {
	struct event event = event_of(sample, EVENT_WAKING);
	event.waking.wakee_tid = (uint32_t)number(format, "pid", sample);
	event.waking.target_cpu = (uint32_t)number(format, "target_cpu", sample);
	event.waking.priority = (int16_t)number(format, "prio", sample);
	event.waking.context = (uint16_t)(number(format, "common_flags", sample) &
					  (CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ));
	return sink_push(data->sink, &event);
}

static int push_interrupt(struct perf_data *data, const struct trace_format *format,
			  const struct perf_sample *sample) {
	static const enum event_kind kinds[] = {[IRQ_ENTRY] = EVENT_IRQ_ENTRY,
						[IRQ_EXIT] = EVENT_IRQ_EXIT,
						[SOFTIRQ_ENTRY] = EVENT_SOFTIRQ_ENTRY,
						[SOFTIRQ_EXIT] = EVENT_SOFTIRQ_EXIT};
	bool soft = format->meaning == SOFTIRQ_ENTRY || format->meaning == SOFTIRQ_EXIT;
	struct event event = event_of(sample, kinds[format->meaning]);
	event.irq.number = (uint32_t)number(format, soft ? "vec" : "irq", sample);
	event.irq.name = soft ? 0 : text(data, format, "name", sample);
	event.irq.result = (int32_t)number(format, "ret", sample);
	return sink_push(data->sink, &event);
}

// ---- points ----

static uint64_t list_item(const struct trace_field *field, const struct perf_sample *sample, size_t index) {
	size_t length = 0;
	const uint8_t *bytes = field ? trace_field_bytes(field, sample->raw.at, cursor_left(&sample->raw),
							 &length)
				     : NULL;
	struct cursor in = cursor_of(bytes ? bytes : sample->raw.at, bytes ? length : 0);
	cursor_take(&in, index * 8);
	return cursor_u64(&in);
}

static void set_field(struct perf_data *data, struct event *event, const struct point_field *field,
		      const struct trace_format *format, const struct perf_sample *sample) {
	const struct trace_field *own = trace_field_by_name(format, field->name);
	size_t length = 0;
	const uint8_t *bytes;
	int64_t value = 0;
	if (!own)
		return;
	switch (field->type) {
	case POINT_TEXT:
		bytes = trace_field_bytes(own, sample->raw.at, cursor_left(&sample->raw), &length);
		if (bytes)
			point_set_text(event, field, (const char *)bytes, length);
		break;
	case POINT_LIST:
		for (size_t i = field->place; i < POINT_VALUES; i++)
			event->point.values[i] = list_item(own, sample, i - field->place);
		break;
	case POINT_WORD:
		break;
	default:
		trace_field_number(own, sample->raw.at, cursor_left(&sample->raw), &value);
		if (field->type == POINT_CODE && (uint64_t)value > UINT32_MAX)
			value = perf_data_function(data, (uint64_t)value);
		point_set(event, field, (uint64_t)value);
		break;
	}
}

// Our sizes of requests are in bytes, with the sectors in the same value.
static void set_sectors(struct event *event, const struct trace_format *format,
			const struct perf_sample *sample) {
	enum { SECTOR = 512 };
	if (!trace_field_by_name(format, "bytes"))
		event->point.values[2] = (uint64_t)number(format, "nr_sector", sample) * SECTOR;
}

static int push_point(struct perf_data *data, const struct trace_format *format,
		      const struct perf_sample *sample) {
	struct event event = event_of(sample, EVENT_POINT);
	const struct point *point = &points[format->meaning - FIRST_POINT];
	event.point.number = (uint16_t)(format->meaning - FIRST_POINT);
	for (size_t i = 0; i < POINT_MOST_FIELDS && point->fields[i].name; i++)
		set_field(data, &event, &point->fields[i], format, sample);
	if (event.point.number == POINT_BLOCK_ISSUE || event.point.number == POINT_BLOCK_COMPLETE)
		set_sectors(&event, format, sample);
	return sink_push(data->sink, &event);
}

// A tracepoint of one system call: its arguments are the fields after the number.
static int push_call(struct perf_data *data, const struct trace_format *format,
		     const struct perf_sample *sample) {
	struct event event = event_of(sample, EVENT_POINT);
	bool enter = format->meaning == CALL_ENTER, after = false;
	size_t count = 0;
	event.point.number = enter ? POINT_SYS_ENTER : POINT_SYS_EXIT;
	event.point.small = (uint16_t)number(format, "__syscall_nr", sample);
	if (!enter)
		event.point.values[0] = (uint64_t)number(format, "ret", sample);
	for (size_t i = 0; enter && i < format->fields.count && count < POINT_VALUES; i++) {
		int64_t value = 0;
		const struct trace_field *field = &format->fields.items[i];
		if (after && trace_field_number(field, sample->raw.at, cursor_left(&sample->raw), &value))
			event.point.values[count++] = (uint64_t)value;
		after |= strcmp(field->name, "__syscall_nr") == 0;
	}
	return sink_push(data->sink, &event);
}

// ---- all others ----

static void add_bytes(struct perf_data *data, struct event_field *field, const uint8_t *bytes,
		      size_t length) {
	enum { MOST = 64 };
	for (size_t i = 0; i < MIN(length, (size_t)MOST); i++)
		buffer_printf(&data->text, "%02x", bytes[i]);
	field->size = 2 * MIN(length, (size_t)MOST);
}

// False if the record is too short for it.
static bool add_field(struct perf_data *data, const struct trace_field *own,
		      const struct perf_sample *sample) {
	struct event_field field = {.name = own->name};
	size_t left = cursor_left(&sample->raw), length;
	int64_t value;
	if (!own->is_text && !own->is_array && !own->dynamic &&
	    trace_field_number(own, sample->raw.at, left, &value)) {
		field.type = own->is_pointer ? FIELD_HEX : own->is_signed ? FIELD_INT : FIELD_UINT;
		field.sint = value;
		array_push(&data->fields, field);
		return true;
	}
	const uint8_t *bytes = trace_field_bytes(own, sample->raw.at, left, &length);
	if (!bytes)
		return false;
	field.type = FIELD_TEXT;
	if (own->is_text) {
		field.text = (const char *)bytes;
		field.size = length;
	} else { // its place is set when the buffer does not move any more
		add_bytes(data, &field, bytes, length);
	}
	array_push(&data->fields, field);
	return true;
}

static int push_generic(struct perf_data *data, const struct trace_format *format,
			const struct perf_sample *sample) {
	struct event event = event_of(sample, EVENT_GENERIC);
	size_t at = 0;
	data->fields.count = data->text.size = 0;
	for (size_t i = 0; i < format->fields.count; i++)
		if (!format->fields.items[i].common)
			add_field(data, &format->fields.items[i], sample);
	for (size_t i = 0; i < data->fields.count; i++) {
		struct event_field *field = &data->fields.items[i];
		if (field->type != FIELD_TEXT || field->text || !field->size)
			continue;
		field->text = (const char *)data->text.data + at;
		at += field->size;
	}
	event.generic.provider = format->system;
	event.generic.name = format->event;
	event.generic.fields = data->fields.items;
	event.generic.field_count = (uint32_t)data->fields.count;
	return sink_push(data->sink, &event);
}

int perf_data_tracepoint(struct perf_data *data, const struct perf_attr *attr,
			 const struct perf_sample *sample) {
	struct trace_format *format = attr->type == TYPE_TRACEPOINT
					      ? trace_format_by_id(&data->formats, attr->config)
					      : NULL;
	if (!format || !cursor_left(&sample->raw))
		return 0;
	if (format->meaning == NOT_KNOWN)
		format->meaning = meaning_of(data, format);
	switch (format->meaning) {
	case NO_MEANING:
		return 0;
	case SWITCH:
		return push_switch(data, format, sample);
	case WAKING:
		return push_waking(data, format, sample);
	case WAKEUP:
		return data->has_waking ? 0 : push_waking(data, format, sample);
	case IRQ_ENTRY:
	case IRQ_EXIT:
	case SOFTIRQ_ENTRY:
	case SOFTIRQ_EXIT:
		return push_interrupt(data, format, sample);
	case CALL_ENTER:
	case CALL_EXIT:
		return push_call(data, format, sample);
	case GENERIC:
		return push_generic(data, format, sample);
	default:
		return push_point(data, format, sample);
	}
}
