// What each table collects: the tables known from Windows Performance Analyzer, from any recording that has
// the events.
#include "analyse/table.h"
#include "event/sample_tree.h"
#include "write/dump.h"

#include <string.h>

// ---- helpers ----

struct cell table_text(struct table *table, const char *text) {
	return cell_text(strings_add(table->tables->strings, text));
}

struct cell table_process(struct table *table, uint32_t pid) {
	return table_text(table, describer_process(&table->describer, pid));
}

struct cell table_time(const struct table *table, uint64_t time) {
	return (struct cell){.type = CELL_SECONDS, .number = describer_since(&table->describer, time)};
}

void table_set_process(struct table *table, uint64_t time, uint32_t pid) {
	table->row[0] = table_time(table, time);
	table->row[1] = cell_uint(pid);
	table->row[2] = table_process(table, pid);
}

void table_set_task(struct table *table, const struct event *event) {
	uint32_t pid = table_pid(table, event);
	table->row[0] = table_time(table, event->time);
	table->row[1] = cell_cpu(event->cpu);
	table->row[2] = cell_uint(pid);
	table->row[3] = table_process(table, pid);
	table->row[4] = cell_uint(event->tid);
}

const struct event_field *table_find(const struct event *event, const char *name) {
	for (uint32_t i = 0; i < event->generic.field_count; i++)
		if (strcmp(event->generic.fields[i].name, name) == 0)
			return &event->generic.fields[i];
	return NULL;
}

struct cell table_field(struct table *table, const struct event *event, const char *name) {
	const struct event_field *found = table_find(event, name);
	if (!found)
		return (struct cell){0};
	switch (found->type) {
	case FIELD_TEXT:
		return cell_text(strings_add_bytes(table->tables->strings, found->text, found->size));
	case FIELD_DOUBLE:
		return cell_real(found->real);
	case FIELD_HEX:
		return cell_hex(found->uint);
	default:
		return cell_uint(found->uint);
	}
}

struct cell table_fields(struct table *table, const struct event *event) {
	table->text.size = 0;
	for (uint32_t i = 0; i < event->generic.field_count; i++) {
		buffer_printf(&table->text, "%s%s=", i ? " " : "", event->generic.fields[i].name);
		dump_plain(&table->text, &event->generic.fields[i]);
	}
	return cell_text(strings_add_bytes(table->tables->strings, table->text.data, table->text.size));
}

uint64_t table_number(const struct event *event, const char *name) {
	const struct event_field *found = table_find(event, name);
	return found && found->type != FIELD_TEXT && found->type != FIELD_DOUBLE ? found->uint : 0;
}

bool table_is_generic(const struct table *table, const struct event *event, const char *prefix) {
	return event->kind == EVENT_GENERIC &&
	       strncmp(strings_get(table->tables->strings, event->generic.name), prefix, strlen(prefix)) == 0;
}

uint32_t table_pid(const struct table *table, const struct event *event) {
	return event->pid ? event->pid : describer_pid(&table->describer, event->tid);
}

struct task_time *table_task(struct table *table, uint32_t tid) {
	uint64_t *index = map_put(&table->task_index, tid);
	if (!*index) {
		array_push(&table->tasks, (struct task_time){.tid = tid});
		*index = table->tasks.count;
	}
	return &table->tasks.items[*index - 1];
}

static struct task_time *task_born(struct table *table, uint32_t tid) {
	uint64_t *index = map_get(&table->task_index, tid);
	if (index && !table->tasks.items[*index - 1].exited)
		return &table->tasks.items[*index - 1];
	if (index)
		map_delete(&table->task_index, tid); // the id of one that has ended
	return table_task(table, tid);
}

// ---- processes and threads ----

static void follow_tasks(struct table *table, const struct event *event) {
	struct task_time *task;
	switch (event->kind) {
	case EVENT_TASK:
		task = task_born(table, event->tid);
		task->pid = event->pid;
		task->parent = event->task.parent_pid;
		task->name = event->task.name;
		task->command_line = event->task.command_line;
		break;
	case EVENT_FORK:
		task = task_born(table, event->fork.child_tid);
		task->pid = event->fork.child_pid;
		task->parent = event->fork.parent_pid ? event->fork.parent_pid : event->pid;
		task->begin = event->time;
		task->name = event->fork.name;
		break;
	case EVENT_EXEC:
		task = table_task(table, event->tid);
		task->pid = event->pid ? event->pid : event->tid;
		task->name = event->exec.name;
		task->command_line = event->exec.arguments;
		break;
	case EVENT_RENAME:
		task = table_task(table, event->tid);
		task->name = event->rename.name;
		break;
	case EVENT_EXIT:
		task = table_task(table, event->tid);
		task->pid = task->pid ? task->pid : event->pid;
		task->end = event->time;
		task->exited = true;
		task->has_status = event->exit.has_status || !event->exit.unknown;
		task->status = event->exit.has_status ? event->exit.status : (uint32_t)event->exit.code >> 8;
		break;
	default:
		break;
	}
}

// A command line, with spaces instead of the NULs between its words.
static struct cell command_cell(struct table *table, uint32_t id) {
	struct buffer *text = &table->text;
	text->size = 0;
	buffer_append(text, strings_get(table->tables->strings, id),
		      strings_length(table->tables->strings, id));
	while (text->size && !text->data[text->size - 1])
		text->size--;
	for (size_t i = 0; i < text->size; i++)
		if (!text->data[i])
			text->data[i] = ' ';
	return cell_text(strings_add_bytes(table->tables->strings, text->data, text->size));
}

static void finish_processes(struct table *table) {
	for (size_t i = 0; i < table->tasks.count; i++) {
		const struct task_time *task = &table->tasks.items[i];
		if (task->tid != task->pid)
			continue;
		struct cell *row = table->row;
		row[0] = cell_uint(task->pid);
		row[1] = cell_uint(task->parent);
		row[2] = cell_text(task->name);
		row[3] = task->begin ? table_time(table, task->begin) : (struct cell){0};
		row[4] = task->end ? table_time(table, task->end) : (struct cell){0};
		if (task->exited && task->has_status) // such a large number is a code to look up
			row[5] = task->status > UINT16_MAX ? cell_hex(task->status) : cell_uint(task->status);
		row[6] = command_cell(table, task->command_line);
		table_row(table);
	}
}

static void take_threads(struct table *table, const struct event *event) {
	follow_tasks(table, event);
	if (event->kind == EVENT_SWITCH)
		table_follow_running(table, event);
}

static void finish_threads(struct table *table) {
	for (size_t i = 0; i < table->tasks.count; i++) {
		const struct task_time *task = &table->tasks.items[i];
		uint32_t pid = task->pid ? task->pid : describer_pid(&table->describer, task->tid);
		// On Windows a process is not a thread: its entry stands only for the process.
		if (!task->tid || (table->windows && task->tid == pid))
			continue;
		struct cell *row = table->row;
		row[0] = cell_uint(task->tid);
		row[1] = cell_uint(pid);
		row[2] = table_process(table, pid);
		row[3] = cell_text(task->name);
		row[4] = task->begin ? table_time(table, task->begin) : (struct cell){0};
		row[5] = task->end ? table_time(table, task->end) : (struct cell){0};
		row[6] = cell_microseconds(task->running);
		table_row(table);
	}
}

// ---- samples ----

static void take_sampled(struct table *table, const struct event *event) {
	if (event->kind != EVENT_SAMPLE)
		return;
	const struct stack *leaf = stacks_get(table->tables->stacks, event->sample.stack);
	const struct frame *frame = leaf ? stacks_frame(table->tables->stacks, leaf->frame) : NULL;
	uint32_t pid = table_pid(table, event);
	struct cell *row = table->row;
	row[0] = table_time(table, event->time);
	row[1] = cell_cpu(event->cpu);
	row[2] = cell_uint(pid);
	bool idle = !pid && !event->tid && event->sample.comm; // perf calls it swapper
	row[3] = idle ? cell_text(event->sample.comm) : table_process(table, pid);
	row[4] = cell_uint(event->tid);
	row[5] = idle ? row[3] : table_text(table, describer_thread(&table->describer, event->tid));
	row[6] = cell_text(frame ? frame->module : 0);
	row[7] = cell_text(frame ? frame->symbol : 0);
	row[8] = cell_text(event->sample.name);
	if (sample_event_in_nanoseconds(strings_get(table->tables->strings, event->sample.name)))
		row[9] = cell_real((double)event->sample.weight / 1e6);
	row[10] = cell_uint(event->sample.weight);
	table_row(table);
}

// Time on a CPU only: neither waits nor stacks at events.
static void take_cpu_time(struct table *table, const struct event *event) {
	if (event->kind == EVENT_SAMPLE &&
	    (event->sample.flags & SAMPLE_AT_EVENT ||
	     strcmp(strings_get(table->tables->strings, event->sample.name), EVENT_OFF_CPU) == 0))
		return;
	take_sampled(table, event);
}

// ---- interrupts ----

static void interrupt_row(struct table *table, uint64_t time, uint32_t cpu, const char *kind,
			  struct cell function, uint64_t duration) {
	struct cell *row = table->row;
	row[0] = table_time(table, time);
	row[1] = cell_cpu(cpu);
	row[2] = table_text(table, kind);
	row[3] = function;
	row[4] = cell_microseconds(duration);
	table_row(table);
}

static struct cell softirq_cell(struct table *table, uint32_t vector) {
	static const char *const names[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
					    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
	return vector < ARRAY_SIZE(names) ? table_text(table, names[vector]) : cell_uint(vector);
}

static void take_interrupts(struct table *table, const struct event *event) {
	bool soft = event->kind == EVENT_SOFTIRQ_ENTRY || event->kind == EVENT_SOFTIRQ_EXIT;
	if (table_is_generic(table, event, "PerfInfo/") && event->generic.duration &&
	    table_find(event, "Routine")) {
		const char *kind = strings_get(table->tables->strings, event->generic.name) +
				   strlen("PerfInfo/");
		const char *name = table_find(event, "Function") ? "Function" : "Routine";
		interrupt_row(table, event->time - event->generic.duration, event->cpu, kind,
			      table_field(table, event, name), event->generic.duration);
		return;
	}
	if (event->kind < EVENT_IRQ_ENTRY || event->kind > EVENT_SOFTIRQ_EXIT || event->cpu == CPU_NONE)
		return;
	size_t place = (size_t)event->cpu * 2 + soft;
	while (table->irq_begin.count <= place)
		array_push(&table->irq_begin, 0);
	uint64_t *begin = &table->irq_begin.items[place];
	if (event->kind == EVENT_IRQ_ENTRY || event->kind == EVENT_SOFTIRQ_ENTRY) {
		*begin = event->time;
		return;
	}
	if (*begin)
		interrupt_row(table, *begin, event->cpu, soft ? "softirq" : "irq",
			      event->irq.name ? cell_text(event->irq.name)
			      : soft          ? softirq_cell(table, event->irq.number)
					      : cell_uint(event->irq.number),
			      event->time - *begin);
	*begin = 0;
}

// ---- disk, memory ----

static void take_disk(struct table *table, const struct event *event) {
	if (event->kind == EVENT_POINT)
		take_block(table, event);
	if (!table_is_generic(table, event, "DiskIO/") || !table_find(event, "DiskNumber"))
		return;
	struct cell *row = table->row;
	table_set_process(table, event->time - MIN(event->generic.duration, event->time),
			  table_pid(table, event));
	row[3] = table_text(table,
			    strings_get(table->tables->strings, event->generic.name) + strlen("DiskIO/"));
	row[4] = table_field(table, event, "DiskNumber");
	row[5] = table_field(table, event, "ByteOffset");
	row[6] = table_field(table, event, "TransferSize");
	row[7] = cell_microseconds(event->generic.duration);
	row[8] = table_field(table, event, "FileName");
	table_row(table);
}

static void take_hard_faults(struct table *table, const struct event *event) {
	if (event->kind == EVENT_POINT)
		take_hard_fault_point(table, event);
	if (!table_is_generic(table, event, "Memory/HardFault"))
		return;
	struct cell *row = table->row;
	table_set_process(table, event->time - MIN(event->generic.duration, event->time),
			  table_pid(table, event));
	row[3] = cell_uint(event->tid);
	row[4] = table_field(table, event, "VirtualAddress");
	row[5] = table_field(table, event, "ByteCount");
	row[6] = cell_microseconds(event->generic.duration);
	row[7] = table_field(table, event, "FileName");
	table_row(table);
}

static void take_page_faults(struct table *table, const struct event *event) {
	if (event->kind == EVENT_POINT)
		take_fault_point(table, event);
	if (!table_is_generic(table, event, "Memory/") || !table_find(event, "ProgramCounter"))
		return;
	struct cell *row = table->row;
	table_set_process(table, event->time, table_pid(table, event));
	row[3] = cell_uint(event->tid);
	row[4] = table_text(table,
			    strings_get(table->tables->strings, event->generic.name) + strlen("Memory/"));
	row[5] = table_field(table, event, "VirtualAddress");
	row[6] = table_field(table, event, "ProgramCounter");
	table_row(table);
}

static void take_virtual_alloc(struct table *table, const struct event *event) {
	if (event->kind == EVENT_POINT)
		take_memory_point(table, event);
	if (!table_is_generic(table, event, "Memory/Virtual"))
		return;
	struct cell *row = table->row;
	table_set_process(table, event->time, (uint32_t)table_number(event, "ProcessId"));
	row[3] = table_text(table,
			    strings_get(table->tables->strings, event->generic.name) + strlen("Memory/"));
	row[4] = table_field(table, event, "BaseAddress");
	row[5] = table_field(table, event, "RegionSize");
	row[6] = table_field(table, event, "Flags");
	table_row(table);
}

// ---- everything ----

// Not folded away into a group.
static bool is_shown(const struct table *table, int column) {
	for (size_t i = 0; i < table->group_count; i++)
		if (table->group[i] == column)
			return true;
	return !table->grouped;
}

static void take_generic(struct table *table, const struct event *event) {
	if (event->kind != EVENT_GENERIC)
		return;
	struct cell *row = table->row;
	table_set_task(table, event);
	row[5] = cell_text(event->generic.provider);
	row[6] = cell_text(event->generic.name);
	row[7] = cell_microseconds(event->generic.duration);
	if (is_shown(table, 8))
		row[8] = table_fields(table, event);
	for (size_t i = table->own_columns; i < table->column_count; i++)
		row[i] = table_field(table, event, table->definition->columns[i].name);
	table_row(table);
}

static void take_lost(struct table *table, const struct event *event) {
	if (event->kind != EVENT_LOST)
		return;
	table->row[0] = table_time(table, event->time);
	table->row[1] = cell_cpu(event->cpu);
	table->row[2] = table_text(table, event_source_names[event->lost.source]);
	table->row[3] = cell_uint(event->lost.count);
	table_row(table);
}

// ---- the tables ----

// clang-format off
#define TIME       {"time", CELL_SECONDS}
#define ON_CPU     {"cpu", CELL_UINT}
#define OF_PROCESS {"pid", CELL_UINT}, {"process", CELL_TEXT}
#define OF_TASK    OF_PROCESS, {"tid", CELL_UINT}
#define SWITCH_COLUMNS                                                                                       \
	{TIME, ON_CPU, {"tid", CELL_UINT}, {"process", CELL_TEXT}, {"thread", CELL_TEXT}, {"run_us", CELL_REAL}, \
	 {"ready_us", CELL_REAL}, {"wait_us", CELL_REAL}, {"readied_by", CELL_UINT}, {"wait_reason", CELL_TEXT}, \
	 {"next_tid", CELL_UINT}, {"waker", CELL_TEXT}, {"context", CELL_TEXT}}
#define SAMPLE_COLUMNS                                                                                       \
	{TIME, ON_CPU, OF_TASK, {"thread", CELL_TEXT}, {"module", CELL_TEXT}, {"function", CELL_TEXT},           \
	 {"event", CELL_TEXT}, {"weight_ms", CELL_REAL}, {"weight", CELL_UINT}}
// clang-format on

const struct table_definition table_definitions[] = {
	{"processes",
	 "processes: when each began and ended, and how",
	 {{"pid", CELL_UINT},
	  {"parent", CELL_UINT},
	  {"name", CELL_TEXT},
	  {"start", CELL_SECONDS},
	  {"end", CELL_SECONDS},
	  {"exit", CELL_UINT},
	  {"command_line", CELL_TEXT}},
	 .take = follow_tasks,
	 .finish = finish_processes},
	{"threads",
	 "threads of each process, and how long they ran",
	 {{"tid", CELL_UINT},
	  OF_PROCESS,
	  {"name", CELL_TEXT},
	  {"start", CELL_SECONDS},
	  {"end", CELL_SECONDS},
	  {"run_us", CELL_REAL}},
	 .take = take_threads,
	 .finish = finish_threads},
	{"images",
	 "programs and libraries, where and when they were loaded",
	 {OF_PROCESS,
	  {"base", CELL_HEX},
	  {"size", CELL_UINT},
	  {"file", CELL_TEXT},
	  {"load", CELL_SECONDS},
	  {"unload", CELL_SECONDS},
	  {"pdb", CELL_TEXT},
	  {"pdb_id", CELL_TEXT}},
	 .take = take_images,
	 .finish = finish_images},
	{"cpu-usage", "CPU time by samples: process, module, function", SAMPLE_COLUMNS,
	 .group_by = "process,module,function", .sum = "weight_ms,weight", .sort = "weight",
	 .take = take_cpu_time},
	{"cpu-samples", "every sample", SAMPLE_COLUMNS, .take = take_sampled},
	{"kvm-exits",
	 "VM exits: why, and how long until the guest resumed",
	 {TIME, OF_TASK, {"vcpu", CELL_UINT}, {"reason", CELL_TEXT}, {"duration_us", CELL_REAL}},
	 .group_by = "process,vcpu,reason",
	 .sum = "duration_us",
	 .sort = "duration_us",
	 .take = take_kvm_exits},
	{"event-stacks",
	 "stacks at events: the program's innermost function",
	 {TIME,
	  ON_CPU,
	  OF_TASK,
	  {"thread", CELL_TEXT},
	  {"event", CELL_TEXT},
	  {"module", CELL_TEXT},
	  {"function", CELL_TEXT}},
	 .group_by = "event,process,module,function",
	 .take = take_event_stacks},
	{"cpu-usage-precise", "CPU time by context switches: process, thread", SWITCH_COLUMNS,
	 .group_by = "process,tid,thread", .sum = "run_us,ready_us,wait_us", .sort = "run_us",
	 .take = take_switches},
	{"context-switches", "every run on a CPU: how long, and how long ready and waiting before it",
	 SWITCH_COLUMNS, .take = take_switches, .finish = finish_switches},
	{"dpc-isr",
	 "interrupts and deferred procedure calls",
	 {TIME, ON_CPU, {"kind", CELL_TEXT}, {"function", CELL_TEXT}, {"duration_us", CELL_REAL}},
	 .take = take_interrupts},
	{"disk-io",
	 "disk reads, writes and flushes",
	 {TIME,
	  OF_PROCESS,
	  {"operation", CELL_TEXT},
	  {"disk", CELL_UINT},
	  {"offset", CELL_UINT},
	  {"size", CELL_UINT},
	  {"duration_us", CELL_REAL},
	  {"file", CELL_TEXT},
	  {"device", CELL_TEXT}},
	 .take = take_disk},
	{"file-io",
	 "file operations of Windows: which file, how much",
	 {TIME,
	  ON_CPU,
	  OF_TASK,
	  {"operation", CELL_TEXT},
	  {"file", CELL_TEXT},
	  {"offset", CELL_UINT},
	  {"size", CELL_UINT},
	  {"status", CELL_HEX}},
	 .take = take_file_io},
	{"network",
	 "packets and connections of Windows",
	 {TIME,
	  ON_CPU,
	  OF_PROCESS,
	  {"operation", CELL_TEXT},
	  {"size", CELL_UINT},
	  {"local", CELL_TEXT},
	  {"local_port", CELL_UINT},
	  {"remote", CELL_TEXT},
	  {"remote_port", CELL_UINT}},
	 .take = take_network},
	{"registry",
	 "operations on the registry of Windows",
	 {TIME, ON_CPU, OF_TASK, {"operation", CELL_TEXT}, {"key", CELL_TEXT}, {"status", CELL_HEX}},
	 .take = take_registry},
	{"power",
	 "processor idle and performance states, sleep, devices' power (Windows)",
	 {TIME,
	  ON_CPU,
	  {"event", CELL_TEXT},
	  {"state", CELL_UINT},
	  {"old_state", CELL_UINT},
	  {"duration_us", CELL_REAL},
	  {"fields", CELL_TEXT}},
	 .group_by = "event,state",
	 .sum = "duration_us",
	 .sort = "count",
	 .take = take_power},
	{"heap",
	 "blocks of Windows' heaps: allocated, resized, freed, and how long they lived",
	 {TIME,
	  ON_CPU,
	  OF_TASK,
	  {"operation", CELL_TEXT},
	  {"heap", CELL_HEX},
	  {"address", CELL_HEX},
	  {"size", CELL_UINT},
	  {"lifetime_us", CELL_REAL}},
	 .group_by = "process,operation",
	 .sum = "size",
	 .sort = "size",
	 .take = take_heap},
	{"pool",
	 "the Windows kernel's pools: allocated and freed, by tag",
	 {TIME,
	  ON_CPU,
	  OF_TASK,
	  {"operation", CELL_TEXT},
	  {"tag", CELL_TEXT},
	  {"type", CELL_UINT},
	  {"address", CELL_HEX},
	  {"size", CELL_UINT},
	  {"lifetime_us", CELL_REAL}},
	 .group_by = "tag,operation",
	 .sum = "size",
	 .sort = "size",
	 .take = take_pool},
	{"handles",
	 "handles of Windows: created, duplicated, closed, and how long they were open",
	 {TIME,
	  ON_CPU,
	  OF_TASK,
	  {"operation", CELL_TEXT},
	  {"type", CELL_TEXT},
	  {"handle", CELL_HEX},
	  {"object", CELL_HEX},
	  {"name", CELL_TEXT},
	  {"open_us", CELL_REAL}},
	 .take = take_handles},
	{"hard-faults",
	 "page faults that read a disk",
	 {TIME,
	  OF_TASK,
	  {"address", CELL_HEX},
	  {"size", CELL_UINT},
	  {"duration_us", CELL_REAL},
	  {"file", CELL_TEXT}},
	 .take = take_hard_faults},
	{"page-faults",
	 "page faults of all kinds",
	 {TIME, OF_TASK, {"kind", CELL_TEXT}, {"address", CELL_HEX}, {"instruction", CELL_HEX}},
	 .take = take_page_faults},
	{"virtual-alloc",
	 "address space allocated and freed",
	 {TIME,
	  OF_PROCESS,
	  {"operation", CELL_TEXT},
	  {"address", CELL_HEX},
	  {"size", CELL_UINT},
	  {"flags", CELL_TEXT}},
	 .take = take_virtual_alloc},
	{"system-calls",
	 "system calls: how many, and how long",
	 {TIME,
	  OF_TASK,
	  {"call", CELL_TEXT},
	  {"arg0", CELL_HEX},
	  {"arg1", CELL_HEX},
	  {"arg2", CELL_HEX},
	  {"arg3", CELL_HEX},
	  {"result", CELL_REAL},
	  {"duration_us", CELL_REAL},
	  {"error", CELL_TEXT},
	  {"file", CELL_TEXT}},
	 .group_by = "process,call",
	 .sum = "duration_us",
	 .sort = "duration_us",
	 .take = take_system_calls},
	{"kernel-events",
	 "faults, system calls, timers, work, I/O and other kernel events, one by one",
	 {TIME, OF_TASK, ON_CPU, {"group", CELL_TEXT}, {"event", CELL_TEXT}, {"fields", CELL_TEXT}},
	 .group_by = "group,event",
	 .sort = "count",
	 .take = take_kernel_events},
	{"generic-events",
	 "provider events: how many of each kind",
	 {TIME,
	  ON_CPU,
	  OF_TASK,
	  {"provider", CELL_TEXT},
	  {"event", CELL_TEXT},
	  {"duration_us", CELL_REAL},
	  {"fields", CELL_TEXT}},
	 .group_by = "provider,event",
	 .sort = "count",
	 .take = take_generic},
	{"lost",
	 "what the recording lost",
	 {TIME, ON_CPU, {"source", CELL_TEXT}, {"count", CELL_UINT}},
	 .take = take_lost},
	{"pmu",
	 "PMU counters by event and core, and those of the test",
	 {{"event", CELL_TEXT},
	  {"of", CELL_TEXT},
	  {"core", CELL_UINT},
	  {"tid", CELL_UINT},
	  {"thread", CELL_TEXT},
	  TIME,
	  {"value", CELL_REAL},
	  {"unit", CELL_TEXT}},
	 .group_by = "event,of,core",
	 .sum = "value",
	 .sort = "event",
	 .take = take_pmu},
	{"pmu-app",
	 "counters from WindowsPerf's program, by event and core",
	 {{"event", CELL_TEXT},
	  {"core", CELL_UINT},
	  {"index", CELL_HEX},
	  {"note", CELL_TEXT},
	  TIME,
	  {"value", CELL_UINT}},
	 .group_by = "event,core",
	 .sum = "value",
	 .sort = "event",
	 .take = take_pmu_app},
	{"pmu-driver",
	 "counters from WindowsPerf's driver, by event and core: differences",
	 {{"event", CELL_HEX}, {"core", CELL_UINT}, {"counter", CELL_UINT}, TIME, {"value", CELL_UINT}},
	 .group_by = "event,core",
	 .sum = "value",
	 .sort = "event",
	 .take = take_pmu_driver},
};
const size_t table_definition_count = ARRAY_SIZE(table_definitions);
