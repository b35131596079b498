// Memory is a queue of pieces as the spool hands them over: whole blocks, at
// least every drain interval. Pieces are let go from the front; their records
// are read once more then, for the tasks they tell of. A piece that ends with a
// watermark makes a clean cut: everything that happened later is behind it, so
// that is where a saved recording begins.
#include "session/flight.h"
#include "base/array.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/map.h"
#include "event/order.h"
#include "read/reader.h"

#include <string.h>

struct piece {
	uint8_t *bytes;
	size_t size;
	uint64_t time; // when it came
};

struct life { // of a task that is still there
	struct spool_task task;
	char *name, *command_line;
	size_t command_line_size;
};

struct flight {
	struct sink sink;           // takes the events of pieces that are let go
	struct sink *order;         // in front of it, as pieces hold one CPU's events after another's
	ARRAY(struct piece) pieces; // from `first` on
	size_t first;
	size_t size, limit;
	uint64_t longest;     // nanoseconds, or UINT64_MAX
	struct tables tables; // of those events
	struct map lives;     // tid → struct life *
	struct buffer facts;  // blocks that are never let go
	struct spool_header header;
	struct spool_lost forgotten; // losses that are told in what was let go
};

// ---- tasks ----

static void life_free(struct life *life) {
	free(life->name);
	free(life->command_line);
	free(life);
}

static struct life *life_of(struct flight *flight, uint32_t tid) {
	uint64_t *slot = map_get(&flight->lives, tid);
	return slot ? (struct life *)(uintptr_t)*slot : NULL;
}

static void end_life(struct flight *flight, uint32_t tid) {
	struct life *life = life_of(flight, tid);
	if (!life)
		return;
	map_delete(&flight->lives, tid);
	life_free(life);
}

static struct life *begin_life(struct flight *flight, struct spool_task task) {
	end_life(flight, task.tid); // a number that is used again
	struct life *life = memory_alloc(sizeof(*life));
	life->task = task;
	*map_put(&flight->lives, task.tid) = (uintptr_t)life;
	return life;
}

static void set_name(struct flight *flight, struct life *life, uint32_t name) {
	free(life->name);
	life->name = memory_format("%s", strings_get(flight->tables.strings, name));
}

static void set_command_line(struct life *life, const char *bytes, size_t size) {
	free(life->command_line);
	life->command_line = memory_alloc(size + 1);
	memcpy(life->command_line, bytes, size);
	life->command_line_size = size;
}

static void set_command_line_string(struct flight *flight, struct life *life, uint32_t string) {
	set_command_line(life, strings_get(flight->tables.strings, string),
			 strings_length(flight->tables.strings, string));
}

static void learn_fork(struct flight *flight, const struct event *event) {
	struct life *child = begin_life(flight, (struct spool_task){.tid = event->fork.child_tid,
								    .pid = event->fork.child_pid,
								    .parent_pid = event->fork.parent_pid});
	struct life *parent = life_of(flight, event->tid);
	set_name(flight, child, event->fork.name);
	if (parent && parent->command_line)
		set_command_line(child, parent->command_line, parent->command_line_size);
}

static void learn_exec(struct flight *flight, const struct event *event) {
	if (event->exec.old_tid != event->tid)
		end_life(flight, event->exec.old_tid);
	struct life *life = life_of(flight, event->tid);
	if (!life)
		life = begin_life(flight, (struct spool_task){.tid = event->tid, .pid = event->pid});
	set_name(flight, life, event->exec.name);
	set_command_line_string(flight, life, event->exec.arguments);
}

static int learn(struct sink *sink, const struct event *event) {
	struct flight *flight = CONTAINER_OF(sink, struct flight, sink);
	struct life *life = life_of(flight, event->tid);
	switch (event->kind) {
	case EVENT_TASK:
		life = begin_life(flight, (struct spool_task){.tid = event->tid,
							      .pid = event->pid,
							      .parent_pid = event->task.parent_pid});
		set_name(flight, life, event->task.name);
		set_command_line_string(flight, life, event->task.command_line);
		break;
	case EVENT_FORK:
		learn_fork(flight, event);
		break;
	case EVENT_EXEC:
		learn_exec(flight, event);
		break;
	case EVENT_RENAME:
		if (life)
			set_name(flight, life, event->rename.name);
		break;
	case EVENT_EXIT:
		end_life(flight, event->tid);
		break;
	case EVENT_LOST:
		flight->forgotten.count[event->lost.source] += event->lost.count;
		break;
	}
	return 0;
}

static int nothing(struct sink *sink) {
	return 0;
}

static void nothing_to_free(struct sink *sink) {
}

// Names and command lines add up over hours: from time to time the table begins anew.
static void renew_tables(struct flight *flight) {
	enum { MOST_STRINGS = 1 << 16 };
	if (flight->order && flight->tables.strings->texts.count < MOST_STRINGS)
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
		if (block.type == SPOOL_META || block.type == SPOOL_CLOCK)
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
	flight->limit = size;
	flight->longest = seconds > 0 ? (uint64_t)(seconds * 1e9) : UINT64_MAX;
	return flight;
}

void flight_free(struct flight *flight) {
	if (!flight)
		return;
	for (size_t i = flight->first; i < flight->pieces.count; i++)
		free(flight->pieces.items[i].bytes);
	for (size_t i = 0; i < flight->lives.capacity; i++)
		if (flight->lives.slots[i].used)
			life_free((struct life *)(uintptr_t)flight->lives.slots[i].value);
	sink_destroy(flight->order);
	tables_free(&flight->tables);
	map_free(&flight->lives);
	array_free(&flight->pieces);
	buffer_free(&flight->facts);
	free(flight);
}

void flight_take(struct flight *flight, struct spool *spool) {
	spool->write = take_piece;
	spool->context = flight;
}

// ---- saving ----

static void save_lives(const struct flight *flight, struct spool *spool) {
	for (size_t i = 0; i < flight->lives.capacity; i++) {
		if (!flight->lives.slots[i].used)
			continue;
		const struct life *life = (const struct life *)(uintptr_t)flight->lives.slots[i].value;
		spool_task(spool, &life->task, life->name ? life->name : "", life->command_line,
			   life->command_line_size);
	}
}

int flight_save(struct flight *flight, int fd) {
	struct spool spool = {.fd = fd};
	buffer_append(&spool.pending, &flight->header, sizeof(flight->header));
	buffer_append(&spool.pending, flight->facts.data, flight->facts.size);
	spool_append(&spool, SPOOL_FORGOTTEN, &flight->forgotten, sizeof(flight->forgotten));
	save_lives(flight, &spool);
	int error = spool_flush(&spool);
	buffer_free(&spool.pending);
	for (size_t i = flight->first; !error && i < flight->pieces.count; i++)
		error = file_write_all(fd, flight->pieces.items[i].bytes, flight->pieces.items[i].size);
	return error;
}
