// Which sessions are recording now: a folder of the user's with one small file for
// each. A controller that crashed, a killed tracer or a reboot leave files behind;
// whoever looks next notices, since a file names the process, when it started, and
// the boot of the machine.
#pragma once

#include "base/array.h"
#include "session/artifact.h"

#include <stdbool.h>
#include <sys/types.h>

struct state {
	char name[ARTIFACT_NAME_SIZE];
	bool operation;             // begun by `tracelet start`; else a test of `tracelet run`
	pid_t pid;                  // of the tracer
	unsigned long long started; // when that process started, in the kernel's ticks
	long long since;            // when recording began, seconds since 1970
	char boot[40];              // which boot of the machine
	char socket[104];           // where the tracer listens
	char artifact[4096];        // the file that is being made, and what it will be made from
	char spool[4096];
	char log[4096];     // what the tracer of an operation had to say
	char instance[96];  // of WPR, on Windows
	char profile[4096]; // the same
	char variant[4096]; // the same; "": none
	bool memory;        // the same: a flight recorder
	char marks[96];     // what TRACELET_MARKS is to be for marks in its trace; "": none
	bool stale;         // the tracer is gone
};

typedef ARRAY(struct state) state_array;

// Before the instance, in TRACELET_MARKS of a test on Windows.
#define MARKS_OF_WPR "wpr:"

// A socket's name has 107 bytes, and holds the folder and a number.
#ifdef _WIN32
enum { STATE_FOLDER_SIZE = 1024 };
#else
enum { STATE_FOLDER_SIZE = 88 };
#endif

// The folder, made if need be. -EACCES: it is not only the user's.
int state_folder(char path[STATE_FOLDER_SIZE]);

// This process as the tracer of a session; fills in pid, started, boot, socket.
int state_register(struct state *state);
bool state_remove(const struct state *state); // file, socket, log; false: someone else has

// All sessions, the earliest first; stale ones too. 0 or -errno.
int state_list(state_array *sessions);

// ---- what each system has its own way of ----

int state_system_folder(char path[STATE_FOLDER_SIZE]); // as state_folder()
void state_system_identify(struct state *state);       // fills in this process, and the boot
bool state_system_is_stale(const struct state *state);

// Held until closed: one controller at a time for a name. A descriptor, or -errno.
int state_lock(const char *name);
