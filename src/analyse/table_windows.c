// Tables of Windows' kernel events that have no counterpart here: files, network, registry, power, heaps, the
// kernel's pools, handles; and its system calls. The columns come from fields, whose names differ between
// versions of the events.
#include "analyse/table.h"

#include <string.h>

// The first of these fields that the event has.
static struct cell first_of(struct table *table, const struct event *event, const char *const *names) {
	struct cell cell = {0};
	for (; *names && cell.type == CELL_NONE; names++)
		cell = table_field(table, event, *names);
	return cell;
}
#define FIRST_OF(...) first_of(table, event, (const char *const[]){__VA_ARGS__, NULL})

// What follows the class in the name of an event, "Read" of "FileIo/Read"; NULL if it is of another class.
static const char *operation_of(const struct table *table, const struct event *event,
				const char *const *classes) {
	if (event->kind != EVENT_GENERIC)
		return NULL;
	const char *name = strings_get(table->tables->strings, event->generic.name);
	for (; *classes; classes++) {
		size_t length = strlen(*classes);
		if (strncmp(name, *classes, length) == 0 && name[length] == '/')
			return name + length + 1;
	}
	return NULL;
}

static bool is_of(const struct table *table, const struct event *event, const char *provider) {
	return event->kind == EVENT_GENERIC &&
	       strcmp(strings_get(table->tables->strings, event->generic.provider), provider) == 0;
}

// The events of Kernel-File name a file when it is opened, and then its object only.
static struct cell named_file(struct table *table, const struct event *event) {
	struct cell file = FIRST_OF("OpenPath", "FileName", "FilePath");
	static const char *const keys[] = {"FileObject", "FileKey"};
	bool provider = is_of(table, event, "Microsoft-Windows-Kernel-File");
	for (size_t i = 0; provider && i < ARRAY_SIZE(keys); i++) {
		uint64_t object = table_number(event, keys[i]);
		if (!object)
			continue;
		uint64_t *known = map_put(&table->files, object);
		if (file.type == CELL_TEXT)
			*known = file.text;
		else if (*known)
			return cell_text((uint32_t)*known);
	}
	return file;
}

void take_file_io(struct table *table, const struct event *event) {
	const char *operation = operation_of(table, event, (const char *const[]){"FileIO", "FileIo", NULL});
	if (is_of(table, event, "Microsoft-Windows-Kernel-File"))
		operation = strings_get(table->tables->strings, event->generic.name);
	if (!operation)
		return;
	table_set_task(table, event);
	table->row[5] = table_text(table, operation);
	table->row[6] = named_file(table, event);
	table->row[7] = FIRST_OF("Offset", "ByteOffset");
	table->row[8] = FIRST_OF("IoSize", "IOSize", "Length");
	table->row[9] = FIRST_OF("NtStatus", "Status");
	table_row(table);
}

static const char *const network_classes[] = {"TcpIp", "UdpIp", "KERNEL_NETWORK_TASK_TCPIP",
					      "KERNEL_NETWORK_TASK_UDPIP", NULL};

void take_network(struct table *table, const struct event *event) {
	const char *operation = operation_of(table, event, network_classes);
	if (!operation)
		return;
	table_set_task(table, event);
	struct cell pid = FIRST_OF("PID"); // the thread that records a packet is arbitrary
	if (pid.type == CELL_UINT) {
		table->row[2] = pid;
		table->row[3] = table_process(table, (uint32_t)pid.number);
	}
	table->row[4] = cell_text(event->generic.name);
	table->row[5] = FIRST_OF("size");
	table->row[6] = FIRST_OF("saddr");
	table->row[7] = FIRST_OF("sport");
	table->row[8] = FIRST_OF("daddr");
	table->row[9] = FIRST_OF("dport");
	table_row(table);
}

void take_registry(struct table *table, const struct event *event) {
	const char *operation = operation_of(table, event, (const char *const[]){"Registry", NULL});
	if (is_of(table, event, "Microsoft-Windows-Kernel-Registry"))
		operation = strings_get(table->tables->strings, event->generic.name);
	if (!operation)
		return;
	table_set_task(table, event);
	table->row[5] = table_text(table, operation);
	table->row[6] = FIRST_OF("KeyName", "RelativeName");
	table->row[7] = FIRST_OF("Status");
	table_row(table);
}

// ---- system calls ----

// The thread is known by the switches before the event; without them a call has no end here.
void take_windows_call(struct table *table, const struct event *event) {
	const char *operation = operation_of(table, event, (const char *const[]){"PerfInfo", NULL});
	if (!operation || !event->tid)
		return;
	if (strcmp(operation, "SysClEnter") == 0) {
		struct event entry = *event;
		struct cell function = FIRST_OF("Function", "SysCallAddress");
		entry.generic.name = function.type == CELL_TEXT ? function.text : 0;
		entry.generic.duration = function.type == CELL_TEXT ? 0 : function.number;
		table_begun(table, event->tid, &entry);
	}
	const struct event *entry = strcmp(operation, "SysClExit") == 0 ? table_ended(table, event->tid)
									: NULL;
	if (!entry)
		return;
	struct cell *row = table->row;
	uint32_t pid = table_pid(table, entry);
	struct cell status = FIRST_OF("SysCallNtStatus");
	row[0] = table_time(table, entry->time);
	row[1] = cell_uint(pid);
	row[2] = table_process(table, pid);
	row[3] = cell_uint(entry->tid);
	row[4] = entry->generic.name ? cell_text(entry->generic.name) : cell_hex(entry->generic.duration);
	row[9] = cell_real((double)(int32_t)status.number);
	row[10] = cell_microseconds(event->time - entry->time);
	if ((int32_t)status.number < 0) {
		CLEANUP_FREE char *code = memory_format("0x%08x", (uint32_t)status.number);
		row[11] = table_text(table, code);
	}
	table_row(table);
}

// ---- what lasts ----

// Adds how long it lasted to the row; what was not seen to begin has no time.
static const struct event *lasted(struct table *table, const struct event *event, uint64_t key,
				  size_t column) {
	const struct event *begin = table_ended(table, key);
	if (begin)
		table->row[column] = cell_microseconds(event->time - begin->time);
	return begin;
}

static bool is(const char *word, const char *const *words) {
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}
#define IS_ONE_OF(word, ...) is(word, (const char *const[]){__VA_ARGS__, NULL})

// ---- power ----

void take_power(struct table *table, const struct event *event) {
	const char *operation = operation_of(table, event, (const char *const[]){"Power", NULL});
	if (!operation)
		return;
	uint64_t key = (uint64_t)event->cpu << 8;
	table->row[0] = table_time(table, event->time);
	table->row[1] = cell_cpu(event->cpu);
	table->row[2] = table_text(table, operation);
	table->row[3] = FIRST_OF("State", "NewState", "SelectedState", "SystemState", "PowerAction");
	table->row[4] = FIRST_OF("OldState");
	if (IS_ONE_OF(operation, "IdleStateExit", "CoordinatedIdleExit"))
		lasted(table, event, key | (uint8_t)*operation, 5);
	if (IS_ONE_OF(operation, "IdleStateEnter", "CoordinatedIdleEnter"))
		table_begun(table, key | (uint8_t)*operation, event);
	table->row[6] = table_fields(table, event);
	table_row(table);
}

// ---- memory ----

static uint64_t block_key(uint32_t pid, struct cell address) {
	return hash_u64(address.number ^ (uint64_t)pid << 48);
}

// Remembers a block's size until it is freed.
static void block_begun(struct table *table, const struct event *event, uint64_t key, struct cell size) {
	struct event block = *event;
	block.generic.duration = size.number;
	table_begun(table, key, &block);
}

static void block_freed(struct table *table, const struct event *event, uint64_t key, size_t size_column) {
	const struct event *block = lasted(table, event, key, size_column + 1);
	if (block && table->row[size_column].type == CELL_NONE)
		table->row[size_column] = cell_uint(block->generic.duration);
}

void take_heap(struct table *table, const struct event *event) {
	const char *operation = operation_of(table, event, (const char *const[]){"Heap", NULL});
	if (!operation)
		return;
	uint32_t pid = table_pid(table, event);
	table_set_task(table, event);
	struct cell *row = table->row;
	row[5] = table_text(table, operation);
	row[6] = FIRST_OF("HeapHandle");
	row[7] = FIRST_OF("AllocAddress", "NewAllocAddress", "FreeAddress", "CommitAddress",
			  "DeCommitAddress");
	row[8] = FIRST_OF("AllocSize", "NewAllocSize", "CommittedSize", "DeCommittedSize");
	if (IS_ONE_OF(operation, "Free"))
		block_freed(table, event, block_key(pid, row[7]), 8);
	if (IS_ONE_OF(operation, "ReAlloc"))
		block_freed(table, event, block_key(pid, FIRST_OF("OldAllocAddress")), 8);
	if (IS_ONE_OF(operation, "Alloc", "ReAlloc"))
		block_begun(table, event, block_key(pid, row[7]), row[8]);
	table_row(table);
}

void take_pool(struct table *table, const struct event *event) {
	const char *operation = operation_of(table, event, (const char *const[]){"Pool", NULL});
	if (!operation)
		return;
	table_set_task(table, event);
	struct cell *row = table->row;
	row[5] = table_text(table, operation);
	row[6] = FIRST_OF("Tag");
	row[7] = FIRST_OF("Type");
	row[8] = FIRST_OF("Entry");
	row[9] = FIRST_OF("NumberOfBytes");
	uint64_t key = block_key(0, row[8]);
	if (IS_ONE_OF(operation, "PoolFree", "SessionPoolFree"))
		block_freed(table, event, key, 9);
	if (IS_ONE_OF(operation, "PoolAllocation", "SessionPoolAllocation"))
		block_begun(table, event, key, row[9]);
	table_row(table);
}

// ---- handles ----

void take_handles(struct table *table, const struct event *event) {
	const char *operation = operation_of(table, event, (const char *const[]){"Object", NULL});
	if (!operation || IS_ONE_OF(operation, "TypeDCStart", "TypeDCStop"))
		return;
	struct cell *row = table->row;
	table_set_task(table, event);
	struct cell owner = FIRST_OF("ProcessId", "TargetProcessId");
	uint32_t pid = owner.type == CELL_NONE ? table_pid(table, event) : (uint32_t)owner.number;
	row[2] = cell_uint(pid);
	row[3] = table_process(table, pid);
	row[5] = table_text(table, operation);
	row[6] = FIRST_OF("ObjectTypeName", "ObjectType");
	row[7] = FIRST_OF("Handle", "TargetHandle");
	row[8] = FIRST_OF("Object");
	row[9] = FIRST_OF("ObjectName");
	uint64_t key = hash_u64((uint64_t)pid << 32 | (uint32_t)row[7].number);
	if (IS_ONE_OF(operation, "CloseHandle"))
		lasted(table, event, key, 10);
	if (IS_ONE_OF(operation, "CreateHandle", "DuplicateHandle"))
		table_begun(table, key, event);
	table_row(table);
}
