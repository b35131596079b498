// What this kernel can tell beyond switches, processes and interrupts: one line for each source.
#pragma once

#include "capture/capture.h"

// Why a source cannot be recorded here, in words; NULL: it can, as far as anybody knows before trying.
const char *source_why_not(int source);

// Whether the kernel has a tracepoint, "group/name". Where nobody can look it is taken for granted.
bool source_has_point(const char *point);

// Where a field of a tracepoint is in what the kernel hands over; 0: there is no such field.
unsigned source_field_offset(const char *point, const char *field);

// Adds what cannot be recorded to what is not wanted, and lists it as "fault (why), kvm (why)".
void sources_limit(bool without[RECORD_SOURCE_COUNT], struct buffer *missing);

// The names of those that are wanted and that the backend does not know: "irq, fault"; or nothing.
void sources_ignored(const struct capture_options *options, const struct capture_backend *backend,
		     struct buffer *names);
