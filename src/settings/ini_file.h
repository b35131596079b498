// Lines `key = value` of a file, with sections and comments, as inih reads them.
#pragma once

typedef int ini_file_taker(void *context, const char *section, const char *key, const char *value);

enum { INI_FILE_UNREADABLE = -1, INI_FILE_UNTRUSTED = -2, INI_FILE_WHY = 160 };

// Who may own the file. The project's is found by searching, so other users could have put it there: it
// counts only if it and its directory belong to this user (or the caller of sudo) or to root, and no other
// user can write to them.
enum ini_file_kind { INI_FILE_OF_USER, INI_FILE_OF_PROJECT };

// 0; INI_FILE_UNREADABLE; INI_FILE_UNTRUSTED, with the reason in `why`; or the number of the first line
// that is malformed or for which `take` returned 0.
int ini_file_read(const char *path, enum ini_file_kind kind, ini_file_taker *take, void *context,
		  char why[INI_FILE_WHY]);

#ifndef _WIN32
#include <sys/types.h>
// The user who called sudo; ours otherwise. Files of that user and of root are trusted.
uid_t ini_file_caller(void);
#endif
