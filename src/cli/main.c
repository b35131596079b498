// The table of verbs, and the error message for unknown ones.
#include "base/descriptor.h"
#include "base/log.h"
#include "base/system.h"
#ifndef _WIN32
#include "capture/marker/holder.h"
#endif
#include "cli/commit.h"
#include "cli/verb.h"
#ifndef _WIN32
#include "history/glance.h"
#include "session/summary.h"
#endif
#include "suite/each.h"
#ifndef _WIN32
#include "symbol/reader.h"
#endif

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

// In the order of their families, the most used first.
static const struct verb *const verbs[] = {
	// record
	&verb_run,
	&verb_each,
	&verb_run_test,
	&verb_start,
	&verb_stop,
	&verb_cancel,
	&verb_snapshot,
	&verb_status,
	&verb_current,
	&verb_mark,
#ifndef _WIN32
	&verb_stat,
	&verb_heap,
#endif
	// understand
	&verb_why,
	&verb_report,
	&verb_view,
	&verb_info,
	&verb_flame,
	&verb_top,
	&verb_diff,
	&verb_table,
	&verb_dump,
	&verb_fold,
	&verb_convert,
// results
#ifndef _WIN32
	&verb_history,
#endif
	&verb_artifact,
	&verb_check,
	&verb_junit,
#ifndef _WIN32
	&verb_store,
	// machines
	&verb_vm,
	&verb_guest,
	&verb_agent,
#endif
	// set-up
	&verb_doctor,
	&verb_profile,
	&verb_settings_show,
#ifndef _WIN32
	&verb_init,
	&verb_collector,
#endif
};

#ifdef _WIN32
static const struct elsewhere {
	const char *name, *instead;
} elsewhere[] = {
	{"stat", "'tracelet info' and 'tracelet table' count the events in a recording"},
	{"heap",
	 "the profile 'memory' ('tracelet run --profile memory') records virtual memory and page faults"},
	{"vm", "it needs a Linux host; 'tracelet run' traces a test on this machine"},
	{"guest", "it needs a Linux host; in a Windows guest use 'tracelet run'"},
	{"agent", "in a Windows guest use 'tracelet run'"},
	{"collector", "WPR needs none"},
	{"init", "docs/windows.md has lines for CI"},
	{"history", "copy the manifests to a Linux machine and ask there"},
	{"store", "push the folder with the manifest from a Linux machine"},
};
#endif

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
	log_error("no verb '%s'%s; %s", word, BY_SYSTEM("", " on Windows"), instead);
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

// libtracelet takes our messages through a descriptor of its own, which is not the test's business.
static void take_log_descriptor(void) {
#ifndef _WIN32
	const char *number = getenv("TRACELET_LOG_FD");
	int fd = number ? descriptor_named(number) : -1;
	if (fd > STDERR_FILENO && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
		log_set_descriptor(fd);
	unsetenv("TRACELET_LOG_FD");
#endif
}

// The program is also its own reader of symbol files, a process without any rights.
static void begin_reader(int argc, char **argv) {
#ifndef _WIN32
	if (argc == 1 && strcmp(argv[0], READER_NAME) == 0)
		reader_serve(STDIN_FILENO);
	reader_program("/proc/self/exe");
#endif
}

int verb_run_words(int argc, char **argv) {
	const char *word = argc > 1 ? argv[1] : NULL;
	if (!word) {
		help_print(verbs, ARRAY_SIZE(verbs), stderr);
		return EXIT_USAGE;
	}
	if (strcmp(word, "--version") == 0) {
		puts("tracelet " TRACELET_VERSION TRACELET_COMMIT);
		return 0;
	}
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return help_about(verbs, ARRAY_SIZE(verbs), argv + 2);
	if (strcmp(word, RUN_CASE) == 0)
		return run_case(argc - 1, argv + 1);
	const struct verb *verb = find_verb(word);
	if (!verb)
		return say_no_verb(word);
	return verb->run(argc - 1, argv + 1, verb);
}

int main(int argc, char **argv) {
	begin_reader(argc, argv);
#ifndef _WIN32
	if (argc && strcmp(argv[0], HOLDER_NAME) == 0)
		return marker_hold(argc, argv);
#endif
	system_begin(&argc, &argv);
#ifndef _WIN32
	summary_ask_history = history_glance;
#endif
	take_log_descriptor();
	const struct verb *agent = agent_of(argc, argv);
	if (agent)
		return agent->run(argc, argv, agent);
	return verb_run_words(argc, argv);
}
