// A trace for the tables of Windows' kernel that no public sample has events for: system calls, power, heaps,
// pools, handles. Times are ticks of 100 ns.
#pragma once

#include "etl_sample.h"

enum { GROUP_POOL = 0x0e, GROUP_PERFINFO = 0x0f, GROUP_OBJECT = 0x11, GROUP_POWER = 0x12, GROUP_HEAP = 0x10 };

static void sample_call(struct etl_writer *writer, uint64_t address, uint32_t status, uint64_t begin,
			uint64_t end) {
	struct buffer p = {0};
	put_pointer(writer, &p, address);
	etl_perfinfo(writer, GROUP_PERFINFO, 51, 2, begin, &p);
	put32(&p, status);
	etl_perfinfo(writer, GROUP_PERFINFO, 52, 2, end, &p);
	buffer_free(&p);
}

static void sample_idle(struct etl_writer *writer, uint32_t state, uint64_t begin, uint64_t end) {
	struct buffer p = {0};
	put32(&p, state);
	put32(&p, 0);
	put64(&p, 5000);
	etl_perfinfo(writer, GROUP_POWER, 57, 2, begin, &p);
	put32(&p, state);
	put32(&p, 0);
	etl_perfinfo(writer, GROUP_POWER, 58, 2, end, &p);
	buffer_free(&p);
}

static void sample_heap(struct etl_writer *writer, uint8_t opcode, const uint64_t *numbers, size_t count,
			uint64_t time) {
	struct buffer p = {0};
	put_pointer(writer, &p, 0x500000); // the heap
	for (size_t i = 0; i < count; i++)
		put_pointer(writer, &p, numbers[i]);
	put32(&p, 2); // where it came from
	etl_system(writer, GROUP_HEAP, opcode, 2, APP_MAIN, APP, time, &p);
	buffer_free(&p);
}

static void sample_pool(struct etl_writer *writer, uint8_t opcode, uint64_t size, uint64_t time) {
	struct buffer p = {0};
	put32(&p, 1);
	buffer_append(&p, "Mine", 4);
	put_pointer(writer, &p, size);
	put_pointer(writer, &p, 0xffffb00000001000u);
	etl_system(writer, GROUP_POOL, opcode, 2, APP_MAIN, APP, time, &p);
	buffer_free(&p);
}

static void sample_handle(struct etl_writer *writer, uint8_t opcode, const char *name, uint64_t time) {
	struct buffer p = {0};
	put_pointer(writer, &p, 0xffffb00000002000u);
	put32(&p, 0x84);
	put16(&p, 37);
	put_utf16(&p, name);
	etl_system(writer, GROUP_OBJECT, opcode, 2, APP_MAIN, APP, time, &p);
	buffer_free(&p);
}

static void sample_object_type(struct etl_writer *writer, uint16_t number, const char *name, uint64_t time) {
	struct buffer p = {0};
	put16(&p, number);
	put16(&p, 0);
	put_utf16(&p, name);
	etl_system(writer, GROUP_OBJECT, 37, 2, 100, 4, time, &p);
	buffer_free(&p);
}

ETL_UNUSED static void sample_tables(struct etl_writer *writer) {
	const uint64_t address = SAMPLE_KERNEL_BASE + 0x400;
	etl_writer_cpu(writer, 0, 1000);
	sample_image(writer, 0, SAMPLE_KERNEL_BASE, "\\SystemRoot\\system32\\ntoskrnl.exe", 1001);
	sample_process(writer, 3, 100, APP, 4, 259, "app.exe", "app.exe --go", 1002);
	sample_thread(writer, 3, 100, 4, APP, APP_MAIN, "main loop", 1003);
	sample_call(writer, address, 0, 1100, 1110); // in an unknown thread
	sample_switch(writer, 0, APP_MAIN, 1, 0, 2000);
	sample_call(writer, address, 0, 2100, 2150);
	sample_call(writer, address, 0xc0000034, 2200, 2210);
	sample_call(writer, 0x70000000, 0, 2220, 2225); // in no image
	sample_idle(writer, 2, 3000, 3500);
	sample_heap(writer, 33, (const uint64_t[]){100, 0x501000}, 2, 4000);
	sample_heap(writer, 34, (const uint64_t[]){0x502000, 0x501000, 300, 100}, 4, 4100);
	sample_heap(writer, 36, (const uint64_t[]){0x502000}, 1, 4300);
	sample_heap(writer, 36, (const uint64_t[]){0x509000}, 1, 4400); // from before the trace
	sample_pool(writer, 32, 64, 5000);
	sample_pool(writer, 34, 64, 5700);
	sample_handle(writer, 32, "\\BaseNamedObjects\\Lock", 6000);
	sample_handle(writer, 33, "", 6900);
	sample_object_type(writer, 37, "Mutant", 7000);
}

// ---- activities ----

#define ACTIVITY_OUTER "00000001-0000-0000-0000-00000000000a"
#define ACTIVITY_INNER "00000002-0000-0000-0000-00000000000a"
#define ACTIVITY_STEP  "00000003-0000-0000-0000-00000000000a"
#define ACTIVITY_OPEN  "00000004-0000-0000-0000-00000000000a"

// An event of TraceLogging without fields.
static void sample_activity(struct etl_writer *writer, const char *name, uint8_t opcode, const char *activity,
			    const char *related, uint32_t tid, uint64_t time) {
	struct buffer items = {0}, meta = {0}, parent = {0}, p = {0};
	put16(&meta, (uint16_t)(3 + strlen(name) + 1));
	buffer_append(&meta, "", 1);
	buffer_append(&meta, name, strlen(name) + 1);
	if (related) {
		put_guid(&parent, related);
		etl_item(&items, 1, parent.data, parent.size, true);
	}
	etl_item(&items, 11, meta.data, meta.size, false);
	writer->opcode = opcode;
	writer->activity = activity;
	etl_event(writer, SAMPLE_TRACELOGGING, 0, 0, tid, APP, time, &items, &p);
	writer->opcode = 0;
	writer->activity = NULL;
	buffer_free(&items);
	buffer_free(&meta);
	buffer_free(&parent);
	buffer_free(&p);
}

ETL_UNUSED static void sample_activities(struct etl_writer *writer) {
	etl_writer_cpu(writer, 0, 1000);
	sample_process(writer, 3, 100, APP, 4, 259, "app.exe", "app.exe --go", 1002);
	sample_thread(writer, 3, 100, 4, APP, APP_MAIN, "main loop", 1003);
	sample_thread(writer, 3, 100, 4, APP, APP_WORKER, "worker", 1004);
	sample_activity(writer, "Outer", 1, ACTIVITY_OUTER, NULL, APP_MAIN, 2000);
	sample_activity(writer, "InnerStart", 1, ACTIVITY_INNER, ACTIVITY_OUTER, APP_MAIN, 3000);
	sample_activity(writer, "Step", 0, ACTIVITY_STEP, ACTIVITY_INNER, APP_WORKER, 4000);
	sample_activity(writer, "InnerStop", 2, ACTIVITY_INNER, NULL, APP_WORKER, 5000);
	sample_activity(writer, "Open", 1, ACTIVITY_OPEN, "00000009-0000-0000-0000-000000000000", APP_MAIN,
			6000);
	sample_activity(writer, "Outer", 2, ACTIVITY_OUTER, NULL, APP_MAIN, 7000);
	sample_activity(writer, "Outer", 2, ACTIVITY_OUTER, NULL, APP_MAIN, 7500); // was not begun
	sample_activity(writer, "Step", 0, NULL, ACTIVITY_OUTER, APP_MAIN, 8000);  // which is over
}
