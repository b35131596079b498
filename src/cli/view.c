// `tracelet view`: recordings as a page with linked graphs and tables.
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/verb.h"
#include "flow/report.h"
#ifndef _WIN32
#include "cli/serve_once.h"
#endif

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_PRESET = LETTERS + 1, OPTION_PERFETTO };

struct view_arguments {
	const char *output, *preset;
	bool perfetto;
};

// ---- showing ----

// Only where there is a display: elsewhere the path is what can be used.
static void show(const char *path) {
#ifndef _WIN32
	const char *display = system_variable("DISPLAY"), *wayland = system_variable("WAYLAND_DISPLAY");
	if ((!display || !*display) && (!wayland || !*wayland))
		return;
	pid_t child = fork();
	if (child == 0) {
		execlp("xdg-open", "xdg-open", path, (char *)NULL);
		_exit(127);
	}
#endif
}

static char *temporary_path(const char *file) {
	CLEANUP_FREE char *folder = system_make_temporary_dir("tracelet-view");
	if (!folder)
		log_error("cannot create a temporary directory (" SYSTEM_TEMPORARY " chooses where)");
	return folder ? memory_format("%s/%s.html", folder, system_base_name(file)) : NULL;
}

static int write_page(const struct view_arguments *arguments, const char *first, struct buffer *page) {
	CLEANUP_FREE char *path = arguments->output ? memory_string(arguments->output)
						    : temporary_path(first);
	int error = path ? report_write(path, page, !arguments->output) : -1;
	if (error && path)
		log_error("%s: cannot be written: %s", path, strerror(-error));
	if (error)
		return EXIT_USAGE;
	if (strcmp(path, "-") != 0)
		text_path_line(stdout, path);
	if (!arguments->output)
		show(path);
	return 0;
}

static int view_files(const struct view_arguments *arguments, char **files, size_t count) {
	struct buffer page = {0};
	struct input preset = {0};
	bool has_preset = arguments->preset && input_open(&preset, arguments->preset) == 0;
	if (arguments->preset && !has_preset) {
		log_error("--preset: %s cannot be read", arguments->preset);
		return EXIT_USAGE;
	}
	bool wpa = has_preset && report_preset_is_wpa(preset.data, preset.size);
	CLEANUP_FREE char *text = wpa ? report_preset_from_wpa(preset.data, preset.size, arguments->preset)
				  : has_preset
					  ? memory_format("%.*s", (int)preset.size, (const char *)preset.data)
					  : NULL;
	if (has_preset && !text) {
		input_close(&preset);
		return EXIT_USAGE;
	}
	int status = report_view_page(&page, files, count, text) ? EXIT_USAGE
								 : write_page(arguments, files[0], &page);
	if (has_preset)
		input_close(&preset);
	buffer_free(&page);
	return status;
}

// ---- the verb ----

static const struct verb_option own_options[] = {
	{"output", 'o', "FILE", "write the page to FILE, and do not open it ('-': standard output)"},
	{"preset", OPTION_PRESET, "FILE",
	 "begin with these tables, groups and values: JSON, see docs/page.md, or a .wpaProfile"},
#ifndef _WIN32
	{"perfetto", OPTION_PERFETTO, NULL,
	 "serve the recording once, on 127.0.0.1:9001, to ui.perfetto.dev, and print the link"},
#endif
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	struct view_arguments *arguments = context;
	if (option == OPTION_PRESET)
		arguments->preset = value;
	else if (option == OPTION_PERFETTO)
		arguments->perfetto = true;
	else
		arguments->output = value;
	return true;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct view_arguments arguments = {0};
	int status = verb_take(argc, argv, verb, take_option, &arguments);
	if (status >= 0)
		return status;
	if (optind == argc) {
		log_error("view needs a FILE");
		return verb_bad_usage(verb);
	}
#ifndef _WIN32
	if (arguments.perfetto)
		return serve_to_perfetto(argv[optind]);
#endif
	return view_files(&arguments, argv + optind, (size_t)(argc - optind));
}

const struct verb verb_view = {
	.name = "view",
	.family = FAMILY_UNDERSTAND,
	.settings = OF_READING,
	.options = own_options,
	.summary = "look at any recording: a time line, flame graphs and all tables",
	.usage = "tracelet view [OPTIONS] FILE...",
	.about = "Writes a page with the time line, the flame graphs and all tables of each FILE (any "
		 "recording that tracelet "
		 "reads: its own, Perfetto traces, ETL, perf.data, perf script, folded stacks, heap "
		 "profiles), prints its path and "
		 "opens it where there is a display. The tables are those of 'tracelet table': group them by "
		 "any columns, sum "
		 "values, sort, search, copy the result or the command that prints it. What is selected in "
		 "the time line is what "
		 "the tables show.",
	.notes = "Exit status: 0; 2 bad options, or input that cannot be read.\n\n"
		 "Example: tracelet view boot.etl",
	.run = run,
};
