// What each thread of a test waited for when its time limit was reached: a fact of the recording, made from
// the stacks that are saved then. One line for each thread of which it is known:
//
//   17 lock 0x4040 18 audit            waits for this lock, which thread 18 holds; its symbol, if it has one
//   16 thread 17                       waits for the end of thread 17
//   19 descriptor 5 read by sh (16)    what descriptor 5 is
#pragma once

#include "base/buffer.h"

#define FACT_STUCK "stuck"

struct stuck {
	enum { STUCK_LOCK, STUCK_THREAD, STUCK_DESCRIPTOR } kind;
	uint32_t tid;
	uint32_t other;   // the thread that holds the lock or is to end; the descriptor
	uint64_t address; // of the lock
	char words[256];  // the lock's symbol, or what the descriptor is; may be ""
};

// Makes the fact from the text of saved stacks. Nothing is appended if they say nothing.
void stuck_from_stacks(const char *stacks, struct buffer *fact);

// Reads the next line of the fact and moves `*fact` behind it. False at the end; lines that are none are
// skipped.
bool stuck_next(const char **fact, struct stuck *stuck);

// Descriptors in saved stacks: "    waits for descriptor 5: pipe:[17]" in a thread of "process 12: ...".
// Calls `take` with each.
void stuck_descriptors(const char *stacks, void (*take)(void *context, uint32_t pid, const char *target),
		       void *context);

// The title of the section of saved stacks that says what they are: "  pipe:[17]: read by ...".
#define STUCK_DESCRIPTORS_TITLE "\ndescriptors\n"
