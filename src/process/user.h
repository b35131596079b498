// The user that the test runs as and that its artifacts belong to (--user). Chosen once, before
// anything is started; all calls below do nothing if there is none, or if it is the caller.
#pragma once

#include "process/user_files.h"

#include <stdbool.h>
#include <sys/types.h>

// "NAME", "UID", "UID:GID", "NAME:GID", or "sudo": the user who called sudo. NULL or "" for no
// other user. False after one line that says why not: there is no such user, or we may not become it.
bool user_choose(const char *text);

// The group that may read the artifacts too: a name or a number; NULL or "" if none. False after one
// line that says why not. After user_choose(): the user must be a member.
bool user_choose_group(const char *text);

// Whether the test belongs to another user than we do.
bool user_is_other(void);

// Whom the artifacts belong to: that user, or the caller.
void user_owner(uid_t *user, gid_t *group);

// For a child before exec(): becomes the user for good, with its groups and without our
// capabilities; also sets HOME, USER and LOGNAME. 0 or -errno.
int user_become(void);

// The same for the test itself, and for what else belongs to it: also with the limits of that user's sessions
// (process/user_limits.h), not ours, and unable to type on our terminal (process/typing.h).
int user_become_test(void);

// The test keeps our limit for the size of core dumps: --core has set it.
void user_keep_core_limit(void);

// The first half of user_become(), for a child that executes a program of ours, which becomes `*user` itself.
int user_take_groups(uid_t *user);

// Makes a folder, and those above it, for the user's files. Where the user may not and only root
// can write, we make it and give it away. 0, also if it exists, or -errno.
int user_make_folder(const char *path);
