#include "collector/extras.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>

#define CALLS (1ull << SOURCE_SYSTEM_CALL | 1ull << SOURCE_MEMORY | 1ull << SOURCE_FILE | 1ull << SOURCE_LOCK)

static const struct {
	const char *program;
	uint64_t sources; // that need it
} programs[] = {
	{"on_sys_enter", CALLS},
	{"on_sys_exit", CALLS},
	{"on_flush_asked", 1ull << SOURCE_BLOCK},
	{"on_block_issue", 1ull << SOURCE_BLOCK},
	{"on_block_complete", 1ull << SOURCE_BLOCK},
	{"on_bio_queue", 1ull << SOURCE_BIO},
	{"on_bio_split", 1ull << SOURCE_BIO},
	{"on_blocked", EXTRA_OFF_CPU},
	{"on_hrtimer_start", 1ull << SOURCE_TIMER},
	{"on_hrtimer_entry", 1ull << SOURCE_TIMER},
	{"on_hrtimer_exit", 1ull << SOURCE_TIMER},
	{"on_timer_list_start", 1ull << SOURCE_TIMER},
	{"on_timer_list_entry", 1ull << SOURCE_TIMER},
	{"on_timer_list_exit", 1ull << SOURCE_TIMER},
	{"on_work_queue", 1ull << SOURCE_WORK},
	{"on_work_start", 1ull << SOURCE_WORK},
	{"on_work_end", 1ull << SOURCE_WORK},
	{"on_ipi_cpu", 1ull << SOURCE_IPI},
	{"on_ipi_mask", 1ull << SOURCE_IPI},
	{"on_ipi_raise", 1ull << SOURCE_IPI},
	{"on_reschedule_entry", 1ull << SOURCE_IPI},
	{"on_reschedule_exit", 1ull << SOURCE_IPI},
	{"on_call_function_entry", 1ull << SOURCE_IPI},
	{"on_call_function_exit", 1ull << SOURCE_IPI},
	{"on_call_function_single_entry", 1ull << SOURCE_IPI},
	{"on_call_function_single_exit", 1ull << SOURCE_IPI},
	{"on_socket_state", 1ull << SOURCE_NETWORK},
	{"on_packet_sent", 1ull << SOURCE_NETWORK},
	{"on_packet_received", 1ull << SOURCE_NETWORK},
	{"on_priority", 1ull << SOURCE_PRIORITY},
	{"on_migration", 1ull << SOURCE_MIGRATION},
	{"on_clock_entry", 1ull << SOURCE_CLOCK},
	{"on_clock_exit", 1ull << SOURCE_CLOCK},
	{"on_softirq_raise", 1ull << SOURCE_SOFTIRQ_QUEUE},
	{"on_tasklet_entry", 1ull << SOURCE_SOFTIRQ_QUEUE},
	{"on_tasklet_exit", 1ull << SOURCE_SOFTIRQ_QUEUE},
	{"on_lock_begin", 1ull << SOURCE_LOCK},
	{"on_lock_end", 1ull << SOURCE_LOCK},
};
_Static_assert(ARRAY_SIZE(programs) <= EXTRAS_MOST_PROGRAMS, "room for their links");

static const struct {
	const char *program;
	uint64_t event;
} faults[] = {
	{"on_minor_fault", PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"on_major_fault", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
};

uint64_t extras_all(void) {
	uint64_t all = 1ull << SOURCE_FAULT;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		all |= programs[i].sources;
	return all;
}

static void choose(struct bpf_object *object, const char *name, bool wanted) {
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	bpf_program__set_autoload(program, wanted);
	bpf_program__set_autoattach(program, false);
}

void extras_choose(struct bpf_object *object, bool wanted) {
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		choose(object, programs[i].program, wanted);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		choose(object, faults[i].program, wanted);
}

static int set_program(struct extras *extras, size_t i, bool wanted) {
	struct bpf_link **link = &extras->links[i];
	if (wanted == (*link != NULL))
		return 0;
	if (!wanted) {
		bpf_link__destroy(*link);
		*link = NULL;
		return 0;
	}
	struct bpf_program *program = bpf_object__find_program_by_name(extras->object, programs[i].program);
	if (bpf_program__fd(program) < 0)
		return 0; // this kernel does not have the tracepoint
	*link = bpf_program__attach(program);
	return *link ? 0 : -errno;
}

static int set_faults(struct extras *extras, bool wanted) {
	int error = 0;
	if (wanted == (extras->faults.list.count != 0))
		return 0;
	for (size_t i = 0; wanted && !error && i < ARRAY_SIZE(faults); i++)
		error = points_attach_event(
			bpf_object__find_program_by_name(extras->object, faults[i].program), faults[i].event,
			&extras->faults);
	if (!wanted || error)
		points_detach(&extras->faults);
	return error;
}

int extras_set(struct extras *extras, uint64_t sources) {
	int error = 0;
	for (size_t i = 0; extras->object && i < ARRAY_SIZE(programs); i++) {
		int failed = set_program(extras, i, programs[i].sources & sources);
		error = error ? error : failed;
	}
	if (extras->object && !error)
		error = set_faults(extras, sources >> SOURCE_FAULT & 1);
	extras->sources = error ? 0 : sources & extras_all();
	return error;
}
