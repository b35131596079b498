#include "base/file.h"
#include "base/log.h"
#include "capture/sources.h"
#include "cli/verb.h"
#include "profile/builtin.h"
#include "profile/find.h"
#include "profile/wprp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct options {
	bool json;
	const char *output; // NULL for standard output
};

static int write_out(const struct options *options, struct buffer *text) {
	struct output output;
	const char *path = options->output ? options->output : "-";
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (!error) {
		output_write(&output, text->data, text->size);
		error = output_commit(&output);
		output_abandon(&output);
	}
	if (error)
		log_error("%s: cannot be written: %s", path, strerror(-error));
	buffer_free(text);
	return error ? EXIT_USAGE : 0;
}

static void say_findings(const struct findings *findings, const char *name,
			 void (*say)(const char *format, ...)) {
	for (size_t i = 0; i < findings->list.count; i++) {
		CLEANUP_FREE char *line = finding_line(&findings->list.items[i], name);
		say("%s", line);
	}
	if (findings->more)
		say("%s: and %zu more", name, findings->more);
}

// Reports findings: as errors if there is no plan, else as warnings.
static bool find(const char *text, struct plan *plan) {
	struct findings findings = {0};
	CLEANUP_FREE char *path = NULL;
	bool found = profile_find(text, MODE_FILE, plan, &findings, &path);
	say_findings(&findings, path ? path : text, found ? log_warning : log_error);
	findings_free(&findings);
	return found;
}

static void print_found(void *context, const struct profile_found *found) {
	bool *failed = context;
	*failed |= !found->plan;
	say_findings(found->findings, found->path ? found->path : found->text,
		     found->plan ? log_warning : log_error);
}

static int show(const struct options *options, int count, char **words) {
	struct plan plan;
	struct buffer text = {0}, names = {0};
	bool failed = false;
	for (int i = 0; i < count; i++)
		buffer_printf(&names, "%s%s", i ? "+" : "", words[i]);
	buffer_append(&names, "", 1);
	const char *wanted = count ? (const char *)names.data : builtins[BUILTIN_USUAL].name;
	bool found = profiles_find(wanted, MODE_FILE, &plan, print_found, &failed);
	buffer_free(&names);
	if (found && !failed)
		(options->json ? plan_json : plan_show)(&plan, source_why_not, &text);
	if (found)
		plan_free(&plan);
	return failed ? EXIT_USAGE : write_out(options, &text);
}

static int export(const struct options *options, int count, char **words) {
	struct plan plan;
	struct buffer text = {0};
	if (!find(count ? words[0] : builtins[BUILTIN_EMBEDDED].name, &plan))
		return EXIT_USAGE;
	plan_export(&plan, &text);
	plan_free(&plan);
	return write_out(options, &text);
}

static int list(const struct options *options, int count, char **words) {
	struct buffer text = {0};
	for (size_t i = 0; i < BUILTIN_COUNT; i++)
		buffer_printf(&text, "%-12s  %s%s\n", builtins[i].name, builtins[i].description,
			      i == BUILTIN_USUAL ? ": what a plain 'run' records" : "");
	return write_out(options, &text);
}

static int check_file(const char *path) {
	struct findings findings = {0};
	struct input input;
	struct wprp file;
	int error = profile_open(&input, path);
	if (error) {
		log_error("%s: cannot be read: %s", path, strerror(-error));
		return EXIT_USAGE;
	}
	if (wprp_open(&file, input.data, input.size, &findings)) {
		wprp_check(&file, &findings);
		if (!findings.list.count)
			printf("%s: valid, %zu %s\n", path, file.profiles.count,
			       file.profiles.count == 1 ? "profile" : "profiles");
		wprp_free(&file);
	}
	say_findings(&findings, path, log_error);
	int status = findings.list.count ? EXIT_FOUND : 0;
	findings_free(&findings);
	input_close(&input);
	return status;
}

static int check(const struct options *options, int count, char **words) {
	int worst = 0;
	for (int i = 0; i < count; i++) {
		int status = check_file(words[i]);
		worst = MAX(worst, status);
	}
	return worst;
}

static const struct action {
	const char *name;
	int least, most; // number of words after it
	bool json, output;
	int (*run)(const struct options *options, int count, char **words);
} actions[] = {
	{"show", 0, 1 << 10, true, false, show},
	{"check", 1, 1 << 20, false, false, check},
	{"export", 0, 1, false, true, export},
	{"list", 0, 0, false, false, list},
};

static const struct action *find_action(const char *name) {
	for (size_t i = 0; name && i < ARRAY_SIZE(actions); i++)
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	return NULL;
}

static int act(const struct verb *verb, const struct options *options, int count, char **words) {
	const struct action *action = find_action(count ? words[0] : NULL);
	if (!action) {
		log_error("profile needs one of: show, check, export, list");
		return verb_bad_usage(verb);
	}
	if (count - 1 < action->least || count - 1 > action->most) {
		log_error("profile %s: %s", action->name,
			  count - 1 < action->least ? "a file is missing" : "too many arguments");
		return verb_bad_usage(verb);
	}
	if ((options->json && !action->json) || (options->output && !action->output)) {
		log_error("profile %s has no option %s", action->name, options->json ? "--json" : "--output");
		return verb_bad_usage(verb);
	}
	return action->run(options, count - 1, words + 1);
}

enum { OPTION_JSON = LETTERS + 1 };

static const struct verb_option own_options[] = {
	{"json", OPTION_JSON, NULL, "for show: print JSON"},
	{"output", 'o', "FILE", "for export: write to FILE instead of standard output"},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	struct options *options = context;
	if (option == 'o')
		options->output = value;
	else
		options->json = true;
	return true;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct options options = {0};
	int status = verb_take(argc, argv, verb, take_option, &options);
	if (status >= 0)
		return status;
	return act(verb, &options, argc - optind, argv + optind);
}

const struct verb verb_profile = {
	.name = "profile",
	.family = FAMILY_SET_UP,
	.options = own_options,
	.summary = "show, check, export and list profiles: what to record",
	.usage = "tracelet profile list\n"
		 "tracelet profile show [--json] [NAME | FILE.wprp[!PROFILE]]...\n"
		 "tracelet profile check FILE.wprp...\n"
		 "tracelet profile export [-o FILE] [NAME]",
	.about = "A profile says what to record (run --profile): a built-in one, or a Windows Performance "
		 "Recorder profile in a .wprp file.\n\n"
		 "  list    lists the built-in profiles\n"
		 "  show    shows what will be recorded here, keyword by keyword, or why not, and the "
		 "sizes;\n          for several profiles, what they record together\n"
		 "  check   checks whether WPR would accept a file; prints errors with line and column\n"
		 "  export  writes a profile as a .wprp file, for WPR\n\n"
		 "PROFILE is NAME, NAME.Light or NAME.Verbose, and may end in .File or .Memory.",
	.notes = "Exit status: 0; 1 if check finds something; 2 bad options, or a file that cannot be "
		 "read.\n\n"
		 "Example: tracelet profile show cpu",
	.run = run,
};
