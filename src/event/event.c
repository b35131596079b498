#include "event/event.h"

#include <string.h>

const char *const event_source_names[SOURCE_COUNT] = {
	[SOURCE_SCHED] = "sched",
	[SOURCE_PROCESS] = "process",
	[SOURCE_IRQ] = "irq",
	[SOURCE_SAMPLE] = "sample",
	[SOURCE_MARKER] = "marker",
	[SOURCE_FAULT] = "fault",
	[SOURCE_MEMORY] = "memory",
	[SOURCE_FILE] = "file",
	[SOURCE_SYSTEM_CALL] = "system-call",
	[SOURCE_BLOCK] = "block",
	[SOURCE_TIMER] = "timer",
	[SOURCE_WORK] = "workqueue",
	[SOURCE_IPI] = "ipi",
	[SOURCE_NETWORK] = "network",
	[SOURCE_POWER] = "power",
	[SOURCE_PRIORITY] = "priority",
	[SOURCE_MIGRATION] = "migration",
	[SOURCE_CLOCK] = "clock",
	[SOURCE_SOFTIRQ_QUEUE] = "softirq-queue",
	[SOURCE_RSS] = "rss",
	[SOURCE_SLAB] = "slab",
	[SOURCE_LOCK] = "lock",
	[SOURCE_BIO] = "bio",
	[SOURCE_KVM] = "kvm",
	[SOURCE_TRACE] = "trace",
	[SOURCE_BUFFER] = "buffer",
};

const char *const event_wait_reasons[WAIT_REASON_COUNT] = {
	"Executive",        "FreePage",          "PageIn",
	"PoolAllocation",   "DelayExecution",    "Suspended",
	"UserRequest",      "WrExecutive",       "WrFreePage",
	"WrPageIn",         "WrPoolAllocation",  "WrDelayExecution",
	"WrSuspended",      "WrUserRequest",     "WrEventPair",
	"WrQueue",          "WrLpcReceive",      "WrLpcReply",
	"WrVirtualMemory",  "WrPageOut",         "WrRendezvous",
	"WrKeyedEvent",     "WrTerminated",      "WrProcessInSwap",
	"WrCpuRateControl", "WrCalloutStack",    "WrKernel",
	"WrResource",       "WrPushLock",        "WrMutex",
	"WrQuantumEnd",     "WrDispatchInt",     "WrPreempted",
	"WrYieldExecution", "WrFastMutex",       "WrGuardedMutex",
	"WrRundown",        "WrAlertByThreadId", "WrDeferredPreempt",
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
