// What can be asked of a session that is recording, and what it answers.
#pragma once

#include <stdint.h>

enum control_request { CONTROL_STOP = 1, CONTROL_CANCEL, CONTROL_SNAPSHOT };

struct control_answer {
	int error; // 0 or -errno
	uint64_t size, events, lost;
	char path[4096]; // of the artifact; "": there is none
	char said[4096]; // what went wrong, in words
};
