// A heap profile in a Perfetto trace: a ProfilePacket with a dump of two heaps, everything that was
// allocated and freed, and what was live at the peak. Allocation sites come one metric after
// another, so they are kept until the end.
#include "write/perfetto/perfetto.h"

#include "event/heap_metrics.h"

struct heap_place {
	uint32_t stack, pid;
	uint64_t values[HEAP_METRIC_COUNT];
};

struct heap_places {
	struct map index; // process and stack to index + 1
	ARRAY(struct heap_place) places;
	uint64_t time;
	uint32_t name; // for the sequence
};

int heap_take(struct perfetto *perfetto, const struct event *event) {
	const struct heap_metric *metric = heap_metric_find(
		strings_get(perfetto->strings, event->sample.name));
	if (!metric)
		return 0;
	struct heap_places *heap = perfetto->heap;
	if (!heap) {
		heap = perfetto->heap = memory_alloc(sizeof(*heap));
		heap->name = strings_add(perfetto->strings, "(heap)");
	}
	uint64_t *number = map_put(&heap->index, (uint64_t)event->pid << 32 | event->sample.stack);
	if (!*number) {
		array_push(&heap->places,
			   (struct heap_place){.stack = event->sample.stack, .pid = event->pid});
		*number = heap->places.count;
	}
	heap->places.items[*number - 1].values[metric - heap_metrics] += event->sample.weight;
	heap->time = MAX(heap->time, event->time);
	return 0;
}

// The importer reads signed numbers.
static void put(struct buffer *packet, uint32_t field, uint64_t value) {
	if (value)
		proto_uint(packet, field, MIN(value, (uint64_t)INT64_MAX));
}

static void write_sample(struct buffer *packet, const struct heap_place *place, bool peak) {
	const uint64_t *values = place->values;
	size_t sample = proto_begin(packet, HEAP_DUMP_SAMPLES);
	put(packet, HEAP_SAMPLE_CALLSTACK, place->stack);
	put(packet, HEAP_SAMPLE_ALLOCATED, values[peak ? HEAP_PEAK : HEAP_ALLOCATED]);
	put(packet, HEAP_SAMPLE_ALLOC_COUNT, values[peak ? HEAP_PEAK_BLOCKS : HEAP_ALLOCATED_BLOCKS]);
	if (!peak) {
		uint64_t left = MIN(values[HEAP_LEAKED], values[HEAP_ALLOCATED]);
		uint64_t blocks = MIN(values[HEAP_LEAKED_BLOCKS], values[HEAP_ALLOCATED_BLOCKS]);
		put(packet, HEAP_SAMPLE_FREED, values[HEAP_ALLOCATED] - left);
		put(packet, HEAP_SAMPLE_FREE_COUNT, values[HEAP_ALLOCATED_BLOCKS] - blocks);
	}
	proto_end(packet, sample);
}

static void write_dump(struct perfetto *perfetto, uint32_t pid, bool peak) {
	const struct heap_places *heap = perfetto->heap;
	struct buffer *packet = &perfetto->packet;
	size_t dump = proto_begin(packet, PROFILE_PACKET_DUMPS);
	proto_uint(packet, HEAP_DUMP_PID, pid);
	proto_uint(packet, HEAP_DUMP_TIME, heap->time);
	proto_string(packet, HEAP_DUMP_HEAP, peak ? "heap at its peak" : "heap");
	for (size_t i = 0; i < heap->places.count; i++) {
		const struct heap_place *place = &heap->places.items[i];
		if (place->pid == pid && place->values[peak ? HEAP_PEAK_BLOCKS : HEAP_ALLOCATED_BLOCKS])
			write_sample(packet, place, peak);
	}
	proto_end(packet, dump);
}

// Dumps are always on the kernel's coarse clock, which is the same as ours here.
static int write_clock(struct perfetto *perfetto) {
	struct buffer *packet = &perfetto->packet;
	static const uint32_t clocks[] = {CLOCK_ID_BOOTTIME, CLOCK_ID_MONOTONIC_COARSE};
	size_t mark = perfetto_begin(perfetto, SEQUENCE_KERNEL, NO_TIME);
	size_t snapshot = proto_begin(packet, PACKET_CLOCK_SNAPSHOT);
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		size_t clock = proto_begin(packet, SNAPSHOT_CLOCKS);
		proto_uint(packet, CLOCK_ID, clocks[i]);
		proto_uint(packet, CLOCK_TIMESTAMP, perfetto->heap->time);
		proto_end(packet, clock);
	}
	proto_end(packet, snapshot);
	return perfetto_end(perfetto, mark);
}

int heap_finish(struct perfetto *perfetto) {
	struct heap_places *heap = perfetto->heap;
	int error = heap ? write_clock(perfetto) : 0;
	if (!heap)
		return 0;
	for (size_t i = 0; i < heap->places.count && !error; i++) // the frames of the stacks
		error = perfetto_end(perfetto,
				     events_stack_packet(perfetto, heap->name, heap->places.items[i].stack,
							 heap->time, NULL));
	struct map seen = {0};
	for (size_t i = 0; i < heap->places.count && !error; i++) {
		uint32_t pid = heap->places.items[i].pid;
		uint64_t *known = map_put(&seen, pid);
		if (*known)
			continue;
		*known = 1;
		size_t mark = events_stack_packet(perfetto, heap->name, 0, heap->time, NULL);
		size_t profile = proto_begin(&perfetto->packet, PACKET_PROFILE);
		write_dump(perfetto, pid, false);
		write_dump(perfetto, pid, true);
		proto_end(&perfetto->packet, profile);
		error = perfetto_end(perfetto, mark);
	}
	map_free(&seen);
	return error;
}

void heap_destroy(struct perfetto *perfetto) {
	if (!perfetto->heap)
		return;
	map_free(&perfetto->heap->index);
	array_free(&perfetto->heap->places);
	free(perfetto->heap);
}
