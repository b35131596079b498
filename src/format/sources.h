// Where an event comes from: what a profile switches on, and what losses are counted by. All about a
// source is in source_table.h. Included by BPF programs, so nothing but the enum.
#pragma once

enum event_source {
#define SOURCE(NAME, name, keywords, tracepoints, why_not) SOURCE_##NAME,
#include "format/source_table.h"
#undef SOURCE
	RECORD_SOURCE_COUNT, // the numbers before it are in recorded files

	// Losses only, from readers of other formats.
	SOURCE_TRACE = RECORD_SOURCE_COUNT, // events of any kind
	SOURCE_BUFFER,                      // whole buffers; the number of events in them is unknown
	SOURCE_COUNT
};
