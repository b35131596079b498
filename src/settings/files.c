// tracelet.ini: where it is found, and what its lines set.
#include "settings/files.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/path.h"
#include "base/system.h"
#include "profile/find.h"
#include "settings/ini_file.h"
#include "settings/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct file_reading {
	struct settings *settings;
	const char *path;
	enum setting_origin origin;
	bool failed;
};

PRINTF_LIKE(2, 3) static int bad_line(struct file_reading *reading, const char *format, ...) {
	char problem[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(problem, sizeof(problem), format, arguments);
	va_end(arguments);
	if (!reading->failed)
		log_error("%s: %s", reading->path, problem);
	reading->failed = true;
	return 0;
}

// A folder in a file is relative to that file, not to where tracelet runs.
static const char *beside(struct file_reading *reading, const char *value) {
	const char *base = system_base_name(reading->path);
	bool as_it_is = !*value || system_is_absolute(value);
	return setting_keep(reading->settings, as_it_is ? memory_string(value)
							: memory_format("%.*s%s", (int)(base - reading->path),
									reading->path, value));
}

// Each of A+B that is a file.
static const char *profiles_beside(struct file_reading *reading, const char *value) {
	struct buffer names = {0};
	for (bool more = true; more;) {
		const char *there = beside(reading, value);
		size_t prefix = strlen(there) - strlen(value), length = profile_first(there);
		// The folder's name may have a + as well.
		length = length > prefix ? length - prefix : profile_first(value);
		bool file = memchr(value, '/', length) || memchr(value, '.', length) ||
			    memchr(value, '!', length);
		buffer_printf(&names, "%.*s%.*s", file ? (int)prefix : 0, there, (int)length, value);
		more = value[length];
		if (more)
			buffer_printf(&names, "+");
		value += length + more;
	}
	buffer_append(&names, "", 1);
	return setting_keep(reading->settings, (char *)names.data);
}

static const char *from_file(struct file_reading *reading, const struct setting *setting, const char *value) {
	return setting->type == TYPE_FOLDER    ? beside(reading, value)
	       : setting->type == TYPE_PROFILE ? profiles_beside(reading, value)
					       : setting_keep(reading->settings, memory_string(value));
}

// A project may come from anyone: what it makes us write stays inside its directory.
static bool leaves_project(const struct file_reading *reading, const struct setting *setting,
			   const char *value) {
	bool descriptor = setting->type == TYPE_TARGET && descriptor_named(value) >= 0;
	if (reading->origin != FROM_PROJECT_FILE || !setting->written || descriptor)
		return false;
	CLEANUP_FREE char *folder = memory_format(
		"%.*s", (int)(system_base_name(reading->path) - reading->path), reading->path);
	return !path_is_inside(value, folder);
}

static int take_value(struct file_reading *reading, enum setting_id id, const char *value) {
	const struct setting *setting = &setting_table[id];
	struct buffer wanted = {0};
	value = from_file(reading, setting, value);
	if (leaves_project(reading, setting, value)) {
		log_warning(
			"%s: ignoring %s: '%s' is outside the project; give it as an option or a variable",
			reading->path, setting->name, value);
		return 1;
	}
	if (reading->origin == FROM_PROJECT_FILE && setting->callers) {
		log_warning("%s: ignoring %s: give it as a flag or a variable", reading->path, setting->name);
		return 1;
	}
	if (setting_take(reading->settings, id, reading->origin, value))
		return 1;
	setting_wanted(setting, &wanted);
	bad_line(reading, "%s: '%s' is not %.*s", setting->name, value, (int)wanted.size,
		 (char *)wanted.data);
	buffer_free(&wanted);
	return 0;
}

static int take_key(void *context, const char *section, const char *key, const char *value) {
	struct file_reading *reading = context;
	if (*section && strcmp(section, "tracelet") != 0)
		return bad_line(reading, "unknown section [%s]", section);
	for (size_t id = 0; id < SETTING_COUNT; id++)
		if (strcmp(setting_table[id].name, key) == 0)
			return take_value(reading, id, value);
	return bad_line(reading, "unknown setting '%s'", key);
}

bool settings_take_file(struct settings *settings, const char *path, enum setting_origin origin) {
	struct file_reading reading = {.settings = settings, .path = path, .origin = origin};
	enum ini_file_kind kind = origin == FROM_PROJECT_FILE ? INI_FILE_OF_PROJECT : INI_FILE_OF_USER;
	char why[INI_FILE_WHY] = "";
	int line = ini_file_read(path, kind, take_key, &reading, why);
	if (line == INI_FILE_UNTRUSTED) {
		log_warning("ignoring %s: %s", path, why);
		return true;
	}
	if (line && !reading.failed) {
		if (line > 0)
			log_error("%s:%d: neither a section nor 'key = value'", path, line);
		else
			log_error("%s: cannot be read", path);
	}
	return line == 0;
}

// ---- where they are ----

#ifdef _WIN32
#define CONFIG_VARIABLE "APPDATA"
#define DATA_VARIABLE   "APPDATA"
#else
#define CONFIG_VARIABLE "XDG_CONFIG_HOME"
#define DATA_VARIABLE   "XDG_DATA_HOME"
#endif

static bool exists(const char *path) {
	struct stat status;
	return system_stat(path, &status) == 0;
}

char *settings_project_file(void) {
	CLEANUP_FREE char *folder = system_folder();
	while (folder && *folder) {
		char *path = memory_format("%s/tracelet.ini", folder);
		if (exists(path))
			return path;
		free(path);
		CLEANUP_FREE char *repository = memory_format("%s/.git", folder);
		char *slash = strrchr(folder, '/');
		if (exists(repository) || !slash)
			break;
		*slash = 0;
	}
	return NULL;
}

// A file of the user in the folder that the variable names, or in this one at home. NULL if it is not there.
static char *users_file(const char *variable, const char *at_home, const char *file) {
	const char *folder = system_variable(variable), *home = system_variable("HOME");
	char *path = folder && system_is_absolute(folder) ? memory_format("%s/tracelet/%s", folder, file)
		     : home && system_is_absolute(home)
			     ? memory_format("%s/%s/tracelet/%s", home, at_home, file)
			     : NULL;
	if (path && !exists(path)) {
		free(path);
		return NULL;
	}
	return path;
}

char *settings_user_file(void) {
	return users_file(CONFIG_VARIABLE, ".config", "tracelet.ini");
}

char *settings_manifest_folder(void) {
	return users_file(DATA_VARIABLE, ".local/share", "manifests");
}
