// Which backend records: the best one that works here.
#pragma once

#include "capture/capture.h"
#include "settings/settings.h"

struct capture_options capture_options_of(const struct settings *settings);

enum capture_collector_use { USE_COLLECTOR_NOT, USE_COLLECTOR_FIRST, USE_COLLECTOR_ONLY };

struct capture_choice {
	const struct capture_backend *backend;
	struct capture *capture;
	char *less; // why less is recorded than asked for, or NULL; to be freed by the caller
};

// Opens one of them: the collector, BPF, perf events. False, after a warning, if none works.
bool capture_choose(const struct capture_options *options, enum capture_collector_use use,
		    struct capture_choice *choice);
