// What this kernel can record beyond switches, processes and interrupts, per source.
#pragma once

#include "capture/capture.h"

// Why a source cannot be recorded here, as text; NULL if nothing is known to prevent it.
const char *source_why_not(int source);

// Does the kernel have a tracepoint "group/name"? Assumed if tracefs is unreadable.
bool source_has_point(const char *point);

// Offset of a field in a tracepoint's data; 0 if there is no such field.
unsigned source_field_offset(const char *point, const char *field);

// Adds the sources that cannot be recorded to those not wanted, and lists them as "fault (why), kvm
// (why)".
void sources_limit(bool without[RECORD_SOURCE_COUNT], struct buffer *missing);

// Names the sources that are wanted but that the backend does not support: "irq, fault"; or
// nothing.
void sources_ignored(const struct capture_options *options, const struct capture_backend *backend,
		     struct buffer *names);
