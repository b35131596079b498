// The tables of what event/points.h tells: system calls with how long they took, requests of disks,
// page faults, address space; and all such events as they are.
#include "event/kvm_reasons.h"
#include "event/points.h"
#include "write/dump.h"
#include "write/table.h"

#include <string.h>

// ---- what began and has not ended ----

static void begun(struct table *table, uint64_t key, const struct event *event) {
	uint64_t *index = map_put(&table->open_index, key);
	if (!*index) {
		array_push(&table->open, (struct event){0});
		*index = table->open.count;
	}
	table->open.items[*index - 1] = *event;
}

// Its beginning, once; NULL: nobody has seen it.
static const struct event *ended(struct table *table, uint64_t key) {
	uint64_t *index = map_get(&table->open_index, key);
	struct event *event = index ? &table->open.items[*index - 1] : NULL;
	if (!event || !event->time)
		return NULL;
	table->ended = *event;
	event->time = 0;
	return &table->ended;
}

static void who_cells(struct table *table, const struct event *event, struct cell *row) {
	uint32_t pid = table_pid(table, event);
	row[0] = table_time(table, event->time);
	row[1] = cell_uint(pid);
	row[2] = table_process(table, pid);
}

// ---- system calls ----

static struct cell call_cell(struct table *table, uint16_t number) {
	const char *name = describer_call(&table->describer, number);
	return name ? table_text(table, name) : cell_uint(number);
}

void take_system_calls(struct table *table, const struct event *event) {
	if (event->kind != EVENT_POINT)
		return;
	if (event->point.number == POINT_SYS_ENTER)
		begun(table, event->tid, event);
	if (event->point.number != POINT_SYS_EXIT)
		return;
	const struct event *entry = ended(table, event->tid);
	if (!entry || entry->point.small != event->point.small)
		return;
	struct cell *row = table->row;
	who_cells(table, entry, row);
	row[3] = cell_uint(event->tid);
	row[4] = call_cell(table, event->point.small);
	for (size_t i = 0; i < POINT_VALUES; i++)
		row[5 + i] = cell_hex(entry->point.values[i]);
	row[9] = cell_real((double)(int64_t)event->point.values[0]);
	row[10] = cell_real((double)(event->time - entry->time) / 1000);
	table_row(table);
}

// ---- disks ----

static const char *operation_of(const struct event *event) {
	char letter = *(const char *)&event->point.values[3];
	return letter == 'R' ? "Read" : letter == 'W' ? "Write" : letter == 'F' ? "Flush" : "Other";
}

void take_block(struct table *table, const struct event *event) {
	uint64_t key = hash_u64(event->point.values[0] << 48 ^ event->point.values[1]);
	if (event->point.number == POINT_BLOCK_ISSUE)
		begun(table, key, event);
	if (event->point.number != POINT_BLOCK_COMPLETE)
		return;
	const struct event *issue = ended(table, key);
	if (!issue)
		return;
	struct cell *row = table->row;
	who_cells(table, issue, row);
	row[3] = table_text(table, operation_of(issue));
	row[4] = cell_uint(issue->point.values[0]);
	row[5] = cell_uint(issue->point.values[1] * 512);
	row[6] = cell_uint(issue->point.values[2]);
	row[7] = cell_real((double)(event->time - issue->time) / 1000);
	table_row(table);
}

// ---- memory ----

void take_fault_point(struct table *table, const struct event *event) {
	bool major = event->point.number == POINT_FAULT_MAJOR;
	if (!major && event->point.number != POINT_FAULT_MINOR)
		return;
	struct cell *row = table->row;
	who_cells(table, event, row);
	row[3] = cell_uint(event->tid);
	row[4] = table_text(table, major ? "major" : "minor");
	row[5] = cell_hex(event->point.values[0]);
	row[6] = cell_hex(event->point.values[1]);
	table_row(table);
}

void take_hard_fault_point(struct table *table, const struct event *event) {
	if (event->point.number != POINT_FAULT_MAJOR)
		return;
	struct cell *row = table->row;
	who_cells(table, event, row);
	row[3] = cell_uint(event->tid);
	row[4] = cell_hex(event->point.values[0]);
	table_row(table);
}

// Where an mmap() or brk() has got it is told by its end.
void take_memory_point(struct table *table, const struct event *event) {
	if (event->point.number == POINT_SYS_ENTER)
		begun(table, event->tid, event);
	if (event->point.number != POINT_SYS_EXIT)
		return;
	const struct event *entry = ended(table, event->tid);
	const char *name = describer_call(&table->describer, event->point.small);
	if (!entry || !name || entry->point.small != event->point.small)
		return;
	bool maps = strcmp(name, "mmap") == 0 || strcmp(name, "mremap") == 0,
	     grows = strcmp(name, "brk") == 0;
	if (!maps && !grows && strcmp(name, "munmap") != 0 && strcmp(name, "mprotect") != 0)
		return;
	struct cell *row = table->row;
	who_cells(table, entry, row);
	row[3] = table_text(table, name);
	row[4] = cell_hex(maps || grows ? event->point.values[0] : entry->point.values[0]);
	if (!grows)
		row[5] = cell_uint(entry->point.values[1]);
	table_row(table);
}

// ---- all ----

void take_kernel_events(struct table *table, const struct event *event) {
	struct described described;
	if (event->kind != EVENT_POINT || !describe(&table->describer, event, &described))
		return;
	table->text.size = 0;
	for (uint32_t i = 0; i < described.count; i++) {
		buffer_printf(&table->text, "%s%s=", i ? " " : "", described.fields[i].name);
		dump_plain(&table->text, &described.fields[i]);
	}
	struct cell *row = table->row;
	who_cells(table, event, row);
	row[3] = cell_uint(event->tid);
	row[4] = cell_uint(event->cpu);
	row[5] = table_text(table, described.provider);
	row[6] = table_text(table, described.name);
	row[7] = cell_text(strings_add_bytes(table->tables->strings, table->text.data, table->text.size));
	table_row(table);
}

// ---- guests ----

// From when a guest was left until its vCPU goes on.
void take_kvm_exits(struct table *table, const struct event *event) {
	if (event->kind != EVENT_POINT)
		return;
	if (event->point.number == POINT_KVM_EXIT)
		begun(table, event->tid, event);
	const struct event *exit = event->point.number == POINT_KVM_ENTRY ? ended(table, event->tid) : NULL;
	if (!exit)
		return;
	uint64_t reason = exit->point.values[0];
	const char *word = kvm_exit_reason((uint32_t)(reason >> 32), (uint32_t)reason);
	struct cell *row = table->row;
	who_cells(table, exit, row);
	row[3] = cell_uint(exit->tid);
	row[4] = cell_uint(exit->point.small);
	CLEANUP_FREE char *number = word ? NULL : memory_format("%u", (uint32_t)reason);
	row[5] = table_text(table, word ? word : number);
	row[6] = cell_real((double)(event->time - exit->time) / 1000);
	table_row(table);
}

// ---- stacks at events ----

// Where the program was: that the kernel was at the event is no news.
static const struct frame *own_function(const struct stacks *stacks, uint32_t stack) {
	const struct stack *at = stacks_get(stacks, stack);
	while (at && stacks_frame(stacks, at->frame)->kind == FRAME_KERNEL && at->caller)
		at = stacks_get(stacks, at->caller);
	return at ? stacks_frame(stacks, at->frame) : NULL;
}

void take_event_stacks(struct table *table, const struct event *event) {
	if (event->kind != EVENT_SAMPLE || !(event->sample.flags & SAMPLE_AT_EVENT))
		return;
	const struct frame *frame = own_function(table->tables->stacks, event->sample.stack);
	uint32_t pid = table_pid(table, event);
	struct cell *row = table->row;
	row[0] = table_time(table, event->time);
	row[1] = cell_uint(event->cpu);
	row[2] = cell_uint(pid);
	row[3] = table_process(table, pid);
	row[4] = cell_uint(event->tid);
	row[5] = table_text(table, describer_thread(&table->describer, event->tid));
	row[6] = cell_text(event->sample.name);
	row[7] = cell_text(frame ? frame->module : 0);
	row[8] = cell_text(frame ? frame->symbol : 0);
	table_row(table);
}
