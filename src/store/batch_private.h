// The inside of a batch, for batch.c, which fills it, and batch_send.c.
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "history/fact.h"
#include "store/batch.h"
#include "store/schema.h"

// A part of a buffer, by offsets, because the buffer moves as it grows.
struct span {
	size_t begin, size;
};

// Tables that have rows of each session.
enum { BATCH_TABLES = SCHEMA_ARTIFACTS + 1 };

struct batch_item {
	uint8_t id[HISTORY_ID];
	uint64_t content;
	int64_t day;    // since 1970
	unsigned month; // 202611
	bool trusted, conflict, known;
	struct span rows[BATCH_TABLES], line, run;
};

struct batch_artifact {
	size_t item;
	struct span path, sha256; // both end with a NUL
	uint64_t size;
};

struct batch {
	ARRAY(struct batch_item) items;
	ARRAY(struct batch_artifact) artifacts;
	struct buffer rows, lines, texts;
	struct buffer odd; // rows of the table of odd lines
	struct map by_id;  // hash of an id to the number of its item
	uint64_t precedence;
	size_t most;                // items
	struct batch_counts counts; // of lines that are not sent
};

static inline const char *batch_text(const struct batch *batch, const struct span *span) {
	return (const char *)batch->texts.data + span->begin;
}

void batch_put_date(struct buffer *row, const struct batch_item *item); // 2026-11-16
void batch_note_odd(struct batch *batch, const char *kind, uint64_t content);
