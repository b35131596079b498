#include "event/event.h"

const char *const event_source_names[SOURCE_COUNT] = {
	[SOURCE_SCHED] = "sched",   [SOURCE_PROCESS] = "process", [SOURCE_IRQ] = "irq",
	[SOURCE_SAMPLE] = "sample", [SOURCE_MARKER] = "marker",   [SOURCE_TRACE] = "trace",
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
