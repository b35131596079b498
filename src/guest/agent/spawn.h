// Processes that an agent starts for a host.
#pragma once

#include "guest/wire/message.h"

#include <sys/types.h>

struct spawn {
	enum request_kind kind;
	bool terminal;
	unsigned short rows, columns;
	const char **words;
	size_t word_count;
	const char *folder; // for artifacts; NULL if none
	// results
	pid_t pid;
	int input, output, errors; // our non-blocking ends; -1 if closed
};

int agent_spawn(struct spawn *spawn); // 0 or -errno
