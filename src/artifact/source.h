// Which source a test was built from, and which job of a CI system runs it: from the variables that CI
// systems set, otherwise from the files of a git repository. Git itself is never started: this is part of
// every run.
#pragma once

#include "base/memory.h"

// All are NULL where they are not known.
struct source {
	const char *ci;        // "github"; NULL if none
	char *commit, *branch; // commit: 40 or 64 hexadecimal digits
	char *change;          // number of the pull or merge request
	char *job;             // what the CI system calls it; on some, its address
	char *run;             // the CI system's id of this run of all its tests
	uint64_t attempt;      // of that run, from 1 on; 0 if not known
	char *head;            // the commit that a merge commit under test was made from
	char *project;         // the last part of the address of git's remote
	bool fork;             // the change comes from another repository
};

// `folder`: where to look for a repository, there and above.
void source_find(struct source *source, const char *folder);
void source_free(struct source *source);

// Whether files of the work tree differ from the commit (worktree.h). Takes up to 5 ms.
bool source_is_dirty(const char *folder);

// Texts of others that may stand in a manifest and on a terminal: 1 to 200 printable ASCII characters.
bool source_is_plain(const char *text);
