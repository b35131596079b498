// What a program needs beside itself, read from its file: its loader, its shared libraries and
// theirs; for a script its interpreter. Nothing is run, as ldd would: the program may be another's.
#pragma once

#include <stdbool.h>

struct needed_reader {
	// `path` is where the program will look for it, `file` where it is on this machine.
	void (*found)(void *context, const char *path, const char *file);
	void (*missing)(void *context, const char *name, const char *by);
	void *context;
};

// Of one file. False: it is neither a program nor a script; it needs nothing then.
bool needed_by(const char *file, const struct needed_reader *reader);
