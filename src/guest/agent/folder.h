// The directory whose files are sent to the host. It is private: the agent creates it without access for
// others and uses it through an open descriptor, so that it cannot be replaced.
#pragma once

#include <stdbool.h>

struct agent_folder {
	char *path; // NULL if none
	int fd;     // -1 then
	bool kept;  // operations outlive the request that starts them
};
#define AGENT_FOLDER_NONE ((struct agent_folder){.fd = -1})

// Opens a new one for a request, or the one that all operations share (`kept`). Returns 0, or -errno with the
// reason in `why` (256 bytes).
int agent_folder_open(struct agent_folder *folder, bool kept, char *why);

// Closes it, and removes it with all its files unless it is kept.
void agent_folder_close(struct agent_folder *folder);
