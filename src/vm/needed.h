// What a program needs to run, read from its file: its loader, its shared libraries and theirs; for a script
// its interpreter. Unlike ldd, this runs nothing: the program may not be trusted.
#pragma once

#include <stdbool.h>

struct needed_reader {
	// `path` is where the program will look for it, `file` where it is on this machine.
	void (*found)(void *context, const char *path, const char *file);
	void (*missing)(void *context, const char *name, const char *by);
	void *context;
};

// For one file. Returns false if it is neither a program nor a script, and so needs nothing.
bool needed_by(const char *file, const struct needed_reader *reader);
