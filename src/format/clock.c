#include "format/clock.h"
#include "format/perfetto_fields.h"

#include <inttypes.h>
#include <stdio.h>

void clock_offset_take(struct clock_offset *offset, uint64_t sent, uint64_t in, uint64_t out,
		       uint64_t arrived) {
	// The guest is not trusted: impossible values are ignored.
	if (arrived < sent || out < in || out - in > arrived - sent || in > INT64_MAX || out > INT64_MAX)
		return;
	uint64_t bound = (arrived - sent - (out - in) + 1) / 2;
	if (offset->guest_ns && bound >= offset->bound_ns)
		return;
	offset->guest_ns = in + (out - in) / 2;
	offset->offset_ns = (int64_t)(sent + (arrived - sent) / 2) - (int64_t)offset->guest_ns;
	offset->bound_ns = bound;
}

uint64_t guest_clock_to_host(const struct guest_clock *clock, uint64_t guest_ns) {
	const struct clock_offset *first = &clock->first, *last = &clock->last;
	int64_t offset = guest_ns >= last->guest_ns && last->guest_ns ? last->offset_ns : first->offset_ns;
	if (first->guest_ns && guest_ns > first->guest_ns && guest_ns < last->guest_ns) {
		double part = (double)(guest_ns - first->guest_ns) /
			      (double)(last->guest_ns - first->guest_ns);
		offset = first->offset_ns + (int64_t)(part * (double)(last->offset_ns - first->offset_ns));
	}
	return guest_ns + (uint64_t)offset;
}

uint64_t guest_clock_bound(const struct guest_clock *clock) {
	return MAX(clock->first.bound_ns, clock->last.bound_ns);
}

void guest_clock_format(const struct guest_clock *clock, struct buffer *text) {
	const struct clock_offset *both[] = {&clock->first, &clock->last};
	for (int i = 0; i < 2; i++)
		if (both[i]->guest_ns)
			buffer_printf(text, "%s%" PRIu64 " %" PRId64 " %" PRIu64, text->size ? "," : "",
				      both[i]->guest_ns, both[i]->offset_ns, both[i]->bound_ns);
}

static bool parse_offset(const char **text, struct clock_offset *offset) {
	int used = 0;
	if (sscanf(*text, "%" SCNu64 " %" SCNd64 " %" SCNu64 "%n", &offset->guest_ns, &offset->offset_ns,
		   &offset->bound_ns, &used) != 3)
		return false;
	*text += used;
	return offset->guest_ns;
}

bool guest_clock_parse(const char *text, struct guest_clock *clock) {
	*clock = (struct guest_clock){0};
	if (!parse_offset(&text, &clock->first))
		return false;
	if (*text == ',') {
		text++;
		return parse_offset(&text, &clock->last) && !*text;
	}
	return !*text;
}

void clock_facts_packet(struct buffer *packet, const char *const *pairs, size_t count) {
	size_t mark = proto_begin(packet, TRACE_PACKET);
	proto_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE_KERNEL);
	size_t attributes = proto_begin(packet, PACKET_TRACE_ATTRIBUTES);
	for (size_t i = 0; i < count; i++) {
		size_t attribute = proto_begin(packet, ATTRIBUTES_ATTRIBUTE);
		proto_string(packet, ATTRIBUTE_KEY, pairs[2 * i]);
		proto_string(packet, ATTRIBUTE_STRING, pairs[2 * i + 1]);
		proto_end(packet, attribute);
	}
	proto_end(packet, attributes);
	proto_end(packet, mark);
}
