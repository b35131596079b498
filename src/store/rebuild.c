#include "store/rebuild.h"
#include "base/array.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>

struct rebuilder {
	struct clickhouse server;
	struct objects *objects;
	struct batch *batch;
	struct batch_counts *counts;
	ARRAY(char *) pieces; // their keys
};

static void take_key(void *context, const struct objects_entry *entry) {
	struct rebuilder *rebuilder = context;
	unsigned month;
	bool trusted;
	if (objects_kind_of(entry->key, &month, &trusted) == OBJECTS_PIECE)
		array_push(&rebuilder->pieces, memory_string(entry->key));
}

static int send(struct rebuilder *rebuilder) {
	struct batch_target target = {.server = &rebuilder->server};
	int error = batch_send(rebuilder->batch, &target, rebuilder->counts);
	log_progress("%" PRIu64 " sessions", rebuilder->counts->sessions);
	return error;
}

static int take_lines(struct rebuilder *rebuilder, const struct buffer *piece, bool trusted) {
	const char *at = (const char *)piece->data, *end = at + piece->size;
	int error = 0;
	while (at < end && !error) {
		const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
		if (stop > at)
			batch_add(rebuilder->batch, at, (size_t)(stop - at), trusted);
		if (batch_is_full(rebuilder->batch))
			error = send(rebuilder);
		at = newline ? newline + 1 : end;
	}
	return error;
}

static int take_piece(struct rebuilder *rebuilder, const char *key) {
	struct objects *objects = rebuilder->objects;
	struct buffer piece = {0};
	unsigned month;
	bool trusted = false;
	objects_kind_of(key, &month, &trusted);
	int error = objects->operations->get(objects, key, &piece, OBJECTS_LARGEST_PIECE);
	if (error)
		log_error("%s: cannot read raw lines: %s", objects->place, objects->failure);
	else
		error = take_lines(rebuilder, &piece, trusted);
	buffer_free(&piece);
	return error;
}

// Lines that were pushed as untrusted once stay so, even if another job pushes them again: the first of a
// session wins.
static int untrusted_first(const void *a, const void *b) {
	const char *const *x = a, *const *y = b;
	unsigned month;
	bool trusted[2];
	objects_kind_of(*x, &month, &trusted[0]);
	objects_kind_of(*y, &month, &trusted[1]);
	return trusted[0] != trusted[1] ? trusted[0] - trusted[1] : strcmp(*x, *y);
}

static int take_pieces(struct rebuilder *rebuilder) {
	struct objects *objects = rebuilder->objects;
	int error = objects->operations->list(objects, "runs/", take_key, rebuilder);
	if (error)
		log_error("%s: cannot list raw lines: %s", objects->place, objects->failure);
	if (rebuilder->pieces.count)
		qsort(rebuilder->pieces.items, rebuilder->pieces.count, sizeof(*rebuilder->pieces.items),
		      untrusted_first);
	for (size_t i = 0; i < rebuilder->pieces.count && !error; i++)
		error = take_piece(rebuilder, rebuilder->pieces.items[i]);
	if (!error && !batch_is_empty(rebuilder->batch))
		error = send(rebuilder);
	log_progress(NULL);
	return error;
}

int rebuild_store(const struct rebuild *rebuild, struct batch_counts *counts) {
	struct rebuilder rebuilder = {.counts = counts};
	*counts = (struct batch_counts){0};
	if (!clickhouse_open(&rebuilder.server, rebuild->to, rebuild->patience))
		return -EINVAL;
	int error = -EINVAL;
	if ((rebuilder.objects = objects_open(rebuild->objects, rebuilder.server.http))) {
		rebuilder.batch = batch_new(0);
		error = take_pieces(&rebuilder);
		batch_free(rebuilder.batch);
	}
	for (size_t i = 0; i < rebuilder.pieces.count; i++)
		free(rebuilder.pieces.items[i]);
	array_free(&rebuilder.pieces);
	objects_close(rebuilder.objects);
	clickhouse_close(&rebuilder.server);
	return error;
}
