#include "capture/choose.h"
#include "base/log.h"
#include "capture/sources.h"
#include "process/user.h"

#include <unistd.h>

#define COUNTERS_SHORTEST 1e-4 // seconds; more ticks would leave the test little time

struct capture_options capture_options_of(const struct settings *settings) {
	struct capture_options options = {.scope = settings->scope,
					  .buffer_size = settings->buffer_size,
					  .sparing = settings->type == RECORD_TO_MEMORY,
					  .hide_kernel = user_is_other()};
	user_owner(&options.owner, &options.owner_group);
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		options.sources[source] = source == SOURCE_SAMPLE ? settings_sampled(settings)
								  : !settings->without[source];
	options.sample_frequency = (unsigned)settings->sample;
	options.sample_event = settings->sample_event;
	options.call_graph = (enum call_graph)settings->call_graph;
	options.off_cpu = settings->off_cpu || settings->waits == 0;
	options.long_waits = (uint64_t)(MAX(settings->waits, 0) * 1e9);
	options.waits_by_default = settings->origins[SETTING_WAITS] == FROM_DEFAULT;
	options.stacks = settings->stacks;
	options.hard_faults = settings->hard_faults;
	options.counting = (struct counting_options){
		.events = settings->counters && *settings->counters ? settings->counters : NULL,
		.interval = (uint64_t)(MAX(settings->counters_interval, COUNTERS_SHORTEST) * 1e9),
		.per_slice = settings->counters_per_slice};
	options.collector = settings->collector_socket;
	return options;
}

// Why less is recorded than possible, and what is missing.
static char *describe_less(const char *why, const struct capture_options *options,
			   const struct capture_backend *backend) {
	struct buffer names = {0};
	sources_ignored(options, backend, &names);
	char *text = memory_format("%s; recording with perf events instead%s%.*s", why,
				   names.size ? ", without " : "", (int)names.size,
				   names.size ? (const char *)names.data : "");
	buffer_free(&names);
	return text;
}

static bool open_one(const struct capture_backend *backend, const struct capture_options *options,
		     struct capture_choice *choice, char why[256]) {
	if (backend->open(options, &choice->capture, why))
		return false;
	choice->backend = backend;
	return true;
}

// Without the collector, or if it refuses, we record ourselves.
static bool open_own(const struct capture_options *options, struct capture_choice *choice) {
	char bpf[256] = "", perf[256] = "";
	if (open_one(&capture_bpf, options, choice, bpf))
		return true;
	if (open_one(&capture_perf, options, choice, perf)) {
		choice->less = describe_less(bpf, options, choice->backend);
		return true;
	}
	log_warning("no trace: %s; %s. 'tracelet doctor' shows what to do", bpf, perf);
	return false;
}

bool capture_choose(const struct capture_options *options, enum capture_collector_use use,
		    struct capture_choice *choice) {
	char why[256] = "";
	struct capture_options through = *options;
	through.collector_or_less = use == USE_COLLECTOR_ONLY || geteuid() != 0;
	*choice = (struct capture_choice){0};
	if (use != USE_COLLECTOR_NOT && open_one(&capture_collector, &through, choice, why))
		return true;
	if (use == USE_COLLECTOR_ONLY) {
		log_warning("no trace: %s (--collector require)", why);
		return false;
	}
	if (*why)
		log_verbose("%s", why);
	return open_own(options, choice);
}
