// Puts a packet of a guest's trace into its host's, and reads the output of the guest's console.
#include "fuzz.h"

#include "flow/merge.h"
#include "format/perfetto_fields.h"
#include "vm/panic.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct merge_machine machine = {.id = 1};
	struct buffer out = {0}, words = {0}, stack = {0};
	uint64_t time = 0;
	guest_clock_parse("1000 5000 7,2000 5100 9", &machine.clock);
	merge_packet(&machine, cursor_of(bytes, size), &out, &time);
	panic_find((const char *)bytes, size, &words, &stack);
	buffer_free(&out);
	buffer_free(&words);
	buffer_free(&stack);
	map_free(&machine.default_clocks);
	return 0;
}

void fuzz_seeds(void) {
	static const char console[] = "[    2.1] Kernel panic - not syncing: why\r\n[    2.1] Call Trace:\r\n"
				      "[    2.1]  <TASK>\r\n[    2.1]  panic+0x118/0x2f4\r\n";
	struct buffer seed = {0};
	proto_uint(&seed, PACKET_TIMESTAMP, 1500);
	proto_uint(&seed, PACKET_SEQUENCE_ID, 2);
	size_t bundle = proto_begin(&seed, PACKET_FTRACE_EVENTS);
	proto_uint(&seed, BUNDLE_CPU, 1);
	size_t sched = proto_begin(&seed, BUNDLE_COMPACT_SCHED);
	proto_bytes(&seed, COMPACT_SWITCH_TIMESTAMP, "\001\002\003", 3);
	proto_end(&seed, sched);
	proto_end(&seed, bundle);
	size_t defaults = proto_begin(&seed, PACKET_DEFAULTS);
	proto_uint(&seed, PACKET_CLOCK, CLOCK_ID_MONOTONIC);
	proto_end(&seed, defaults);
	fuzz_seed("packet", &seed);
	seed = (struct buffer){0};
	buffer_append(&seed, console, sizeof(console));
	fuzz_seed("console", &seed);
}
