// Processes of the test that were killed by a fault or an abort.
#pragma once

#include "base/array.h"
#include "capture/capture.h"

struct crash_report {
	uint64_t time; // 0 if only the signal and the process are known
	uint32_t signal;
	int32_t code;
	uint32_t pid, tid;
	uint64_t address, instruction;
	char name[RECORD_NAME_SIZE + 1]; // of the thread
	char *stack;                     // one line for each frame, or NULL
};

struct crash_reports {
	ARRAY(struct crash_report) list;
	uint64_t more; // crashes that are not in the list
};

// Makes reports from what capture recorded, with the stacks of the first few crashes and of the
// newest one, and appends them to the spool.
void crash_report_all(struct crash_reports *reports, const struct capture_crashes *crashes,
		      struct spool *spool);

// The test itself died from such a signal according to wait(), but capture did not see it. `core`: the path
// of its core, from which the stack is taken, or "".
void crash_report_test(struct crash_reports *reports, pid_t pid, int wait_status, const char *core);

void crash_reports_free(struct crash_reports *reports);
