#include "base/json.h"
#include "base/log.h"
#include "cli/verb.h"

#include <getopt.h>
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

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	bool json = false;
	for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		json = true;
	}
	if (optind != argc) {
		log_error("settings takes no '%s'", argv[optind]);
		return verb_bad_usage(verb);
	}
	struct settings settings;
	bool good = settings_load(&settings);
	if (good)
		(json ? show_json : show_table)(&settings);
	settings_free(&settings);
	return good ? 0 : EXIT_USAGE;
}

#ifdef _WIN32
#define USER_FOLDER "%APPDATA%\\tracelet"
#else
#define USER_FOLDER "~/.config/tracelet"
#endif

const struct verb verb_settings_show = {
	.name = "settings",
	.summary = "show every setting and where it comes from",
	.help = "Usage: tracelet settings [--json]\n\n"
		"Shows the value of every setting, and where it comes from: the default, a file\n"
		"(tracelet.ini in this folder or one above, or in " USER_FOLDER "), or a variable of\n"
		"the environment (TRACELET_OUTPUT_DIR for output-dir). A flag of 'run' beats them all.\n\n"
		"  --json  as JSON\n"
		"  --help  this text\n\n"
		"Exit status: 0; 2 if a value is bad.\n",
	.run = run,
};
