// The metrics of a session: numbers that are compared over months. They stand in "metrics" of a manifest
// line, except the first two, which have members of their own. docs/manifest.md describes them.
//
// METRIC(name, unit, exact): all are whole numbers. An exact one is the same for each run of the same
// program, so that a change is judged by its size and not by statistics.
#pragma once

#define HISTORY_METRIC_TABLE(METRIC)                                                                         \
	METRIC(wall_ns, NANOSECONDS, false)                                                                  \
	METRIC(cpu_ns, NANOSECONDS, false)                                                                   \
	METRIC(cpu_user_ns, NANOSECONDS, false)                                                              \
	METRIC(cpu_system_ns, NANOSECONDS, false)                                                            \
	METRIC(ready_ns, NANOSECONDS, false)                                                                 \
	METRIC(blocked_ns, NANOSECONDS, false)                                                               \
	METRIC(io_ns, NANOSECONDS, false)                                                                    \
	METRIC(lock_ns, NANOSECONDS, false)                                                                  \
	METRIC(switches, COUNT, false)                                                                       \
	METRIC(preempted, COUNT, false)                                                                      \
	METRIC(faults, COUNT, false)                                                                         \
	METRIC(major_faults, COUNT, false)                                                                   \
	METRIC(max_rss, BYTES, false)                                                                        \
	METRIC(processes, COUNT, true)                                                                       \
	METRIC(syscalls, COUNT, true)                                                                        \
	METRIC(instructions, COUNT, true)                                                                    \
	METRIC(heap_peak, BYTES, false)                                                                      \
	METRIC(heap_total, BYTES, true)

enum metric_unit { METRIC_NANOSECONDS, METRIC_COUNT, METRIC_BYTES };

#define HISTORY_METRIC_VALUE(name, unit, exact) METRIC_OF_##name,
enum history_metric { HISTORY_METRIC_TABLE(HISTORY_METRIC_VALUE) METRIC_COUNT_ALL };
