// Tables of the events in event/points.h: system calls and their durations, disk requests, page faults,
// address space; and all such events one by one.
#include "analyse/table.h"
#include "event/kvm_reasons.h"
#include "event/number_names.h"
#include "event/points.h"
#include "write/dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- what began and has not ended ----

void table_begun(struct table *table, uint64_t key, const struct event *event) {
	uint64_t *index = map_put(&table->open_index, key);
	if (!*index) {
		array_push(&table->open, (struct event){0});
		*index = table->open.count;
	}
	table->open.items[*index - 1] = *event;
}

const struct event *table_ended(struct table *table, uint64_t key) {
	uint64_t *index = map_get(&table->open_index, key);
	struct event *event = index ? &table->open.items[*index - 1] : NULL;
	if (!event || !event->time)
		return NULL;
	table->ended = *event;
	event->time = 0;
	return &table->ended;
}

// ---- system calls ----

static struct cell call_cell(struct table *table, uint16_t number) {
	const char *name = describer_call(&table->describer, number);
	return name ? table_text(table, name) : cell_uint(number);
}

void take_system_calls(struct table *table, const struct event *event) {
	table_follow_files(table, event);
	if (event->kind == EVENT_GENERIC)
		take_windows_call(table, event);
	if (event->kind != EVENT_POINT)
		return;
	if (event->point.number == POINT_SYS_ENTER)
		table_begun(table, event->tid, event);
	if (event->point.number != POINT_SYS_EXIT)
		return;
	const struct event *entry = table_ended(table, event->tid);
	if (!entry || entry->point.small != event->point.small)
		return;
	struct cell *row = table->row;
	table_set_process(table, entry->time, table_pid(table, entry));
	row[3] = cell_uint(event->tid);
	row[4] = call_cell(table, event->point.small);
	for (size_t i = 0; i < POINT_VALUES; i++)
		row[5 + i] = cell_hex(entry->point.values[i]);
	row[9] = cell_real((double)(int64_t)event->point.values[0]);
	row[10] = cell_real((double)(event->time - entry->time) / 1000);
	const char *error = error_name((int64_t)event->point.values[0]);
	if (error)
		row[11] = table_text(table, error);
	uint32_t file = table_file(table, entry, (int64_t)event->point.values[0]);
	if (file)
		row[12] = cell_text(file);
	table_row(table);
}

// ---- disks ----

static const char *operation_of(const struct event *event) {
	char letter = *(const char *)&event->point.values[3];
	return letter == 'R' ? "Read" : letter == 'W' ? "Write" : letter == 'F' ? "Flush" : "Other";
}

// "254:0 vda, 7:1 loop1": the name of the disk with this number.
static struct cell disk_name(struct table *table, uint64_t number) {
	char key[48];
	size_t size = (size_t)snprintf(key, sizeof(key), "%" PRIu64 ":%" PRIu64 " ", number >> 20,
				       number & 0xfffff);
	const char *at = strings_get(table->tables->strings, table->disks);
	while (*at && strncmp(at, key, size) != 0) {
		at += strcspn(at, ",");
		at += strspn(at, ", ");
	}
	return *at ? cell_text(strings_add_bytes(table->tables->strings, at + size, strcspn(at + size, ",")))
		   : (struct cell){0};
}

void take_block(struct table *table, const struct event *event) {
	uint64_t key = hash_u64(event->point.values[0] << 48 ^ event->point.values[1]);
	if (event->point.number == POINT_BLOCK_ISSUE)
		table_begun(table, key, event);
	if (event->point.number != POINT_BLOCK_COMPLETE)
		return;
	const struct event *issue = table_ended(table, key);
	if (!issue)
		return;
	struct cell *row = table->row;
	table_set_process(table, issue->time, table_pid(table, issue));
	row[3] = table_text(table, operation_of(issue));
	row[4] = cell_uint(issue->point.values[0]);
	row[5] = cell_uint(issue->point.values[1] * 512);
	row[6] = cell_uint(issue->point.values[2]);
	row[7] = cell_real((double)(event->time - issue->time) / 1000);
	row[9] = disk_name(table, issue->point.values[0]);
	table_row(table);
}

// ---- memory ----

void take_fault_point(struct table *table, const struct event *event) {
	bool major = event->point.number == POINT_FAULT_MAJOR;
	if (!major && event->point.number != POINT_FAULT_MINOR)
		return;
	struct cell *row = table->row;
	table_set_process(table, event->time, table_pid(table, event));
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
	table_set_process(table, event->time, table_pid(table, event));
	row[3] = cell_uint(event->tid);
	row[4] = cell_hex(event->point.values[0]);
	table_row(table);
}

// The address that mmap() or brk() returned is in the end event.
void take_memory_point(struct table *table, const struct event *event) {
	if (event->point.number == POINT_SYS_ENTER)
		table_begun(table, event->tid, event);
	if (event->point.number != POINT_SYS_EXIT)
		return;
	const struct event *entry = table_ended(table, event->tid);
	const char *name = describer_call(&table->describer, event->point.small);
	if (!entry || !name || entry->point.small != event->point.small)
		return;
	bool maps = strcmp(name, "mmap") == 0 || strcmp(name, "mremap") == 0,
	     grows = strcmp(name, "brk") == 0;
	if (!maps && !grows && strcmp(name, "munmap") != 0 && strcmp(name, "mprotect") != 0)
		return;
	struct cell *row = table->row;
	table_set_process(table, entry->time, table_pid(table, entry));
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
	table_set_process(table, event->time, table_pid(table, event));
	row[3] = cell_uint(event->tid);
	row[4] = cell_cpu(event->cpu);
	row[5] = table_text(table, described.provider);
	row[6] = table_text(table, described.name);
	row[7] = cell_text(strings_add_bytes(table->tables->strings, table->text.data, table->text.size));
	table_row(table);
}

// ---- guests ----

// From a VM exit until the vCPU resumes.
void take_kvm_exits(struct table *table, const struct event *event) {
	if (event->kind != EVENT_POINT)
		return;
	if (event->point.number == POINT_KVM_EXIT)
		table_begun(table, event->tid, event);
	const struct event *exit = event->point.number == POINT_KVM_ENTRY ? table_ended(table, event->tid)
									  : NULL;
	if (!exit)
		return;
	uint64_t reason = exit->point.values[0];
	const char *word = kvm_exit_reason((uint32_t)(reason >> 32), (uint32_t)reason);
	struct cell *row = table->row;
	table_set_process(table, exit->time, table_pid(table, exit));
	row[3] = cell_uint(exit->tid);
	row[4] = cell_uint(exit->point.small);
	CLEANUP_FREE char *number = word ? NULL : memory_format("%u", (uint32_t)reason);
	row[5] = table_text(table, word ? word : number);
	row[6] = cell_real((double)(event->time - exit->time) / 1000);
	table_row(table);
}

// ---- stacks at events ----

// The program's frame: the kernel's frames are the same for every event.
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
	struct cell *row = table->row;
	table_set_task(table, event);
	row[5] = table_text(table, describer_thread(&table->describer, event->tid));
	row[6] = cell_text(event->sample.name);
	row[7] = cell_text(frame ? frame->module : 0);
	row[8] = cell_text(frame ? frame->symbol : 0);
	table_row(table);
}
