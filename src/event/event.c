#include "event/event.h"
#include "base/buffer.h"

#include <string.h>

const char *const event_source_names[SOURCE_COUNT] = {
#define SOURCE(NAME, name, keywords, tracepoints, why_not) [SOURCE_##NAME] = name,
#include "format/source_table.h"
#undef SOURCE
	[SOURCE_TRACE] = "trace",
	[SOURCE_BUFFER] = "buffer",
};

const char *const event_wait_reasons[WAIT_REASON_COUNT] = {
	"Executive",
	"FreePage",
	"PageIn",
	"PoolAllocation",
	"DelayExecution",
	"Suspended",
	"UserRequest",
	"WrExecutive",
	"WrFreePage",
	"WrPageIn",
	"WrPoolAllocation",
	"WrDelayExecution",
	"WrSuspended",
	"WrUserRequest",
	"WrEventPair",
	"WrQueue",
	"WrLpcReceive",
	"WrLpcReply",
	"WrVirtualMemory",
	"WrPageOut",
	"WrRendezvous",
	"WrKeyedEvent",
	"WrTerminated",
	"WrProcessInSwap",
	"WrCpuRateControl",
	"WrCalloutStack",
	"WrKernel",
	"WrResource",
	"WrPushLock",
	"WrMutex",
	"WrQuantumEnd",
	"WrDispatchInt",
	"WrPreempted",
	"WrYieldExecution",
	"WrFastMutex",
	"WrGuardedMutex",
	"WrRundown",
	"WrAlertByThreadId",
	"WrDeferredPreempt",
	"WrPhysicalFault",
	"WrIoRing",
	"WrMdlCache",
	"WrRcu",
};

const struct event_field *event_fields_copy(const struct event_field *fields, size_t count) {
	size_t size = count * sizeof(*fields);
	if (!count)
		return NULL;
	for (size_t i = 0; i < count; i++)
		size += strlen(fields[i].name) + 1 + (fields[i].type == FIELD_TEXT ? fields[i].size : 0);
	struct event_field *copy = memory_alloc(size);
	char *at = (char *)(copy + count);
	for (size_t i = 0; i < count; i++) {
		copy[i] = fields[i];
		copy[i].name = at;
		size_t length = strlen(fields[i].name) + 1;
		memcpy(at, fields[i].name, length);
		at += length;
		if (fields[i].type == FIELD_TEXT && fields[i].size) {
			copy[i].text = memcpy(at, fields[i].text, fields[i].size);
			at += fields[i].size;
		}
	}
	return copy;
}

int sink_push_late(struct sink *sink, uint64_t count) {
	struct event event = {.kind = EVENT_LATE, .cpu = CPU_NONE, .late = {.count = count}};
	return count ? sink_push(sink, &event) : 0;
}

// Much faster than printf(), and most fields are numbers.
static void print_hex(struct buffer *out, uint64_t value) {
	char text[18];
	size_t at = sizeof(text);
	do
		text[--at] = "0123456789abcdef"[value & 15];
	while (value >>= 4);
	text[--at] = 'x';
	text[--at] = '0';
	buffer_append(out, text + at, sizeof(text) - at);
}

void field_print(struct buffer *out, const struct event_field *field) {
	switch (field->type) {
	case FIELD_UINT:
		buffer_decimal(out, field->uint);
		break;
	case FIELD_INT:
		if (field->sint < 0)
			buffer_append(out, "-", 1);
		buffer_decimal(out, field->sint < 0 ? -(uint64_t)field->sint : (uint64_t)field->sint);
		break;
	case FIELD_HEX:
		print_hex(out, field->uint);
		break;
	case FIELD_DOUBLE:
		buffer_printf(out, "%.17g", field->real);
		break;
	case FIELD_BOOL:
		buffer_append(out, field->uint ? "true" : "false", field->uint ? 4 : 5);
		break;
	case FIELD_TEXT:
		buffer_append(out, field->text, field->size);
		break;
	}
}
