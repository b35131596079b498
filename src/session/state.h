// Which sessions are recording now: a directory per user with one small JSON file per session. A
// crashed controller, a killed tracer or a reboot leaves files behind; the next reader notices,
// since each file names the process, its start time, and the boot of the machine.
#pragma once

#include "artifact/artifact.h"
#include "base/array.h"

#include <stdbool.h>
#include <sys/types.h>

struct state {
	char name[ARTIFACT_NAME_SIZE];
	bool operation;             // started by `tracelet start`; else a test under `tracelet run`
	pid_t pid;                  // process id of the tracer
	unsigned long long started; // when that process started, in the kernel's ticks
	long long since;            // when recording began, seconds since 1970
	char boot[40];              // which boot of the machine
	char socket[104];           // where the tracer listens: FOLDER/PID
	char artifact[4096];        // the file being made, and what it is made from
	char spool[4096];
	char log[512];      // messages of an operation's tracer: FOLDER/NAME.log; "" for a test
	char instance[96];  // of WPR, on Windows
	char profile[4096]; // the same
	char variant[4096]; // the same; "" if none
	bool memory;        // the same: a flight recorder
	pid_t follows;      // Linux, for an operation: this process and what it starts are recorded
	char ended[512];    // why new processes are no longer recorded; "" if they are
	char marks[96];     // value of TRACELET_MARKS for marks in its trace; "" if none
	pid_t waiter;       // Linux, for a test: the process that waits for it
	unsigned long long waiter_started; // as `started`
	bool stale;                        // the tracer is gone
};

typedef ARRAY(struct state) state_array;

// Prefix of the instance in TRACELET_MARKS of a test on Windows.
#define MARKS_OF_WPR "wpr:"

// A socket's name has at most 107 bytes: the directory and a number must fit.
#ifdef _WIN32
enum { STATE_FOLDER_SIZE = 1024 };
#else
enum { STATE_FOLDER_SIZE = 88 };
#endif

// The directory, created if necessary. -EACCES if other users can write to it.
int state_folder(char path[STATE_FOLDER_SIZE]);

// This process as the tracer of a session; fills in pid, started, boot, socket, log.
int state_register(struct state *state);
int state_update(const struct state *state); // writes the file again
// Removes its file, socket and log, all by their names in the directory; false if another process
// already did.
bool state_remove(const struct state *state);

// All sessions, including stale ones, the earliest first. 0 or -errno.
int state_list(state_array *sessions);

// ---- what each system has its own way of ----

int state_system_folder(char path[STATE_FOLDER_SIZE]); // as state_folder()
void state_system_identify(struct state *state);       // fills in this process, and the boot
bool state_system_is_stale(const struct state *state);
bool state_system_waits(const struct state *state); // Linux: the process that waits for the test is running

// Locks a name for one controller, until it is unlocked or ends. A descriptor, or -errno.
int state_lock(const char *name);
void state_unlock(const char *name, int lock);
