// A record has room for only a few values, to keep records small; this file joins the values of one
// moment on a CPU. Each counter of a CPU becomes one event; a test task's share becomes another
// event, with the task; and the counts of a whole slice become the fields of a generic event with
// the slice's duration.
#include "read/spool/counts.h"

#include <math.h>

bool counts_describe(struct counts *counts, struct cursor *block, struct strings *strings) {
	struct spool_counters head;
	cursor_copy(block, &head, sizeof(head));
	if (block->failed || !head.count || head.count > COUNTERS_MOST)
		return false;
	for (uint32_t i = 0; i < head.count; i++) {
		const char *name = cursor_string(block), *unit = cursor_string(block),
			   *scale = cursor_string(block);
		if (block->failed)
			return false;
		double factor = strtod(scale, NULL);
		counts->events[i] = (struct count_event){.name = strings_add(strings, name),
							 .unit = strings_add(strings, unit),
							 .scale = isfinite(factor) && factor > 0 ? factor
												 : 1};
	}
	counts->count = head.count;
	counts->per_slice = head.per_slice;
	return true;
}

static struct count_pieces *pieces_of(struct counts *counts, uint32_t cpu) {
	if (cpu >= counts->cpu_count) {
		struct count_pieces **cpus = memory_alloc((cpu + 1) * sizeof(struct count_pieces *));
		if (counts->cpu_count)
			memcpy(cpus, counts->cpus, counts->cpu_count * sizeof(struct count_pieces *));
		free(counts->cpus);
		counts->cpus = cpus;
		counts->cpu_count = cpu + 1;
	}
	if (!counts->cpus[cpu])
		counts->cpus[cpu] = memory_alloc(sizeof(struct count_pieces));
	return counts->cpus[cpu];
}

static int push_values(const struct counts *counts, const struct count_pieces *pieces, struct event event,
		       struct strings *strings, struct sink *sink) {
	int error = 0;
	event.kind = EVENT_COUNTER;
	event.counter.provider = strings_add(strings, PROVIDER_PMU);
	event.counter.adds = true;
	for (uint32_t i = 0; !error && i < counts->count; i++) {
		if (!counts->events[i].name)
			continue;
		event.counter.name = counts->events[i].name;
		event.counter.unit = counts->events[i].unit;
		event.counter.value = (double)pieces->values[i + 1] * counts->events[i].scale;
		error = sink_push(sink, &event);
	}
	return error;
}

static int push_slice(const struct counts *counts, const struct count_pieces *pieces, struct event event,
		      struct strings *strings, struct sink *sink) {
	struct event_field fields[COUNTERS_MOST];
	uint32_t count = 0;
	for (uint32_t i = 0; i < counts->count; i++)
		if (counts->events[i].name && counts->events[i].scale == 1)
			fields[count++] = (struct event_field){
				.name = strings_get(strings, counts->events[i].name),
				.type = FIELD_UINT,
				.uint = pieces->values[i + 1]};
	event.kind = EVENT_GENERIC;
	event.generic.provider = strings_add(strings, PROVIDER_PMU);
	event.generic.name = strings_add(strings, "slice");
	event.generic.fields = fields;
	event.generic.field_count = count;
	event.generic.duration = MIN(pieces->values[0], event.time);
	return count && event.generic.duration ? sink_push(sink, &event) : 0;
}

static int push_all(const struct counts *counts, const struct record *head, const struct count_pieces *pieces,
		    const struct event *place, struct strings *strings, struct sink *sink) {
	struct event of_cpu = {.time = place->time, .cpu = place->cpu};
	int error = 0;
	if (head->flags & COUNTS_OF_TEST || !head->flags)
		error = push_values(counts, pieces, of_cpu, strings, sink);
	if (!error && head->flags & COUNTS_OF_TEST)
		error = push_values(counts, pieces, *place, strings, sink);
	if (!error && head->flags & COUNTS_OF_SLICE && counts->per_slice)
		error = push_slice(counts, pieces, *place, strings, sink);
	return error;
}

int counts_take(struct counts *counts, const struct record *head, struct cursor *body,
		const struct event *place, struct strings *strings, struct sink *sink, bool *bad) {
	struct record_counts record = {0};
	struct event of_task = *place;
	cursor_copy(body, (char *)&record + sizeof(struct record), sizeof(record) - sizeof(struct record));
	*bad = body->failed || place->cpu >= CPU_COUNT_MOST || record.tid >= TID_OUTSIDE ||
	       record.count > COUNTS_IN_RECORD || record.first + record.count > COUNTS_MOST;
	if (*bad || !counts->count) // no description: the ongoing recording that these belong to has it
		return 0;
	struct count_pieces *pieces = pieces_of(counts, place->cpu);
	if (!record.first || pieces->time != place->time)
		pieces->next = 0;
	if (record.first != pieces->next)
		return 0; // earlier pieces were lost, which is already counted
	for (uint32_t i = 0; i < record.count; i++)
		pieces->values[record.first + i] = record.values[i];
	pieces->next = record.first + record.count;
	pieces->time = place->time;
	of_task.tid = record.tid;
	if (pieces->next <= counts->count)
		return 0;
	pieces->next = 0;
	return push_all(counts, head, pieces, &of_task, strings, sink);
}

void counts_free(struct counts *counts) {
	for (uint32_t i = 0; i < counts->cpu_count; i++)
		free(counts->cpus[i]);
	free(counts->cpus);
}
