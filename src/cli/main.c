// The table of verbs, and what is said when none of them is meant.
#include "cli/verb.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef _WIN32
// The others are about what only Linux has.
static const struct verb *const verbs[] = {
	&verb_run,    &verb_each,    &verb_run_test, &verb_start,         &verb_stop,   &verb_cancel,
	&verb_status, &verb_current, &verb_snapshot, &verb_convert,       &verb_info,   &verb_dump,
	&verb_table,  &verb_fold,    &verb_flame,    &verb_top,           &verb_diff,   &verb_check,
	&verb_mark,   &verb_junit,   &verb_profile,  &verb_settings_show, &verb_doctor, &verb_artifact,
};

static const struct elsewhere {
	const char *name, *instead;
} elsewhere[] = {
	{"stat", "'tracelet info' and 'tracelet table' count what a recording has"},
	{"heap",
	 "the profile 'memory' ('tracelet run --profile memory') records virtual memory and page faults"},
	{"vm", "it boots Linux: run it on a Linux host; 'tracelet run' traces a test on this machine"},
	{"guest", "it speaks with a guest of Linux: run it on that one's Linux host; in a guest with Windows "
		  "'tracelet run' traces by itself"},
	{"agent", "in a guest with Windows 'tracelet run' traces by itself"},
};
#else
static const struct verb *const verbs[] = {
	&verb_run,    &verb_each,    &verb_run_test,      &verb_start,    &verb_stop,
	&verb_cancel, &verb_status,  &verb_current,       &verb_snapshot, &verb_convert,
	&verb_info,   &verb_dump,    &verb_table,         &verb_fold,     &verb_flame,
	&verb_top,    &verb_diff,    &verb_check,         &verb_stat,     &verb_mark,
	&verb_junit,  &verb_profile, &verb_settings_show, &verb_doctor,   &verb_heap,
	&verb_guest,  &verb_agent,   &verb_artifact,      &verb_vm,
};
#endif

#ifdef _WIN32
#define HERE  " on Windows"
#define PAGES "docs/windows.md has it all"
#else
#define HERE  ""
#define PAGES "tracelet(1) has it all"
#endif

int verb_print_help(const struct verb *verb) {
	fputs(verb->help, stdout);
	return 0;
}

int verb_bad_usage(const struct verb *verb) {
	log_error("try 'tracelet %s --help'", verb->name);
	return EXIT_USAGE;
}

// The settings' options and then the verb's own.
static struct option *all_options(const enum setting_id *flags, size_t count,
				  const struct verb_options *own) {
	size_t more = 0;
	while (own && own->options[more].name)
		more++;
	struct option *options = settings_options(flags, count);
	options = memory_resize_items(options, count + more + 2, sizeof(*options));
	for (size_t i = 0; i <= more; i++)
		options[count + 1 + i] = i < more ? own->options[i] : (struct option){0};
	return options;
}

// An exit status to end with, or -1.
static int take_options(int argc, char **argv, const struct verb *verb, const struct option *options,
			const struct verb_options *own, struct settings *settings) {
	// The "+": what follows the first other word is not ours.
	CLEANUP_FREE char *letters = memory_format("+qvh%s",
						   own && own->short_options ? own->short_options : "");
	for (int option; (option = getopt_long(argc, argv, letters, options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		if (option == 'q' || option == 'v')
			option = SETTING_FLAG + (option == 'q' ? SETTING_QUIET : SETTING_VERBOSE);
		if (option < SETTING_FLAG ? !own->take(option, optarg, own->context)
					  : !settings_take_flag(settings, option, optarg))
			return EXIT_USAGE;
	}
	return -1;
}

int verb_settings_and(int argc, char **argv, const struct verb *verb, const enum setting_id *flags,
		      size_t count, const struct verb_options *own, struct settings *settings) {
	CLEANUP_FREE struct option *options = all_options(flags, count, own);
	int status = settings_load(settings) ? take_options(argc, argv, verb, options, own, settings)
					     : EXIT_USAGE;
	if (status >= 0)
		settings_free(settings);
	else
		log_set_level(settings->quiet ? LOG_QUIET : settings->verbose ? LOG_VERBOSE : LOG_NORMAL);
	return status;
}

int verb_settings(int argc, char **argv, const struct verb *verb, const enum setting_id *flags, size_t count,
		  struct settings *settings) {
	return verb_settings_and(argc, argv, verb, flags, count, NULL, settings);
}

static void print_help(FILE *out) {
	fputs("tracelet: one small, focused trace for every test\n\n"
	      "Usage: tracelet run -- COMMAND [ARGUMENTS...]\n"
	      "       tracelet VERB [OPTIONS]\n\nVerbs:\n",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(out, "  %-9s %s\n", verbs[i]->name, verbs[i]->summary);
	fputs("\n'tracelet VERB --help' tells about one verb; " PAGES ".\n", out);
}

static const struct verb *find_verb(const char *name) {
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}

static int say_no_verb(const char *word) {
	const char *instead = "'tracelet --help' lists them";
#ifdef _WIN32
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
		if (strcmp(elsewhere[i].name, word) == 0)
			instead = elsewhere[i].instead;
#endif
	log_error("there is no verb '%s'%s; %s", word, HERE, instead);
	return EXIT_USAGE;
}

// Under these names the program is the agent, unless a verb is named: the second is what a kernel starts.
static const struct verb *agent_of(int argc, char **argv) {
	const char *slash = argc ? strrchr(argv[0], '/') : NULL, *name = slash  ? slash + 1
									 : argc ? argv[0]
										: "";
	bool named = strcmp(name, "tracelet-agent") == 0 && !(argc > 1 && find_verb(argv[1]));
	return named || (strcmp(name, "init") == 0 && getpid() == 1) ? find_verb("agent") : NULL;
}

int main(int argc, char **argv) {
	system_begin(&argc, &argv);
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct verb *agent = agent_of(argc, argv);
	if (agent)
		return agent->run(argc, argv, agent);
	if (!word) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(word, "--version") == 0) {
		puts("tracelet " TRACELET_VERSION);
		return 0;
	}
	if (strcmp(word, "help") == 0 && argc > 2 && find_verb(argv[2]))
		return verb_print_help(find_verb(argv[2]));
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
		print_help(stdout);
		return 0;
	}
	const struct verb *verb = find_verb(word);
	if (!verb)
		return say_no_verb(word);
	return verb->run(argc - 1, argv + 1, verb);
}
