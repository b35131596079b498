// Processes of the test that died of a fault or an abort.
#pragma once

#include "base/array.h"
#include "capture/capture.h"

struct crash_report {
	uint64_t time; // 0: only the signal and the process are known
	uint32_t signal;
	int32_t code;
	uint32_t pid, tid;
	uint64_t address, instruction;
	char name[RECORD_NAME_SIZE + 1]; // of the thread
	char *stack;                     // a line for each frame, or NULL
};

struct crash_reports {
	ARRAY(struct crash_report) list;
};

// Makes reports of what capture has noted, with the stacks of the last few of them,
// and appends those to the spool.
void crash_report_all(struct crash_reports *reports, const struct capture_crashes *crashes,
		      struct spool *spool);

// The test itself died of such a signal, as wait() tells, and capture did not see it.
void crash_report_test(struct crash_reports *reports, pid_t pid, int wait_status);

void crash_reports_free(struct crash_reports *reports);
