// From a batch to the servers.
#include "artifact/manifest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "store/batch_private.h"

#include <errno.h>
#include <fcntl.h>

// ---- ids ----

struct known_id {
	uint64_t content, precedence;
};

struct lookup {
	struct batch *batch;
	struct known_id *known; // for each item; the precedence is 0 if the store does not know it
};

static void take_known(void *context, const struct cell *cells) {
	struct lookup *lookup = context;
	if (!cells[0].text || cells[0].size != HISTORY_ID)
		return;
	const uint64_t *item = map_get(&lookup->batch->by_id, hash_bytes(cells[0].text, HISTORY_ID));
	if (!item || memcmp(lookup->batch->items.items[*item].id, cells[0].text, HISTORY_ID) != 0)
		return;
	struct known_id *known = &lookup->known[*item];
	struct known_id found = {cell_uint(&cells[1]), MAX(cell_uint(&cells[2]), (uint64_t)1)};
	if (found.precedence > known->precedence)
		*known = found;
}

// A session that the store has with another content stays as it is.
static int mark_conflicts(struct batch *batch, struct clickhouse *server) {
	struct buffer wanted = {0};
	size_t count = batch->items.count;
	struct lookup lookup = {batch, memory_alloc(count * sizeof(*lookup.known) + 1)};
	for (size_t i = 0; i < count; i++)
		buffer_append(&wanted, batch->items.items[i].id, HISTORY_ID);
	struct clickhouse_question question = {.sql = "SELECT session, content, precedence FROM ids WHERE "
						      "session IN (SELECT id FROM wanted)",
					       .columns = 3,
					       .wanted = wanted.data,
					       .wanted_size = wanted.size,
					       .wanted_structure = "id FixedString(16)",
					       .most = HTTP_SMALL_ANSWER + count * 1000,
					       .take = take_known,
					       .context = &lookup};
	int error = count ? clickhouse_ask(server, &question) : 0;
	for (size_t i = 0; i < count && !error; i++) {
		struct batch_item *item = &batch->items.items[i];
		item->known = lookup.known[i].precedence != 0;
		item->conflict = item->known && lookup.known[i].content != item->content;
		if (item->conflict)
			batch_note_odd(batch, "conflict", item->content);
	}
	free(lookup.known);
	buffer_free(&wanted);
	return error;
}

static int send_ids(struct batch *batch, struct clickhouse *server) {
	CLEANUP_FREE char *columns = schema_columns(SCHEMA_IDS);
	struct buffer rows = {0};
	for (size_t i = 0; i < batch->items.count; i++) {
		const struct batch_item *item = &batch->items.items[i];
		if (item->known)
			continue;
		row_text(&rows, item->id, HISTORY_ID);
		row_next(&rows);
		batch_put_date(&rows, item);
		row_next(&rows);
		buffer_decimal(&rows, item->content);
		row_next(&rows);
		buffer_decimal(&rows, batch->precedence);
		row_end(&rows);
	}
	int error = clickhouse_insert(server, schema_tables[SCHEMA_IDS].name, columns, &rows);
	buffer_free(&rows);
	return error;
}

// ---- rows ----

static int by_month(const void *a, const void *b) {
	const struct batch_item *const *x = a, *const *y = b;
	return (*x)->month != (*y)->month ? ((*x)->month > (*y)->month) - ((*x)->month < (*y)->month)
	       : *x > *y                  ? 1
					  : -1;
}

// The rows of one month go into one partition, so that a server takes all of them or none.
static int send_table(struct batch *batch, struct clickhouse *server, enum schema_id table,
		      const struct batch_item *const *items, size_t count) {
	CLEANUP_FREE char *columns = schema_columns(table);
	struct buffer rows = {0};
	int error = 0;
	for (size_t i = 0; i < count && !error; i++) {
		const struct span *span = &items[i]->rows[table];
		buffer_append(&rows, batch->rows.data + span->begin, span->size);
		if (i + 1 == count || items[i + 1]->month != items[i]->month) {
			error = clickhouse_insert(server, schema_tables[table].name, columns, &rows);
			rows.size = 0;
		}
	}
	buffer_free(&rows);
	return error;
}

static int send_rows(struct batch *batch, struct clickhouse *server, struct batch_counts *counts) {
	ARRAY(const struct batch_item *) items = {0};
	CLEANUP_FREE char *odd = schema_columns(SCHEMA_ODD_LINES);
	int error = 0;
	for (size_t i = 0; i < batch->items.count; i++) {
		const struct batch_item *item = &batch->items.items[i];
		if (item->conflict) {
			counts->conflicts++;
			continue;
		}
		array_push(&items, item);
		counts->sessions++;
		counts->known += item->known;
		counts->untrusted += !item->trusted;
	}
	if (items.count)
		qsort(items.items, items.count, sizeof(*items.items), by_month);
	for (int table = 0; table < BATCH_TABLES && !error; table++)
		error = send_table(batch, server, table, items.items, items.count);
	if (!error)
		error = clickhouse_insert(server, schema_tables[SCHEMA_ODD_LINES].name, odd, &batch->odd);
	array_free(&items);
	return error;
}

// ---- objects ----

// An artifact that has gone since, or is another file now, is no reason to stop: its session is pushed.
static int send_artifact(const struct batch *batch, const struct batch_artifact *artifact,
			 const struct batch_target *target, struct batch_counts *counts) {
	const struct objects_operations *operations = target->objects->operations;
	const char *sha256 = batch_text(batch, &artifact->sha256);
	const char *name = manifest_artifact_name(batch_text(batch, &artifact->path));
	char key[OBJECTS_LONGEST_KEY], digest[OBJECTS_DIGEST] = "";
	uint64_t size = 0;
	objects_key(sha256, key);
	int there = operations->has(target->objects, key, &size);
	if (there < 0 || (there && size == artifact->size))
		return MIN(there, 0);
	CLEANUP_FREE char *path = memory_format("%s/%s", target->folder, name ? name : "");
	int fd = name ? file_open_regular(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -ENOENT;
	int error = fd < 0 ? fd : objects_file_digest(fd, OBJECTS_LARGEST, &size, digest);
	if (error || strcmp(digest, sha256) != 0) {
		counts->missing++;
		log_verbose("%s: %s; not pushed", path,
			    error ? strerror(-error) : "its SHA-256 is not that in the manifest");
		error = 0;
	} else {
		error = operations->put(target->objects, key, NULL, fd, size, sha256);
		counts->objects += !error;
		counts->object_bytes += error ? 0 : size;
	}
	if (fd >= 0)
		close(fd);
	return error;
}

struct piece_order {
	const struct batch *batch;
	const struct batch_item *item;
};

// Lines of a piece beside each other, in the order of the manifest.
static int by_piece(const void *a, const void *b) {
	const struct piece_order *x = a, *y = b;
	if (x->item->day != y->item->day)
		return x->item->day < y->item->day ? -1 : 1;
	if (x->item->trusted != y->item->trusted)
		return x->item->trusted ? -1 : 1;
	int run = strcmp(batch_text(x->batch, &x->item->run), batch_text(y->batch, &y->item->run));
	return run ? run : x->item < y->item ? -1 : 1;
}

static bool same_piece(const struct piece_order *a, const struct piece_order *b) {
	return a->item->day == b->item->day && a->item->trusted == b->item->trusted &&
	       strcmp(batch_text(a->batch, &a->item->run), batch_text(b->batch, &b->item->run)) == 0;
}

static int send_piece(const struct batch *batch, const struct batch_item *first, const struct buffer *lines,
		      struct objects *objects) {
	char key[OBJECTS_LONGEST_KEY], digest[OBJECTS_DIGEST];
	uint64_t size;
	objects_digest(lines->data, lines->size, digest);
	objects_piece_key(first->day, batch_text(batch, &first->run), first->trusted, digest, key);
	int there = objects->operations->has(objects, key, &size);
	if (there < 0 || (there && size == lines->size))
		return MIN(there, 0);
	return objects->operations->put(objects, key, lines->data, -1, lines->size, digest);
}

static int send_pieces(const struct batch *batch, struct objects *objects) {
	ARRAY(struct piece_order) order = {0};
	struct buffer lines = {0};
	int error = 0;
	for (size_t i = 0; i < batch->items.count; i++)
		if (!batch->items.items[i].conflict)
			array_push(&order, (struct piece_order){batch, &batch->items.items[i]});
	if (order.count)
		qsort(order.items, order.count, sizeof(*order.items), by_piece);
	for (size_t i = 0; i < order.count && !error; i++) {
		const struct span *line = &order.items[i].item->line;
		buffer_append(&lines, batch->lines.data + line->begin, line->size + 1); // with its end
		if (i + 1 == order.count || !same_piece(&order.items[i], &order.items[i + 1])) {
			error = send_piece(batch, order.items[i].item, &lines, objects);
			lines.size = 0;
		}
	}
	buffer_free(&lines);
	array_free(&order);
	return error;
}

static int send_objects(const struct batch *batch, const struct batch_target *target,
			struct batch_counts *counts) {
	int error = 0;
	for (size_t i = 0; i < batch->artifacts.count && !error; i++)
		if (!batch->items.items[batch->artifacts.items[i].item].conflict)
			error = send_artifact(batch, &batch->artifacts.items[i], target, counts);
	if (!error)
		error = send_pieces(batch, target->objects);
	if (!error)
		error = target->objects->operations->settle(target->objects);
	if (error)
		log_error("%s: cannot store objects: %s", target->objects->place, target->objects->failure);
	return error;
}

// ---- all of it ----

static void add_counts(struct batch_counts *sum, const struct batch_counts *more) {
	const uint64_t *from = (const uint64_t *)more;
	uint64_t *to = (uint64_t *)sum;
	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

static void empty(struct batch *batch) {
	batch->items.count = batch->artifacts.count = 0;
	batch->rows.size = batch->lines.size = batch->texts.size = batch->odd.size = 0;
	map_free(&batch->by_id);
	batch->counts = (struct batch_counts){0};
}

int batch_send(struct batch *batch, const struct batch_target *target, struct batch_counts *counts) {
	struct batch_counts sent = {0};
	int error = mark_conflicts(batch, target->server);
	if (error) {
		clickhouse_report(target->server, "cannot look for sessions");
		return error;
	}
	if (target->objects && target->folder)
		error = send_objects(batch, target, &sent);
	if (error)
		return error;
	error = send_ids(batch, target->server);
	if (!error)
		error = send_rows(batch, target->server, &sent);
	if (error) {
		clickhouse_report(target->server, "cannot insert sessions");
		return error;
	}
	add_counts(counts, &batch->counts);
	add_counts(counts, &sent);
	empty(batch);
	return 0;
}
