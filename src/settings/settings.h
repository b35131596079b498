// What a session was asked for. Every setting is one entry of a table (settings.def):
// a flag --output-dir, a variable TRACELET_OUTPUT_DIR and a key output-dir in
// tracelet.ini mean the same. A flag overrides the environment, which overrides the
// project's file, then the user's file, then the default.
#pragma once

#include "base/array.h"
#include "base/buffer.h"
#include "format/record.h"

// The types of settings, and of their fields.
#define SETTING_TYPES                                                                                        \
	SETTING_TYPE(TEXT, const char *)                                                                     \
	SETTING_TYPE(FOLDER, const char *)  /* relative to the file that names it */                         \
	SETTING_TYPE(PROFILE, const char *) /* a name, or a file as a folder is; added to what is there */   \
	SETTING_TYPE(TARGET, const char *)  /* a file, or the number of an open descriptor */                \
	SETTING_TYPE(SECONDS, double)       /* 1.5, 1.5s, 3m, 2h, 7d */                                      \
	SETTING_TYPE(SIZE, size_t)          /* 64M */                                                        \
	SETTING_TYPE(NUMBER, int)                                                                            \
	SETTING_TYPE(CHOICE, int) /* the index of a word */                                                  \
	SETTING_TYPE(YES_NO, bool)                                                                           \
	SETTING_TYPE(PROCESS, int)                                                                           \
	SETTING_TYPE(SAMPLES, int)          /* 0 for no; a frequency, EVENT@PERIOD, EVENT@NUMBERhz */        \
	SETTING_TYPE(VARIANT, const char *) /* KEY=VALUE or JSON, added to what is there */

#define SETTING_TYPE(type, c_type) typedef c_type setting_##type;
SETTING_TYPES
#undef SETTING_TYPE

enum setting_id {
#define SETTING(id, ...) SETTING_##id,
#include "settings/settings.def"
#undef SETTING
	SETTING_COUNT
};

// A text of one system.
#ifdef _WIN32
#define BY_SYSTEM(linux_text, windows_text) windows_text
#else
#define BY_SYSTEM(linux_text, windows_text) linux_text
#endif

enum setting_origin { FROM_DEFAULT, FROM_USER_FILE, FROM_PROJECT_FILE, FROM_ENVIRONMENT, FROM_FLAG };

enum keep { KEEP_ALWAYS, KEEP_FAILED, KEEP_NEVER };
enum page_for { PAGE_FOR_NONE, PAGE_FOR_FAILED, PAGE_FOR_ALL };

enum enabled { ENABLED_NO, ENABLED_YES, ENABLED_AUTO }; // auto: only if the environment says yes

// Announcing artifacts to a CI system. auto: where one is known to read them.
enum attachments { ATTACHMENTS_NO, ATTACHMENTS_YES, ATTACHMENTS_AUTO };

// The resident collector. auto: if it is there, accepts, and can record what is wanted.
enum collector_use { COLLECTOR_AUTO, COLLECTOR_NEVER, COLLECTOR_REQUIRED };

enum recording_type { RECORD_TO_FILE, RECORD_TO_MEMORY }; // memory: a flight recorder

struct settings {
	// A field for each entry of settings.def, where its units and special values are described.
#define SETTING(id, field, name, type, ...) setting_##type field;
#include "settings/settings.def"
#undef SETTING

	char **command;           // ends with NULL
	const char *sample_event; // EVENT@PERIOD: sample by its overflow; NULL to sample by time
	bool hard_faults;         // the profile wants only the major ones of page faults
	const char *stacks;       // events at which the profile wants stacks, separated by blanks; or NULL
	bool without[RECORD_SOURCE_COUNT]; // sources that the profile does not want
	bool is_repro;                     // this is the second run of --repro
	const char *repro_of;              // the stem of the first run
	const char *repro_output;          // the file for its output

	enum setting_origin origins[SETTING_COUNT];
	const char *variables[SETTING_COUNT]; // the variable it came from
	char *user_file, *project_file;       // NULL if there is none
	ARRAY(char *) owned;                  // values that live as long as this
};

// The usual folder of the user's event manifests; NULL if it is not there. The caller frees it.
char *settings_manifest_folder(void);

// Loads defaults, files and environment. False if a value is bad, after one message that names it,
// where it is, and what is allowed.
bool settings_load(struct settings *settings, bool files);
// Only what verbs of this kind (enum setting_verbs) need, from the user's file and the environment: they are
// for recordings from anywhere, which a project's file is no part of.
bool settings_load_some(struct settings *settings, unsigned verbs);
void settings_free(struct settings *settings);

// Warns of variables in the environment whose names look like misspelt settings.
void settings_warn_of_variables(void);

// Sets an option; NULL if it has no value. Returns as settings_load().
bool settings_take_flag(struct settings *settings, enum setting_id id, const char *value);

// Whether to trace at all.
bool settings_enabled(const struct settings *settings);

// "1.5", "200ms", "2m", "1h": seconds.
bool settings_parse_seconds(const char *text, double *seconds);
// "4096", "64M", "2G": bytes.
bool settings_parse_size(const char *text, size_t *size);

// Whether the heap is counted.
bool settings_heap(const struct settings *settings);
bool settings_leaks(const struct settings *settings); // whether leaks are reported

// Whether many stacks are recorded.
bool settings_sampled(const struct settings *settings);
// Or at least those of long waits.
bool settings_stacked(const struct settings *settings);

// A setting for `tracelet settings`: its name, its value and where it came from, in words.
const char *setting_name(enum setting_id id);
void setting_value(const struct settings *settings, enum setting_id id, struct buffer *text);
void setting_origin(const struct settings *settings, enum setting_id id, struct buffer *text);
