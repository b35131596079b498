#include "event/event.h"

const char *const event_source_names[SOURCE_COUNT] = {
	[SOURCE_SCHED] = "sched",   [SOURCE_PROCESS] = "process", [SOURCE_IRQ] = "irq",
	[SOURCE_SAMPLE] = "sample", [SOURCE_MARKER] = "marker",   [SOURCE_TRACE] = "trace",
};
