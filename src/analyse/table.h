// Tables from events: rows of cells, as they are or grouped and summed.
//
//   table.c       the engine: rows, groups, sums, sorting, text, CSV, JSON
//   table_switches.c  context switches
//   table_images.c  programs and libraries
//   table_windows.c  events that only Windows has
//   table_points.c  the tables of event/points.h
//   table_counters.c  those of performance counters
//   table_columns.c  all of them for a page
//   table_rows.c  what each table collects, a definition each
#pragma once

#include "base/file.h"
#include "event/described.h"
#include "write/page/columns.h"

enum table_format { TABLE_TEXT, TABLE_CSV, TABLE_JSON, TABLE_KEEP }; // the last one only keeps the rows

struct table_options {
	const char *name;
	enum table_format format;
	const char *group_by, *sum, *sort; // columns separated by commas; NULL for the table's default
	bool reverse;
	uint64_t limit; // rows to show; 0 for all
	// Which rows count.
	uint64_t from, to;   // nanoseconds since the recording began; to is 0 for all
	const char *process; // name or number; NULL for all
	const char *filter;  // a text in any column
	const char *between; // "mark,mark": between these two marks
	const char *fields;  // of generic-events: more columns, separated by commas
};

// Returns NULL if there is no such table or column, which is logged.
struct sink *table_new(struct output *output, struct tables *tables, const struct table_options *options);

// The names of all tables with a line about each: for help.
struct table_name {
	const char *name, *summary;
};
size_t table_names(struct table_name *names, size_t room);

// All tables at once, ungrouped: a sink, and when it is finished its columns for a page (table_columns.c).
struct sink *table_set_new(struct tables *tables);
void table_set_columns(struct sink *set, struct columns *columns);

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
	const char *group_by, *sum, *sort; // defaults; NULL for plain rows
	void (*take)(struct table *table, const struct event *event);
	void (*finish)(struct table *table); // adds rows that are known only at the end; or NULL
};
extern const struct table_definition table_definitions[];
extern const size_t table_definition_count;

// What a task is doing, for the tables about scheduling.
struct task_time {
	uint32_t tid, pid, parent, name, command_line;
	uint64_t begin, end;        // 0 if before or after the trace
	uint64_t left, woken, came; // when it last left a CPU, was woken, came to a CPU; 0 if not known
	uint64_t running, waker;
	uint32_t waker_name; // string; 0 for the known name
	uint16_t waker_context;
	uint16_t state, wait_reason;
	uint32_t status;
	bool has_status, exited;
};

// The time between two marks; the end is 0 while it is open.
struct table_region {
	uint64_t from, to;
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
	uint32_t disks;           // string: their names (DISKS_FACT)
	ARRAY(struct cell) cells; // rows one after another
	size_t row_count;
	int group[TABLE_MOST_COLUMNS], sums[TABLE_MOST_COLUMNS];
	size_t group_count, sum_count;
	bool grouped;      // rows are folded, if only into one
	int sort;          // a column of what is shown; -1 if none
	struct map groups; // hash to row + 1
	struct cell row[TABLE_MOST_COLUMNS];
	// For the definitions.
	struct map task_index; // tid to index + 1
	ARRAY(struct task_time) tasks;
	ARRAY(uint32_t) running;   // of each CPU: index + 1 in `tasks`; 0 if not known
	ARRAY(uint64_t) irq_begin; // of each CPU and level
	struct map images;         // (pid, base) to row + 1
	struct map pdbs;           // the same to the strings of its PDB and id
	struct map open_index;     // what has begun, by what its end is known by, to index + 1
	ARRAY(struct event) open;
	struct event ended;                  // the beginning of what has just ended
	struct map descriptors;              // of table_files.c
	struct map files;                    // of Windows: their object to their name
	struct table_definition with_fields; // if the user has asked for more columns
	char *field_names;
	size_t own_columns; // those of the definition itself
	ARRAY(struct table_region) regions;
	uint64_t seen; // rows, before any was left out
	struct buffer text;
};

// ---- table_rows.c: for all definitions ----

struct cell table_text(struct table *table, const char *text);
const struct event_field *table_find(const struct event *event, const char *name); // or NULL
struct cell table_field(struct table *table, const struct event *event, const char *name);
struct cell table_fields(struct table *table, const struct event *event); // all of them, as text
uint64_t table_number(const struct event *event, const char *name);       // of a field; 0 if it has none
// Whether it is a generic event whose name begins so.
bool table_is_generic(const struct table *table, const struct event *event, const char *prefix);
struct cell table_process(struct table *table, uint32_t pid);
// The first cells of a row: time, process id, process; or time, CPU, process id, process, thread id.
void table_set_process(struct table *table, uint64_t time, uint32_t pid);
void table_set_task(struct table *table, const struct event *event);
struct cell table_time(const struct table *table, uint64_t time); // since the recording began
uint32_t table_pid(const struct table *table, const struct event *event);

struct task_time *table_task(struct table *table, uint32_t tid);

// ---- table_switches.c ----

// The task that leaves gets the time it ran; the one that comes begins anew.
void table_follow_running(struct table *table, const struct event *event);
void take_switches(struct table *table, const struct event *event);
void finish_switches(struct table *table);

// ---- table_counters.c ----

void take_pmu(struct table *table, const struct event *event);
void take_pmu_app(struct table *table, const struct event *event);
void take_pmu_driver(struct table *table, const struct event *event);

// ---- table_images.c ----

void take_images(struct table *table, const struct event *event);
void finish_images(struct table *table);

// ---- table_files.c ----

// Call for all events; then the file that a system call works on is known: a string, or 0. Call once for each
// call, when it has ended.
void table_follow_files(struct table *table, const struct event *event);
uint32_t table_file(struct table *table, const struct event *entry, int64_t result);

// ---- table_points.c ----

// What began and has not ended, by a key; its beginning, once, or NULL if that was not seen.
void table_begun(struct table *table, uint64_t key, const struct event *event);
const struct event *table_ended(struct table *table, uint64_t key);
void take_system_calls(struct table *table, const struct event *event);
void take_kernel_events(struct table *table, const struct event *event);
// Of an EVENT_POINT:
void take_block(struct table *table, const struct event *event);
void take_fault_point(struct table *table, const struct event *event);
void take_hard_fault_point(struct table *table, const struct event *event);
void take_memory_point(struct table *table, const struct event *event);
void take_kvm_exits(struct table *table, const struct event *event);
void take_event_stacks(struct table *table, const struct event *event);

// ---- table_windows.c ----

void take_file_io(struct table *table, const struct event *event);
void take_network(struct table *table, const struct event *event);
void take_registry(struct table *table, const struct event *event);
void take_windows_call(struct table *table, const struct event *event); // a part of system-calls
void take_power(struct table *table, const struct event *event);
void take_heap(struct table *table, const struct event *event);
void take_pool(struct table *table, const struct event *event);
void take_handles(struct table *table, const struct event *event);

// ---- table_filter.c ----

// False if the table has not the columns for that, which is logged.
bool table_filter_check(struct table *table);
// Adds the columns that the user has asked for. False if there are too many.
bool table_add_fields(struct table *table);
void table_take_mark(struct table *table, const struct event *event);
bool table_wants(const struct table *table); // the cells in `row`
// Says why a table is empty.
void table_explain_empty(const struct table *table);

// ---- table.c ----

void table_row(struct table *table); // the cells in `row`, which are cleared
static inline struct cell cell_uint(uint64_t number) {
	return (struct cell){.type = CELL_UINT, .number = number};
}
// Empty for an event of no CPU.
static inline struct cell cell_cpu(uint32_t cpu) {
	return cpu == CPU_NONE ? (struct cell){0} : cell_uint(cpu);
}
static inline struct cell cell_hex(uint64_t number) {
	return (struct cell){.type = CELL_HEX, .number = number};
}
static inline struct cell cell_real(double real) {
	return (struct cell){.type = CELL_REAL, .real = real};
}

static inline struct cell cell_microseconds(uint64_t nanoseconds) {
	return cell_real((double)nanoseconds / 1000);
}
static inline struct cell cell_text(uint32_t text) {
	return (struct cell){.type = CELL_TEXT, .text = text};
}
