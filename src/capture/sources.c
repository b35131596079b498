#include "capture/sources.h"
#include "event/event.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// The events without which there is nothing to record, and what to say then.
static const struct {
	const char *points[3]; // one of them will do
	const char *why_not;
} needs[RECORD_SOURCE_COUNT] = {
	[RECORD_SOURCE_MEMORY] = {{"raw_syscalls/sys_enter"}, "this kernel has no raw_syscalls events"},
	[RECORD_SOURCE_FILE] = {{"raw_syscalls/sys_enter"}, "this kernel has no raw_syscalls events"},
	[RECORD_SOURCE_SYSTEM_CALL] = {{"raw_syscalls/sys_enter"}, "this kernel has no raw_syscalls events"},
	[RECORD_SOURCE_BLOCK] = {{"block/block_rq_issue"}, "this kernel has no events of block devices"},
	[RECORD_SOURCE_TIMER] = {{"timer/hrtimer_start"}, "this kernel has no events of timers"},
	[RECORD_SOURCE_WORK] = {{"workqueue/workqueue_execute_start"}, "this kernel has no workqueue events"},
	[RECORD_SOURCE_IPI] = {{"ipi/ipi_send_cpu", "ipi/ipi_raise", "irq_vectors/reschedule_entry"},
			       "this kernel has no events of IPIs"},
	[RECORD_SOURCE_NETWORK] = {{"sock/inet_sock_set_state"}, "this kernel has no events of sockets"},
	[RECORD_SOURCE_POWER] = {{"power/cpu_idle"}, "this kernel has no power events"},
	[RECORD_SOURCE_PRIORITY] = {{"sched/sched_pi_setprio"}, "this kernel has no events of priorities"},
	[RECORD_SOURCE_MIGRATION] = {{"sched/sched_migrate_task"}, "this kernel has no events of migrations"},
	[RECORD_SOURCE_CLOCK] = {{"irq_vectors/local_timer_entry"}, "this kernel has no irq_vectors events"},
	[RECORD_SOURCE_SOFTIRQ_QUEUE] = {{"irq/softirq_raise"}, "this kernel has no events of softirqs"},
	[RECORD_SOURCE_RSS] = {{"kmem/rss_stat"}, "this kernel has no rss_stat event"},
	[RECORD_SOURCE_SLAB] = {{"kmem/kmalloc"}, "this kernel has no kmem events"},
	[RECORD_SOURCE_LOCK] = {{"raw_syscalls/sys_enter", "lock/contention_begin"},
				"this kernel has no events of locks"},
	[RECORD_SOURCE_BIO] = {{"block/block_bio_queue"}, "this kernel has no events of block devices"},
	[RECORD_SOURCE_KVM] = {{"kvm/kvm_exit"}, "no host of virtual machines: KVM is not there"},
};

// NULL: nobody has mounted it, or it is not for us.
static const char *events_folder(void) {
	static const char *const folders[] = {"/sys/kernel/tracing/events",
					      "/sys/kernel/debug/tracing/events"};
	const char *given = getenv("TRACELET_TRACEFS"); // a kernel that has less, for tests
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

const char *source_why_not(int source) {
	if (source == RECORD_SOURCE_FAULT)
		return access("/proc/sys/kernel/perf_event_paranoid", F_OK) ? "this kernel has no perf events"
									    : NULL;
	bool by_format = source == RECORD_SOURCE_KVM || source == RECORD_SOURCE_RSS ||
			 source == RECORD_SOURCE_SLAB;
	if (by_format && !events_folder())
		return "its events are in tracefs, which is not mounted";
	if (source == RECORD_SOURCE_KVM && access("/dev/kvm", F_OK))
		return "no host of virtual machines: there is no /dev/kvm";
	for (size_t i = 0; i < ARRAY_SIZE(needs[source].points); i++)
		if (needs[source].points[i] && source_has_point(needs[source].points[i]))
			return NULL;
	return needs[source].why_not;
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
