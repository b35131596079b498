// A row of the table of settings (settings.def) and the types used in it.
#pragma once

#include "settings/settings.h"

enum setting_type {
#define SETTING_TYPE(type, c_type) TYPE_##type,
	SETTING_TYPES
#undef SETTING_TYPE
};

// Verbs that take settings as options; the others that do (each, vm ...) take those of `run`.
enum setting_verbs {
	OF_RUN = 1,
	OF_START = 2,
	OF_ARTIFACT = 4,
	OF_READING = 8,
	OF_HISTORY = 16,
	OF_NUMBERS = 32,
	OF_STAT = 64
};

struct setting {
	const char *name;
	char letter; // the short option, 0 if none
	enum setting_type type;
	size_t offset; // of the field in struct settings
	unsigned verbs;
	bool windows;        // it has an effect with WPR
	bool written;        // it names a path that is written to
	bool callers;        // a project's file cannot set it
	const char *metavar; // the value in the help; NULL for the choices, or an option without a value
	const char *help;    // one sentence, or a few
	const char *usual;   // the default; NULL for empty, or `unset`
	double unset;        // TYPE_SECONDS: the default of the field
	const char *bare;    // the value of the option alone; NULL if it needs one
	double least, most;  // TYPE_SIZE, TYPE_NUMBER
	const char *const *choices; // TYPE_CHOICE: by value; ends with NULL
	const char *wanted;         // "--x: 'y' is not ..."; NULL for one by type
	const char *alias;          // another variable that means the same
	bool (*alias_value)(const char *text, const char **value); // false to ignore it
};

extern const struct setting setting_table[SETTING_COUNT];

// The allowed words of a value, ending with NULL; or NULL if any are allowed.
const char *const *setting_choices(const struct setting *setting);

// Describes a valid value: "seconds", "'yes' or 'no'".
void setting_wanted(const struct setting *setting, struct buffer *text);
