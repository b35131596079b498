#include "analyse/table.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "write/dump.h"

#include <inttypes.h>
#include <stdio.h>

// ---- columns ----

static int column_named(const struct table *table, const char *name, size_t length) {
	for (size_t i = 0; i < table->column_count; i++) {
		const char *known = table->definition->columns[i].name;
		if (strlen(known) == length && strncmp(known, name, length) == 0)
			return (int)i;
	}
	return -1;
}

// Turns names separated by commas into column numbers. Returns -1 if one does not exist, which is logged.
static int parse_columns(const struct table *table, const char *text, const char *option, int *columns,
			 size_t *count) {
	*count = 0;
	while (text && *text && *count < TABLE_MOST_COLUMNS) {
		size_t length = strcspn(text, ",");
		int column = column_named(table, text, length);
		if (column < 0) {
			struct buffer names = {0};
			for (size_t i = 0; i < table->column_count; i++)
				buffer_printf(&names, " %s", table->definition->columns[i].name);
			log_error("%s: table %s has no column '%.*s'; it has%.*s", option,
				  table->definition->name, (int)length, text, (int)names.size,
				  (char *)names.data);
			buffer_free(&names);
			return -1;
		}
		columns[(*count)++] = column;
		text += length + (text[length] == ',');
	}
	return 0;
}

// Grouped, a row is the columns of the group, the number of rows in it, the sums.
static size_t shown_columns(const struct table *table) {
	return table->grouped ? table->group_count + 1 + table->sum_count : table->column_count;
}

static const char *shown_name(const struct table *table, size_t column) {
	const struct column *columns = table->definition->columns;
	if (!table->grouped)
		return columns[column].name;
	if (column < table->group_count)
		return columns[table->group[column]].name;
	return column == table->group_count ? "count"
					    : columns[table->sums[column - table->group_count - 1]].name;
}

static enum cell_type shown_type(const struct table *table, size_t column) {
	const struct column *columns = table->definition->columns;
	if (!table->grouped)
		return columns[column].type;
	if (column < table->group_count)
		return columns[table->group[column]].type;
	return column == table->group_count ? CELL_UINT
					    : columns[table->sums[column - table->group_count - 1]].type;
}

static bool can_sum(const struct table *table) {
	for (size_t i = 0; i < table->sum_count; i++) {
		const struct column *column = &table->definition->columns[table->sums[i]];
		if (column->type == CELL_TEXT) {
			log_error("--sum: column '%s' has no numbers", column->name);
			return false;
		}
	}
	return true;
}

static bool parse_sort(struct table *table, const char *name) {
	table->sort = -1;
	for (size_t i = 0; name && i < shown_columns(table); i++)
		if (strcmp(shown_name(table, i), name) == 0)
			table->sort = (int)i;
	if (!name || table->sort >= 0)
		return true;
	struct buffer names = {0};
	for (size_t i = 0; i < shown_columns(table); i++)
		buffer_printf(&names, " %s", shown_name(table, i));
	log_error("--sort: there is no column '%s'; there are%.*s", name, (int)names.size,
		  (char *)names.data);
	buffer_free(&names);
	return false;
}

// ---- rows and groups ----

static bool same_cell(const struct cell *a, const struct cell *b) {
	return a->type == b->type && (a->type == CELL_TEXT ? a->text == b->text : a->number == b->number);
}

static struct cell *row_at(struct table *table, size_t row) {
	return &table->cells.items[row * shown_columns(table)];
}

static double cell_number(const struct cell *cell) {
	return cell->type == CELL_REAL                              ? cell->real
	       : cell->type == CELL_TEXT || cell->type == CELL_NONE ? 0
								    : (double)cell->number;
}

static void add_cell(struct cell *sum, const struct cell *cell) {
	if (cell->type == CELL_NONE)
		return;
	if (sum->type == CELL_NONE)
		*sum = *cell;
	else if (sum->type == CELL_REAL)
		sum->real += cell_number(cell);
	else if (sum->type != CELL_TEXT)
		sum->number += cell->number;
}

static bool same_group(struct table *table, size_t row) {
	const struct cell *cells = row_at(table, row);
	for (size_t i = 0; i < table->group_count; i++)
		if (!same_cell(&cells[i], &table->row[table->group[i]]))
			return false;
	return true;
}

static void fold_row(struct table *table) {
	uint64_t hash = 0, *found;
	for (size_t i = 0; i < table->group_count; i++) {
		const struct cell *cell = &table->row[table->group[i]];
		uint64_t value = cell->type == CELL_TEXT ? cell->text : cell->number;
		hash = hash_u64(hash ^ value ^ (uint64_t)cell->type << 60);
	}
	while ((found = map_get(&table->groups, hash)) && !same_group(table, (size_t)*found - 1))
		hash++;
	if (!found) {
		for (size_t i = 0; i < table->group_count; i++)
			array_push(&table->cells, table->row[table->group[i]]);
		array_push(&table->cells, cell_uint(0));
		for (size_t i = 0; i < table->sum_count; i++)
			array_push(&table->cells, (struct cell){0});
		found = map_put(&table->groups, hash);
		*found = ++table->row_count;
	}
	struct cell *cells = row_at(table, (size_t)*found - 1) + table->group_count;
	cells[0].number++;
	for (size_t i = 0; i < table->sum_count; i++)
		add_cell(&cells[i + 1], &table->row[table->sums[i]]);
}

void table_row(struct table *table) {
	for (size_t i = 0; i < table->column_count; i++) { // nanoseconds since the start, by their column
		struct cell *cell = &table->row[i];
		if (cell->type == CELL_UINT && table->definition->columns[i].type == CELL_SECONDS)
			cell->type = CELL_SECONDS;
	}
	table->seen++;
	if (!table_wants(table)) {
		memset(table->row, 0, sizeof(table->row));
		return;
	}
	if (table->grouped) {
		fold_row(table);
	} else {
		for (size_t i = 0; i < table->column_count; i++)
			array_push(&table->cells, table->row[i]);
		table->row_count++;
	}
	memset(table->row, 0, sizeof(table->row));
}

// ---- order ----

struct sorted_row {
	const struct cell *cell;
	size_t row;
	const struct strings *strings;
};

static int compare_cells(const struct sorted_row *a, const struct sorted_row *b) {
	if (a->cell->type == CELL_TEXT && b->cell->type == CELL_TEXT)
		return strcmp(strings_get(a->strings, a->cell->text), strings_get(b->strings, b->cell->text));
	double left = cell_number(a->cell), right = cell_number(b->cell);
	return left > right ? -1 : left < right; // numbers: the largest first
}

static int compare_rows(const void *a, const void *b) {
	const struct sorted_row *left = a, *right = b;
	int order = compare_cells(left, right);
	return order ? order : left->row < right->row ? -1 : 1;
}

static int compare_rows_reversed(const void *a, const void *b) {
	const struct sorted_row *left = a, *right = b;
	int order = -compare_cells(left, right);
	return order ? order : left->row < right->row ? -1 : 1;
}

static struct sorted_row *sort_rows(struct table *table) {
	struct sorted_row *rows = memory_alloc((table->row_count + 1) * sizeof(*rows));
	for (size_t i = 0; i < table->row_count; i++)
		rows[i] = (struct sorted_row){.cell = row_at(table, i) + MAX(table->sort, 0),
					      .row = i,
					      .strings = table->tables->strings};
	if (table->sort >= 0)
		qsort(rows, table->row_count, sizeof(*rows),
		      table->options.reverse ? compare_rows_reversed : compare_rows);
	return rows;
}

// ---- output ----

static void append_cell(const struct table *table, struct buffer *out, const struct cell *cell) {
	switch (cell->type) {
	case CELL_NONE:
		break;
	case CELL_UINT:
		buffer_printf(out, "%" PRIu64, cell->number);
		break;
	case CELL_HEX:
		buffer_printf(out, "0x%" PRIx64, cell->number);
		break;
	case CELL_REAL:
		buffer_printf(out, "%.3f", cell->real);
		break;
	case CELL_SECONDS:
		buffer_printf(out, "%" PRIu64 ".%09" PRIu64, cell->number / 1000000000,
			      cell->number % 1000000000);
		break;
	case CELL_TEXT:
		buffer_append(out, strings_get(table->tables->strings, cell->text),
			      strings_length(table->tables->strings, cell->text));
		break;
	}
}

enum { WIDEST = 60 };

static size_t plain_width(struct buffer *text) {
	text_plain_from(text, 0);
	return text_width(text->data, text->size);
}

static void write_text(struct table *table, const struct sorted_row *rows, size_t count) {
	size_t columns = shown_columns(table), widths[TABLE_MOST_COLUMNS * 2 + 1];
	struct buffer *text = &table->text, line = {0};
	for (size_t column = 0; column < columns; column++)
		widths[column] = strlen(shown_name(table, column));
	for (size_t i = 0; i < count; i++) {
		for (size_t column = 0; column < columns; column++) {
			text->size = 0;
			append_cell(table, text, row_at(table, rows[i].row) + column);
			widths[column] = MAX(widths[column], MIN(plain_width(text), (size_t)WIDEST));
		}
	}
	for (size_t i = 0; i <= count; i++) {
		line.size = 0;
		for (size_t column = 0; column < columns; column++) {
			const struct cell *cell = i ? row_at(table, rows[i - 1].row) + column : NULL;
			text->size = 0;
			if (cell)
				append_cell(table, text, cell);
			else
				buffer_printf(text, "%s", shown_name(table, column));
			size_t width = plain_width(text),
			       pad = widths[column] > width ? widths[column] - width : 0;
			bool left = shown_type(table, column) == CELL_TEXT;
			if (column)
				buffer_append(&line, "  ", 2);
			if (!left)
				buffer_printf(&line, "%*s", (int)pad, "");
			buffer_append(&line, text->data, text->size);
			if (left && column + 1 < columns)
				buffer_printf(&line, "%*s", (int)pad, "");
		}
		buffer_append(&line, "\n", 1);
		output_write(table->output, line.data, line.size);
	}
	buffer_free(&line);
}

static void write_csv(struct table *table, const struct sorted_row *rows, size_t count) {
	struct buffer line = {0}, *text = &table->text;
	for (size_t column = 0; column < shown_columns(table); column++)
		buffer_printf(&line, "%s%s", column ? "," : "", shown_name(table, column));
	for (size_t i = 0; i < count; i++) {
		buffer_append(&line, "\n", 1);
		output_write(table->output, line.data, line.size);
		line.size = 0;
		for (size_t column = 0; column < shown_columns(table); column++) {
			text->size = 0;
			append_cell(table, text, row_at(table, rows[i].row) + column);
			if (column)
				buffer_append(&line, ",", 1);
			dump_csv_text(&line, (char *)text->data, text->size);
		}
	}
	buffer_append(&line, "\n", 1);
	output_write(table->output, line.data, line.size);
	buffer_free(&line);
}

static void json_cell(const struct table *table, struct json *json, const char *name,
		      const struct cell *cell) {
	char text[24];
	switch (cell->type) {
	case CELL_NONE:
		json_string(json, name, NULL);
		break;
	case CELL_UINT:
		json_uint(json, name, cell->number);
		break;
	case CELL_HEX:
		snprintf(text, sizeof(text), "0x%" PRIx64, cell->number);
		json_string(json, name, text);
		break;
	case CELL_REAL:
		json_exact(json, name, cell->real);
		break;
	case CELL_SECONDS:
		json_exact(json, name, (double)cell->number / 1e9);
		break;
	case CELL_TEXT:
		json_text(json, name, strings_get(table->tables->strings, cell->text),
			  strings_length(table->tables->strings, cell->text));
		break;
	}
}

static void write_json(struct table *table, const struct sorted_row *rows, size_t count) {
	struct buffer line = {0};
	for (size_t i = 0; i < count; i++) {
		struct json json = json_into(&line);
		buffer_printf(&line, "%s", i ? ",\n " : "[");
		json_object(&json, NULL);
		for (size_t column = 0; column < shown_columns(table); column++)
			json_cell(table, &json, shown_name(table, column),
				  row_at(table, rows[i].row) + column);
		json_close_object(&json);
		output_write(table->output, line.data, line.size);
		line.size = 0;
	}
	buffer_printf(&line, "%s]\n", count ? "" : "[");
	output_write(table->output, line.data, line.size);
	buffer_free(&line);
}

// ---- the sink ----

static void take_fact(struct table *table, const struct event *event) {
	const struct strings *strings = table->tables->strings;
	const char *key = strings_get(strings, event->meta.key);
	if (strcmp(key, "system") == 0)
		table->windows = strcmp(strings_get(strings, event->meta.value), "Windows") == 0;
	else if (strcmp(key, DISKS_FACT) == 0)
		table->disks = event->meta.value;
}

static int push(struct sink *sink, const struct event *event) {
	struct table *table = CONTAINER_OF(sink, struct table, sink);
	if (event->kind == EVENT_META)
		take_fact(table, event);
	describer_learn(&table->describer, event);
	if (event->kind == EVENT_MARK)
		table_take_mark(table, event);
	table->definition->take(table, event);
	return 0;
}

static int finish(struct sink *sink) {
	static void (*const formats[])(struct table *, const struct sorted_row *, size_t) = {
		[TABLE_TEXT] = write_text, [TABLE_CSV] = write_csv, [TABLE_JSON] = write_json};
	struct table *table = CONTAINER_OF(sink, struct table, sink);
	if (table->definition->finish)
		table->definition->finish(table);
	if (table->options.format == TABLE_KEEP)
		return 0;
	CLEANUP_FREE struct sorted_row *rows = sort_rows(table);
	size_t count = table->row_count;
	if (table->options.limit)
		count = MIN(count, (size_t)MIN(table->options.limit, (uint64_t)SIZE_MAX));
	formats[table->options.format](table, rows, count);
	table_explain_empty(table);
	return table->output->error;
}

static void destroy(struct sink *sink) {
	struct table *table = CONTAINER_OF(sink, struct table, sink);
	describer_free(&table->describer);
	array_free(&table->cells);
	array_free(&table->tasks);
	array_free(&table->running);
	array_free(&table->irq_begin);
	map_free(&table->groups);
	map_free(&table->task_index);
	map_free(&table->images);
	map_free(&table->pdbs);
	map_free(&table->open_index);
	map_free(&table->descriptors);
	map_free(&table->files);
	array_free(&table->open);
	array_free(&table->regions);
	free(table->field_names);
	buffer_free(&table->text);
	free(table);
}

static const struct table_definition *definition_named(const char *name) {
	for (size_t i = 0; i < table_definition_count; i++)
		if (strcmp(table_definitions[i].name, name) == 0)
			return &table_definitions[i];
	struct buffer names = {0};
	for (size_t i = 0; i < table_definition_count; i++)
		buffer_printf(&names, " %s", table_definitions[i].name);
	log_error("there is no table '%s'; there are%.*s", name, (int)names.size, (char *)names.data);
	buffer_free(&names);
	return NULL;
}

struct sink *table_new(struct output *output, struct tables *tables, const struct table_options *options) {
	const struct table_definition *definition = definition_named(options->name);
	if (!definition)
		return NULL;
	struct table *table = memory_alloc(sizeof(*table));
	table->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	table->output = output;
	table->tables = tables;
	table->definition = definition;
	table->options = *options;
	describer_init(&table->describer, tables);
	while (table->column_count < TABLE_MOST_COLUMNS && definition->columns[table->column_count].name)
		table->column_count++;
	bool good = table_add_fields(table) && table_filter_check(table);
	definition = table->definition;
	// With --group-by, rows are sorted by count by default, not in the table's own order.
	bool own = options->group_by != NULL;
	const char *group_by = own ? options->group_by : definition->group_by;
	if (own && strcmp(group_by, "none") == 0)
		group_by = NULL;
	const char *sum = options->sum ? options->sum : definition->sum;
	const char *sort = options->sort ? options->sort : own ? "count" : definition->sort;
	good = good && !parse_columns(table, group_by, "--group-by", table->group, &table->group_count) &&
	       !parse_columns(table, sum, "--sum", table->sums, &table->sum_count) && can_sum(table);
	// Sums without groups are over all rows.
	table->grouped = table->group_count || (table->sum_count && options->sum);
	if (!good || !parse_sort(table, table->group_count ? sort : options->sort)) {
		destroy(&table->sink);
		return NULL;
	}
	return &table->sink;
}

size_t table_names(struct table_name *names, size_t room) {
	for (size_t i = 0; i < MIN(room, table_definition_count); i++)
		names[i] = (struct table_name){table_definitions[i].name, table_definitions[i].summary};
	return table_definition_count;
}
