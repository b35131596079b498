// All tables of a recording at once, as the columns of a page: single rows, which the page groups itself. A
// cell is the one that `tracelet table --csv` prints.
#include "analyse/table.h"

#include <inttypes.h>
#include <math.h>

enum { MOST_TABLES = 64 };

struct table_set {
	struct sink sink;
	struct tables *tables;
	struct sink *items[MOST_TABLES];
	size_t count;
};

static int push_all(struct sink *sink, const struct event *event) {
	struct table_set *set = CONTAINER_OF(sink, struct table_set, sink);
	for (size_t i = 0; i < set->count; i++)
		sink_push(set->items[i], event);
	return 0;
}

static int finish_all(struct sink *sink) {
	struct table_set *set = CONTAINER_OF(sink, struct table_set, sink);
	for (size_t i = 0; i < set->count; i++)
		sink_finish(set->items[i]);
	return 0;
}

static void destroy_all(struct sink *sink) {
	struct table_set *set = CONTAINER_OF(sink, struct table_set, sink);
	for (size_t i = 0; i < set->count; i++)
		sink_destroy(set->items[i]);
	free(set);
}

struct sink *table_set_new(struct tables *tables) {
	struct table_set *set = memory_alloc(sizeof(*set));
	set->sink = (struct sink){.push = push_all, .finish = finish_all, .destroy = destroy_all};
	set->tables = tables;
	for (size_t i = 0; i < MIN(table_definition_count, (size_t)MOST_TABLES); i++) {
		struct table_options options = {
			.name = table_definitions[i].name, .format = TABLE_KEEP, .group_by = "none"};
		set->items[set->count++] = table_new(NULL, tables, &options);
	}
	return &set->sink;
}

// ---- columns ----

struct texts {
	const struct strings *from;
	struct strings *own;
};

static const struct cell *cell_at(const struct table *table, size_t row, size_t column) {
	return &table->cells.items[row * table->column_count + column];
}

// As it is written: 'u' numbers, 'r' doubles, 's' nanoseconds, 't' texts. Numbers that a double cannot hold,
// and columns of mixed types, are texts.
static char written_type(const struct table *table, size_t column) {
	enum cell_type type = table->definition->columns[column].type;
	for (size_t row = 0; row < table->row_count; row++) {
		const struct cell *cell = cell_at(table, row, column);
		bool large = cell->type == CELL_UINT && cell->number >= 1ull << 53;
		if (cell->type != CELL_NONE && (cell->type != type || large))
			return 't';
	}
	return type == CELL_UINT ? 'u' : type == CELL_REAL ? 'r' : type == CELL_SECONDS ? 's' : 't';
}

static uint32_t text_of(const struct table *table, struct texts *texts, const struct cell *cell) {
	char text[48];
	switch (cell->type) {
	case CELL_NONE:
		return 0;
	case CELL_TEXT:
		return strings_add_bytes(texts->own, strings_get(texts->from, cell->text),
					 strings_length(texts->from, cell->text)) +
		       1;
	case CELL_REAL:
		snprintf(text, sizeof(text), "%.3f", cell->real);
		break;
	case CELL_SECONDS:
		snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64, cell->number / 1000000000,
			 cell->number % 1000000000);
		break;
	default:
		snprintf(text, sizeof(text), cell->type == CELL_HEX ? "0x%" PRIx64 : "%" PRIu64,
			 cell->number);
	}
	return strings_add(texts->own, text) + 1;
}

static void write_column(const struct table *table, size_t column, struct texts *texts,
			 struct columns *columns) {
	char type = written_type(table, column);
	CLEANUP_FREE char *name = memory_format("%c:%s", type, table->definition->columns[column].name);
	columns_begin(columns, name, type == 'r' ? COLUMN_REAL : type == 's' ? COLUMN_DELTA : COLUMN_UINT);
	for (size_t row = 0; row < table->row_count; row++) {
		const struct cell *cell = cell_at(table, row, column);
		if (type == 'r')
			columns_real(columns, cell->type == CELL_NONE ? NAN : cell->real);
		else if (type == 's')
			columns_delta(columns, cell->type == CELL_NONE ? 0 : cell->number + 1);
		else if (type == 'u')
			columns_uint(columns, cell->type == CELL_NONE ? 0 : cell->number + 1);
		else
			columns_uint(columns, text_of(table, texts, cell));
	}
	columns_end(columns);
}

static void write_list(const struct table_set *set, struct columns *columns) {
	size_t count = 0;
	for (size_t i = 0; i < set->count; i++)
		count += CONTAINER_OF(set->items[i], struct table, sink)->row_count > 0;
	columns_set(columns, "tables", count);
	for (int what = 0; what < 5; what++) {
		static const char *const names[] = {"name", "summary", "group", "sum", "sort"};
		columns_begin(columns, names[what], COLUMN_TEXT);
		for (size_t i = 0; i < set->count; i++) {
			const struct table *table = CONTAINER_OF(set->items[i], struct table, sink);
			const struct table_definition *definition = table->definition;
			const char *words[] = {definition->name, definition->summary, definition->group_by,
					       definition->sum, definition->sort};
			if (table->row_count)
				columns_text(columns, words[what] ? words[what] : "",
					     words[what] ? strlen(words[what]) : 0);
		}
		columns_end(columns);
	}
}

void table_set_columns(struct sink *sink, struct columns *columns) {
	struct table_set *set = CONTAINER_OF(sink, struct table_set, sink);
	struct texts texts = {.from = set->tables->strings, .own = strings_new()};
	write_list(set, columns);
	for (size_t i = 0; i < set->count; i++) {
		const struct table *table = CONTAINER_OF(set->items[i], struct table, sink);
		if (!table->row_count)
			continue;
		columns_set(columns, table->definition->name, table->row_count);
		for (size_t column = 0; column < table->column_count; column++)
			write_column(table, column, &texts, columns);
	}
	columns_set(columns, "strings", texts.own->texts.count);
	columns_begin(columns, "text", COLUMN_TEXT);
	for (uint32_t i = 0; i < texts.own->texts.count; i++)
		columns_text(columns, strings_get(texts.own, i), strings_length(texts.own, i));
	columns_end(columns);
	strings_free(texts.own);
}
