#include "base/json.h"
#include "base/log.h"
#include "cli/verb.h"

#include <stdio.h>
#include <string.h>

static void show_table(const struct settings *settings) {
	struct buffer value = {0}, origin = {0};
	for (size_t id = 0; id < SETTING_COUNT; id++) {
		value.size = origin.size = 0;
		setting_value(settings, id, &value);
		setting_origin(settings, id, &origin);
		printf("%-14s %-24.*s %.*s\n", setting_name(id), value.size ? (int)value.size : 1,
		       value.size ? (char *)value.data : "-", (int)origin.size, (char *)origin.data);
	}
	buffer_free(&value);
	buffer_free(&origin);
}

static void show_json(const struct settings *settings) {
	struct buffer out = {0}, text = {0};
	struct json json = json_into(&out);
	json_object(&json, NULL);
	for (size_t id = 0; id < SETTING_COUNT; id++) {
		json_object(&json, setting_name(id));
		text.size = 0;
		setting_value(settings, id, &text);
		json_text(&json, "value", (char *)text.data, text.size);
		text.size = 0;
		setting_origin(settings, id, &text);
		json_text(&json, "from", (char *)text.data, text.size);
		json_close_object(&json);
	}
	json_close_object(&json);
	printf("%.*s\n", (int)out.size, (char *)out.data);
	buffer_free(&out);
	buffer_free(&text);
}

enum { OPTION_JSON = LETTERS + 1 };

static const struct verb_option own_options[] = {
	{"json", OPTION_JSON, NULL, "print JSON"},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	*(bool *)context = true;
	return true;
}

static int run(int argc, char **argv, const struct verb *verb) {
	bool json = false;
	int status = verb_take(argc, argv, verb, take_option, &json);
	if (status >= 0)
		return status;
	if (optind != argc) {
		log_error("settings takes no argument '%s'", argv[optind]);
		return verb_bad_usage(verb);
	}
	struct settings settings;
	bool good = settings_load(&settings, true);
	if (good)
		(json ? show_json : show_table)(&settings);
	settings_free(&settings);
	return good ? 0 : EXIT_USAGE;
}

const struct verb verb_settings_show = {
	.name = "settings",
	.family = FAMILY_SET_UP,
	.options = own_options,
	.summary = "show every setting and where it comes from",
	.usage = "tracelet settings [--json]",
	.about = "Shows the value of every setting, and where it comes from: the default, a file "
		 "(tracelet.ini in this directory or one above, or in " BY_SYSTEM(
			 "~/.config/tracelet",
			 "%APPDATA%\\tracelet") "), or a variable (TRACELET_OUTPUT_DIR for output-dir). An "
						"option of 'run' overrides them all.",
	.notes = "Exit status: 0; 2 if a value is bad.",
	.run = run,
};
