// The end of a session on Windows: the files it leaves, its record, and what is told.
#pragma once

#include "session/settings.h"

#include <time.h>

struct finish_file {
	const char *kind; // "etl", "dump"
	char *path;
	uint64_t size;
	char sha256[65];
};

typedef ARRAY(struct finish_file) finish_files;

struct finish {
	const struct settings *settings;
	const char *test;    // the safe name
	const char *profile; // that was recorded
	bool operation;      // there was no test
	bool traced;         // WPR has recorded
	bool timed_out;
	uint32_t code;        // exit code of the test
	const char *not_kept; // NULL: it was kept, as far as there is one
	finish_files files;   // the .etl first
	struct timespec started;
	double wall_seconds, cpu_seconds;
};

void finish_add_file(struct finish *finish, const char *kind, const char *path); // if it exists

// "passed", "failed: exit code 3", "crashed: access violation (c0000005)", "timed out: limit 3 s".
void finish_words(const struct finish *finish, char *words, size_t size);

// The manifest's line, the folder's limits, then the summary, --json and the CI.
void finish_tell(struct finish *finish);
void finish_record(struct finish *finish); // only the first two
void finish_free(struct finish *finish);
