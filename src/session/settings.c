#include "session/settings.h"
#include "base/log.h"
#include "base/system.h"
#include "profile/find.h"
#include "session/descriptors.h"
#include "session/ini_file.h"
#include "session/variant.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

// ---- the table ----

enum setting_type {
	TYPE_TEXT,
	TYPE_FOLDER,  // relative to the file that names it
	TYPE_PROFILE, // a name, or a file: as a folder then; added to what is there
	TYPE_TARGET,  // a file, or the number of a descriptor that is open
	TYPE_SECONDS, // 1.5, 1.5s, 3m, 2h, 7d
	TYPE_SIZE,    // 64M
	TYPE_NUMBER,
	TYPE_CHOICE,
	TYPE_YES_NO,
	TYPE_PROCESS,
	TYPE_SAMPLES, // 0: no; a frequency, EVENT@PERIOD, EVENT@NUMBERhz
	TYPE_VARIANT, // KEY=VALUE or JSON, added to what is there
};

struct setting {
	const char *name;
	enum setting_type type;
	size_t offset;
	double least, most;         // TYPE_SIZE, TYPE_NUMBER
	const char *const *choices; // TYPE_CHOICE: by value; ends with NULL
	const char *bare;           // the value of the flag alone; NULL: it needs one
	const char *wanted;         // "--x: 'y' is not ..."
	const char *alias;          // another variable that means the same
	bool (*alias_value)(const char *text, const char **value); // false: as if it were not set
};

// OpenVMM's rule: what is not plainly "yes" is "no".
static bool openvmm_enabled(const char *text, const char **value) {
	*value = strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0 ? "yes" : "no";
	return true;
}

static bool openvmm_profile(const char *text, const char **value) {
	*value = !*text || strcasecmp(text, "embedded") == 0 ? "embedded" : text;
	return true;
}

static bool openvmm_folder(const char *text, const char **value) {
	*value = text;
	return *text;
}

static const char *const enabled_choices[] = {"no", "yes", "auto", NULL};
static const char *const keep_choices[] = {
	[KEEP_ALWAYS] = "always", [KEEP_FAILED] = "failed", [KEEP_NEVER] = "never", NULL};
static const char *const scope_choices[] = {[SCOPE_TREE] = "tree", [SCOPE_SYSTEM] = "system", NULL};
static const char *const type_choices[] = {[RECORD_TO_FILE] = "file", [RECORD_TO_MEMORY] = "memory", NULL};

static const char *const call_graph_choices[] = {
	[CALL_GRAPH_AUTO] = "auto", [CALL_GRAPH_FP] = "fp", [CALL_GRAPH_DWARF] = "dwarf", NULL};

#define FIELD(field) .offset = offsetof(struct settings, field)

static const struct setting table[SETTING_COUNT] = {
	[SETTING_ENABLED] = {"enabled", TYPE_CHOICE, FIELD(enabled), .choices = enabled_choices,
			     .wanted = "'yes', 'no' or 'auto'", .alias = "OPENVMM_WPR_ENABLED",
			     .alias_value = openvmm_enabled},
	[SETTING_NAME] = {"name", TYPE_TEXT, FIELD(name), .wanted = "a name"},
	[SETTING_VARIANT] = {"variant", TYPE_VARIANT, FIELD(variant), .wanted = VARIANT_WANTED},
	[SETTING_OUTPUT_DIR] = {"output-dir", TYPE_FOLDER, FIELD(output_dir), .wanted = "a folder",
				.alias = "OPENVMM_WPR_OUTPUT_DIR", .alias_value = openvmm_folder},
	[SETTING_PROFILE] = {"profile", TYPE_PROFILE, FIELD(profile), .wanted = "a profile",
			     .alias = "OPENVMM_WPR_PROFILE", .alias_value = openvmm_profile},
	[SETTING_SCOPE] = {"scope", TYPE_CHOICE, FIELD(scope), .choices = scope_choices,
			   .wanted = "'tree' or 'system'"},
	[SETTING_TYPE] = {"type", TYPE_CHOICE, FIELD(type), .choices = type_choices,
			  .wanted = "'file' or 'memory'"},
	[SETTING_RING_SIZE] = {"ring-size", TYPE_SIZE, FIELD(ring_size), .least = 64 << 10,
			       .most = 1ull << 32, .wanted = "a size from 64K to 4G"},
	[SETTING_RING_SECONDS] = {"ring-seconds", TYPE_SECONDS, FIELD(ring_seconds), .wanted = "seconds"},
	[SETTING_SAMPLE] = {"sample", TYPE_SAMPLES, FIELD(sample), .bare = "999",
			    .wanted = "a number from 1 to 20000, an event as in cycles@100000 or "
				      "cycles@999hz, or 'no'"},
	[SETTING_OFF_CPU] = {"off-cpu", TYPE_YES_NO, FIELD(off_cpu), .bare = "yes",
			     .wanted = "'yes' or 'no'"},
	[SETTING_COUNTERS] = {"counters", TYPE_TEXT, FIELD(counters), .wanted = "a list of events"},
	[SETTING_COUNTER_TIME] = {"counters-interval", TYPE_SECONDS, FIELD(counters_interval),
				  .wanted = "a time, as in 10ms"},
	[SETTING_COUNTER_SLICES] = {"counters-per-slice", TYPE_YES_NO, FIELD(counters_per_slice),
				    .bare = "yes", .wanted = "'yes' or 'no'"},
	[SETTING_HEAP] = {"heap", TYPE_YES_NO, FIELD(heap), .bare = "yes", .wanted = "'yes' or 'no'"},
	[SETTING_HEAP_CHILDREN] = {"heap-children", TYPE_YES_NO, FIELD(heap_children), .bare = "yes",
				   .wanted = "'yes' or 'no'"},
	[SETTING_HEAP_SAMPLE] = {"heap-sample", TYPE_SIZE, FIELD(heap_sample), .most = 0x1p40,
				 .wanted = "a size, as in 512K"},
	[SETTING_HEAP_USABLE] = {"heap-usable", TYPE_YES_NO, FIELD(heap_usable), .bare = "yes",
				 .wanted = "'yes' or 'no'"},
	[SETTING_HEAP_LEAKS] = {"heap-leaks", TYPE_YES_NO, FIELD(heap_leaks), .bare = "yes",
				.wanted = "'yes' or 'no'"},
	[SETTING_HEAP_SUPPRESSIONS] = {"heap-suppressions", TYPE_FOLDER, FIELD(heap_suppressions),
				       .wanted = "a file"},
	[SETTING_FAIL_ON_LEAK] = {"fail-on-leak", TYPE_YES_NO, FIELD(fail_on_leak), .bare = "yes",
				  .wanted = "'yes' or 'no'"},
	[SETTING_CALL_GRAPH] = {"call-graph", TYPE_CHOICE, FIELD(call_graph), .choices = call_graph_choices,
				.wanted = "'auto', 'fp' or 'dwarf'"},
	[SETTING_DURATION] = {"duration", TYPE_SECONDS, FIELD(duration), .wanted = "seconds"},
	[SETTING_MAX_SIZE] = {"max-size", TYPE_SIZE, FIELD(max_size), .least = 64 << 10, .most = 0x1p60,
			      .wanted = "a size from 64K on"},
	[SETTING_WAIT_TREE] = {"wait-tree", TYPE_SECONDS, FIELD(wait_tree), .bare = "0", .wanted = "seconds"},
	[SETTING_TIMEOUT] = {"timeout", TYPE_SECONDS, FIELD(timeout), .wanted = "seconds"},
	[SETTING_GRACE] = {"grace", TYPE_SECONDS, FIELD(grace), .wanted = "seconds"},
	[SETTING_TIMEOUT_STATUS] = {"timeout-status", TYPE_NUMBER, FIELD(timeout_status), .least = 0,
				    .most = 255, .wanted = "a number from 0 to 255"},
	[SETTING_CORE] = {"core", TYPE_YES_NO, FIELD(core), .bare = "yes", .wanted = "'yes' or 'no'"},
	[SETTING_CORE_LIMIT] = {"core-limit", TYPE_SIZE, FIELD(core_limit), .least = 4096, .most = 0x1p60,
				.wanted = "a size from 4K on"},
	[SETTING_KEEP] = {"keep", TYPE_CHOICE, FIELD(keep), .choices = keep_choices,
			  .wanted = "'always', 'failed' or 'never'"},
	[SETTING_MAX_TOTAL_SIZE] = {"max-total-size", TYPE_SIZE, FIELD(max_total_size), .most = 0x1p60,
				    .wanted = "a size"},
	[SETTING_MAX_AGE] = {"max-age", TYPE_SECONDS, FIELD(max_age), .wanted = "a time, as in 7d"},
	[SETTING_BUFFER_SIZE] = {"buffer-size", TYPE_SIZE, FIELD(buffer_size), .least = 4096, .most = 1 << 30,
				 .wanted = "a size from 4K to 1G"},
	[SETTING_JSON] = {"json", TYPE_TARGET, FIELD(json), .wanted = "a file or an open descriptor"},
	[SETTING_ATTACHMENTS] = {"attachments", TYPE_CHOICE, FIELD(attachments), .choices = enabled_choices,
				 .wanted = "'yes', 'no' or 'auto'"},
	[SETTING_CASES] = {"cases", TYPE_YES_NO, FIELD(cases), .wanted = "'yes' or 'no'"},
	[SETTING_KEEP_SPOOL] = {"keep-spool", TYPE_YES_NO, FIELD(keep_spool), .bare = "yes",
				.wanted = "'yes' or 'no'"},
	[SETTING_REPRO] = {"repro", TYPE_YES_NO, FIELD(repro), .bare = "yes", .wanted = "'yes' or 'no'"},
	[SETTING_STRICT] = {"strict", TYPE_YES_NO, FIELD(strict), .bare = "yes", .wanted = "'yes' or 'no'"},
	[SETTING_PID] = {"pid", TYPE_PROCESS, FIELD(pid), .wanted = "the number of a process"},
	[SETTING_QUIET] = {"quiet", TYPE_YES_NO, FIELD(quiet), .bare = "yes", .wanted = "'yes' or 'no'"},
	[SETTING_VERBOSE] = {"verbose", TYPE_YES_NO, FIELD(verbose), .bare = "yes",
			     .wanted = "'yes' or 'no'"},
};

// ---- values ----

bool settings_parse_size(const char *text, size_t *size) {
	static const char units[] = "KMGT";
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, toupper(*end)) : NULL;
	if (end == text || !isdigit(*text) || (*end && (!unit || end[1])))
		return false;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	*size = (size_t)value << shift;
	return *size >> shift == value;
}

bool settings_parse_seconds(const char *text, double *seconds) {
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
	char *end;
	*seconds = strtod(text, &end);
	bool known = !*end;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(end, units[i].unit) == 0) {
			*seconds *= units[i].seconds;
			known = true;
		}
	return end != text && known && *seconds >= 0 && *seconds < 1e9;
}

static bool parse_number(const struct setting *setting, const char *text, int *number) {
	char *end;
	long value = strtol(text, &end, 10);
	*number = (int)value;
	return isdigit(*text) && !*end && (double)value >= setting->least && (double)value <= setting->most;
}

// The yes and no that people write.
static int yes_no(const char *text) {
	static const char *const words[][4] = {{"no", "false", "off", "0"}, {"yes", "true", "on", "1"}};
	for (int answer = 0; answer < 2; answer++)
		for (size_t i = 0; i < ARRAY_SIZE(words[answer]); i++)
			if (strcasecmp(text, words[answer][i]) == 0)
				return answer;
	return -1;
}

static bool parse_choice(const struct setting *setting, const char *text, int *choice) {
	for (int i = 0; setting->choices[i]; i++)
		if (strcasecmp(text, setting->choices[i]) == 0) {
			*choice = i;
			return true;
		}
	// "yes" and "no" as a choice have the same other spellings as elsewhere.
	const char *word = yes_no(text) == 1 ? "yes" : yes_no(text) == 0 ? "no" : NULL;
	return word && strcasecmp(word, text) != 0 && parse_choice(setting, word, choice);
}

static bool descriptor_is_closed(const char *name) {
	int fd = descriptor_named(name);
	return fd >= 0 && !system_is_open(fd);
}

// EVENT@PERIOD or EVENT@NUMBERhz; what the event is, is looked at when the machine is known.
static bool is_overflow(const char *text) {
	const char *at = strrchr(text, '@');
	size_t digits = at ? strspn(at + 1, "0123456789") : 0;
	return digits && digits < 19 && at > text && strspn(at + 1, "0") < digits &&
	       (!at[1 + digits] || strcasecmp(at + 1 + digits, "hz") == 0);
}

static const char *keep(struct settings *settings, char *text) {
	array_push(&settings->owned, text);
	return text;
}

// One more is recorded together with those before.
static bool parse_profile(struct settings *settings, const char *text) {
	settings->profile = settings->profile
				    ? keep(settings, memory_format("%s+%s", settings->profile, text))
				    : text;
	return true;
}

static bool parse_variant(struct settings *settings, const char *text) {
	char *variant = variant_add(settings->variant, text);
	if (!variant)
		return false;
	settings->variant = keep(settings, variant);
	return true;
}

// What a place of less weight has said of a setting does not add to what follows.
static void begin_origin(struct settings *settings, enum setting_id id, enum setting_origin origin) {
	if (settings->origins[id] == origin)
		return;
	if (id == SETTING_VARIANT)
		settings->variant = NULL;
	if (id == SETTING_PROFILE)
		settings->profile = NULL;
}

// `text` lives as long as the settings do.
static bool parse(struct settings *settings, const struct setting *setting, const char *text) {
	void *field = (char *)settings + setting->offset;
	int answer;
	switch (setting->type) {
	case TYPE_TEXT:
	case TYPE_FOLDER:
	case TYPE_TARGET:
		*(const char **)field = text;
		return setting->type == TYPE_TEXT ||
		       (*text && !(setting->type == TYPE_TARGET && descriptor_is_closed(text)));
	case TYPE_SECONDS:
		return settings_parse_seconds(text, field);
	case TYPE_SIZE:
		return settings_parse_size(text, field) && (double)*(size_t *)field >= setting->least &&
		       (double)*(size_t *)field <= setting->most;
	case TYPE_NUMBER:
		return parse_number(setting, text, field);
	case TYPE_CHOICE:
		return parse_choice(setting, text, field);
	case TYPE_SAMPLES:
		settings->sample_event = is_overflow(text) ? text : NULL;
		if (settings->sample_event)
			return parse(settings, setting, setting->bare) && (settings->sample_event = text);
		answer = yes_no(text);
		*(int *)field = answer == 1 && text[1] ? atoi(setting->bare) : atoi(text);
		return answer == 0 || (*(int *)field > 0 && *(int *)field <= 20000 &&
				       (answer == 1 || text[strspn(text, "0123456789")] == 0));
	case TYPE_PROCESS:
		*(int *)field = atoi(text);
		return *(int *)field > 0 && text[strspn(text, "0123456789")] == 0 &&
		       system_process_exists(*(int *)field);
	case TYPE_VARIANT:
		return parse_variant(settings, text);
	case TYPE_PROFILE:
		return parse_profile(settings, text);
	case TYPE_YES_NO:
		answer = yes_no(text);
		*(bool *)field = answer == 1;
		return answer >= 0;
	}
	return false;
}

// ---- the environment ----

// TRACELET_OUTPUT_DIR for output-dir.
static const char *variable_name(const struct setting *setting, char name[64]) {
	int length = snprintf(name, 64, "TRACELET_%s", setting->name);
	for (int i = 0; i < length; i++)
		name[i] = name[i] == '-' ? '_' : (char)toupper(name[i]);
	return name;
}

static bool take_variable(struct settings *settings, enum setting_id id) {
	const struct setting *setting = &table[id];
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
	begin_origin(settings, id, FROM_ENVIRONMENT);
	if (!parse(settings, setting, value)) {
		log_error("%s: '%s' is not %s", variable, text, setting->wanted);
		return false;
	}
	settings->origins[id] = FROM_ENVIRONMENT;
	settings->variables[id] = variable == name ? keep(settings, memory_format("%s", name)) : variable;
	return true;
}

// ---- files ----

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

// A folder is meant from where the file is, not from where tracelet happens to be run.
static const char *beside(struct file_reading *reading, const char *value) {
	const char *base = system_base_name(reading->path);
	bool as_it_is = !*value || system_is_absolute(value);
	return keep(reading->settings,
		    as_it_is ? memory_string(value)
			     : memory_format("%.*s%s", (int)(base - reading->path), reading->path, value));
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
	return keep(reading->settings, (char *)names.data);
}

static const char *from_file(struct file_reading *reading, const struct setting *setting, const char *value) {
	return setting->type == TYPE_FOLDER    ? beside(reading, value)
	       : setting->type == TYPE_PROFILE ? profiles_beside(reading, value)
					       : keep(reading->settings, memory_string(value));
}

static int take_key(void *context, const char *section, const char *key, const char *value) {
	struct file_reading *reading = context;
	if (*section && strcmp(section, "tracelet") != 0)
		return bad_line(reading, "there is no section [%s]", section);
	for (size_t id = 0; id < SETTING_COUNT; id++) {
		if (strcmp(table[id].name, key) != 0)
			continue;
		begin_origin(reading->settings, id, reading->origin);
		if (!parse(reading->settings, &table[id], from_file(reading, &table[id], value)))
			return bad_line(reading, "%s: '%s' is not %s", key, value, table[id].wanted);
		reading->settings->origins[id] = reading->origin;
		return 1;
	}
	return bad_line(reading, "there is no setting '%s'", key);
}

static bool take_file(struct settings *settings, const char *path, enum setting_origin origin) {
	struct file_reading reading = {.settings = settings, .path = path, .origin = origin};
	int line = ini_file_read(path, take_key, &reading);
	if (line && !reading.failed) {
		if (line > 0)
			log_error("%s:%d: neither a section nor 'key = value'", path, line);
		else
			log_error("%s: cannot be read", path);
	}
	return line == 0;
}

#ifdef _WIN32
#define CONFIG_VARIABLE "APPDATA"
#else
#define CONFIG_VARIABLE "XDG_CONFIG_HOME"
#endif

static bool exists(const char *path) {
	struct stat status;
	return system_stat(path, &status) == 0;
}

// tracelet.ini in this folder or one above it, up to the root of the project.
static char *find_project_file(void) {
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

static char *find_user_file(void) {
	const char *config = system_variable(CONFIG_VARIABLE), *home = system_variable("HOME");
	char *path = config && system_is_absolute(config) ? memory_format("%s/tracelet/tracelet.ini", config)
		     : home && system_is_absolute(home)
			     ? memory_format("%s/.config/tracelet/tracelet.ini", home)
			     : NULL;
	if (path && !exists(path)) {
		free(path);
		return NULL;
	}
	return path;
}

// ---- all of them ----

// Nobody looks at the traces of a build that went well.
static void keep_by_ci(struct settings *settings) {
	const char *ci = system_variable("CI");
	if (!ci || !*ci || yes_no(ci) == 0)
		return;
	settings->keep = KEEP_FAILED;
	settings->origins[SETTING_KEEP] = FROM_ENVIRONMENT;
	settings->variables[SETTING_KEEP] = "CI";
}

bool settings_load(struct settings *settings) {
	*settings = (struct settings){.output_dir = "tracelet-out",
				      .profile = "default",
				      .enabled = ENABLED_YES,
				      .attachments = ATTACHMENTS_AUTO,
				      .scope = SCOPE_TREE,
				      .ring_size = 16 << 20,
				      .wait_tree = -1,
				      .cases = true,
				      .grace = 5,
				      .counters_interval = 0.01,
				      .timeout_status = 124,
				      .core_limit = (size_t)1 << 30,
				      .keep = KEEP_ALWAYS};
	keep_by_ci(settings);
	settings->user_file = find_user_file();
	settings->project_file = find_project_file();
	if (settings->user_file && !take_file(settings, settings->user_file, FROM_USER_FILE))
		return false;
	if (settings->project_file && !take_file(settings, settings->project_file, FROM_PROJECT_FILE))
		return false;
	for (size_t id = 0; id < SETTING_COUNT; id++)
		if (!take_variable(settings, id))
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

struct option *settings_options(const enum setting_id *wanted, size_t count) {
	struct option *options = memory_alloc((count + 2) * sizeof(*options));
	for (size_t i = 0; i < count; i++) {
		const struct setting *setting = &table[wanted[i]];
		options[i] = (struct option){.name = setting->name,
					     .has_arg = setting->bare ? optional_argument : required_argument,
					     .val = SETTING_FLAG + (int)wanted[i]};
	}
	options[count] = (struct option){.name = "help", .val = 'h'};
	return options;
}

bool settings_take_flag(struct settings *settings, int option, const char *value) {
	enum setting_id id = (enum setting_id)(option - SETTING_FLAG);
	const struct setting *setting = &table[id];
	// "auto" leaves the word to the environment, which is read already.
	if (id == SETTING_ENABLED && value && strcasecmp(value, "auto") == 0 &&
	    settings->origins[id] == FROM_ENVIRONMENT)
		return true;
	begin_origin(settings, id, FROM_FLAG);
	if (!parse(settings, setting, value ? value : setting->bare)) {
		log_error("--%s: '%s' is not %s", setting->name, value, setting->wanted);
		return false;
	}
	settings->origins[id] = FROM_FLAG;
	return true;
}

bool settings_enabled(const struct settings *settings) {
	return settings->enabled == ENABLED_YES;
}

bool settings_heap(const struct settings *settings) {
	return settings->heap || settings->heap_children || settings->heap_sample || settings->heap_usable ||
	       settings->heap_leaks || settings->heap_suppressions || settings->fail_on_leak;
}

bool settings_sampled(const struct settings *settings) {
	return settings->sample || settings->off_cpu || settings->stacks;
}

// ---- telling ----

const char *setting_name(enum setting_id id) {
	return table[id].name;
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
	const struct setting *setting = &table[id];
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
