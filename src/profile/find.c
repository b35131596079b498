#include "profile/find.h"
#include "profile/builtin.h"
#include "profile/wprp.h"
#include "base/system.h"

#include <errno.h>

// A word alone, as a built-in profile would be called.
static bool looks_like_name(const char *text) {
	return !strpbrk(text, "/\\.");
}

static bool find_in(const struct input *input, const char *selection, enum plan_mode wanted,
		    struct plan *plan, struct findings *findings) {
	struct wprp file;
	if (!wprp_open(&file, input->data, input->size, findings))
		return false;
	bool found = wprp_select(&file, selection, wanted, plan, findings);
	wprp_free(&file);
	return found;
}

int profile_open(struct input *input, const char *path) {
	struct stat file;
	if (system_stat(path, &file) == 0 && S_ISCHR(file.st_mode))
		return -EINVAL; // it may have no end
	return input_open(input, path);
}

bool profile_find(const char *text, enum plan_mode wanted, struct plan *plan, struct findings *findings,
		  char **path) {
	const struct builtin *builtin = builtin_find(text);
	struct input input;
	*path = NULL;
	if (builtin) {
		builtin_plan(builtin, wanted, plan);
		return true;
	}
	const char *mark = strrchr(text, '!');
	*path = memory_format("%.*s", mark ? (int)(mark - text) : (int)strlen(text), text);
	// Standard input is the test's.
	int error = strcmp(*path, "-") == 0 ? -ENOENT : profile_open(&input, *path);
	if (error) {
		if (error == -ENOENT && !mark && looks_like_name(text))
			findings_add(findings, 0, 0,
				     "there is no such profile ('tracelet profile list' lists them)");
		else
			findings_add(findings, 0, 0, "cannot be read: %s", strerror(-error));
		return false;
	}
	bool found = find_in(&input, mark ? mark + 1 : NULL, wanted, plan, findings);
	input_close(&input);
	if (found)
		plan->file = memory_string(*path);
	return found;
}
