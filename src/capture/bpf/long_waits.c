#include "capture/bpf/long_waits.h"
#include "capture/sources.h"
#include "tracelet.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

void long_waits_limit(struct capture_options *options) {
	if (options->off_cpu || !options->sources[SOURCE_SCHED] ||
	    !source_has_point("irq_vectors/irq_work_entry"))
		options->long_waits = 0;
	if (options->long_waits)
		options->sources[SOURCE_SAMPLE] = true;
}

// Long waits are few, and their stacks are copied: making the tables with which the kernel walks stacks would
// take longer.
void long_waits_choose(struct tracelet *programs, const struct capture_options *options) {
	const uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE); // the least size of a ring
	struct bpf_map *maps[] = {programs->maps.waits, programs->maps.nudge_0, programs->maps.nudge_1,
				  programs->maps.nudge_2, programs->maps.nudge_3};
	// Kernels before 6.8 look at functions that are never called, too, so the maps must be there.
	for (size_t i = 0; i < ARRAY_SIZE(maps) && !options->long_waits; i++)
		bpf_map__set_max_entries(maps[i], i ? page : 1);
	bpf_program__set_autoload(programs->progs.on_long_wait, options->long_waits);
	programs->rodata->long_wait = options->long_waits;
}

static int take_nothing(void *context, void *data, size_t size) {
	return 0;
}

int long_waits_rings(struct tracelet *programs, struct ring_buffer **rings) {
	struct bpf_map *more[] = {programs->maps.nudge_1, programs->maps.nudge_2, programs->maps.nudge_3};
	*rings = ring_buffer__new(bpf_map__fd(programs->maps.nudge_0), take_nothing, NULL, NULL);
	int error = *rings ? 0 : -errno;
	for (size_t i = 0; !error && i < ARRAY_SIZE(more); i++)
		error = ring_buffer__add(*rings, bpf_map__fd(more[i]), take_nothing, NULL);
	return error;
}
