#include "process/helpers.h"
#include "base/memory.h"

static pid_t helpers[4]; // one for marks, one for the heap; 0 if unused

static pid_t *find(pid_t pid) {
	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
		if (helpers[i] == pid)
			return &helpers[i];
	return NULL;
}

void helper_add(pid_t pid) {
	pid_t *unused = find(0);
	if (unused)
		*unused = pid;
}

void helper_remove(pid_t pid) {
	pid_t *helper = pid ? find(pid) : NULL;
	if (helper)
		*helper = 0;
}

bool helper_is(pid_t pid) {
	return pid && find(pid);
}
