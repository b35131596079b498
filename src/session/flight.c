// Memory is a queue of pieces: what the spool hands over up to a watermark, in whole
// blocks. Pieces are dropped from the front, large ones in halves; the dropped records
// are read once more for the tasks they mention. The cut is one moment on all CPUs, no
// later than the watermark: records after it stay, even if they came in the same piece,
// and a saved recording begins there.
#include "session/flight.h"
#include "base/array.h"
#include "base/cursor.h"
#include "base/file.h"
#include "event/lives.h"
#include "read/reader.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

struct piece {
	struct buffer blocks;
	uint64_t time;      // when it arrived
	uint64_t watermark; // everything before has arrived; 0 if more will come
};

struct flight {
	struct sink sink;           // receives the events of dropped pieces
	ARRAY(struct piece) pieces; // from `first` on
	size_t first;
	size_t size, limit;
	uint64_t longest;     // nanoseconds, or UINT64_MAX
	struct tables tables; // of those events
	struct lives lives;   // tasks alive after those events
	struct buffer facts;  // blocks that are never dropped
	struct spool_header header;
	struct spool_lost forgotten; // losses reported in what was dropped
};

// ---- who is there ----

static int learn(struct sink *sink, const struct event *event) {
	struct flight *flight = CONTAINER_OF(sink, struct flight, sink);
	if (event->kind == EVENT_LOST)
		flight->forgotten.count[event->lost.source] += event->lost.count;
	lives_learn(&flight->lives, flight->tables.strings, event);
	return 0;
}

static int nothing(struct sink *sink) {
	return 0;
}

static void nothing_to_free(struct sink *sink) {
}

// Names and stacks accumulate over hours: from time to time the tables are replaced.
static void renew_tables(struct flight *flight) {
	enum { MOST = 1 << 13 };
	const struct tables *tables = &flight->tables;
	if (tables->strings && tables->strings->texts.count < MOST && tables->stacks->stacks.count < MOST &&
	    tables->stacks->frames.count < MOST)
		return;
	if (tables->strings)
		tables_free(&flight->tables);
	flight->tables = tables_new();
}

// ---- pieces ----

// The next block; its cursor has failed if the block is truncated.
static struct cursor take_block(struct cursor *in, struct spool_block *block) {
	cursor_copy(in, block, sizeof(*block));
	struct cursor padded = cursor_slice(in, ((size_t)block->size + 7) & ~(size_t)7);
	return cursor_slice(&padded, block->size);
}

static uint64_t last_watermark(const void *blocks, size_t size) {
	struct cursor in = cursor_of(blocks, size);
	uint64_t watermark = 0;
	while (cursor_left(&in)) {
		struct spool_block block;
		struct cursor content = take_block(&in, &block);
		if (block.type == SPOOL_WATERMARK)
			watermark = cursor_u64(&content);
	}
	return watermark;
}

static void add_block(struct buffer *blocks, uint32_t type, const void *head, size_t head_size,
		      const struct buffer *rest) {
	struct spool_block block = {.type = type, .size = (uint32_t)(head_size + (rest ? rest->size : 0))};
	buffer_append(blocks, &block, sizeof(block));
	buffer_append(blocks, head, head_size);
	if (rest)
		buffer_append(blocks, rest->data, rest->size);
	buffer_append(blocks, "\0\0\0\0\0\0\0", -(size_t)block.size & 7);
}

// Splits a batch into the records before the cut, with the losses it reports, and those after.
static void part_batch(struct cursor in, uint64_t cut, struct buffer *old, struct buffer *young) {
	struct batch batch;
	struct buffer before = {0}, behind = {0};
	cursor_copy(&in, &batch, sizeof(batch));
	while (cursor_left(&in)) {
		struct record head;
		const uint8_t *begin = in.at;
		cursor_copy(&in, &head, sizeof(head));
		if (head.size < sizeof(head) || !cursor_take(&in, head.size - sizeof(head)))
			break;
		buffer_append(batch.base + head.delta < cut ? &before : &behind, begin, head.size);
	}
	batch.size = (uint32_t)before.size;
	add_block(old, SPOOL_BATCH, &batch, sizeof(batch), &before);
	batch.size = (uint32_t)behind.size;
	batch.lost = 0;
	if (behind.size)
		add_block(young, SPOOL_BATCH, &batch, sizeof(batch), &behind);
	buffer_free(&before);
	buffer_free(&behind);
}

_Static_assert(offsetof(struct spool_mapping, time) == 0 && offsetof(struct spool_crash, time) == 0 &&
		       offsetof(struct spool_reading, time) == 0,
	       "their time comes first");

static bool is_behind(const struct spool_block *block, struct cursor content, uint64_t cut) {
	switch (block->type) {
	case SPOOL_WATERMARK:
		return cursor_u64(&content) > cut;
	case SPOOL_MAPPING:
	case SPOOL_CRASH:
	case SPOOL_READING:
		return cursor_u64(&content) >= cut;
	default:
		return false;
	}
}

// Splits a piece at a time. The facts in the older part are kept forever.
static void part(struct flight *flight, const struct piece *piece, uint64_t cut, struct buffer *old,
		 struct buffer *young) {
	struct cursor in = cursor_of(piece->blocks.data, piece->blocks.size);
	while (cursor_left(&in)) {
		const uint8_t *begin = in.at;
		struct spool_block block;
		struct cursor content = take_block(&in, &block);
		size_t size = (size_t)(in.at - begin);
		if (block.type == SPOOL_META || block.type == SPOOL_CLOCK || block.type == SPOOL_COUNTERS)
			buffer_append(&flight->facts, begin, size);
		if (block.type == SPOOL_BATCH)
			part_batch(content, cut, old, young);
		else
			buffer_append(is_behind(&block, content, cut) ? young : old, begin, size);
	}
	add_block(old, SPOOL_WATERMARK, &cut, sizeof(cut), NULL);
}

static void learn_all(struct flight *flight, const struct buffer *spool) {
	struct stream input;
	stream_of_memory(&input, spool->data, spool->size);
	renew_tables(flight);
	spool_reader.read(&input, "flight recorder", &flight->tables, &flight->sink);
	stream_close(&input);
}

// The first piece is empty; compacts the array from time to time.
static void remove_first(struct flight *flight) {
	buffer_free(&flight->pieces.items[flight->first++].blocks);
	if (flight->first > 1024 && flight->first > flight->pieces.count / 2) {
		flight->pieces.count -= flight->first;
		memmove(flight->pieces.items, flight->pieces.items + flight->first,
			flight->pieces.count * sizeof(*flight->pieces.items));
		flight->first = 0;
	}
}

// Never reserves memory in advance: a piece is exactly as large as its content.
static void set_blocks(struct piece *piece, struct buffer *blocks) {
	buffer_free(&piece->blocks);
	piece->blocks = *blocks;
	if (blocks->size) {
		piece->blocks.data = memory_resize(blocks->data, blocks->size);
		piece->blocks.capacity = blocks->size;
	}
}

// Drops the first piece up to the cut. Records after its own watermark belong to the next piece.
static void let_go(struct flight *flight, uint64_t cut) {
	struct piece *piece = &flight->pieces.items[flight->first];
	struct buffer spool = {0}, young = {0};
	buffer_append(&spool, &flight->header, sizeof(flight->header));
	part(flight, piece, cut, &spool, &young);
	learn_all(flight, &spool);
	buffer_free(&spool);
	flight->header.start = cut;
	flight->size += young.size;
	flight->size -= piece->blocks.size;
	if (cut < piece->watermark) {
		set_blocks(piece, &young);
		return;
	}
	if (young.size) {
		buffer_append(&young, piece[1].blocks.data, piece[1].blocks.size);
		set_blocks(&piece[1], &young);
	}
	remove_first(flight);
}

// Makes room. A piece that is a large part of the whole is dropped in halves, so that much is
// always left.
static void let_go_old(struct flight *flight, uint64_t now) {
	while (flight->first + 1 < flight->pieces.count) {
		const struct piece *piece = &flight->pieces.items[flight->first];
		uint64_t start = flight->header.start, end = MAX(piece->watermark, start);
		if (now - piece->time > flight->longest)
			let_go(flight, end);
		else if (flight->size > flight->limit)
			let_go(flight, piece->blocks.size > flight->limit / 16 && end - start > 1000
					       ? start + (end - start) / 2
					       : end);
		else
			break;
	}
}

static int take_piece(void *context, const void *bytes, size_t size) {
	struct flight *flight = context;
	uint64_t now = clock_boot_now();
	if (!flight->header.version && size >= sizeof(flight->header)) { // the first write begins with it
		memcpy(&flight->header, bytes, sizeof(flight->header));
		bytes = (const uint8_t *)bytes + sizeof(flight->header);
		size -= sizeof(flight->header);
	}
	if (!size)
		return 0;
	if (flight->first == flight->pieces.count || flight->pieces.items[flight->pieces.count - 1].watermark)
		array_push(&flight->pieces, (struct piece){0});
	struct piece *last = &flight->pieces.items[flight->pieces.count - 1];
	struct buffer blocks = last->blocks;
	last->blocks = (struct buffer){0};
	buffer_append(&blocks, bytes, size);
	set_blocks(last, &blocks);
	last->time = now;
	last->watermark = last_watermark(bytes, size);
	flight->size += size;
	let_go_old(flight, now);
	return 0;
}

struct flight *flight_new(size_t size, double seconds) {
	struct flight *flight = memory_alloc(sizeof(*flight));
	flight->sink = (struct sink){.push = learn, .finish = nothing, .destroy = nothing_to_free};
	// Pieces always go back to the system: otherwise malloc() ends up keeping their memory.
	mallopt(M_MMAP_THRESHOLD, 32 << 10);
	lives_init(&flight->lives);
	flight->limit = size;
	flight->longest = seconds > 0 ? (uint64_t)(seconds * 1e9) : UINT64_MAX;
	return flight;
}

void flight_free(struct flight *flight) {
	if (!flight)
		return;
	for (size_t i = flight->first; i < flight->pieces.count; i++)
		buffer_free(&flight->pieces.items[i].blocks);
	tables_free(&flight->tables);
	lives_free(&flight->lives);
	array_free(&flight->pieces);
	buffer_free(&flight->facts);
	free(flight);
}

void flight_take(struct flight *flight, struct spool *spool) {
	spool->write = take_piece;
	spool->context = flight;
}

// ---- saving ----

struct saving {
	const struct flight *flight;
	struct spool *spool;
};

static void save_task(void *context, const struct life *life) {
	struct saving *saving = context;
	const struct strings *strings = saving->flight->lives.strings;
	struct spool_task task = {.tid = life->tid, .pid = life->pid, .parent_pid = life->parent_pid};
	spool_task(saving->spool, &task, strings_get(strings, life->name),
		   strings_get(strings, life->command_line), strings_length(strings, life->command_line));
}

static void save_mapping(void *context, uint32_t pid, const struct space_map *map) {
	struct saving *saving = context;
	const struct strings *strings = saving->flight->lives.strings;
	struct spool_mapping mapping = {.time = saving->flight->header.start,
					.start = map->begin,
					.size = map->end - map->begin,
					.offset = map->offset,
					.pid = pid};
	const char *digits = strings_get(strings, map->build_id);
	if (strcmp(digits, BUILD_ID_LOST) == 0)
		mapping.build_id_size = SPOOL_BUILD_ID_LOST;
	for (; mapping.build_id_size < sizeof(mapping.build_id) &&
	       sscanf(digits, "%2hhx", &mapping.build_id[mapping.build_id_size]) == 1;
	     mapping.build_id_size++)
		digits += 2;
	struct buffer block = {0};
	buffer_append(&block, &mapping, sizeof(mapping));
	buffer_append(&block, strings_get(strings, map->module), strings_length(strings, map->module) + 1);
	spool_append(saving->spool, SPOOL_MAPPING, block.data, block.size);
	buffer_free(&block);
}

int flight_save(struct flight *flight, int fd) {
	struct spool spool = {.fd = fd};
	buffer_append(&spool.pending, &flight->header, sizeof(flight->header));
	buffer_append(&spool.pending, flight->facts.data, flight->facts.size);
	spool_append(&spool, SPOOL_FORGOTTEN, &flight->forgotten, sizeof(flight->forgotten));
	struct saving saving = {.flight = flight, .spool = &spool};
	lives_each_task(&flight->lives, save_task, &saving);
	lives_each_mapping(&flight->lives, save_mapping, &saving);
	int error = spool_flush(&spool);
	buffer_free(&spool.pending);
	for (size_t i = flight->first; !error && i < flight->pieces.count; i++)
		error = file_write_all(fd, flight->pieces.items[i].blocks.data,
				       flight->pieces.items[i].blocks.size);
	return error;
}
