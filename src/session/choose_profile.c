#include "session/choose_profile.h"
#include "base/log.h"
#include "base/system.h"
#include "capture/sources.h"
#include "process/child.h"
#include "profile/builtin.h"
#include "profile/find.h"
#include "profile/sizes.h"
#include "profile/stacks.h"
#include "profile/wprp.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

// Every trace has processes and marks: the rest refers to them.
static void take_plan(struct settings *settings, const struct plan *plan) {
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		settings->without[source] = source != SOURCE_PROCESS && source != SOURCE_MARKER &&
					    !plan_wants(plan, source);
	if (settings->origins[SETTING_SAMPLE] == FROM_DEFAULT && plan_wants(plan, SOURCE_SAMPLE))
		settings->sample = plan_sample_frequency(plan);
	settings->hard_faults = !plan->keywords[keyword_find("AllFaults")];
	if (settings->origins[SETTING_OFF_CPU] == FROM_DEFAULT &&
	    (settings->wakeups || plan_stacks_waits(plan)))
		settings->off_cpu = true;
}

// Adds those that are unavailable to `missing`.
static void take_stacks(struct settings *settings, const struct plan *plan, struct buffer *missing) {
	struct buffer events = {0}, absent = {0};
	plan_stack_events(plan, source_why_not, &events, &absent);
	if (settings->wakeups)
		buffer_printf(&events, "%ssched_waking", events.size ? " " : "");
	if (events.size) {
		buffer_append(&events, "", 1);
		settings->stacks = (char *)events.data;
		array_push(&settings->owned, (char *)events.data);
	}
	unsigned count = plan_stacks_missing(plan);
	if (count)
		buffer_printf(missing, "%sthe stack%s of %u event%s", missing->size ? ", " : "",
			      count > 1 ? "s" : "", count, count > 1 ? "s" : "");
	if (absent.size)
		buffer_printf(missing, "%sstacks at %.*s", missing->size ? ", " : "", (int)absent.size,
			      (const char *)absent.data);
	buffer_free(&absent);
}

static bool unsaid(const struct settings *settings, enum setting_id id) {
	return settings->origins[id] == FROM_DEFAULT;
}

static void take_sizes(struct settings *settings, const struct plan *plan) {
	if (unsaid(settings, SETTING_TYPE))
		settings->type = plan_is_flight(plan) ? RECORD_TO_MEMORY : RECORD_TO_FILE;
	struct plan_sizes sizes = plan_sizes(plan, settings->type == RECORD_TO_MEMORY, system_memory());
	if (unsaid(settings, SETTING_BUFFER_SIZE))
		settings->buffer_size = sizes.buffer_size;
	if (unsaid(settings, SETTING_RING_SIZE) && sizes.ring_size)
		settings->ring_size = sizes.ring_size;
	if (unsaid(settings, SETTING_MAX_SIZE))
		settings->max_size = sizes.max_size;
}

// Reports in one line what is not recorded: keywords without a meaning here, and what this kernel
// lacks.
static void say_missing(struct settings *settings, const struct plan *plan, bool reported) {
	struct buffer missing = {0}, sources = {0};
	plan_missing(plan, &missing);
	take_stacks(settings, plan, &missing);
	// Built-in profiles include KVM, for hosts of virtual machines; most machines are not.
	if (!plan->file && source_why_not(SOURCE_KVM))
		settings->without[SOURCE_KVM] = true;
	sources_limit(settings->without, &sources);
	if (missing.size || sources.size)
		(reported ? log_verbose
			  : log_warning)("profile %s: not recorded here: %.*s%s%.*s%s", settings->profile,
					 (int)missing.size, missing.size ? (const char *)missing.data : "",
					 missing.size && sources.size ? "; " : "", (int)sources.size,
					 sources.size ? (const char *)sources.data : "",
					 missing.size ? " ('tracelet profile show' explains why)" : "");
	buffer_free(&missing);
	buffer_free(&sources);
}

// A profile that has only providers of Windows records next to nothing here, which is easily missed.
static void say_if_windows_only(const struct settings *settings, const struct plan *plan, bool reported) {
	if (!plan->providers.count)
		return;
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		if (source != SOURCE_PROCESS && source != SOURCE_MARKER && plan_wants(plan, source))
			return;
	(reported ? log_verbose : log_warning)("profile %s: its providers exist on Windows only; recording "
					       "only processes (to add what Linux "
					       "has: --profile %s+%s)",
					       settings->profile, settings->profile,
					       builtins[BUILTIN_USUAL].name);
}

struct choosing {
	struct settings *settings;
	struct buffer names; // of those that exist; files with their directory
	bool several, missing;
};

static void say_first(const struct choosing *choosing, const struct profile_found *found) {
	if (!found->findings->list.count)
		return;
	CLEANUP_FREE char *line = finding_line(&found->findings->list.items[0],
					       found->path ? found->path : found->text);
	const char *more = found->findings->list.count > 1 ? " ('tracelet profile check' lists them all)"
							   : "";
	if (choosing->settings->strict)
		log_error("profile %s%s; --strict: the test was not run", line, more);
	else if (found->plan)
		log_warning("profile %s%s", line, more);
	else
		log_warning("profile %s%s; recording with%s%s", line, more,
			    choosing->several ? "out it" : " ",
			    choosing->several ? "" : builtins[BUILTIN_EMBEDDED].name);
}

// Sessions started by 'each' may have another working directory.
static void add_name(struct choosing *choosing, const struct profile_found *found) {
	CLEANUP_FREE char *path = found->path ? realpath(found->path, NULL) : NULL;
	buffer_printf(&choosing->names, "%s%s%s", choosing->names.size ? "+" : "", path ? path : "",
		      path ? found->text + strlen(found->path) : found->text);
}

// As 'tracelet profile check' does: the whole file, not only the requested profile.
static void check_file(const char *path, struct findings *findings) {
	struct input input;
	struct wprp file;
	if (profile_open(&input, path))
		return;
	if (wprp_open(&file, input.data, input.size, findings)) {
		wprp_check(&file, findings);
		wprp_free(&file);
	}
	input_close(&input);
}

static void take_found(void *context, const struct profile_found *found) {
	struct choosing *choosing = context;
	struct profile_found checked = *found;
	struct findings findings = {0};
	if (choosing->settings->strict && found->path && !found->findings->list.count) {
		check_file(found->path, &findings);
		checked.findings = &findings;
	}
	say_first(choosing, &checked);
	choosing->missing |= !found->plan || (choosing->settings->strict && checked.findings->list.count);
	if (found->plan)
		add_name(choosing, found);
	findings_free(&findings);
}

// Some of several may be missing; if all are, use the built-in one.
static void replace_missing(struct choosing *choosing, enum plan_mode mode, struct plan *plan) {
	if (choosing->several)
		log_warning("recording with %s", builtins[BUILTIN_EMBEDDED].name);
	buffer_printf(&choosing->names, "%s", builtins[BUILTIN_EMBEDDED].name);
	builtin_plan(&builtins[BUILTIN_EMBEDDED], mode, plan);
}

static void rename_profile(struct settings *settings, struct buffer *names) {
	buffer_append(names, "", 1);
	char *profile = (char *)names->data;
	array_push(&settings->owned, profile);
	if (strcmp(settings->profile, profile) != 0)
		settings->origins[SETTING_PROFILE] = FROM_FLAG; // for sessions started by 'each', too
	settings->profile = profile;
}

bool choose_profile(struct settings *settings) {
	struct plan plan;
	bool reported = getenv(CHILD_REPORTED);
	unsetenv(CHILD_REPORTED); // the test must not see it
	struct choosing choosing = {.settings = settings,
				    .several = settings->profile[profile_first(settings->profile)]};
	enum plan_mode mode = settings->type == RECORD_TO_MEMORY ? MODE_MEMORY : MODE_FILE;
	bool found = profiles_find(settings->profile, mode, &plan, take_found, &choosing);
	if (choosing.missing && settings->strict) {
		if (found)
			plan_free(&plan);
		buffer_free(&choosing.names);
		return false;
	}
	if (!found)
		replace_missing(&choosing, mode, &plan);
	take_plan(settings, &plan);
	take_sizes(settings, &plan);
	say_missing(settings, &plan, reported);
	say_if_windows_only(settings, &plan, reported);
	rename_profile(settings, &choosing.names);
	plan_free(&plan);
	return true;
}
