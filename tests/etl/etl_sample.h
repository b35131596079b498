// A small trace with a bit of everything, made by etl_writer.h: two CPUs, a process with two
// threads that exists from the start and one that starts and ends, switches, wakeups, interrupts,
// faults, samples whose stacks are defined later, a disk read, counters of WindowsPerf, and events
// with each kind of description.
#pragma once

#include "etl_writer.h"

#define SAMPLE_TRACELOGGING "11111111-2222-3333-4444-555555555555"
#define SAMPLE_EVENTSOURCE  "66666666-7777-8888-9999-aaaaaaaaaaaa"
#define SAMPLE_MANIFEST     "bbbbbbbb-cccc-dddd-eeee-ffffffffffff"
#define SAMPLE_CLR          "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"
#define SAMPLE_PMU_APP      "6afccf81-3a0c-411e-a4aa-c4cf02eb840d"
#define SAMPLE_PMU_DRIVER   "9b15b4b5-6979-4ba7-9b26-00c630a4d7b3"

enum {
	APP = 40,
	APP_MAIN = 44,
	APP_WORKER = 48,
	CHILD = 60,
	CHILD_MAIN = 64,
	SAMPLE_KERNEL_BASE_LOW = 0x1000, // of the kernel's image, relative to the base of its half
};
#define SAMPLE_KERNEL_BASE 0xfffff80000001000u
#define SAMPLE_APP_BASE    0x140000000u
#define SAMPLE_KEY         0xffffa00000000010u

static void put_pointer(struct etl_writer *writer, struct buffer *out, uint64_t value) {
	if (writer->pointer == 4)
		put32(out, (uint32_t)value);
	else
		put64(out, value);
}

static void sample_process(struct etl_writer *writer, uint8_t opcode, uint32_t tid, uint32_t pid,
			   uint32_t parent, uint32_t status, const char *name, const char *command,
			   uint64_t time) {
	struct buffer p = {0};
	static const uint8_t sid[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0}; // S-1-5-18
	put_pointer(writer, &p, 0xffff800000001000u + pid);
	put32(&p, pid);
	put32(&p, parent);
	put32(&p, 1);
	put32(&p, status);
	put_pointer(writer, &p, 0x1000);
	put_pointer(writer, &p, 0x1234);
	put_pointer(writer, &p, 0);
	buffer_append(&p, sid, sizeof(sid));
	buffer_append(&p, name, strlen(name) + 1);
	put_utf16(&p, command);
	etl_system(writer, 3, opcode, 3, tid, 4, time, &p);
	buffer_free(&p);
}

static void sample_thread(struct etl_writer *writer, uint8_t opcode, uint32_t by_tid, uint32_t by_pid,
			  uint32_t pid, uint32_t tid, const char *name, uint64_t time) {
	struct buffer p = {0};
	put32(&p, pid);
	put32(&p, tid);
	for (int i = 0; i < 7; i++)
		put_pointer(writer, &p, 0x10000u * (uint32_t)i);
	put32(&p, 0);
	put32(&p, 0x00020508); // priorities
	if (name)
		put_utf16(&p, name);
	etl_system(writer, 5, opcode, 3, by_tid, by_pid, time, &p);
	buffer_free(&p);
}

static void sample_image(struct etl_writer *writer, uint32_t pid, uint64_t base, const char *file,
			 uint64_t time) {
	struct buffer p = {0};
	put_pointer(writer, &p, base);
	put_pointer(writer, &p, 0x10000);
	put32(&p, pid);
	put_zeros(&p, 12);
	put_pointer(writer, &p, base);
	put_zeros(&p, 16);
	put_utf16(&p, file);
	etl_system(writer, 0x14, 3, 2, 100, 4, time, &p);
	buffer_free(&p);
}

static void sample_image_id(struct etl_writer *writer, uint32_t pid, uint64_t base, uint64_t time) {
	struct buffer p = {0};
	put_pointer(writer, &p, base);
	put32(&p, pid);
	put_guid(&p, "01020304-0506-0708-090a-0b0c0d0e0f10");
	put32(&p, 2);
	buffer_append(&p, "app.pdb", 8);
	etl_full(writer, false, "b3e675d7-2554-4f18-830b-2762732560de", 36, 2, APP_MAIN, pid, time, &p);
	buffer_free(&p);
}

static void sample_switch(struct etl_writer *writer, uint32_t from, uint32_t to, uint8_t state,
			  uint8_t reason, uint64_t time) {
	struct buffer p = {0};
	put32(&p, to);
	put32(&p, from);
	buffer_append(&p, (uint8_t[]){8, 9, 0, 0, reason, 1, state, 2}, 8);
	put32(&p, 1);
	put32(&p, 0);
	etl_perfinfo(writer, 5, 36, 2, time, &p);
	buffer_free(&p);
}

static void sample_ready(struct etl_writer *writer, uint32_t tid, uint64_t time) {
	struct buffer p = {0};
	put32(&p, tid);
	put32(&p, 1);
	etl_perfinfo(writer, 5, 50, 2, time, &p);
	buffer_free(&p);
}

static void sample_interrupt(struct etl_writer *writer, uint8_t opcode, uint64_t begin, uint64_t end) {
	struct buffer p = {0};
	put64(&p, begin);
	put_pointer(writer, &p, SAMPLE_KERNEL_BASE + 0x234);
	if (opcode == 67)
		buffer_append(&p, (uint8_t[]){1, 0x51, 0, 0}, 4);
	etl_perfinfo(writer, 0x0f, opcode, 2, end, &p);
	buffer_free(&p);
}

static void sample_sample(struct etl_writer *writer, uint64_t address, uint32_t tid, uint16_t flags,
			  uint64_t time) {
	struct buffer p = {0};
	put_pointer(writer, &p, address);
	put32(&p, tid);
	put16(&p, 1);
	put16(&p, flags);
	etl_perfinfo(writer, 0x0f, 46, 2, time, &p);
	buffer_free(&p);
}

// Opcode 32 has addresses, 37 and 38 the key of the kernel or user part.
static void sample_stack(struct etl_writer *writer, uint8_t opcode, uint64_t event_time, uint32_t pid,
			 uint32_t tid, const uint64_t *addresses, size_t count, uint64_t time) {
	struct buffer p = {0};
	put64(&p, event_time);
	put32(&p, pid);
	put32(&p, tid);
	for (size_t i = 0; i < count; i++)
		put_pointer(writer, &p, addresses[i]);
	etl_perfinfo(writer, 0x18, opcode, 2, time, &p);
	buffer_free(&p);
}

static void sample_definition(struct etl_writer *writer, uint64_t key, const uint64_t *addresses,
			      size_t count, uint64_t time) {
	struct buffer p = {0};
	put_pointer(writer, &p, key);
	for (size_t i = 0; i < count; i++)
		put_pointer(writer, &p, addresses[i]);
	etl_perfinfo(writer, 0x18, 35, 2, time, &p);
	buffer_free(&p);
}

static void sample_fault(struct etl_writer *writer, uint8_t opcode, uint64_t time) {
	struct buffer p = {0};
	put_pointer(writer, &p, 0x7ff00000);
	put_pointer(writer, &p, SAMPLE_APP_BASE + 0x100);
	etl_perfinfo(writer, 2, opcode, 2, time, &p);
	buffer_free(&p);
}

static void sample_alloc(struct etl_writer *writer, uint8_t opcode, uint64_t time) {
	struct buffer p = {0};
	put_pointer(writer, &p, 0x20000000);
	put_pointer(writer, &p, 0x100000);
	put32(&p, APP);
	put32(&p, 0x3000);
	etl_perfinfo(writer, 2, opcode, 2, time, &p);
	buffer_free(&p);
}

static void sample_disk(struct etl_writer *writer, uint64_t took, uint64_t time) {
	struct buffer p = {0};
	put_pointer(writer, &p, 0xffffe000000000f0u);
	put_utf16(&p, "\\Device\\HarddiskVolume1\\data.bin");
	etl_perfinfo(writer, 4, 36, 2, time - 1, &p);
	put32(&p, 0);
	put32(&p, 0x60043);
	put32(&p, 65536);
	put32(&p, 0);
	put64(&p, 4096);
	put_pointer(writer, &p, 0xffffe000000000f0u);
	put_pointer(writer, &p, 0xffffe00000000abcu);
	put64(&p, took);
	put32(&p, APP_WORKER);
	etl_perfinfo(writer, 1, 10, 3, time, &p);
	buffer_free(&p);
}

static void sample_pmu(struct etl_writer *writer, uint64_t core, uint64_t value, uint64_t time) {
	struct buffer p = {0};
	put64(&p, core);
	put_utf16(&p, "ld_spec");
	put32(&p, 0x70);
	put_utf16(&p, "e");
	put64(&p, value);
	etl_event(writer, SAMPLE_PMU_APP, 1, 0, APP_MAIN, APP, time, NULL, &p);
	put64(&p, core);
	put32(&p, 0x70);
	put32(&p, 2);
	put64(&p, value * 10);
	etl_event(writer, SAMPLE_PMU_DRIVER, 1, 0, APP_MAIN, APP, time + 1, NULL, &p);
	buffer_free(&p);
}

// A time line of WindowsPerf: five events on four cores, every 100 ms for six seconds. The program warms up,
// works on two cores, and misses its caches for a while.
ETL_UNUSED static void sample_time_line(struct etl_writer *writer) {
	static const struct {
		const char *name;
		uint32_t index, note;
		uint64_t usual;
	} events[] = {{"cycle", 0xffffffff, 'f', 240000000},
		      {"inst_spec", 0x1b, 'e', 410000000},
		      {"ld_spec", 0x70, 'e', 96000000},
		      {"l1d_cache_refill", 0x03, 'e', 2100000},
		      {"br_mis_pred", 0x10, 'e', 1300000}};
	for (uint64_t i = 0; i < 60; i++) {
		etl_writer_cpu(writer, 0, 1000 + i * 1000000); // a buffer for each interval
		for (uint64_t core = 0; core < 4; core++)
			for (size_t j = 0; j < sizeof(events) / sizeof(*events); j++) {
				struct buffer p = {0};
				bool busy = core < 2, misses = i >= 28 && i < 42;
				uint64_t value = events[j].usual * (busy ? MIN(i + 3, 12ul) : 1) / 12;
				value += value * ((i * 37 + core * 11 + j * 5) % 13) / 60;
				if (busy && misses)
					value = j == 3 ? value * 5 : j == 1 || j == 2 ? value / 3 : value;
				char note[2] = {(char)events[j].note, 0};
				put64(&p, core);
				put_utf16(&p, events[j].name);
				put32(&p, events[j].index);
				put_utf16(&p, note);
				put64(&p, value);
				etl_event(writer, SAMPLE_PMU_APP, 1, 0, APP_MAIN, APP,
					  1000 + i * 1000000 + core * 100 + j, NULL, &p);
				buffer_free(&p);
			}
	}
}

// Name "Measured": text, a list of numbers, a struct with an address and a flag.
static void sample_tracelogging(struct etl_writer *writer, uint64_t time) {
	struct buffer items = {0}, meta = {0}, traits = {0}, p = {0};
	put16(&traits, 2 + 12);
	buffer_append(&traits, "Hand.Source", 12);
	put16(&meta, 0);
	buffer_append(&meta, "\0Measured", 10);
	buffer_append(&meta, "Text\0\1", 6);
	buffer_append(&meta, "Numbers\0\x48", 9);     // UINT32, preceded by their number
	buffer_append(&meta, "Peer\0\x98\2", 7);      // a struct with two members
	buffer_append(&meta, "Address\0\x88\10", 10); // UINT32 shown as IPv4
	buffer_append(&meta, "Open\0\x84\3", 7);      // UINT8 shown as boolean
	uint16_t size = (uint16_t)meta.size;
	memcpy(meta.data, &size, sizeof(size));
	etl_item(&items, 11, meta.data, meta.size, true);
	etl_item(&items, 12, traits.data, traits.size, false);
	put_utf16(&p, "h\xe9llo");
	put16(&p, 3);
	for (uint32_t i = 1; i <= 3; i++)
		put32(&p, i * 10);
	buffer_append(&p, (uint8_t[]){192, 168, 0, 7, 1}, 5);
	etl_event(writer, SAMPLE_TRACELOGGING, 5, 0, APP_MAIN, APP, time, &items, &p);
	buffer_free(&items);
	buffer_free(&meta);
	buffer_free(&traits);
	buffer_free(&p);
}

static const char sample_eventsource_xml[] =
	"<instrumentationManifest "
	"xmlns=\"http://schemas.microsoft.com/win/2004/08/events\"><instrumentation><events>"
	"<provider name=\"Hand-EventSource\" guid=\"{" SAMPLE_EVENTSOURCE "}\">"
	"<tasks><task name=\"Work\" value=\"1\"/></tasks><templates><template tid=\"WorkArgs\">"
	"<data name=\"item\" inType=\"win:UnicodeString\"/><data name=\"kind\" inType=\"win:UInt32\" "
	"map=\"Kind\"/>"
	"</template></templates><maps><valueMap name=\"Kind\"><map value=\"1\" message=\"$(string.one)\"/>"
	"<map value=\"2\" message=\"two\"/></valueMap></maps>"
	"<events><event value=\"1\" version=\"0\" task=\"Work\" template=\"WorkArgs\"/></events></provider>"
	"</events></instrumentation><localization><resources><stringTable><string id=\"one\" value=\"One\"/>"
	"</stringTable></resources></localization></instrumentationManifest>";

// The event comes before the manifest that describes it, which is in two pieces.
static void sample_eventsource(struct etl_writer *writer, uint64_t time) {
	struct buffer p = {0};
	put_utf16(&p, "first");
	put32(&p, 1);
	etl_event(writer, SAMPLE_EVENTSOURCE, 1, 0, APP_MAIN, APP, time, NULL, &p);
	size_t half = sizeof(sample_eventsource_xml) / 2;
	for (uint16_t i = 0; i < 2; i++) {
		buffer_append(&p, (uint8_t[]){1, 1, 0, 0x5b, 2, 0, (uint8_t)i, 0}, 8);
		buffer_append(&p, sample_eventsource_xml + (i ? half : 0),
			      i ? sizeof(sample_eventsource_xml) - 1 - half : half);
		etl_event(writer, SAMPLE_EVENTSOURCE, 0xfffe, 1, APP_MAIN, APP, time + 1 + i, NULL, &p);
	}
	buffer_free(&p);
}

static void sample_method(struct etl_writer *writer, uint64_t start, const char *space, const char *name,
			  uint64_t time) {
	struct buffer p = {0};
	put64(&p, 1);
	put64(&p, 2);
	put64(&p, start);
	put32(&p, 0x100);
	put64(&p, 0);
	put_utf16(&p, space);
	put_utf16(&p, name);
	put_utf16(&p, "void ()");
	put16(&p, 9);
	etl_event(writer, SAMPLE_CLR, 143, 1, APP_MAIN, APP, time, NULL, &p);
	buffer_free(&p);
}

// All kinds of records that the other parts do not have.
static void sample_kinds(struct etl_writer *writer, uint64_t time) {
	struct buffer p = {0};
	put32(&p, 1);
	etl_compact(writer, 3, 11, 2, APP_MAIN, APP, time, &p);
	put32(&p, 7);
	etl_full(writer, false, "12345678-1234-1234-1234-123456789abc", 3, 1, APP_MAIN, APP, time + 1, &p);
	put32(&p, 8);
	etl_full(writer, true, "12345678-1234-1234-1234-123456789abc", 3, 1, APP_MAIN, APP, time + 2, &p);
	put32(&p, 9);
	etl_message(writer, "a3ebb6a4-9a26-4e7a-b909-8a22a07527c3", 11, APP_MAIN, APP, time + 3, &p);
	put32(&p, 0xdeadbeef);
	etl_event(writer, SAMPLE_MANIFEST, 3, 0, APP_MAIN, APP, time + 4, NULL, &p);
	buffer_free(&p);
}

// The whole file: CPU 1 is written before CPU 0, as may happen in real files.
ETL_UNUSED static void sample_etl(struct etl_writer *writer) {
	const uint64_t user[] = {SAMPLE_APP_BASE + 0x500, SAMPLE_APP_BASE + 0x900};
	const uint64_t other[] = {SAMPLE_APP_BASE + 0x777};
	const uint64_t kernel[] = {SAMPLE_KERNEL_BASE + 0x10, SAMPLE_KERNEL_BASE + 0x20};
	etl_writer_cpu(writer, 1, 5000);
	sample_switch(writer, 0, APP_WORKER, 1, 0, 1500);
	sample_interrupt(writer, 67, 1590, 1600);
	sample_ready(writer, APP_MAIN, 1700);
	sample_switch(writer, APP_WORKER, 0, 5, 6, 1900);
	sample_disk(writer, 300, 2600);
	sample_interrupt(writer, 68, 2650, 2700);
	sample_switch(writer, 0, APP_WORKER, 1, 0, 3000);
	sample_sample(writer, SAMPLE_APP_BASE + 0x500, APP_WORKER, 0, 3100);
	sample_stack(writer, 38, 3100, APP, APP_WORKER, (const uint64_t[]){SAMPLE_KEY}, 1, 3110);
	sample_definition(writer, SAMPLE_KEY, user, 2, 3500); // what the key referred to until now
	sample_sample(writer, SAMPLE_APP_BASE + 0x777, APP_WORKER, 0, 3600);
	sample_stack(writer, 38, 3600, APP, APP_WORKER, (const uint64_t[]){SAMPLE_KEY}, 1, 3610);
	sample_switch(writer, APP_WORKER, 0, 5, 6, 3900);
	sample_definition(writer, SAMPLE_KEY, other, 1, 4500);
	etl_writer_cpu(writer, 0, 4800);
	sample_process(writer, 3, 100, APP, 4, 259, "app.exe", "app.exe --go", 1010);
	sample_thread(writer, 3, 100, 4, APP, APP_MAIN, "main loop", 1011);
	sample_thread(writer, 3, 100, 4, APP, APP_WORKER, NULL, 1012);
	sample_image(writer, 0, SAMPLE_KERNEL_BASE, "\\SystemRoot\\system32\\ntoskrnl.exe", 1013);
	sample_image(writer, APP, SAMPLE_APP_BASE, "\\Device\\HarddiskVolume1\\app.exe", 1014);
	sample_image_id(writer, APP, SAMPLE_APP_BASE, 1014);
	sample_method(writer, 0x20000, "Hand.Made", "Run", 1020);
	sample_switch(writer, APP_MAIN, 0, 5, 6, 1400);
	sample_switch(writer, 0, APP_MAIN, 1, 0, 1800);
	sample_process(writer, 1, APP_MAIN, CHILD, APP, 259, "child.exe", "child.exe", 2000);
	sample_thread(writer, 1, APP_MAIN, APP, CHILD, CHILD_MAIN, NULL, 2010);
	sample_fault(writer, 11, 2100);
	sample_fault(writer, 10, 2110);
	sample_alloc(writer, 98, 2120);
	sample_alloc(writer, 99, 2130);
	sample_switch(writer, APP_MAIN, CHILD_MAIN, 1, 32, 2200); // preempted
	sample_sample(writer, SAMPLE_KERNEL_BASE + 0x10, CHILD_MAIN, 0, 2300);
	sample_stack(writer, 32, 2300, CHILD, CHILD_MAIN, kernel, 2, 2301);
	sample_thread(writer, 2, CHILD_MAIN, CHILD, CHILD, CHILD_MAIN, NULL, 2390);
	sample_process(writer, 2, CHILD_MAIN, CHILD, APP, 3, "child.exe", "child.exe", 2395);
	sample_switch(writer, CHILD_MAIN, APP_MAIN, 4, 0, 2400);
	sample_sample(writer, 0x20010, APP_MAIN, 0, 2450);            // in a method
	sample_sample(writer, SAMPLE_KERNEL_BASE + 0x30, 0, 0, 2460); // idle
	sample_pmu(writer, 3, 1000, 2500);
	sample_pmu(writer, 3, 1500, 2510);
	sample_tracelogging(writer, 2520);
	sample_eventsource(writer, 2530);
	sample_kinds(writer, 2540);
}
