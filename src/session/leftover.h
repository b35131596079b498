// The spool left by a killed tracer. Its name comes from a file, so it is used only if we could
// have made it ourselves: owned by us and named after the session.
#pragma once

#include "session/state.h"

struct leftover {
	int folder, file;
	const char *name; // of the file, in the folder
	char path[32];    // leads to the file as long as it is open
};

bool leftover_open(struct leftover *leftover, const struct state *session);
void leftover_delete(const struct leftover *leftover); // if the name still leads to it
void leftover_close(struct leftover *leftover);
