// All records of a file, or of several files of one recording, in time order.
//
// The records of one CPU (and, in merged files, of one session) are already in
// order, buffer after buffer, so this is a merge: one buffer of each is in
// memory, and a heap finds the earliest record. A CPU often has many records in a
// row before another's turn comes; the heap then costs only two comparisons.
#include "read/etl/etl.h"
#include "base/buffer.h"

struct etl_lane {
	struct etl_file *file;
	bool elsewhere; // its times must be converted
	struct etl_record record;
	struct etl_records records;
	struct buffer memory;
	uint32_t next; // buffer to load after this one
	uint64_t key;  // time of the record, never earlier than the previous one
};

// Moves to a lane's next record; false if its CPU has no more.
static bool advance(struct etl_walk *walk, struct etl_lane *lane) {
	while (!etl_records_next(&lane->records, &lane->record)) {
		walk->skipped += lane->records.skipped;
		lane->records.skipped = 0;
		if (lane->next == ETL_NONE)
			return false;
		const struct etl_buffer *buffer = &lane->file->buffers.items[lane->next];
		if (etl_buffer_load(lane->file, buffer, &lane->memory, &lane->records, &walk->unreadable))
			return false;
		lane->next = buffer->next;
	}
	if (lane->elsewhere)
		lane->record.time = etl_file_on_base(lane->file, lane->record.time);
	lane->key = MAX(lane->key, lane->record.time);
	walk->records++;
	return true;
}

static bool earlier(const struct etl_lane *a, const struct etl_lane *b) {
	return a->key != b->key ? a->key < b->key : a->records.cpu < b->records.cpu;
}

static void sift_down(struct etl_walk *walk, size_t at) {
	struct etl_lane **heap = walk->lanes.items;
	struct etl_lane *moving = heap[at];
	for (;;) {
		size_t child = at * 2 + 1;
		if (child >= walk->lanes.count)
			break;
		if (child + 1 < walk->lanes.count && earlier(heap[child + 1], heap[child]))
			child++;
		if (!earlier(heap[child], moving))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

static void lane_free(struct etl_lane *lane) {
	buffer_free(&lane->memory);
	free(lane);
}

static void add_lanes(struct etl_walk *walk, struct etl_file *file) {
	for (size_t i = 0; i < file->buffers.count; i++) {
		if (i && etl_same_lane(&file->buffers.items[i], &file->buffers.items[i - 1]))
			continue; // not the first buffer of its lane
		struct etl_lane *lane = memory_alloc(sizeof(*lane));
		lane->file = file;
		lane->elsewhere = file->base;
		lane->next = (uint32_t)i;
		if (advance(walk, lane))
			array_push(&walk->lanes, lane);
		else
			lane_free(lane);
	}
}

void etl_walk_begin(struct etl_walk *walk, struct etl_file *file) {
	*walk = (struct etl_walk){0};
	for (; file; file = file->next)
		add_lanes(walk, file);
	for (size_t i = walk->lanes.count / 2; i-- > 0;)
		sift_down(walk, i);
}

const struct etl_record *etl_walk_next(struct etl_walk *walk) {
	if (walk->first_taken) {
		struct etl_lane *lane = walk->lanes.items[0];
		if (!advance(walk, lane)) {
			lane_free(lane);
			walk->lanes.items[0] = walk->lanes.items[--walk->lanes.count];
		}
		if (walk->lanes.count)
			sift_down(walk, 0);
	}
	walk->first_taken = walk->lanes.count > 0;
	return walk->lanes.count ? &walk->lanes.items[0]->record : NULL;
}

void etl_walk_end(struct etl_walk *walk) {
	for (size_t i = 0; i < walk->lanes.count; i++)
		lane_free(walk->lanes.items[i]);
	array_free(&walk->lanes);
}
