// The guest's console on its way into a file. A guest can write without end; of what exceeds the limit only
// the newest lines are kept, which say why it ended.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONSOLE_TAIL = 64 * 1024, CONSOLE_LEAST = 2 * CONSOLE_TAIL };

struct console {
	int file, input, stop; // the console's output is read from `input` until `stop` can be read
	uint64_t most, written, omitted;
	char *tail; // the newest CONSOLE_TAIL bytes beyond the limit, as a ring
	uint64_t beyond;
	pthread_t thread;
	bool running;
};

// Creates the file and starts copying what is written to `*writer`, which the caller closes when QEMU has it.
// `most` is at least CONSOLE_LEAST. 0 or -errno.
int console_start(struct console *console, const char *path, uint64_t most, int *writer);

// Copies the rest and completes the file; `omitted` then has the bytes that are missing in its middle. May be
// called for a console that was not started (all zero), or twice.
void console_end(struct console *console);
