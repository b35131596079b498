#include "analyse/table.h"

#include <string.h>

// For each CPU everything that ran there, and the share of the test's tasks.
void take_pmu(struct table *table, const struct event *event) {
	if (event->kind != EVENT_COUNTER || !event->counter.adds)
		return;
	bool of_test = event->tid || event->cpu == CPU_NONE;
	struct cell *row = table->row;
	row[0] = cell_text(event->counter.name);
	row[1] = table_text(table, of_test ? "test" : "core");
	if (!of_test)
		row[2] = cell_cpu(event->cpu);
	if (event->tid) {
		row[3] = cell_uint(event->tid);
		row[4] = table_text(table, describer_thread(&table->describer, event->tid));
	}
	row[5] = table_time(table, event->time);
	row[6] = cell_real(event->counter.value);
	row[7] = cell_text(event->counter.unit);
	table_row(table);
}

static bool is_provider(const struct table *table, const struct event *event, const char *name) {
	return event->kind == EVENT_GENERIC &&
	       strcmp(strings_get(table->tables->strings, event->generic.provider), name) == 0;
}

void take_pmu_app(struct table *table, const struct event *event) {
	if (!is_provider(table, event, "WindowsPerf App"))
		return;
	static const char *const names[] = {"Event", "Core", "EventIdx", "EventNote"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		table->row[i] = table_field(table, event, names[i]);
	table->row[4] = table_time(table, event->time);
	table->row[5] = table_field(table, event, "Value");
	table_row(table);
}

void take_pmu_driver(struct table *table, const struct event *event) {
	if (!is_provider(table, event, "WindowsPerf Driver"))
		return;
	static const char *const names[] = {"Event", "Core", "GPCIdx"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		table->row[i] = table_field(table, event, names[i]);
	table->row[3] = table_time(table, event->time);
	table->row[4] = table_field(table, event, "Difference");
	table_row(table);
}
