#include "session/choose_profile.h"
#include "base/log.h"
#include "capture/sources.h"
#include "profile/builtin.h"
#include "profile/find.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { USUAL_FREQUENCY = 999 };

// Processes and marks are in every trace: the rest is about them.
static void take_plan(struct settings *settings, const struct plan *plan) {
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		settings->without[source] = source != RECORD_SOURCE_PROCESS &&
					    source != RECORD_SOURCE_MARKER && !plan_wants(plan, source);
	if (settings->origins[SETTING_SAMPLE] == FROM_DEFAULT && plan_wants(plan, RECORD_SOURCE_SAMPLE))
		settings->sample = USUAL_FREQUENCY;
}

// What is not recorded, in one line: words that mean nothing here, and what this kernel does not have.
static void say_missing(struct settings *settings, const struct plan *plan, bool told) {
	struct buffer missing = {0}, sources = {0};
	plan_missing(plan, &missing);
	// Built-in profiles want KVM on hosts of virtual machines, and few machines are.
	if (!plan->file && source_why_not(RECORD_SOURCE_KVM))
		settings->without[RECORD_SOURCE_KVM] = true;
	sources_limit(settings->without, &sources);
	if (missing.size || sources.size)
		(told ? log_verbose
		      : log_warning)("profile %s: not recorded here: %.*s%s%.*s%s", settings->profile,
				     (int)missing.size, missing.size ? (const char *)missing.data : "",
				     missing.size && sources.size ? "; " : "", (int)sources.size,
				     sources.size ? (const char *)sources.data : "",
				     missing.size ? " ('tracelet profile show' tells why)" : "");
	buffer_free(&missing);
	buffer_free(&sources);
}

static void say_first(const struct settings *settings, const struct findings *findings, const char *path,
		      bool found) {
	if (!findings->list.count)
		return;
	CLEANUP_FREE char *line = finding_line(&findings->list.items[0], path ? path : settings->profile);
	const char *more = findings->list.count > 1 ? " ('tracelet profile check' tells more)" : "";
	if (!found && settings->strict)
		log_error("profile %s%s; --strict: nothing is run", line, more);
	else
		log_warning("profile %s%s%s%s", line, more, found ? "" : "; recording with ",
			    found ? "" : builtins[BUILTIN_EMBEDDED].name);
}

// What 'each' starts may be in some other folder.
static void make_absolute(struct settings *settings, const char *file) {
	CLEANUP_FREE char *path = realpath(file, NULL);
	if (!path)
		return;
	char *profile = memory_format("%s%s", path, settings->profile + strlen(file));
	array_push(&settings->owned, profile);
	settings->profile = profile;
	settings->origins[SETTING_PROFILE] = FROM_FLAG;
}

bool choose_profile(struct settings *settings) {
	struct plan plan;
	bool told = getenv(CHOICE_TOLD);
	unsetenv(CHOICE_TOLD); // that is no matter of the test's
	struct findings findings = {0};
	CLEANUP_FREE char *path = NULL;
	enum plan_mode mode = settings->type == RECORD_TO_MEMORY ? MODE_MEMORY : MODE_FILE;
	bool found = profile_find(settings->profile, mode, &plan, &findings, &path);
	say_first(settings, &findings, path, found);
	findings_free(&findings);
	if (!found && settings->strict)
		return false;
	if (!found) {
		settings->profile = builtins[BUILTIN_EMBEDDED].name;
		settings->origins[SETTING_PROFILE] = FROM_FLAG; // for what 'each' starts, too
		builtin_plan(&builtins[BUILTIN_EMBEDDED], mode, &plan);
	}
	take_plan(settings, &plan);
	say_missing(settings, &plan, told);
	if (plan.file)
		make_absolute(settings, plan.file);
	plan_free(&plan);
	return true;
}
