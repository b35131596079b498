// Requests to a session that is recording, and its answers.
#pragma once

#include <stdint.h>

enum control_request { CONTROL_STOP = 1, CONTROL_CANCEL, CONTROL_SNAPSHOT };

struct control_answer {
	int error; // 0 or -errno
	uint64_t size, events, lost;
	char path[4096]; // of the artifact, or "" if none
	char said[4096]; // the error message
};
