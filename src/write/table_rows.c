// What each table collects: the tables that users of Windows Performance
// Analyzer know, from whatever recording has the events for them.
#include "write/dump.h"
#include "write/table.h"

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

static struct cell microseconds(uint64_t nanoseconds) {
	return cell_real((double)nanoseconds / 1000);
}

static const struct event_field *field(const struct event *event, const char *name) {
	for (uint32_t i = 0; i < event->generic.field_count; i++)
		if (strcmp(event->generic.fields[i].name, name) == 0)
			return &event->generic.fields[i];
	return NULL;
}

struct cell table_field(struct table *table, const struct event *event, const char *name) {
	const struct event_field *found = field(event, name);
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

static uint64_t field_number(const struct event *event, const char *name) {
	const struct event_field *found = field(event, name);
	return found && found->type != FIELD_TEXT && found->type != FIELD_DOUBLE ? found->uint : 0;
}

static bool is_generic(const struct table *table, const struct event *event, const char *prefix) {
	return event->kind == EVENT_GENERIC &&
	       strncmp(strings_get(table->tables->strings, event->generic.name), prefix, strlen(prefix)) == 0;
}

uint32_t table_pid(const struct table *table, const struct event *event) {
	return event->pid ? event->pid : describer_pid(&table->describer, event->tid);
}

static struct task_time *task_of(struct table *table, uint32_t tid) {
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
	return task_of(table, tid);
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
		task = task_of(table, event->tid);
		task->pid = event->pid ? event->pid : event->tid;
		task->name = event->exec.name;
		task->command_line = event->exec.arguments;
		break;
	case EVENT_RENAME:
		task = task_of(table, event->tid);
		task->name = event->rename.name;
		break;
	case EVENT_EXIT:
		task = task_of(table, event->tid);
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

// A command line whose words are parted by NULs, with spaces.
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
		if (task->exited && task->has_status) // what is that large is a code to look up
			row[5] = task->status > UINT16_MAX ? cell_hex(task->status) : cell_uint(task->status);
		row[6] = command_cell(table, task->command_line);
		table_row(table);
	}
}

static void follow_running(struct table *table, const struct event *event);

static void take_threads(struct table *table, const struct event *event) {
	follow_tasks(table, event);
	if (event->kind == EVENT_SWITCH)
		follow_running(table, event);
}

static void finish_threads(struct table *table) {
	for (size_t i = 0; i < table->tasks.count; i++) {
		const struct task_time *task = &table->tasks.items[i];
		uint32_t pid = task->pid ? task->pid : describer_pid(&table->describer, task->tid);
		// On Windows a process is no thread: its entry stands for the process alone.
		if (!task->tid || (table->windows && task->tid == pid))
			continue;
		struct cell *row = table->row;
		row[0] = cell_uint(task->tid);
		row[1] = cell_uint(pid);
		row[2] = table_process(table, pid);
		row[3] = cell_text(task->name);
		row[4] = task->begin ? table_time(table, task->begin) : (struct cell){0};
		row[5] = task->end ? table_time(table, task->end) : (struct cell){0};
		row[6] = microseconds(task->running);
		table_row(table);
	}
}

// ---- images ----

// Which PDB an image has comes in an event of its own, before or after the image's.
static void take_pdb(struct table *table, const struct event *event) {
	uint32_t pid = (uint32_t)field_number(event, "ProcessId");
	const struct event_field *guid = field(event, "GuidSig");
	struct buffer *text = &table->text;
	text->size = 0;
	if (guid && guid->type == FIELD_TEXT)
		buffer_append(text, guid->text, guid->size);
	buffer_printf(text, "-%u", (unsigned)field_number(event, "Age"));
	uint64_t pdb = table_field(table, event, "PdbFileName").text;
	uint64_t id = strings_add_bytes(table->tables->strings, text->data, text->size);
	*map_put(&table->pdbs, hash_u64(field_number(event, "ImageBase")) ^ pid) = pdb << 32 | id;
}

// What other systems than Windows map: its build id stands where the PDB's id would.
static void take_mapping(struct table *table, const struct event *event) {
	struct cell *row = table->row;
	if (!event->mapping.size)
		return; // an address space that is new
	row[0] = cell_uint(event->pid);
	row[1] = table_process(table, event->pid);
	row[2] = cell_hex(event->mapping.start);
	row[3] = cell_uint(event->mapping.size);
	row[4] = cell_text(event->mapping.file);
	row[5] = table_time(table, event->time);
	if (event->mapping.build_id)
		row[8] = cell_text(event->mapping.build_id);
	table_row(table);
}

static void take_images(struct table *table, const struct event *event) {
	if (event->kind == EVENT_MAPPING)
		take_mapping(table, event);
	if (is_generic(table, event, "ImageID/DbgID_"))
		take_pdb(table, event);
	if (!is_generic(table, event, "Image/") || !field(event, "ImageSize"))
		return;
	const char *name = strings_get(table->tables->strings, event->generic.name);
	uint32_t pid = (uint32_t)field_number(event, "ProcessId");
	uint64_t base = field_number(event, "ImageBase");
	bool unload = strcmp(name, "Image/Unload") == 0, load = strcmp(name, "Image/Load") == 0;
	uint64_t *known = map_put(&table->images, hash_u64(base) ^ pid);
	if (*known && !load) {
		if (unload && !table->grouped)
			table->cells.items[(*known - 1) * table->column_count + 6] = table_time(table,
												event->time);
		return;
	}
	struct cell *row = table->row;
	row[0] = cell_uint(pid);
	row[1] = table_process(table, pid);
	row[2] = cell_hex(base);
	row[3] = cell_uint(field_number(event, "ImageSize"));
	row[4] = table_field(table, event, "FileName");
	if (load)
		row[5] = table_time(table, event->time);
	if (unload)
		row[6] = table_time(table, event->time);
	table_row(table);
	*known = table->row_count;
}

static void finish_images(struct table *table) {
	for (size_t i = 0; i < table->row_count && !table->grouped; i++) {
		struct cell *row = &table->cells.items[i * table->column_count];
		const uint64_t *pdb = map_get(&table->pdbs, hash_u64(row[2].number) ^ row[0].number);
		if (!pdb)
			continue;
		row[7] = cell_text((uint32_t)(*pdb >> 32));
		row[8] = cell_text((uint32_t)*pdb);
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
	row[1] = event->cpu == CPU_NONE ? (struct cell){0} : cell_uint(event->cpu);
	row[2] = cell_uint(pid);
	row[3] = table_process(table, pid);
	row[4] = cell_uint(event->tid);
	row[5] = table_text(table, describer_thread(&table->describer, event->tid));
	row[6] = cell_text(frame ? frame->module : 0);
	row[7] = cell_text(frame ? frame->symbol : 0);
	row[8] = cell_text(event->sample.name);
	row[9] = cell_real((double)event->sample.weight / 1e6);
	table_row(table);
}

// Time on a CPU: neither waits nor stacks at events.
static void take_cpu_time(struct table *table, const struct event *event) {
	if (event->kind == EVENT_SAMPLE &&
	    (event->sample.flags & SAMPLE_AT_EVENT ||
	     strcmp(strings_get(table->tables->strings, event->sample.name), EVENT_OFF_CPU) == 0))
		return;
	take_sampled(table, event);
}

// ---- scheduling ----

static uint32_t *running_on(struct table *table, uint32_t cpu) {
	while (table->running.count <= cpu)
		array_push(&table->running, 0);
	return &table->running.items[cpu];
}

// The task that leaves gets the time it ran; the one that comes begins anew.
static void follow_running(struct table *table, const struct event *event) {
	task_of(table, event->switched.next_tid);
	struct task_time *leaves = task_of(table, event->tid);
	if (leaves->came && *running_on(table, event->cpu))
		leaves->running += event->time - leaves->came;
	leaves->came = 0;
	leaves->left = event->time;
	leaves->state = event->switched.state;
	leaves->wait_reason = event->switched.wait_reason;
	leaves->woken = 0;
	*running_on(table, event->cpu) = event->switched.next_tid + 1;
	task_of(table, event->switched.next_tid)->came = event->time;
}

// A row tells of one stay on a CPU, and of what was before it.
static void switch_row(struct table *table, const struct event *event, const struct task_time *task) {
	uint32_t pid = task->pid ? task->pid : describer_pid(&table->describer, task->tid);
	bool preempted = task->state == STATE_PREEMPTED || task->state == STATE_RUNNING;
	uint64_t ready_from = task->woken ? task->woken : preempted ? task->left : 0;
	struct cell *row = table->row;
	row[0] = table_time(table, task->came);
	row[1] = cell_uint(event->cpu);
	row[2] = cell_uint(task->tid);
	row[3] = table_process(table, pid);
	row[4] = table_text(table, describer_thread(&table->describer, task->tid));
	row[5] = microseconds(event->time - task->came);
	if (ready_from && ready_from <= task->came)
		row[6] = microseconds(task->came - ready_from);
	// Without a word on who woke it, all the time off the CPU was waiting.
	if (task->left && !preempted && (!task->woken || task->woken >= task->left))
		row[7] = microseconds((task->woken ? task->woken : task->came) - task->left);
	if (task->woken)
		row[8] = cell_uint(task->waker);
	if (task->wait_reason)
		row[9] = task->wait_reason <= WAIT_REASON_COUNT
				 ? table_text(table, event_wait_reasons[task->wait_reason - 1])
				 : cell_uint(task->wait_reason - 1u);
	row[10] = cell_uint(event->switched.next_tid);
	table_row(table);
}

static void take_switches(struct table *table, const struct event *event) {
	if (event->kind == EVENT_WAKING) {
		struct task_time *task = task_of(table, event->waking.wakee_tid);
		if (!task->came) {
			task->woken = event->time;
			task->waker = event->tid;
		}
		return;
	}
	if (event->kind != EVENT_SWITCH)
		return;
	const struct task_time *leaves = task_of(table, event->tid);
	if (leaves->came && event->tid && event->time >= leaves->came)
		switch_row(table, event, leaves);
	follow_running(table, event);
}

// ---- interrupts ----

static void interrupt_row(struct table *table, uint64_t time, uint32_t cpu, const char *kind,
			  struct cell function, uint64_t duration) {
	struct cell *row = table->row;
	row[0] = table_time(table, time);
	row[1] = cell_uint(cpu);
	row[2] = table_text(table, kind);
	row[3] = function;
	row[4] = microseconds(duration);
	table_row(table);
}

static struct cell softirq_cell(struct table *table, uint32_t vector) {
	static const char *const names[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
					    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
	return vector < ARRAY_SIZE(names) ? table_text(table, names[vector]) : cell_uint(vector);
}

static void take_interrupts(struct table *table, const struct event *event) {
	bool soft = event->kind == EVENT_SOFTIRQ_ENTRY || event->kind == EVENT_SOFTIRQ_EXIT;
	if (is_generic(table, event, "PerfInfo/") && event->generic.duration && field(event, "Routine")) {
		const char *kind = strings_get(table->tables->strings, event->generic.name) +
				   strlen("PerfInfo/");
		const char *name = field(event, "Function") ? "Function" : "Routine";
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
	if (!is_generic(table, event, "DiskIO/") || !field(event, "DiskNumber"))
		return;
	struct cell *row = table->row;
	uint32_t pid = table_pid(table, event);
	row[0] = table_time(table, event->time - MIN(event->generic.duration, event->time));
	row[1] = cell_uint(pid);
	row[2] = table_process(table, pid);
	row[3] = table_text(table,
			    strings_get(table->tables->strings, event->generic.name) + strlen("DiskIO/"));
	row[4] = table_field(table, event, "DiskNumber");
	row[5] = table_field(table, event, "ByteOffset");
	row[6] = table_field(table, event, "TransferSize");
	row[7] = microseconds(event->generic.duration);
	row[8] = table_field(table, event, "FileName");
	table_row(table);
}

static void take_hard_faults(struct table *table, const struct event *event) {
	if (event->kind == EVENT_POINT)
		take_hard_fault_point(table, event);
	if (!is_generic(table, event, "Memory/HardFault"))
		return;
	struct cell *row = table->row;
	uint32_t pid = table_pid(table, event);
	row[0] = table_time(table, event->time - MIN(event->generic.duration, event->time));
	row[1] = cell_uint(pid);
	row[2] = table_process(table, pid);
	row[3] = cell_uint(event->tid);
	row[4] = table_field(table, event, "VirtualAddress");
	row[5] = table_field(table, event, "ByteCount");
	row[6] = microseconds(event->generic.duration);
	row[7] = table_field(table, event, "FileName");
	table_row(table);
}

static void take_page_faults(struct table *table, const struct event *event) {
	if (event->kind == EVENT_POINT)
		take_fault_point(table, event);
	if (!is_generic(table, event, "Memory/") || !field(event, "ProgramCounter"))
		return;
	struct cell *row = table->row;
	uint32_t pid = table_pid(table, event);
	row[0] = table_time(table, event->time);
	row[1] = cell_uint(pid);
	row[2] = table_process(table, pid);
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
	if (!is_generic(table, event, "Memory/Virtual"))
		return;
	struct cell *row = table->row;
	uint32_t pid = (uint32_t)field_number(event, "ProcessId");
	row[0] = table_time(table, event->time);
	row[1] = cell_uint(pid);
	row[2] = table_process(table, pid);
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

static struct cell fields_cell(struct table *table, const struct event *event) {
	table->text.size = 0;
	for (uint32_t i = 0; i < event->generic.field_count; i++) {
		buffer_printf(&table->text, "%s%s=", i ? " " : "", event->generic.fields[i].name);
		dump_plain(&table->text, &event->generic.fields[i]);
	}
	return cell_text(strings_add_bytes(table->tables->strings, table->text.data, table->text.size));
}

static void take_generic(struct table *table, const struct event *event) {
	if (event->kind != EVENT_GENERIC)
		return;
	struct cell *row = table->row;
	uint32_t pid = table_pid(table, event);
	row[0] = table_time(table, event->time);
	row[1] = event->cpu == CPU_NONE ? (struct cell){0} : cell_uint(event->cpu);
	row[2] = cell_uint(pid);
	row[3] = table_process(table, pid);
	row[4] = cell_uint(event->tid);
	row[5] = cell_text(event->generic.provider);
	row[6] = cell_text(event->generic.name);
	row[7] = microseconds(event->generic.duration);
	if (is_shown(table, 8))
		row[8] = fields_cell(table, event);
	table_row(table);
}

static void take_lost(struct table *table, const struct event *event) {
	if (event->kind != EVENT_LOST)
		return;
	table->row[0] = table_time(table, event->time);
	table->row[1] = event->cpu == CPU_NONE ? (struct cell){0} : cell_uint(event->cpu);
	table->row[2] = table_text(table, event_source_names[event->lost.source]);
	table->row[3] = cell_uint(event->lost.count);
	table_row(table);
}

// ---- the tables ----

#define TIME                                                                                                 \
	{ "time", CELL_SECONDS }

#define SWITCH_COLUMNS                                                                                       \
	{                                                                                                    \
		TIME, {"cpu", CELL_UINT}, {"tid", CELL_UINT}, {"process", CELL_TEXT}, {"thread", CELL_TEXT}, \
			{"run_us", CELL_REAL}, {"ready_us", CELL_REAL}, {"wait_us", CELL_REAL},              \
			{"readied_by", CELL_UINT}, {"wait_reason", CELL_TEXT}, {                             \
			"next_tid", CELL_UINT                                                                \
		}                                                                                            \
	}
#define SAMPLE_COLUMNS                                                                                       \
	{                                                                                                    \
		TIME, {"cpu", CELL_UINT}, {"pid", CELL_UINT}, {"process", CELL_TEXT}, {"tid", CELL_UINT},    \
			{"thread", CELL_TEXT}, {"module", CELL_TEXT}, {"function", CELL_TEXT},               \
			{"event", CELL_TEXT}, {                                                              \
			"weight_ms", CELL_REAL                                                               \
		}                                                                                            \
	}

const struct table_definition table_definitions[] = {
	{"processes",
	 "who ran, from when to when, and how it ended",
	 {{"pid", CELL_UINT},
	  {"parent", CELL_UINT},
	  {"name", CELL_TEXT},
	  {"start", CELL_SECONDS},
	  {"end", CELL_SECONDS},
	  {"exit", CELL_UINT},
	  {"command_line", CELL_TEXT}},
	 NULL,
	 NULL,
	 NULL,
	 follow_tasks,
	 finish_processes},
	{"threads",
	 "the threads of each process, and how long they ran",
	 {{"tid", CELL_UINT},
	  {"pid", CELL_UINT},
	  {"process", CELL_TEXT},
	  {"name", CELL_TEXT},
	  {"start", CELL_SECONDS},
	  {"end", CELL_SECONDS},
	  {"run_us", CELL_REAL}},
	 NULL,
	 NULL,
	 NULL,
	 take_threads,
	 finish_threads},
	{"images",
	 "programs and libraries, where and when they were loaded",
	 {{"pid", CELL_UINT},
	  {"process", CELL_TEXT},
	  {"base", CELL_HEX},
	  {"size", CELL_UINT},
	  {"file", CELL_TEXT},
	  {"load", CELL_SECONDS},
	  {"unload", CELL_SECONDS},
	  {"pdb", CELL_TEXT},
	  {"pdb_id", CELL_TEXT}},
	 NULL,
	 NULL,
	 NULL,
	 take_images,
	 finish_images},
	{"cpu-usage", "CPU time by samples: process, module, function", SAMPLE_COLUMNS,
	 "process,module,function", "weight_ms", "weight_ms", take_cpu_time, NULL},
	{"cpu-samples", "the samples one by one", SAMPLE_COLUMNS, NULL, NULL, NULL, take_sampled, NULL},
	{"kvm-exits",
	 "why guests were left, and how long until they went on",
	 {TIME,
	  {"pid", CELL_UINT},
	  {"process", CELL_TEXT},
	  {"tid", CELL_UINT},
	  {"vcpu", CELL_UINT},
	  {"reason", CELL_TEXT},
	  {"duration_us", CELL_REAL}},
	 "process,vcpu,reason",
	 "duration_us",
	 "duration_us",
	 take_kvm_exits,
	 NULL},
	{"event-stacks",
	 "stacks at events: the innermost function of the program",
	 {TIME,
	  {"cpu", CELL_UINT},
	  {"pid", CELL_UINT},
	  {"process", CELL_TEXT},
	  {"tid", CELL_UINT},
	  {"thread", CELL_TEXT},
	  {"event", CELL_TEXT},
	  {"module", CELL_TEXT},
	  {"function", CELL_TEXT}},
	 "event,process,module,function",
	 NULL,
	 NULL,
	 take_event_stacks,
	 NULL},
	{"cpu-usage-precise", "CPU time by context switches: process, thread", SWITCH_COLUMNS,
	 "process,tid,thread", "run_us,ready_us,wait_us", "run_us", take_switches, NULL},
	{"context-switches", "each stay on a CPU: how long, how long ready, how long waiting before",
	 SWITCH_COLUMNS, NULL, NULL, NULL, take_switches, NULL},
	{"dpc-isr",
	 "interrupts and deferred procedure calls",
	 {TIME, {"cpu", CELL_UINT}, {"kind", CELL_TEXT}, {"function", CELL_TEXT}, {"duration_us", CELL_REAL}},
	 NULL,
	 NULL,
	 NULL,
	 take_interrupts,
	 NULL},
	{"disk-io",
	 "reads, writes and flushes of disks",
	 {TIME,
	  {"pid", CELL_UINT},
	  {"process", CELL_TEXT},
	  {"operation", CELL_TEXT},
	  {"disk", CELL_UINT},
	  {"offset", CELL_UINT},
	  {"size", CELL_UINT},
	  {"duration_us", CELL_REAL},
	  {"file", CELL_TEXT}},
	 NULL,
	 NULL,
	 NULL,
	 take_disk,
	 NULL},
	{"hard-faults",
	 "page faults that read a disk",
	 {TIME,
	  {"pid", CELL_UINT},
	  {"process", CELL_TEXT},
	  {"tid", CELL_UINT},
	  {"address", CELL_HEX},
	  {"size", CELL_UINT},
	  {"duration_us", CELL_REAL},
	  {"file", CELL_TEXT}},
	 NULL,
	 NULL,
	 NULL,
	 take_hard_faults,
	 NULL},
	{"page-faults",
	 "page faults of all kinds",
	 {TIME,
	  {"pid", CELL_UINT},
	  {"process", CELL_TEXT},
	  {"tid", CELL_UINT},
	  {"kind", CELL_TEXT},
	  {"address", CELL_HEX},
	  {"instruction", CELL_HEX}},
	 NULL,
	 NULL,
	 NULL,
	 take_page_faults,
	 NULL},
	{"virtual-alloc",
	 "address space that was taken and given back",
	 {TIME,
	  {"pid", CELL_UINT},
	  {"process", CELL_TEXT},
	  {"operation", CELL_TEXT},
	  {"address", CELL_HEX},
	  {"size", CELL_UINT},
	  {"flags", CELL_TEXT}},
	 NULL,
	 NULL,
	 NULL,
	 take_virtual_alloc,
	 NULL},
	{"system-calls",
	 "system calls: how many, how long",
	 {TIME,
	  {"pid", CELL_UINT},
	  {"process", CELL_TEXT},
	  {"tid", CELL_UINT},
	  {"call", CELL_TEXT},
	  {"arg0", CELL_HEX},
	  {"arg1", CELL_HEX},
	  {"arg2", CELL_HEX},
	  {"arg3", CELL_HEX},
	  {"result", CELL_REAL},
	  {"duration_us", CELL_REAL}},
	 "process,call",
	 "duration_us",
	 "duration_us",
	 take_system_calls,
	 NULL},
	{"kernel-events",
	 "faults, system calls, timers, work, I/O and the like as the kernel tells them",
	 {TIME,
	  {"pid", CELL_UINT},
	  {"process", CELL_TEXT},
	  {"tid", CELL_UINT},
	  {"cpu", CELL_UINT},
	  {"group", CELL_TEXT},
	  {"event", CELL_TEXT},
	  {"fields", CELL_TEXT}},
	 "group,event",
	 NULL,
	 "count",
	 take_kernel_events,
	 NULL},
	{"generic-events",
	 "events of providers: who said what how often",
	 {TIME,
	  {"cpu", CELL_UINT},
	  {"pid", CELL_UINT},
	  {"process", CELL_TEXT},
	  {"tid", CELL_UINT},
	  {"provider", CELL_TEXT},
	  {"event", CELL_TEXT},
	  {"duration_us", CELL_REAL},
	  {"fields", CELL_TEXT}},
	 "provider,event",
	 NULL,
	 "count",
	 take_generic,
	 NULL},
	{"lost",
	 "what the recording lost",
	 {TIME, {"cpu", CELL_UINT}, {"source", CELL_TEXT}, {"count", CELL_UINT}},
	 NULL,
	 NULL,
	 NULL,
	 take_lost,
	 NULL},
	{"pmu",
	 "counters of a PMU, by event and core, and those of the test",
	 {{"event", CELL_TEXT},
	  {"of", CELL_TEXT},
	  {"core", CELL_UINT},
	  {"tid", CELL_UINT},
	  {"thread", CELL_TEXT},
	  TIME,
	  {"value", CELL_REAL},
	  {"unit", CELL_TEXT}},
	 "event,of,core",
	 "value",
	 "event",
	 take_pmu,
	 NULL},
	{"pmu-app",
	 "counters of WindowsPerf's program, by event and core",
	 {{"event", CELL_TEXT},
	  {"core", CELL_UINT},
	  {"index", CELL_HEX},
	  {"note", CELL_TEXT},
	  TIME,
	  {"value", CELL_UINT}},
	 "event,core",
	 "value",
	 "event",
	 take_pmu_app,
	 NULL},
	{"pmu-driver",
	 "counters of WindowsPerf's driver, by event and core: differences",
	 {{"event", CELL_HEX}, {"core", CELL_UINT}, {"counter", CELL_UINT}, TIME, {"value", CELL_UINT}},
	 "event,core",
	 "value",
	 "event",
	 take_pmu_driver,
	 NULL},
};
const size_t table_definition_count = ARRAY_SIZE(table_definitions);
