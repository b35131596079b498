// From lines to rows. Every text is data: row_text() escapes it.
#include "base/siphash.h"
#include "history/fact.h"
#include "store/batch_private.h"

#include <time.h>

enum { MOST_ITEMS = 50000, MOST_BYTES = 32 * 1024 * 1024 };

struct batch *batch_new(size_t most) {
	struct batch *batch = memory_alloc(sizeof(*batch));
	struct timespec now;
	batch->most = most ? MIN(most, (size_t)MOST_ITEMS) : MOST_ITEMS;
	clock_gettime(CLOCK_REALTIME, &now);
	batch->precedence = UINT64_MAX - ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
	return batch;
}

void batch_free(struct batch *batch) {
	if (!batch)
		return;
	array_free(&batch->items);
	array_free(&batch->artifacts);
	buffer_free(&batch->rows);
	buffer_free(&batch->lines);
	buffer_free(&batch->texts);
	buffer_free(&batch->odd);
	map_free(&batch->by_id);
	free(batch);
}

bool batch_is_full(const struct batch *batch) {
	return batch->items.count >= batch->most || batch->lines.size >= MOST_BYTES ||
	       batch->rows.size >= 2 * (size_t)MOST_BYTES || batch->odd.size >= MOST_BYTES;
}

bool batch_is_empty(const struct batch *batch) {
	return !batch->items.count && !batch->odd.size;
}

// ---- values ----

static struct span append(struct buffer *buffer, const void *bytes, size_t size) {
	struct span span = {buffer->size, size};
	buffer_append(buffer, bytes, size);
	return span;
}

static void put_text(struct buffer *row, const char *text) {
	row_text(row, text, strlen(text));
	row_next(row);
}

static void put_int(struct buffer *row, int64_t value) {
	row_int(row, value);
	row_next(row);
}

static void put_uint(struct buffer *row, uint64_t value) {
	buffer_decimal(row, value);
	row_next(row);
}

static void put_metric(struct buffer *row, int64_t value) {
	if (value == HISTORY_NONE)
		buffer_append(row, "\\N", 2);
	else
		row_int(row, value);
	row_next(row);
}

// A text inside an array: ['a','b'].
static void put_item(struct buffer *row, size_t number, const char *text) {
	buffer_text(row, number ? ",'" : "'");
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buffer_append(row, "\\", 1);
		buffer_append(row, text, 1);
	}
	buffer_append(row, "'", 1);
}

static void date_of(const struct batch_item *item, struct tm *date) {
	time_t time = (time_t)(item->day * 86400);
	*date = (struct tm){0};
	gmtime_r(&time, date);
}

// Days that ClickHouse has. Times of other centuries keep their `started`.
static void find_day(struct batch_item *item, int64_t started) {
	struct tm date;
	item->day = MAX((int64_t)0, MIN(started / HISTORY_DAY_MS, (int64_t)SCHEMA_LAST_DAY));
	date_of(item, &date);
	item->month = (unsigned)((date.tm_year + 1900) * 100 + date.tm_mon + 1);
}

void batch_put_date(struct buffer *row, const struct batch_item *item) {
	struct tm date;
	date_of(item, &date);
	buffer_printf(row, "%04u-%02u-%02d", item->month / 100, item->month % 100, date.tm_mday);
}

static void put_key(struct buffer *row, const struct batch *batch, const struct batch_item *item,
		    const struct history_fact *fact) {
	put_text(row, fact->project);
	put_uint(row, fact->test);
	batch_put_date(row, item);
	row_next(row);
	put_int(row, fact->started);
	row_text(row, fact->id, HISTORY_ID);
	row_next(row);
	put_uint(row, batch->precedence);
}

// ---- rows ----

static void put_own(struct buffer *row, const struct history_fact *fact) {
	buffer_append(row, "[", 1);
	for (size_t i = 0; i < fact->own_count; i++)
		put_item(row, i, fact->own[i].name);
	buffer_text(row, "]\t[");
	for (size_t i = 0; i < fact->own_count; i++) {
		buffer_text(row, i ? "," : "");
		row_int(row, fact->own[i].value);
	}
	buffer_text(row, "]\t");
}

static void put_session(struct buffer *row, const struct history_fact *fact) {
	put_uint(row, fact->content);
	row_text(row, fact->parent, HISTORY_ID);
	row_next(row);
	put_text(row, fact->suite);
	put_text(row, fact->name);
	put_text(row, fact->variant);
	put_text(row, manifest_status_names[fact->status]);
	put_uint(row, fact->trusted);
	put_uint(row, fact->attempt);
	put_text(row, fact->machine_class);
	put_text(row, fact->branch);
	put_text(row, fact->commit);
	put_text(row, fact->change);
	put_text(row, fact->ci);
	put_text(row, fact->job);
	put_text(row, fact->run);
	for (size_t i = 0; i < METRIC_COUNT_ALL; i++)
		put_metric(row, fact->metrics[i]);
	put_own(row, fact);
	put_text(row, fact->waits);
	row_text(row, fact->digest, strlen(fact->digest));
	row_end(row);
}

static void put_profile(struct buffer *row, const struct history_fact *fact) {
	put_uint(row, fact->status == ENDED_PASSED);
	put_uint(row, fact->trusted);
	put_text(row, fact->name);
	put_text(row, fact->machine_class);
	put_text(row, fact->branch);
	put_text(row, fact->commit);
	put_text(row, fact->run);
	put_text(row, manifest_status_names[fact->status]);
	put_metric(row, fact->metrics[METRIC_OF_cpu_ns]);
	put_uint(row, fact->samples);
	buffer_append(row, "[", 1);
	for (size_t i = 0; i < fact->function_count; i++)
		put_item(row, i, fact->functions[i].name);
	buffer_text(row, "]\t[");
	for (size_t i = 0; i < fact->function_count; i++) {
		buffer_text(row, i ? "," : "");
		buffer_decimal(row, fact->functions[i].self);
	}
	buffer_text(row, "]\n");
}

static bool is_plain(const char *text) {
	for (; text && *text; text++)
		if ((uint8_t)*text < ' ' || *text == 0x7f)
			return false;
	return text != NULL;
}

// Names of files are anyone's; only sums that are sums lead to an object.
static void put_artifacts(struct batch *batch, struct batch_item *item, const struct history_fact *fact,
			  const struct manifest_record *record) {
	enum { MOST = 64, LONGEST_KIND = 64, LONGEST_PATH = 4096 };
	for (size_t i = 0; i < record->artifacts.count && i < MOST; i++) {
		const struct manifest_artifact *artifact = &record->artifacts.items[i];
		if (!is_plain(artifact->path) || !is_plain(artifact->kind) ||
		    !objects_is_digest(artifact->sha256) || strlen(artifact->path) >= LONGEST_PATH ||
		    strlen(artifact->kind) > LONGEST_KIND)
			continue;
		put_key(&batch->rows, batch, item, fact);
		put_text(&batch->rows, artifact->kind);
		put_text(&batch->rows, artifact->path);
		put_uint(&batch->rows, artifact->size);
		row_text(&batch->rows, artifact->sha256, OBJECTS_DIGEST - 1);
		row_end(&batch->rows);
		struct batch_artifact entry = {.item = batch->items.count, .size = artifact->size};
		entry.path = append(&batch->texts, artifact->path, strlen(artifact->path) + 1);
		entry.sha256 = append(&batch->texts, artifact->sha256, OBJECTS_DIGEST);
		array_push(&batch->artifacts, entry);
	}
}

static void end_rows(struct batch *batch, struct batch_item *item, enum schema_id table, size_t begin) {
	item->rows[table] = (struct span){begin, batch->rows.size - begin};
}

static void put_rows(struct batch *batch, struct batch_item *item, const struct history_fact *fact,
		     const struct manifest_record *record) {
	size_t begin = batch->rows.size;
	put_key(&batch->rows, batch, item, fact);
	put_session(&batch->rows, fact);
	end_rows(batch, item, SCHEMA_SESSIONS, begin);
	begin = batch->rows.size;
	if (fact->samples) {
		put_key(&batch->rows, batch, item, fact);
		put_profile(&batch->rows, fact);
	}
	end_rows(batch, item, SCHEMA_PROFILES, begin);
	begin = batch->rows.size;
	put_artifacts(batch, item, fact, record);
	end_rows(batch, item, SCHEMA_ARTIFACTS, begin);
}

// ---- lines ----

void batch_note_odd(struct batch *batch, const char *kind, uint64_t content) {
	put_text(&batch->odd, kind);
	put_uint(&batch->odd, content);
	buffer_decimal(&batch->odd, batch->precedence);
	row_end(&batch->odd);
}

// Whether this batch has no session with this id yet. The first one wins.
static bool is_first(struct batch *batch, const struct history_fact *fact) {
	uint64_t hash = hash_bytes(fact->id, HISTORY_ID);
	const uint64_t *other = map_get(&batch->by_id, hash);
	if (!other) {
		*map_put(&batch->by_id, hash) = batch->items.count;
		return true;
	}
	if (batch->items.items[*other].content != fact->content) {
		batch->counts.conflicts++;
		batch_note_odd(batch, "conflict", fact->content);
	}
	return false;
}

static void add_session(struct batch *batch, struct history_fact *fact, const struct manifest_record *record,
			const char *line, size_t size) {
	struct batch_item item = {.content = fact->content, .trusted = fact->trusted};
	if (!is_first(batch, fact))
		return;
	memcpy(item.id, fact->id, HISTORY_ID);
	find_day(&item, fact->started);
	put_rows(batch, &item, fact, record);
	item.line = append(&batch->lines, line, size);
	buffer_append(&batch->lines, "\n", 1);
	item.run = append(&batch->texts, fact->run, strlen(fact->run) + 1);
	array_push(&batch->items, item);
}

void batch_add(struct batch *batch, const char *line, size_t size, bool trusted) {
	struct manifest_record record;
	struct history_fact fact;
	uint64_t content = siphash13(line, size) & INT64_MAX;
	if (!manifest_parse(line, size, &record)) {
		batch->counts.broken++;
		batch_note_odd(batch, "broken", content);
		return;
	}
	if (history_fact_of(&record, line, size, &fact)) {
		fact.trusted &= trusted;
		add_session(batch, &fact, &record, line, size);
		history_fact_free(&fact);
	} else {
		batch->counts.ignored++;
		batch_note_odd(batch, "ignored", content);
	}
	manifest_record_free(&record);
}
