#include "profile/find.h"
#include "base/near.h"
#include "base/system.h"
#include "profile/builtin.h"
#include "profile/wprp.h"

#include <errno.h>
#include <string.h>

// A single word that could be the name of a built-in profile.
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

static void say_unknown(struct findings *findings, const char *name) {
	struct near_name near = {.wanted = name};
	char words[96];
	for (size_t i = 0; i < BUILTIN_COUNT; i++)
		near_offer(&near, builtins[i].name);
	near_words(&near, words, sizeof(words));
	findings_add(findings, 0, 0, "no such profile%s; 'tracelet profile list' lists them", words);
}

int profile_open(struct input *input, const char *path) {
	struct stat file;
	if (system_stat(path, &file) == 0 && S_ISCHR(file.st_mode))
		return -EINVAL; // it may be endless
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
	// Standard input belongs to the test.
	int error = strcmp(*path, "-") == 0 ? -ENOENT : profile_open(&input, *path);
	if (error) {
		if (error == -ENOENT && !mark && looks_like_name(text))
			say_unknown(findings, text);
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

// ---- several ----

static bool exists(const char *text, size_t length) {
	CLEANUP_FREE char *name = memory_format("%.*s", (int)length, text);
	struct stat file;
	if (builtin_find(name))
		return true;
	char *mark = strrchr(name, '!');
	if (mark)
		*mark = 0;
	return system_stat(name, &file) == 0 && !S_ISDIR(file.st_mode);
}

size_t profile_first(const char *text) {
	size_t first = 0;
	for (const char *plus = strchr(text, '+'); plus; plus = strchr(plus + 1, '+')) {
		size_t length = (size_t)(plus - text);
		if (!length || plus[-1] == '+' || plus[1] == '+' || !plus[1])
			continue;
		if (exists(text, length))
			return length;
		first = first ? first : length;
	}
	return !first || exists(text, strlen(text)) ? strlen(text) : first;
}

bool profiles_find(const char *text, enum plan_mode wanted, struct plan *plan,
		   void (*report)(void *context, const struct profile_found *found), void *context) {
	bool any = false;
	for (bool more = true; more;) {
		struct findings findings = {0};
		struct plan next;
		size_t length = profile_first(text);
		CLEANUP_FREE char *name = memory_format("%.*s", (int)length, text), *path = NULL;
		bool found = profile_find(name, wanted, &next, &findings, &path);
		report(context, &(struct profile_found){name, path, found ? &next : NULL, &findings});
		findings_free(&findings);
		if (found && any)
			plan_add(plan, &next);
		else if (found)
			*plan = next;
		any |= found;
		more = text[length];
		text += length + more;
	}
	return any;
}
