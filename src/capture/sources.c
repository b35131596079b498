#include "capture/sources.h"
#include "event/event.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *tracepoints; // separated by blanks; one of them is enough
	const char *why_not;
} needs[RECORD_SOURCE_COUNT] = {
#define SOURCE(NAME, name, keywords, tracepoints, why_not) [SOURCE_##NAME] = {tracepoints, why_not},
#include "format/source_table.h"
#undef SOURCE
};

// NULL if it is not mounted or not readable.
static const char *events_folder(void) {
	static const char *const folders[] = {"/sys/kernel/tracing/events",
					      "/sys/kernel/debug/tracing/events"};
	// For tests: simulates a kernel with fewer events. BPF programs read where a format says, so if we
	// have more rights than our caller, it is the kernel's.
	const char *given = secure_getenv("TRACELET_TRACEFS");
	if (given)
		return given;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (access(folders[i], R_OK | X_OK) == 0)
			return folders[i];
	return NULL;
}

bool source_has_point(const char *point) {
	const char *folder = events_folder();
	if (!folder)
		return true;
	CLEANUP_FREE char *path = memory_format("%s/%s", folder, point);
	return access(path, F_OK) == 0;
}

// A line is "field:unsigned int exit_reason;	offset:8;	size:4;	signed:0;".
unsigned source_field_offset(const char *point, const char *field) {
	const char *folder = events_folder();
	CLEANUP_FREE char *path = memory_format("%s/%s/format", folder ? folder : "", point);
	FILE *format = fopen(path, "re");
	char line[512];
	unsigned found = 0;
	while (format && !found && fgets(line, sizeof(line), format)) {
		char *end = strchr(line, ';'), *name = end;
		unsigned offset;
		while (name && name > line && name[-1] != ' ')
			name--;
		if (name && strncmp(name, field, strlen(field)) == 0 && name + strlen(field) == end &&
		    sscanf(end, "; offset:%u", &offset) == 1)
			found = offset;
	}
	if (format)
		fclose(format);
	return found;
}

static bool has_any(const char *points) {
	while (*points) {
		size_t length = strcspn(points, " ");
		CLEANUP_FREE char *point = memory_format("%.*s", (int)length, points);
		if (source_has_point(point))
			return true;
		points += length + strspn(points + length, " ");
	}
	return false;
}

const char *source_why_not(int source) {
	if (source == SOURCE_FAULT)
		return access("/proc/sys/kernel/perf_event_paranoid", F_OK) ? "this kernel has no perf events"
									    : NULL;
	// Their programs read fields at offsets from tracefs.
	bool by_format = source == SOURCE_KVM || source == SOURCE_RSS || source == SOURCE_SLAB;
	if (by_format && !events_folder())
		return "its events are in tracefs, which is not mounted";
	if (source == SOURCE_KVM && access("/dev/kvm", F_OK))
		return "not a host of virtual machines: no /dev/kvm";
	bool can = !*needs[source].tracepoints || has_any(needs[source].tracepoints);
	return can ? NULL : needs[source].why_not;
}

void sources_limit(bool without[RECORD_SOURCE_COUNT], struct buffer *missing) {
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++) {
		const char *why = without[source] ? NULL : source_why_not(source);
		if (!why)
			continue;
		without[source] = true;
		buffer_printf(missing, "%s%s (%s)", missing->size ? ", " : "", event_source_names[source],
			      why);
	}
}

void sources_ignored(const struct capture_options *options, const struct capture_backend *backend,
		     struct buffer *names) {
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		if (backend->sources && options->sources[source] && !backend->sources[source])
			buffer_printf(names, "%s%s", names->size ? ", " : "", event_source_names[source]);
}
