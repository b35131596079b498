// Which rows of a table count: by time, between two marks, by process, by a text. Rows are judged, not
// events, so that a row has the same values whichever others are shown. And what is missing in an empty
// table.
#include "analyse/table.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

// ---- columns ----

static int column_of(const struct table *table, const char *name) {
	for (size_t i = 0; i < table->column_count; i++)
		if (strcmp(table->definition->columns[i].name, name) == 0)
			return (int)i;
	return -1;
}

static bool need_column(const struct table *table, const char *option, const char *column, bool wanted) {
	if (!wanted || column_of(table, column) >= 0)
		return true;
	log_error("%s: table %s has no column '%s'", option, table->definition->name, column);
	return false;
}

bool table_filter_check(struct table *table) {
	const struct table_options *options = &table->options;
	if (options->between && !strchr(options->between, ',')) {
		log_error("--between: '%s' is not two marks, separated by a comma", options->between);
		return false;
	}
	bool pid = options->process && column_of(table, "pid") >= 0;
	return need_column(table, "--from, --to", "time", options->from || options->to) &&
	       need_column(table, "--between", "time", options->between) &&
	       need_column(table, "--process", "process", options->process && !pid);
}

bool table_add_fields(struct table *table) {
	table->own_columns = table->column_count;
	if (!table->options.fields)
		return true;
	char *at = table->field_names = memory_string(table->options.fields);
	if (strcmp(table->definition->name, "generic-events") != 0) {
		log_error("--fields: only the table generic-events has fields as columns");
		return false;
	}
	table->with_fields = *table->definition;
	table->with_fields.group_by = table->with_fields.sum = table->with_fields.sort = NULL;
	table->definition = &table->with_fields;
	for (char *name; (name = at);) {
		at = strchr(name, ',');
		if (at)
			*at++ = 0;
		if (table->column_count == TABLE_MOST_COLUMNS) {
			log_error("--fields: at most %zu fields", TABLE_MOST_COLUMNS - table->own_columns);
			return false;
		}
		table->with_fields.columns[table->column_count++] = (struct column){name, CELL_UINT};
	}
	return true;
}

// ---- marks ----

static bool is_mark(const struct table *table, const struct event *event, const char *text, size_t length) {
	const char *name = strings_get(table->tables->strings, event->mark.name);
	return strlen(name) == length && strncmp(name, text, length) == 0;
}

// The first mark opens a region unless one is open, the second closes it.
void table_take_mark(struct table *table, const struct event *event) {
	const char *begin = table->options.between, *end = begin ? strchr(begin, ',') : NULL;
	size_t count = table->regions.count;
	struct table_region *open = count && !table->regions.items[count - 1].to
					    ? &table->regions.items[count - 1]
					    : NULL;
	uint64_t time = describer_since(&table->describer, event->time);
	if (!end || event->mark.type == MARK_COUNTER)
		return;
	if (open && is_mark(table, event, end + 1, strlen(end + 1)))
		open->to = time + 1;
	else if (!open && is_mark(table, event, begin, (size_t)(end - begin)))
		array_push(&table->regions, (struct table_region){.from = time});
}

static bool in_region(const struct table *table, uint64_t time) {
	for (size_t i = 0; i < table->regions.count; i++)
		if (time >= table->regions.items[i].from &&
		    (!table->regions.items[i].to || time < table->regions.items[i].to))
			return true;
	return false;
}

// ---- rows ----

static bool is_process(const struct table *table) {
	const char *wanted = table->options.process;
	int name = column_of(table, "process"), pid = column_of(table, "pid");
	char *end;
	uint64_t number = strtoull(wanted, &end, 10);
	if (pid >= 0 && *wanted && !*end && table->row[pid].type == CELL_UINT &&
	    table->row[pid].number == number)
		return true;
	return name >= 0 && table->row[name].type == CELL_TEXT &&
	       strcasecmp(strings_get(table->tables->strings, table->row[name].text), wanted) == 0;
}

static bool contains(const char *text, const char *part) {
	size_t length = strlen(part);
	for (; *text; text++)
		if (strncasecmp(text, part, length) == 0)
			return true;
	return !length;
}

static bool has_text(const struct table *table) {
	for (size_t i = 0; i < table->column_count; i++)
		if (table->row[i].type == CELL_TEXT &&
		    contains(strings_get(table->tables->strings, table->row[i].text), table->options.filter))
			return true;
	return false;
}

bool table_wants(const struct table *table) {
	const struct table_options *options = &table->options;
	int time = options->from || options->to || options->between ? column_of(table, "time") : -1;
	uint64_t at = time >= 0 ? table->row[time].number : 0;
	if (time >= 0 && (at < options->from || (options->to && at >= options->to)))
		return false;
	if (options->between && !in_region(table, at))
		return false;
	return (!options->process || is_process(table)) && (!options->filter || has_text(table));
}

// ---- empty tables ----

#define PROFILE(name) "tracelet run --profile " name

static const struct {
	const char *table, *events;
	const char *keyword;       // of WPR
	const char *linux_command; // records them there; NULL if nothing does
	bool in_kernel_events;     // on Linux another table has them
} needs[] = {
	{"cpu-usage", "CPU samples", "SampledProfile", "tracelet run --sample"},
	{"cpu-samples", "CPU samples", "SampledProfile", "tracelet run --sample"},
	{"cpu-usage-precise", "context switches", "CSwitch", PROFILE("default")},
	{"context-switches", "context switches", "CSwitch", PROFILE("default")},
	{"dpc-isr", "interrupts", "DPC and Interrupt", PROFILE("default")},
	{"disk-io", "disk requests", "DiskIO", PROFILE("io")},
	{"file-io", "file operations", "FileIO and FileIOInit", PROFILE("io"), true},
	{"network", "network events", "NetworkTrace", PROFILE("verbose"), true},
	{"registry", "registry events", "Registry", NULL},
	{"power", "power events", "Power and IdleStates", PROFILE("verbose"), true},
	{"heap", "heap events", "of a heap provider (<HeapEventProvider>)", NULL},
	{"pool", "pool events", "Pool", NULL},
	{"handles", "handle events", "Handle", NULL},
	{"hard-faults", "hard faults", "HardFaults", PROFILE("memory")},
	{"page-faults", "page faults", "MemoryInfo and AllFaults", PROFILE("memory")},
	{"virtual-alloc", "allocations of virtual memory", "VirtualAllocation", PROFILE("memory")},
	{"system-calls", "system calls", "SystemCall", PROFILE("system-calls")},
	{"images", "loaded images", "Loader", "tracelet run --sample"},
	{"processes", "processes", "ProcessThread", PROFILE("default")},
	{"threads", "threads", "ProcessThread", PROFILE("default")},
	{"event-stacks", "stacks at events", "of the event, as a <Stack> of the profile,",
	 "a profile with a <Stack> of the event"},
};

void table_explain_empty(const struct table *table) {
	if (table->row_count)
		return;
	if (table->seen) {
		log_warning("none of the %llu rows is what the options ask for",
			    (unsigned long long)table->seen);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		if (strcmp(needs[i].table, table->definition->name) != 0)
			continue;
		bool several = strstr(needs[i].keyword, " and ");
		if (table->windows)
			log_warning("the recording has no %s; the keyword%s %s record%s them",
				    needs[i].events, several ? "s" : "", needs[i].keyword,
				    several ? "" : "s");
		else if (needs[i].linux_command)
			log_warning("the recording has no %s; %s records them%s", needs[i].events,
				    needs[i].linux_command,
				    needs[i].in_kernel_events ? ", and the table kernel-events shows them"
							      : "");
		else
			log_warning("the recording has no %s; only recordings of Windows have them",
				    needs[i].events);
	}
}
