// Whether the files of a git work tree differ from the commit, as far as that can be seen quickly: the sizes
// and times in git's index are compared with those of the files. No content is read, and git is not started.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// `index` is the content of git's file of that name, `folder` the top of the work tree. True if a file that
// git knows is gone, has another size or is newer than when git last looked, or if changes are staged. New
// files do not count. False also if it cannot be known in about 5 ms.
bool worktree_is_dirty(const char *folder, const void *index, size_t size);
