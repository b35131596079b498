// Ftrace bundles: what one CPU did. Scheduling comes as parallel arrays (compact_sched), other
// events one by one; both in time order.
#include "check/check.h"

// ---- compact_sched ----

enum { INTERN_TABLE = 5, COMPACT_FIELDS = 13 };

// What an array of compact_sched holds.
enum column_kind { COLUMN_NONE, COLUMN_PLAIN, COLUMN_TIME, COLUMN_COMM };

static const struct column {
	enum column_kind kind;
	bool waking;
	bool optional; // older writers omit it
} columns[COMPACT_FIELDS] = {
	[1] = {COLUMN_TIME},
	[2] = {COLUMN_PLAIN},
	[3] = {COLUMN_PLAIN},
	[4] = {COLUMN_PLAIN},
	[6] = {COLUMN_COMM},
	[7] = {COLUMN_TIME, .waking = true},
	[8] = {COLUMN_PLAIN, .waking = true},
	[9] = {COLUMN_PLAIN, .waking = true},
	[10] = {COLUMN_PLAIN, .waking = true},
	[11] = {COLUMN_COMM, .waking = true},
	[12] = {COLUMN_PLAIN, .waking = true, .optional = true},
};

// The first time of a list is absolute, the rest are differences; a negative one wraps around. `clock` is the
// CPU's previous time.
static uint64_t check_times(struct check *check, const struct wire_field *field, uint64_t *clock, bool first,
			    enum defect defect) {
	struct cursor values = field->bytes;
	uint64_t value, count = 0;
	for (; wire_next_packed(check, &values, &value); count++) {
		uint64_t time = first && !count ? value : *clock + value;
		if (time < *clock)
			check_defect(check, field->at, defect, count);
		*clock = time;
	}
	return count;
}

static uint64_t check_comms(struct check *check, const struct wire_field *field, uint64_t names) {
	struct cursor values = field->bytes;
	uint64_t value, count = 0;
	for (; wire_next_packed(check, &values, &value); count++)
		if (value >= names)
			check_defect(check, field->at, DEFECT_COMM_INDEX, value);
	return count;
}

static uint64_t count_names(struct check *check, struct cursor sched) {
	struct wire_field field;
	uint64_t names = 0;
	while (wire_next(check, &sched, &field))
		names += field.number == INTERN_TABLE;
	return names;
}

static void check_lengths(struct check *check, const uint8_t *at, const uint64_t *counts) {
	bool bad[2] = {0};
	for (size_t i = 1; i < COMPACT_FIELDS; i++) {
		const struct column *column = &columns[i];
		uint64_t rows = counts[column->waking ? 7 : 1];
		if (column->kind != COLUMN_NONE && counts[i] != rows && !(column->optional && !counts[i]))
			bad[column->waking] = true;
	}
	if (bad[0])
		check_defect(check, at, DEFECT_SWITCH_ARRAYS, counts[1]);
	if (bad[1])
		check_defect(check, at, DEFECT_WAKING_ARRAYS, counts[7]);
	check->result->events += counts[1] + counts[7];
}

static void check_compact_sched(struct check *check, struct cursor sched, struct cpu_times *cpu) {
	const uint8_t *at = sched.at;
	uint64_t counts[COMPACT_FIELDS] = {0};
	uint64_t faults = check->result->defects;
	uint64_t names = count_names(check, sched);
	if (check->result->defects != faults)
		return;
	struct wire_field field;
	while (wire_next(check, &sched, &field)) {
		if (field.number >= COMPACT_FIELDS)
			continue;
		const struct column *column = &columns[field.number];
		uint64_t *count = &counts[field.number];
		if (field.wire != PROTO_BYTES)
			check_defect(check, field.at, DEFECT_FIELD_TYPE, field.number);
		else if (column->kind == COLUMN_TIME)
			*count += check_times(check, &field, column->waking ? &cpu->waking : &cpu->switched,
					      !*count,
					      column->waking ? DEFECT_WAKING_TIME : DEFECT_SWITCH_TIME);
		else if (column->kind == COLUMN_COMM)
			*count += check_comms(check, &field, names);
		else if (column->kind == COLUMN_PLAIN)
			*count += wire_count_packed(check, field.bytes);
	}
	if (check->result->defects == faults)
		check_lengths(check, at, counts);
	if (!check->sched_at)
		check->sched_at = check_offset(check, at) + 1;
}

// ---- single events ----

// Fields 1, 2 and 5 are numbers; every other field is a message with the event's own fields.
static void check_ftrace_event(struct check *check, struct cursor event, struct cpu_times *cpu) {
	const uint8_t *at = event.at;
	struct wire_field field;
	while (wire_next(check, &event, &field)) {
		if (field.wire == PROTO_BYTES)
			wire_check_message(check, &rule_any, field.bytes, 3);
		if (field.number != 1 || field.wire != PROTO_VARINT)
			continue;
		if (field.value < cpu->event)
			check_defect(check, at, DEFECT_EVENT_TIME, field.value);
		else
			cpu->event = field.value;
	}
	check->result->events++;
}

// ---- bundles ----

static struct cpu_times *cpu_times_of(struct sequence *sequence, uint32_t cpu) {
	size_t count = sequence->cpu_times.count;
	uint64_t *index = map_put(&sequence->cpus, cpu);
	if (!*index) {
		array_push(&sequence->cpu_times, (struct cpu_times){0});
		*index = count + 1;
	}
	return &sequence->cpu_times.items[*index - 1];
}

void check_ftrace_bundle(struct check *check, const struct wire_field *bundle) {
	struct cursor message = bundle->bytes;
	struct wire_field field;
	bool has_cpu = false, has_events = false;
	uint32_t cpu = 0;
	// The CPU may be written after its events.
	uint64_t faults = check->result->defects;
	while (wire_next(check, &message, &field)) {
		bool is_cpu = field.number == 1 && field.wire == PROTO_VARINT;
		cpu = is_cpu ? (uint32_t)field.value : cpu;
		has_cpu |= is_cpu;
		has_events |= field.number == 2 || field.number == 4;
	}
	if (check->result->defects != faults)
		return;
	if (has_events && !has_cpu)
		check_defect(check, bundle->at, DEFECT_NO_CPU, 0);
	// Bundles without a sequence or a CPU are checked one by one, each on its own.
	struct cpu_times alone = {0};
	struct cpu_times *times = has_cpu && check->packet.sequence
					  ? cpu_times_of(check->packet.sequence, cpu)
					  : &alone;
	message = bundle->bytes;
	while (wire_next(check, &message, &field)) {
		if (field.number == 2 && field.wire == PROTO_BYTES)
			check_ftrace_event(check, field.bytes, times);
		else if (field.number == 4 && field.wire == PROTO_BYTES)
			check_compact_sched(check, field.bytes, times);
		else
			wire_check_field(check, &rule_ftrace_bundle, &field, 1);
	}
}
