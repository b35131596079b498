// Tables from events: rows of cells, as they are or grouped and summed.
//
//   table.c       the engine: rows, groups, sums, sorting, text, CSV, JSON
//   table_points.c  the tables of event/points.h
//   table_counters.c  those of performance counters
//   table_rows.c  what each table collects, a definition each
#pragma once

#include "base/file.h"
#include "write/described.h"

enum table_format { TABLE_TEXT, TABLE_CSV, TABLE_JSON };

struct table_options {
	const char *name;
	enum table_format format;
	const char *group_by, *sum, *sort; // columns parted by commas; NULL: as the table is defined
	bool reverse;
	uint64_t limit; // rows that are shown; 0: all
};

// NULL and a line about it when there is no such table or column.
struct sink *table_new(struct output *output, struct tables *tables, const struct table_options *options);

// The names of all tables with a line about each: for help.
struct table_name {
	const char *name, *summary;
};
size_t table_names(struct table_name *names, size_t room);

// ---- inside ----

enum { TABLE_MOST_COLUMNS = 16 };

enum cell_type { CELL_NONE, CELL_UINT, CELL_HEX, CELL_REAL, CELL_SECONDS, CELL_TEXT };

struct cell {
	enum cell_type type;
	union {
		uint64_t number; // CELL_SECONDS: nanoseconds
		double real;
		uint32_t text; // string
	};
};

struct column {
	const char *name;
	enum cell_type type;
};

struct table;

struct table_definition {
	const char *name, *summary;
	struct column columns[TABLE_MOST_COLUMNS];
	const char *group_by, *sum, *sort; // what is done without options; NULL: rows as they are
	void (*take)(struct table *table, const struct event *event);
	void (*finish)(struct table *table); // or NULL: rows that are known at the end only
};
extern const struct table_definition table_definitions[];
extern const size_t table_definition_count;

// What a task is doing, for the tables about scheduling.
struct task_time {
	uint32_t tid, pid, parent, name, command_line;
	uint64_t begin, end;        // 0: before, after the trace
	uint64_t left, woken, came; // when it last left a CPU, was woken, came to a CPU; 0: not known
	uint64_t running, waker;
	uint16_t state, wait_reason;
	uint32_t status;
	bool has_status, exited;
};

struct table {
	struct sink sink;
	struct output *output;
	struct tables *tables;
	const struct table_definition *definition;
	struct table_options options;
	struct describer describer;
	size_t column_count;
	bool windows;             // the recording is of Windows
	ARRAY(struct cell) cells; // rows one after another
	size_t row_count;
	int group[TABLE_MOST_COLUMNS], sums[TABLE_MOST_COLUMNS];
	size_t group_count, sum_count;
	bool grouped;      // rows are folded, if only into one
	int sort;          // a column of what is shown; -1: none
	struct map groups; // hash to row + 1
	struct cell row[TABLE_MOST_COLUMNS];
	// For the definitions.
	struct map task_index; // tid to index + 1
	ARRAY(struct task_time) tasks;
	ARRAY(uint32_t) running;   // of each CPU: index + 1 in `tasks`; 0: not known
	ARRAY(uint64_t) irq_begin; // of each CPU and level
	struct map images;         // (pid, base) to row + 1
	struct map pdbs;           // the same to the strings of its PDB and id
	struct map open_index;     // what has begun, by what its end is known by, to index + 1
	ARRAY(struct event) open;
	struct event ended; // the beginning of what has just ended
	struct buffer text;
};

// ---- table_rows.c: for all definitions ----

struct cell table_text(struct table *table, const char *text);
struct cell table_field(struct table *table, const struct event *event, const char *name);
struct cell table_process(struct table *table, uint32_t pid);
struct cell table_time(const struct table *table, uint64_t time); // since the recording began
uint32_t table_pid(const struct table *table, const struct event *event);

// ---- table_counters.c ----

void take_pmu(struct table *table, const struct event *event);
void take_pmu_app(struct table *table, const struct event *event);
void take_pmu_driver(struct table *table, const struct event *event);

// ---- table_points.c ----

void take_system_calls(struct table *table, const struct event *event);
void take_kernel_events(struct table *table, const struct event *event);
// Of an EVENT_POINT:
void take_block(struct table *table, const struct event *event);
void take_fault_point(struct table *table, const struct event *event);
void take_hard_fault_point(struct table *table, const struct event *event);
void take_memory_point(struct table *table, const struct event *event);
void take_kvm_exits(struct table *table, const struct event *event);
void take_event_stacks(struct table *table, const struct event *event);

// ---- table.c ----

void table_row(struct table *table); // the cells in `row`, which are cleared
static inline struct cell cell_uint(uint64_t number) {
	return (struct cell){.type = CELL_UINT, .number = number};
}
static inline struct cell cell_hex(uint64_t number) {
	return (struct cell){.type = CELL_HEX, .number = number};
}
static inline struct cell cell_real(double real) {
	return (struct cell){.type = CELL_REAL, .real = real};
}
static inline struct cell cell_text(uint32_t text) {
	return (struct cell){.type = CELL_TEXT, .text = text};
}
