#include "settings/settings.h"
#include "base/log.h"
#include "base/near.h"
#include "base/system.h"
#include "settings/files.h"
#include "settings/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PREFIX "TRACELET_"

#ifndef _WIN32
extern char **environ;
#endif

static bool refuse(const char *place, const char *text, const struct setting *setting) {
	struct buffer wanted = {0};
	setting_wanted(setting, &wanted);
	log_error("%s: '%s' is not %.*s", place, text, (int)wanted.size, (char *)wanted.data);
	buffer_free(&wanted);
	return false;
}

// ---- the environment ----

// TRACELET_OUTPUT_DIR for output-dir.
static const char *variable_name(const struct setting *setting, char name[64]) {
	int length = snprintf(name, 64, PREFIX "%s", setting->name);
	for (int i = 0; i < length; i++)
		name[i] = name[i] == '-' ? '_' : (char)toupper(name[i]);
	return name;
}

static bool take_variable(struct settings *settings, enum setting_id id) {
	const struct setting *setting = &setting_table[id];
	char name[64];
	const char *variable = variable_name(setting, name), *text = system_variable(variable), *value = text;
	if ((!text || !*text) && setting->alias) {
		variable = setting->alias;
		text = system_variable(variable);
		if (text && !setting->alias_value(text, &value))
			return true;
	}
	// Set but empty is how scripts say "not set".
	if (!text || !value || !*value)
		return true;
	if (!setting_take(settings, id, FROM_ENVIRONMENT, value))
		return refuse(variable, text, setting);
	settings->variables[id] = variable == name ? setting_keep(settings, memory_string(name)) : variable;
	return true;
}

// Variables with other tasks than settings.
static const char *const other_variables[] = {"MARKS",
					      "HEAP",
					      "CASES",
					      "LOG_FD",
					      "STATE_DIR",
					      "TRACEFS",
					      "WPR",
					      "WPR_START_SECONDS",
					      "WPR_STOP_SECONDS",
					      "WPR_WAIT_SECONDS",
					      "TOLD",
					      "REFUSED"};

// Finds the nearest known name; false if the variable is a known one.
static bool is_unknown(struct near_name *near) {
	char name[64];
	for (size_t id = 0; id < SETTING_COUNT; id++) {
		const char *known = variable_name(&setting_table[id], name) + strlen(PREFIX);
		if (strcmp(near->wanted, known) == 0)
			return false;
		near_offer(near, known);
	}
	for (size_t i = 0; i < ARRAY_SIZE(other_variables); i++) {
		if (strcmp(near->wanted, other_variables[i]) == 0)
			return false;
		near_offer(near, other_variables[i]);
	}
	return true;
}

// A setting that is misspelt would be silently ignored. Other programs may have variables like ours: only
// names that look like a typing error are reported.
void settings_warn_of_variables(void) {
	if (system_variable(PREFIX "TOLD")) // our parent has reported them
		return;
	for (char **variable = environ; variable && *variable; variable++) {
		char wanted[NEAR_LONGEST + 1];
		size_t length = strcspn(*variable, "=");
		if (strncmp(*variable, PREFIX, strlen(PREFIX)) != 0 || length - strlen(PREFIX) > NEAR_LONGEST)
			continue;
		snprintf(wanted, sizeof(wanted), "%.*s", (int)(length - strlen(PREFIX)),
			 *variable + strlen(PREFIX));
		struct near_name near = {.wanted = wanted};
		if (is_unknown(&near) && *near.best)
			log_warning("the variable %s%s is unknown (did you mean %s%s?)", PREFIX, wanted,
				    PREFIX, near.best);
	}
}

// ---- all of them ----

// In CI the traces of tests that passed are rarely wanted, and people look at those that failed. Azure
// Pipelines does not set CI.
static void keep_by_ci(struct settings *settings) {
	static const char *const variables[] = {"CI", "TF_BUILD"};
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *value = system_variable(variables[i]);
		if (!value || !*value)
			continue;
		if (setting_yes_no(value) == 0)
			return;
		settings->keep = KEEP_FAILED;
		settings->origins[SETTING_KEEP] = FROM_ENVIRONMENT;
		settings->variables[SETTING_KEEP] = variables[i];
		settings->report = PAGE_FOR_FAILED;
		settings->origins[SETTING_REPORT] = FROM_ENVIRONMENT;
		settings->variables[SETTING_REPORT] = variables[i];
		return;
	}
}

static void take_default(struct settings *settings, enum setting_id id) {
	const struct setting *setting = &setting_table[id];
	if (setting->usual)
		setting_take(settings, id, FROM_DEFAULT, setting->usual);
	else if (setting->type == TYPE_SECONDS)
		*(double *)((char *)settings + setting->offset) = setting->unset;
}

bool settings_load(struct settings *settings, bool files) {
	*settings = (struct settings){0};
	for (size_t id = 0; id < SETTING_COUNT; id++)
		take_default(settings, id);
	keep_by_ci(settings);
	settings->user_file = files ? settings_user_file() : NULL;
	settings->project_file = files ? settings_project_file() : NULL;
	if (settings->user_file && !settings_take_file(settings, settings->user_file, FROM_USER_FILE))
		return false;
	if (settings->project_file &&
	    !settings_take_file(settings, settings->project_file, FROM_PROJECT_FILE))
		return false;
	for (size_t id = 0; id < SETTING_COUNT; id++)
		if (!take_variable(settings, id))
			return false;
	return true;
}

bool settings_load_some(struct settings *settings, unsigned verbs) {
	*settings = (struct settings){0};
	settings->user_file = settings_user_file();
	if (settings->user_file && !settings_take_file(settings, settings->user_file, FROM_USER_FILE))
		return false;
	for (size_t id = 0; id < SETTING_COUNT; id++)
		if (setting_table[id].verbs & verbs && !take_variable(settings, id))
			return false;
	return true;
}

void settings_free(struct settings *settings) {
	for (size_t i = 0; i < settings->owned.count; i++)
		free(settings->owned.items[i]);
	array_free(&settings->owned);
	free(settings->user_file);
	free(settings->project_file);
	settings->user_file = settings->project_file = NULL;
}

bool settings_take_flag(struct settings *settings, enum setting_id id, const char *value) {
	const struct setting *setting = &setting_table[id];
	// "auto" leaves the decision to the environment, which has been read.
	if (id == SETTING_ENABLED && value && strcasecmp(value, "auto") == 0 &&
	    settings->origins[id] == FROM_ENVIRONMENT)
		return true;
	if (setting_take(settings, id, FROM_FLAG, value ? value : setting->bare))
		return true;
	CLEANUP_FREE char *flag = memory_format("--%s", setting->name);
	return refuse(flag, value, setting);
}

bool settings_enabled(const struct settings *settings) {
	return settings->enabled == ENABLED_YES;
}

bool settings_leaks(const struct settings *settings) {
	return settings->heap_leaks || settings->heap_suppressions || settings->fail_on_leak;
}

bool settings_heap(const struct settings *settings) {
	return settings->heap || settings->heap_children || settings->heap_sample || settings->heap_usable ||
	       settings->heap_leaks || settings->heap_suppressions || settings->fail_on_leak;
}

bool settings_sampled(const struct settings *settings) {
	return settings->sample || settings->off_cpu || settings->stacks || settings->waits == 0;
}

bool settings_stacked(const struct settings *settings) {
	return settings_sampled(settings) || settings->waits >= 0;
}

// ---- showing ----

const char *setting_name(enum setting_id id) {
	return setting_table[id].name;
}

static void size_value(size_t size, struct buffer *text) {
	static const char units[] = "\0KMGT";
	int unit = 0;
	while (size >= 1024 && size % 1024 == 0 && unit < 4) {
		size /= 1024;
		unit++;
	}
	buffer_printf(text, "%zu%.1s", size, &units[unit]);
}

void setting_value(const struct settings *settings, enum setting_id id, struct buffer *text) {
	const struct setting *setting = &setting_table[id];
	const void *field = (const char *)settings + setting->offset;
	const char *words;
	switch (setting->type) {
	case TYPE_TEXT:
	case TYPE_FOLDER:
	case TYPE_PROFILE:
	case TYPE_TARGET:
	case TYPE_VARIANT:
		words = *(const char *const *)field;
		buffer_printf(text, "%s", words ? words : "");
		break;
	case TYPE_SECONDS:
		if (*(const double *)field >= 0)
			buffer_printf(text, "%gs", *(const double *)field);
		break;
	case TYPE_SIZE:
		if (*(const size_t *)field)
			size_value(*(const size_t *)field, text);
		break;
	case TYPE_NUMBER:
		buffer_printf(text, "%d", *(const int *)field);
		break;
	case TYPE_CHOICE:
		buffer_printf(text, "%s", setting->choices[*(const int *)field]);
		break;
	case TYPE_SAMPLES:
		if (settings->sample_event)
			buffer_printf(text, "%s", settings->sample_event);
		else if (*(const int *)field)
			buffer_printf(text, "%d", *(const int *)field);
		break;
	case TYPE_PROCESS:
		if (*(const int *)field)
			buffer_printf(text, "%d", *(const int *)field);
		break;
	case TYPE_YES_NO:
		buffer_printf(text, "%s", *(const bool *)field ? "yes" : "no");
		break;
	}
}

void setting_origin(const struct settings *settings, enum setting_id id, struct buffer *text) {
	static const char *const fixed[] = {[FROM_DEFAULT] = "default", [FROM_FLAG] = "flag"};
	enum setting_origin origin = settings->origins[id];
	buffer_printf(text, "%s",
		      origin == FROM_USER_FILE      ? settings->user_file
		      : origin == FROM_PROJECT_FILE ? settings->project_file
		      : origin == FROM_ENVIRONMENT  ? settings->variables[id]
						    : fixed[origin]);
}
