// Memory is a queue of pieces as the spool hands them over: whole blocks, at
// least every drain interval. Pieces are let go from the front; their records
// are read once more then, for the tasks they tell of. A piece that ends with a
// watermark makes a clean cut: everything that happened later is behind it, so
// that is where a saved recording begins.
#include "session/flight.h"
#include "base/array.h"
#include "base/cursor.h"
#include "base/file.h"
#include "event/lives.h"
#include "event/order.h"
#include "read/reader.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

struct piece {
	uint8_t *bytes;
	size_t size;
	uint64_t time; // when it came
};

struct flight {
	struct sink sink;           // takes the events of pieces that are let go
	struct sink *order;         // in front of it, as pieces hold one CPU's events after another's
	ARRAY(struct piece) pieces; // from `first` on
	size_t first;
	size_t size, limit;
	uint64_t longest;     // nanoseconds, or UINT64_MAX
	struct tables tables; // of those events
	struct lives lives;   // who is there, after those events
	struct buffer facts;  // blocks that are never let go
	struct spool_header header;
	struct spool_lost forgotten; // losses that are told in what was let go
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

// Names and stacks add up over hours: from time to time the tables begin anew.
static void renew_tables(struct flight *flight) {
	enum { MOST = 1 << 13 };
	const struct tables *tables = &flight->tables;
	if (flight->order && tables->strings->texts.count < MOST && tables->stacks->stacks.count < MOST &&
	    tables->stacks->frames.count < MOST)
		return;
	if (flight->order) {
		sink_finish(flight->order);
		sink_destroy(flight->order);
		tables_free(&flight->tables);
	}
	flight->tables = tables_new();
	flight->order = order_new(&flight->sink);
}

// ---- pieces ----

// Keeps the blocks that tell facts, and finds where the rest now begins.
static void keep_facts(struct flight *flight, const struct piece *piece) {
	struct cursor in = cursor_of(piece->bytes, piece->size);
	while (cursor_left(&in)) {
		const uint8_t *begin = in.at;
		struct spool_block block;
		cursor_copy(&in, &block, sizeof(block));
		struct cursor content = cursor_slice(&in, ((size_t)block.size + 7) & ~(size_t)7);
		if (content.failed)
			return;
		if (block.type == SPOOL_META || block.type == SPOOL_CLOCK || block.type == SPOOL_COUNTERS)
			buffer_append(&flight->facts, begin, (size_t)(in.at - begin));
		else if (block.type == SPOOL_WATERMARK)
			flight->header.start = cursor_u64(&content);
	}
}

static void let_go(struct flight *flight) {
	struct piece *piece = &flight->pieces.items[flight->first++];
	struct buffer spool = {0};
	struct stream input;
	buffer_append(&spool, &flight->header, sizeof(flight->header));
	buffer_append(&spool, piece->bytes, piece->size);
	stream_of_memory(&input, spool.data, spool.size);
	renew_tables(flight);
	spool_reader.read(&input, "flight recorder", &flight->tables, flight->order);
	stream_close(&input);
	buffer_free(&spool);
	keep_facts(flight, piece);
	flight->size -= piece->size;
	free(piece->bytes);
	if (flight->first > 1024 && flight->first > flight->pieces.count / 2) {
		flight->pieces.count -= flight->first;
		memmove(flight->pieces.items, flight->pieces.items + flight->first,
			flight->pieces.count * sizeof(*flight->pieces.items));
		flight->first = 0;
	}
}

static int take_piece(void *context, const void *bytes, size_t size) {
	struct flight *flight = context;
	uint64_t now = clock_boot_now();
	if (!flight->header.version && size >= sizeof(flight->header)) { // the first one begins with it
		memcpy(&flight->header, bytes, sizeof(flight->header));
		bytes = (const uint8_t *)bytes + sizeof(flight->header);
		size -= sizeof(flight->header);
	}
	if (!size)
		return 0;
	struct piece piece = {.bytes = memory_alloc(size), .size = size, .time = now};
	memcpy(piece.bytes, bytes, size);
	array_push(&flight->pieces, piece);
	flight->size += size;
	while (flight->first + 1 < flight->pieces.count &&
	       (flight->size > flight->limit ||
		now - flight->pieces.items[flight->first].time > flight->longest))
		let_go(flight);
	return 0;
}

struct flight *flight_new(size_t size, double seconds) {
	struct flight *flight = memory_alloc(sizeof(*flight));
	flight->sink = (struct sink){.push = learn, .finish = nothing, .destroy = nothing_to_free};
	// Pieces always go back to the system: malloc() would keep their room after a while.
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
		free(flight->pieces.items[i].bytes);
	sink_destroy(flight->order);
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
		error = file_write_all(fd, flight->pieces.items[i].bytes, flight->pieces.items[i].size);
	return error;
}
