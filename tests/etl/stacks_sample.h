// A trace of a process that waits for its own worker: stacks at the switch that ends the wait, at the wakeup,
// at a fault, and the .NET runtime's own stack at one of its events. Times are ticks of 100 ns.
#pragma once

#include "etl_sample.h"

static void clr_stack(struct etl_writer *writer, const uint64_t *addresses, size_t count, uint64_t time) {
	struct buffer p = {0};
	put32(&p, 0);
	put32(&p, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		put_pointer(writer, &p, addresses[i]);
	etl_event(writer, SAMPLE_CLR, 82, 0, APP_MAIN, APP, time, NULL, &p);
	buffer_free(&p);
}

static void clr_allocation(struct etl_writer *writer, uint64_t time) {
	struct buffer p = {0};
	put32(&p, 100000);
	put32(&p, 0);
	put16(&p, 9);
	etl_event(writer, SAMPLE_CLR, 10, 1, APP_MAIN, APP, time, NULL, &p);
	buffer_free(&p);
}

// What a session of the kernel records, and what one of the .NET runtime's provider does; or both in one
// file.
enum { WAITS_KERNEL = 1, WAITS_CLR = 2 };

static void waits_kernel_begin(struct etl_writer *writer) {
	const uint64_t waking[] = {SAMPLE_APP_BASE + 0x300, SAMPLE_APP_BASE + 0x900};
	etl_writer_cpu(writer, 1, 9000);
	sample_switch(writer, 0, APP_WORKER, 1, 0, 1500);
	sample_ready(writer, APP_MAIN, 4000);
	sample_stack(writer, 32, 4000, APP, APP_WORKER, waking, 2, 4001);
	sample_switch(writer, APP_WORKER, 0, 5, 15, 4500);
	etl_writer_cpu(writer, 0, 9001);
	sample_image(writer, APP, SAMPLE_APP_BASE, "\\Device\\HarddiskVolume1\\app.exe", 890);
	sample_process(writer, 1, 100, APP, 4, 259, "app.exe", "app.exe --go", 900);
	sample_thread(writer, 1, 100, 4, APP, APP_MAIN, "main loop", 901);
	sample_thread(writer, 1, 100, 4, APP, APP_WORKER, "worker", 902);
	sample_switch(writer, 0, APP_MAIN, 1, 0, 1000);
}

static void waits_kernel_middle(struct etl_writer *writer) {
	const uint64_t waiting[] = {SAMPLE_APP_BASE + 0x500, SAMPLE_APP_BASE + 0x900};
	sample_switch(writer, APP_MAIN, 0, 5, 6, 2000);
	sample_switch(writer, 0, APP_MAIN, 1, 0, 4100);
	sample_stack(writer, 32, 4100, APP, APP_MAIN, waiting, 2, 4101);
	sample_fault(writer, 10, 4200);
	sample_stack(writer, 32, 4200, APP, APP_MAIN, waiting, 2, 4201);
}

static void waits_clr(struct etl_writer *writer) {
	const uint64_t managed[] = {0x20010, SAMPLE_APP_BASE + 0x900};
	clr_allocation(writer, 4300);
	clr_stack(writer, managed, 2, 4310);
}

static void waits_kernel_end(struct etl_writer *writer) {
	sample_thread(writer, 2, APP_MAIN, APP, APP, APP_MAIN, NULL, 5990);
	sample_process(writer, 2, APP_MAIN, APP, 4, 0, "app.exe", "app.exe --go", 6000);
	sample_switch(writer, APP_MAIN, 0, 4, 0, 6001);
}

ETL_UNUSED static void sample_waits(struct etl_writer *writer, unsigned parts) {
	if (parts & WAITS_KERNEL)
		waits_kernel_begin(writer);
	if (parts & WAITS_CLR)
		sample_method(writer, 0x20000, "Hand.Made", "Run", 1010);
	if (parts & WAITS_KERNEL)
		waits_kernel_middle(writer);
	if (parts & WAITS_CLR)
		waits_clr(writer);
	if (parts & WAITS_KERNEL)
		waits_kernel_end(writer);
}
