// Two runs of a test may do the same and differ in the order: a thread that had done its work when a passing
// run ended has not in the failing one. This looks only at the ends of threads; what comes before has too
// many orders that differ by chance.
#include "analyse/why.h"

#include <string.h>

enum { US = 1000, AT_THE_END = 100 * US, WELL_BEFORE = 1000 * US };

// The only thread beside the first one of the test's process that has this role; 0 if none or several.
static uint32_t thread_with_role(const struct why *why, const char *role) {
	const struct timeline *timeline = why->timeline;
	uint32_t pid = timeline_thread(timeline, why->thread)->pid, found = 0;
	for (uint32_t i = 1; i < timeline->threads.count; i++) {
		const struct timeline_thread *thread = timeline_thread(timeline, i);
		CLEANUP_FREE char *own = thread->pid == pid && thread->tid != pid ? why_role(why, i) : NULL;
		if (!own || strcmp(own, role) != 0)
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

// A test that was killed has all of its threads at the end.
static bool exited_by_itself(const struct why *why, bool well) {
	const struct timeline_thread *test = timeline_thread(why->timeline, why->thread);
	return test->exited && !test->unknown_code && test->tid == test->pid && !(test->code & 0x7f) &&
	       !test->code == well;
}

// How long before the test the thread ended; 0 if it was still there.
static uint64_t ended_before(const struct why *why, uint32_t thread) {
	const struct timeline_thread *test = timeline_thread(why->timeline, why->thread);
	const struct timeline_thread *own = timeline_thread(why->timeline, thread);
	return own->exited && own->exit_time + AT_THE_END < test->exit_time ? test->exit_time - own->exit_time
									    : 0;
}

void why_compare_order(struct why_difference *difference, const struct why *why, const struct why *baseline) {
	enum { MOST_THREADS = 256 };
	const struct timeline *timeline = why->timeline;
	uint32_t pid = timeline_thread(timeline, why->thread)->pid, looked = 0;
	if (!exited_by_itself(why, false) || !exited_by_itself(baseline, true))
		return;
	for (uint32_t i = 1; i < timeline->threads.count && looked < MOST_THREADS; i++) {
		const struct timeline_thread *thread = timeline_thread(timeline, i);
		if (thread->pid != pid || thread->tid == pid || ended_before(why, i))
			continue;
		looked++;
		CLEANUP_FREE char *role = why_role(why, i);
		uint32_t before = thread_with_role(why, role) ? thread_with_role(baseline, role) : 0;
		uint64_t ns = before ? ended_before(baseline, before) : 0;
		if (ns >= WELL_BEFORE && ns > difference->unfinished_ns) {
			difference->unfinished = timeline_name(timeline, i);
			difference->unfinished_ns = ns;
		}
	}
}
