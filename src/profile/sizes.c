#include "profile/sizes.h"
#include "base/json.h"
#include "base/system.h"
#include "profile/builtin.h"

#include <inttypes.h>

// A smaller buffer loses events in every burst; more than the default on the largest machine has no
// benefit.
#define LEAST_BUFFER ((uint64_t)1 << 20)
#define MOST_BUFFER  ((uint64_t)64 << 20)
// The limits of --ring-size; the test needs memory, too.
#define LEAST_RING   ((uint64_t)64 << 10)
#define MOST_RING    ((uint64_t)4 << 30)
#define MEMORY_SHARE 4

static uint64_t within(uint64_t size, uint64_t least, uint64_t most) {
	return size < least ? least : size > most ? most : size;
}

static uint64_t buffers_of(const struct plan_collector *collector, uint64_t memory) {
	if (collector->buffers_percent)
		return memory / 100 * MIN(collector->buffers, 100u);
	return MIN((uint64_t)collector->buffer_size * collector->buffers, (uint64_t)1 << 40) << 10;
}

// The largest buffers that a collector asks for; 0 if none does.
static uint64_t largest_buffers(const struct plan *plan, uint64_t memory) {
	uint64_t largest = 0;
	for (size_t i = 0; i < plan->collectors.count; i++) {
		const struct plan_collector *collector = &plan->collectors.items[i];
		if (collector->kind == COLLECTOR_SYSTEM && collector->sized && !builtin_collector(collector))
			largest = MAX(largest, buffers_of(collector, memory));
	}
	return largest;
}

// The same for the file. It is circular only if all that have a limit are.
static uint64_t largest_file(const struct plan *plan, bool *circular) {
	uint64_t largest = 0;
	*circular = true;
	for (size_t i = 0; i < plan->collectors.count; i++) {
		const struct plan_collector *collector = &plan->collectors.items[i];
		if (collector->kind != COLLECTOR_SYSTEM || !collector->file_limit)
			continue;
		largest = MAX(largest, (uint64_t)collector->file_limit << 20);
		*circular &= collector->circular;
	}
	*circular &= largest > 0;
	return largest;
}

bool plan_is_flight(const struct plan *plan) {
	bool circular;
	largest_file(plan, &circular);
	return plan->mode == MODE_MEMORY || circular;
}

struct plan_sizes plan_sizes(const struct plan *plan, bool flight, uint64_t memory) {
	struct plan_sizes sizes = {0};
	bool circular;
	uint64_t buffers = largest_buffers(plan, memory), file = largest_file(plan, &circular);
	bool to_file = plan->mode == MODE_FILE && (!flight || circular);
	if (to_file && buffers)
		sizes.buffer_size = within(buffers, LEAST_BUFFER, MOST_BUFFER);
	// In memory mode WPR's buffers are the ring; otherwise the file is.
	uint64_t ring = to_file ? file : buffers;
	if (flight && ring)
		sizes.ring_size = within(MIN(ring, memory / MEMORY_SHARE), LEAST_RING, MOST_RING);
	if (!flight && !circular)
		sizes.max_size = file;
	return sizes;
}

// ---- output ----

// In the form that the option accepts.
static void show_size(const char *flag, uint64_t size, const char *what, struct buffer *text) {
	bool whole = size % (1 << 20) == 0;
	CLEANUP_FREE char *words = memory_format("%s %" PRIu64 "%s", flag, whole ? size >> 20 : size >> 10,
						 whole ? "M" : "K");
	if (size)
		buffer_printf(text, "  %-24s %s\n", words, what);
}

// A profile that also records page faults is meant to stay on for every test. In a virtual machine
// the timer interrupt alone costs 14 us, so a thousand of them take 1.4 % of the test's time.
unsigned plan_sample_frequency(const struct plan *plan) {
	enum { DENSE = 999, SPARSE = 249 };
	if (!plan_wants(plan, SOURCE_SAMPLE))
		return 0;
	return plan_wants(plan, SOURCE_FAULT) ? SPARSE : DENSE;
}

void plan_sizes_show(const struct plan *plan, struct buffer *text) {
	bool flight = plan_is_flight(plan);
	struct plan_sizes sizes = plan_sizes(plan, flight, system_memory());
	unsigned frequency = plan_sample_frequency(plan);
	if (!flight && !sizes.buffer_size && !sizes.max_size && !frequency)
		return;
	buffer_printf(text, "\non Linux (options take precedence)\n");
	if (frequency)
		buffer_printf(text, "  --sample=%-15u samples a second: SampledProfile%s\n", frequency,
			      plan_wants(plan, SOURCE_FAULT) ? " along with page faults" : "");
	show_size("--buffer-size", sizes.buffer_size,
		  "between kernel and tracer: BufferSize x Buffers, from 1M to 64M", text);
	show_size("--max-size", sizes.max_size, "recording stops then: MaximumFileSize", text);
	if (flight)
		buffer_printf(text, "  %-24s %s\n", "--type memory",
			      "flight recorder: overwrites the oldest events; keeps a trace only if the test "
			      "fails");
	show_size("--ring-size", sizes.ring_size,
		  plan->mode == MODE_MEMORY ? "its capacity: BufferSize x Buffers"
					    : "its capacity: MaximumFileSize",
		  text);
}

void plan_sizes_json(const struct plan *plan, struct json *json) {
	bool flight = plan_is_flight(plan);
	struct plan_sizes sizes = plan_sizes(plan, flight, system_memory());
	json_object(json, "linux");
	json_string(json, "type", flight ? "memory" : "file");
	if (plan_sample_frequency(plan))
		json_uint(json, "sample", plan_sample_frequency(plan));
	if (sizes.buffer_size)
		json_uint(json, "buffer_size", sizes.buffer_size);
	if (sizes.ring_size)
		json_uint(json, "ring_size", sizes.ring_size);
	if (sizes.max_size)
		json_uint(json, "max_size", sizes.max_size);
	json_close_object(json);
}
