// Metrics: named formulas over events, and names of events that only some CPUs have, from the
// files in share/metrics/, which are built in. A file has sections:
//
//     [family]                  what follows is for these CPUs, until the next [family]
//     match = AuthenticAMD-25-17 AuthenticAMD-25-2?
//     name = AMD Zen 4
//     [event ops-retired]       a name for the code that -e takes
//     code = cpu/event=0xc1/
//     description = ...
//     [metric ipc]
//     formula = instructions / cycles
//     unit = per cycle
//     description = ...
//     default = yes             shown whenever its events are counted
//     group = yes               its events must be on the counters together
#pragma once

#include "capture/pmu/events.h"
#include "capture/pmu/formula.h"

struct metric {
	char *name, *unit, *description, *text;
	struct formula formula;
	bool is_default, group;
};

struct event_alias {
	char *name, *code, *description;
};

struct metrics {
	ARRAY(struct metric) metrics;
	ARRAY(struct event_alias) aliases;
	char *family; // the last one that matched, "" if none did
	char *cpu;
	bool skipping; // while reading: not our CPU
};

// The names by which files know this machine's CPU: "AuthenticAMD-25-17", "arm-0x41-0xd49". To be freed.
char *metrics_this_cpu(void);

// Loads what the built-in files have for a CPU.
void metrics_load(struct metrics *metrics, const char *cpu);
// Reads the text of one file. Returns 0, or the number of the first invalid line.
int metrics_read(struct metrics *metrics, const char *text);
void metrics_free(struct metrics *metrics);

// The number of built-in files, and their text.
const char *metrics_built_in(size_t index);

const struct metric *metrics_find(const struct metrics *metrics, const char *name);
const char *metrics_alias(const char *name, void *metrics); // as struct pmu_source wants it

// pmu_events_parse() with all names of this machine.
int metrics_parse_events(struct pmu_events *events, const char *list, char why[PMU_WHY_SIZE]);
