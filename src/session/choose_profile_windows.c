// On Windows wpr.exe reads the profile. What can be checked before is checked here:
// whether the profile exists and is valid.
#include "base/log.h"
#include "base/system.h"
#include "process/child.h"
#include "profile/builtin.h"
#include "profile/find.h"
#include "session/choose_profile.h"

#include <string.h>

static const char *whole_one(void) {
	return builtins[BUILTIN_USUAL].name;
}

struct choosing {
	const struct settings *settings;
	struct buffer names; // of those that exist
	ARRAY(char *) files;
	bool several, missing;
	bool reported; // warnings have been reported already
};

// WPR takes one profile per file.
static bool is_second_of_file(struct choosing *choosing, const char *path) {
	char *absolute = path ? system_absolute(path) : NULL;
	bool known = false;
	for (size_t i = 0; absolute && i < choosing->files.count; i++)
		known |= _stricmp(choosing->files.items[i], absolute) == 0;
	if (absolute && !known)
		array_push(&choosing->files, absolute);
	else
		free(absolute);
	return known;
}

static void say_second(struct choosing *choosing, const struct profile_found *found) {
	static const char words[] = "profile %s: WPR accepts only one profile from each file; %s";
	choosing->missing = true;
	if (choosing->settings->strict)
		log_error(words, found->text, "--strict: the test was not run");
	else if (!choosing->reported)
		log_warning(words, found->text, "recording without this one");
}

static void take_found(void *context, const struct profile_found *found) {
	struct choosing *choosing = context;
	if (found->plan && is_second_of_file(choosing, found->path)) {
		say_second(choosing, found);
		return;
	}
	if (found->plan)
		buffer_printf(&choosing->names, "%s%s", choosing->names.size ? "+" : "", found->text);
	choosing->missing |= !found->plan;
	if (!found->findings->list.count)
		return;
	CLEANUP_FREE char *line = finding_line(&found->findings->list.items[0],
					       found->path ? found->path : found->text);
	if (!found->plan && choosing->settings->strict)
		log_error("profile %s; --strict: the test was not run", line);
	else if (!choosing->reported)
		log_warning("profile %s%s%s", line,
			    found->plan         ? ""
			    : choosing->several ? "; recording without it"
						: "; recording with ",
			    found->plan || choosing->several ? "" : whole_one());
}

bool choose_profile(struct settings *settings) {
	struct plan plan;
	if (settings->origins[SETTING_PROFILE] == FROM_DEFAULT)
		settings->profile = whole_one();
	struct choosing choosing = {.settings = settings,
				    .several = settings->profile[profile_first(settings->profile)],
				    .reported = system_variable(CHILD_REPORTED)};
	_putenv(CHILD_REPORTED "="); // the test must not see it
	enum plan_mode mode = settings->type == RECORD_TO_MEMORY ? MODE_MEMORY : MODE_FILE;
	bool found = profiles_find(settings->profile, mode, &plan, take_found, &choosing);
	// WPR would find no file variant of a profile that is for memory only.
	if (found && settings->origins[SETTING_TYPE] == FROM_DEFAULT && plan.mode == MODE_MEMORY)
		settings->type = RECORD_TO_MEMORY;
	if (found)
		plan_free(&plan);
	else
		buffer_printf(&choosing.names, "%s", whole_one());
	if (!found && choosing.several && !settings->strict && !choosing.reported)
		log_warning("recording with %s", whole_one());
	for (size_t i = 0; i < choosing.files.count; i++)
		free(choosing.files.items[i]);
	array_free(&choosing.files);
	buffer_append(&choosing.names, "", 1);
	array_push(&settings->owned, (char *)choosing.names.data);
	settings->profile = (char *)choosing.names.data;
	return !choosing.missing || !settings->strict;
}
