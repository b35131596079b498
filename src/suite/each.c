// One process waits for all cases. Each case is a child (process/child.h): `tracelet run` under the case's
// name.
//
// The files are in a temporary directory: N.out has the case's output, N.json its summary, N.again the
// output of its second run.
#include "suite/each.h"
#include "artifact/artifact.h"
#include "artifact/ci.h"
#include "artifact/identity.h"
#include "artifact/source.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "base/text.h"
#include "base/uuid.h"
#include "session/operation.h"
#include "session/run.h"
#include "suite/cases.h"
#include "suite/each_report.h"
#include "suite/name_filter.h"
#include "suite/verdict.h"

#include <errno.h>
#include <time.h>

enum { TICK_MS = 100, GRACE_SECONDS = 5, LEAST_AGAIN_SECONDS = 60 };

struct runner {
	struct settings *settings;
	const struct each_options *options;
	const struct framework *framework;
	struct each_results results;
	struct children *children;
	char *folder;        // for temporary files
	char *program;       // path of tracelet itself
	char run[UUID_SIZE]; // an id for all cases; "" if the user or the CI system has one
	unsigned jobs, running;
	size_t next; // case to start
	size_t done;
	bool alone;     // the running case must not run in parallel
	int stopped_by; // exit status after a signal
	double kill_at; // when to kill what is left
	off_t shown;    // live: bytes shown of the running case's output
};

static double seconds_now(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool is_live(const struct runner *runner) {
	return runner->jobs == 1 && runner->settings->verbose;
}

static char *case_file(const struct runner *runner, size_t index, const char *extension) {
	return memory_format("%s/%zu.%s", runner->folder, index, extension);
}

// ---- starting a case ----

// Passes on our flags; files and environment it finds itself. As a wrapper it is started in another
// directory, where it would find other files.
static void add_flags(const struct runner *runner, struct words *words) {
	static const enum setting_id own[] = {SETTING_NAME,    SETTING_JSON,        SETTING_QUIET,
					      SETTING_VERBOSE, SETTING_ATTACHMENTS, SETTING_OUTPUT_DIR};
	const enum setting_origin *origins = runner->settings->origins;
	bool elsewhere = runner->framework && runner->framework->wrapper;
	struct buffer value = {0};
	if (elsewhere && !system_is_absolute(runner->settings->output_dir)) {
		CLEANUP_FREE char *here = system_folder();
		words_add(words, "--output-dir=%s/%s", here ? here : ".", runner->settings->output_dir);
	} else if (elsewhere || origins[SETTING_OUTPUT_DIR] == FROM_FLAG) {
		words_add(words, "--output-dir=%s", runner->settings->output_dir);
	}
	for (size_t id = 0; id < SETTING_COUNT; id++) {
		bool skip = origins[id] != FROM_FLAG && !(elsewhere && origins[id] == FROM_PROJECT_FILE);
		for (size_t i = 0; i < ARRAY_SIZE(own); i++)
			skip |= own[i] == id;
		if (skip)
			continue;
		value.size = 0;
		setting_value(runner->settings, id, &value);
		words_add(words, "--%s=%.*s", setting_name(id), (int)value.size, (char *)value.data);
	}
	buffer_free(&value);
}

// One id for all cases.
static void choose_run(struct runner *runner) {
	struct source source;
	source_find(&source, ".");
	if (!runner->settings->run && !source.run)
		uuid_new(runner->run);
	source_free(&source);
}

// So that the manifest has the same verdict as our table, and the trace of a failed case is kept. The output
// of a wrapper goes to the framework, which judges it later.
static void add_rule(const struct runner *runner, const char *name, const char *output, struct words *words) {
	const char *report = runner->options->report;
	if (!runner->framework || runner->framework->wrapper || !output)
		return;
	words_add(words, RUN_CASE);
	words_add(words, "%s", runner->framework->name);
	words_add(words, "%s", name);
	words_add(words, "%s", output);
	words_add(words, "%s%s", report ? "=" : "", report ? report : "");
}

// `extra`: a flag that overrides the user's, or NULL. `output`: the file with the output of one case, or NULL
// for several.
static void words_of_run(const struct runner *runner, size_t index, const char *name, const char *extra,
			 const char *output, struct words *words) {
	const char *prefix = runner->settings->name;
	CLEANUP_FREE char *json = case_file(runner, index, "json");
	words_add(words, "%s", runner->program ? runner->program : "tracelet");
	add_rule(runner, name, output, words);
	words_add(words, "run");
	words_add(words, "--name=%s%s%s", prefix ? prefix : "", prefix ? "::" : "", name);
	words_add(words, "--quiet=yes");
	words_add(words, "--attachments=no"); // we announce it to the CI system once we know the result
	words_add(words, "--json=%s", json);
	if (*runner->run)
		words_add(words, "--run=%s", runner->run);
	if (!runner->settings->suite) {
		CLEANUP_FREE char *program = system_command_name(runner->settings->command[0]);
		words_add(words, "--suite=%s", program);
	}
	add_flags(runner, words);
	if (extra)
		words_add(words, "%s", extra);
	words_add(words, "--");
}

static void words_of_case(const struct runner *runner, size_t index, const char *extra, const char *output,
			  struct words *words) {
	const char *name = runner->results.items[index].test->name;
	if (!runner->framework) {
		words_of_run(runner, index, name, extra, output, words);
		words_add_all(words, runner->settings->command);
	} else if (!runner->framework->wrapper) {
		words_of_run(runner, index, name, extra, output, words);
		case_command(runner->framework, runner->settings->command, runner->options->select, name,
			     words);
	} else {
		struct words wrapper = {0};
		struct buffer line = {0};
		words_of_run(runner, index, name, extra, output, &wrapper);
		for (size_t i = 0; i < wrapper.count; i++)
			child_quote(&line, wrapper.items[i]);
		case_command(runner->framework, runner->settings->command, runner->options->select, name,
			     words);
		words_add(words, "--wrapper=%.*s", (int)line.size, (char *)line.data);
		words_free(&wrapper);
		buffer_free(&line);
	}
}

static void note_company(struct runner *runner, size_t index) {
	for (size_t i = 0; i < index; i++)
		if (runner->results.items[i].outcome == CASE_RUNNING)
			runner->results.items[i].had_company = runner->results.items[index].had_company =
				true;
}

static void start_case(struct runner *runner, size_t index) {
	struct case_result *result = &runner->results.items[index];
	struct words words = {0};
	CLEANUP_FREE char *output = case_file(runner, index, "out");
	words_of_case(runner, index, NULL, output, &words);
	result->began = seconds_now();
	int error = child_start(runner->children, &result->child, words.items, output);
	words_free(&words);
	if (error) {
		result->outcome = CASE_FAILED;
		result->status = 126;
		snprintf(result->words, sizeof(result->words), "cannot be started: %s", strerror(-error));
		runner->done++;
		return;
	}
	result->outcome = CASE_RUNNING;
	note_company(runner, index);
	runner->running++;
	runner->alone = result->test->alone;
	runner->shown = 0;
}

// ---- the end of a case ----

static struct case_rule rule_of(const struct runner *runner, size_t index) {
	return (struct case_rule){runner->framework, runner->results.items[index].test->name,
				  runner->options->report};
}

static void take_record(struct runner *runner, size_t index) {
	struct case_result *result = &runner->results.items[index];
	struct input input;
	CLEANUP_FREE char *path = case_file(runner, index, "json");
	if (input_open(&input, path))
		return;
	if (manifest_parse((const char *)input.data, input.size, &result->record))
		result->seconds = result->record.wall_seconds;
	input_close(&input);
}

static const char *words_of_failure(const struct runner *runner, const struct case_result *result,
				    const char *verdict, char words[64]) {
	snprintf(words, 64, "failed: %s", verdict);
	if (runner->stopped_by)
		return "interrupted";
	if (*verdict)
		return words;
	if (result->record.result && strcmp(result->record.result, "passed") != 0)
		return result->record.result;
	// Exception codes on Windows are negative.
	return result->status > 128 || result->status < 0 ? "crashed" : "failed";
}

static void judge(struct runner *runner, size_t index, int status) {
	struct case_result *result = &runner->results.items[index];
	char words[64];
	CLEANUP_FREE char *path = case_file(runner, index, "out");
	struct case_rule rule = rule_of(runner, index);
	struct case_judgement judgement = case_judge(&rule, path, status);
	result->status = status;
	result->outcome = judgement.failed ? CASE_FAILED : judgement.skipped ? CASE_SKIPPED : CASE_PASSED;
	snprintf(result->words, sizeof(result->words), "%s",
		 judgement.words ? judgement.words
				 : words_of_failure(runner, result, judgement.verdict, words));
	result->unreported = !status && judgement.failed;
	if (result->unreported)
		result->status = 1;
}

static void show_new_output(struct runner *runner, size_t index) {
	CLEANUP_FREE char *path = case_file(runner, index, "out");
	char piece[1 << 14];
	ssize_t got;
	int fd = system_open(path, O_RDONLY | O_CLOEXEC);
	fflush(stdout);
	if (fd < 0)
		return;
	lseek(fd, runner->shown, SEEK_SET);
	while ((got = read(fd, piece, sizeof(piece))) > 0) {
		runner->shown += got;
		file_write_all(STDOUT_FILENO, piece, (size_t)got);
	}
	close(fd);
}

static void publish(struct runner *runner, const struct case_result *result) {
	struct ci_test test = {.name = result->test->name,
			       .result = result->words,
			       .passed = result->outcome != CASE_FAILED,
			       .why = result->record.explanation,
			       .shown = true,
			       .seconds = result->seconds,
			       .artifacts = result->record.artifacts.items,
			       .artifact_count = result->record.artifacts.count};
	fflush(stdout);
	ci_publish(runner->settings, &test, STDOUT_FILENO, STDOUT_FILENO);
}

static void end_case(struct runner *runner, size_t index, int status) {
	struct case_result *result = &runner->results.items[index];
	result->seconds = seconds_now() - result->began;
	runner->running--;
	runner->done++;
	runner->alone = false;
	take_record(runner, index);
	judge(runner, index, status);
	CLEANUP_FREE char *output = case_file(runner, index, "out");
	log_progress(NULL);
	if (is_live(runner))
		show_new_output(runner, index);
	else if (result->outcome == CASE_FAILED)
		each_print_failure(result, output);
	publish(runner, result);
}

static void reap(struct runner *runner) {
	int status;
	for (size_t i = 0; i < runner->next; i++)
		if (runner->results.items[i].outcome == CASE_RUNNING &&
		    child_ended(&runner->results.items[i].child, &status))
			end_case(runner, i, status);
}

// ---- all of them ----

static void start_what_can(struct runner *runner) {
	while (!runner->stopped_by && runner->next < runner->results.count &&
	       runner->running < runner->jobs) {
		struct case_result *result = &runner->results.items[runner->next];
		if (result->test->disabled) {
			result->outcome = CASE_SKIPPED;
			snprintf(result->words, sizeof(result->words), "disabled");
			runner->done++;
		} else if (runner->running && (runner->alone || result->test->alone)) {
			return;
		} else {
			start_case(runner, runner->next);
		}
		runner->next++;
	}
}

static void stop_cases(struct runner *runner, bool at_once) {
	for (size_t i = 0; i < runner->next; i++)
		if (runner->results.items[i].outcome == CASE_RUNNING)
			child_stop(runner->children, &runner->results.items[i].child, at_once);
}

static void stop(struct runner *runner, int status) {
	if (runner->stopped_by)
		runner->kill_at = 0; // asked twice
	else
		runner->kill_at = seconds_now() + GRACE_SECONDS;
	runner->stopped_by = runner->stopped_by ? runner->stopped_by : status;
	stop_cases(runner, false);
}

static void show_progress(struct runner *runner) {
	size_t failed = 0, last = 0;
	for (size_t i = 0; i < runner->next; i++) {
		failed += runner->results.items[i].outcome == CASE_FAILED;
		if (runner->results.items[i].outcome == CASE_RUNNING)
			last = i;
	}
	if (is_live(runner))
		show_new_output(runner, last);
	else
		log_progress("%zu of %zu, %zu failed; running %u: %.40s", runner->done, runner->results.count,
			     failed, runner->running, runner->results.items[last].test->name);
}

static void run_all(struct runner *runner) {
	bool ticking = system_is_terminal(STDERR_FILENO) || is_live(runner);
	for (start_what_can(runner); runner->running; start_what_can(runner)) {
		int wanted = children_wait(runner->children, ticking || runner->stopped_by ? TICK_MS : -1);
		if (wanted)
			stop(runner, wanted);
		reap(runner);
		if (runner->stopped_by && seconds_now() >= runner->kill_at)
			stop_cases(runner, true);
		if (ticking && runner->running)
			show_progress(runner);
	}
	log_progress(NULL);
}

// ---- once more ----

// Runs a command with nothing in parallel. Returns its status, or -1 if it could not be started.
static int run_alone(struct runner *runner, char **words, const char *output) {
	struct child child;
	int status;
	if (child_start(runner->children, &child, words, output))
		return -1;
	while (!child_ended(&child, &status)) {
		int wanted = children_wait(runner->children, TICK_MS);
		if (wanted) {
			stop(runner, wanted);
			child_stop(runner->children, &child, false);
		}
		if (runner->stopped_by && seconds_now() >= runner->kill_at)
			child_stop(runner->children, &child, true);
	}
	return status;
}

// A wrapped test's trace may have been discarded after exit status 0, before its failure was known.
static bool lacks_trace(const struct runner *runner, const struct case_result *result) {
	return result->unreported && result->record.not_kept && runner->settings->keep == KEEP_FAILED;
}

static bool passes_alone(struct runner *runner, size_t index) {
	struct case_result *result = &runner->results.items[index];
	struct words words = {0};
	CLEANUP_FREE char *output = case_file(runner, index, "again");
	bool traced = lacks_trace(runner, result);
	words_of_case(runner, index, traced ? "--keep=always" : "--enabled=no", output, &words);
	log_progress("once more, alone: %.40s", result->test->name);
	int status = run_alone(runner, words.items, output);
	words_free(&words);
	if (traced) {
		double seconds = result->seconds;
		manifest_record_free(&result->record);
		result->record = (struct manifest_record){0};
		take_record(runner, index);
		result->seconds = seconds;
	}
	struct case_rule rule = rule_of(runner, index);
	return status == 0 && case_judge(&rule, output, status).report == REPORT_PASSED;
}

static void add_words(struct case_result *result, const char *words) {
	size_t length = strlen(result->words);
	snprintf(result->words + length, sizeof(result->words) - length, "; %s", words);
}

// Runs failed cases again, one at a time, for as long as all cases took together. Returns how many
// fail again.
static size_t run_failed_again(struct runner *runner, double seconds) {
	double end = seconds_now() + MAX(seconds, (double)LEAST_AGAIN_SECONDS);
	size_t failed = 0;
	for (size_t i = 0; i < runner->results.count && !runner->stopped_by && seconds_now() < end; i++) {
		struct case_result *result = &runner->results.items[i];
		if (result->outcome != CASE_FAILED)
			continue;
		if (passes_alone(runner, i))
			add_words(result, result->had_company ? "fails only beside other cases"
							      : "passes when run again");
		else
			failed++;
	}
	return failed;
}

// Does the whole program pass? Not checked if a case ends the program: then the exit status says
// nothing.
static bool whole_passes(struct runner *runner) {
	struct words words = {0};
	CLEANUP_FREE char *output = case_file(runner, runner->results.count, "again");
	for (size_t i = 0; i < runner->results.count; i++)
		if (runner->results.items[i].unreported)
			return false;
	words_of_run(runner, runner->results.count, "all", "--enabled=no", NULL, &words);
	words_add_all(&words, runner->settings->command);
	log_progress("all cases in one process: %.40s", runner->settings->command[0]);
	int status = run_alone(runner, words.items, output);
	words_free(&words);
	return status == 0;
}

// Finds out whether the failed cases depend on others. Returns how many fail unless others run
// before them.
static size_t look_for_reasons(struct runner *runner, double seconds) {
	size_t dependent = 0;
	if (runner->options->once || !runner->framework || runner->stopped_by)
		return 0;
	if (run_failed_again(runner, seconds) && !runner->options->filter && !runner->stopped_by &&
	    whole_passes(runner))
		for (size_t i = 0; i < runner->results.count; i++) {
			struct case_result *result = &runner->results.items[i];
			if (result->outcome != CASE_FAILED || strchr(result->words, ';'))
				continue;
			add_words(result, "passes in the whole program");
			dependent++;
		}
	log_progress(NULL);
	return dependent;
}

static bool make_folder(struct runner *runner) {
	runner->folder = system_make_temporary_dir("tracelet-each");
	if (!runner->folder)
		log_error("cannot create a temporary directory: %s (" SYSTEM_TEMPORARY " chooses where)",
			  strerror(errno));
	return runner->folder;
}

static void remove_file(void *runner, const char *name) {
	CLEANUP_FREE char *path = memory_format("%s/%s", ((struct runner *)runner)->folder, name);
	system_unlink(path);
}

// The tracer of a case that was killed may write its summary meanwhile. Once the folder is gone, it cannot.
static void remove_folder(struct runner *runner) {
	enum { TRIES = 100 };
	int try = 0;
	do
		system_list(runner->folder, remove_file, runner);
	while (system_remove_dir(runner->folder) && (errno == ENOTEMPTY || errno == EEXIST) && ++try < TRIES);
	free(runner->folder);
}

static int exit_status(const struct runner *runner) {
	int *failed = memory_alloc((runner->results.count + 1) * sizeof(*failed)), status;
	size_t count = 0;
	for (size_t i = 0; i < runner->results.count; i++)
		if (runner->results.items[i].outcome == CASE_FAILED)
			failed[count++] = runner->results.items[i].status;
	status = runner->stopped_by   ? runner->stopped_by
		 : !runner->framework ? failed[0]
				      : cases_exit_status(runner->framework, failed, count);
	free(failed);
	return status;
}

// Checked before anything runs, not after the last case.
static bool can_write(const char *path) {
	struct output output;
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (error)
		log_error("--junit: cannot write %s: %s", path, strerror(-error));
	else
		output_abandon(&output);
	return !error;
}

// In a folder each run has a file of its own: several programs, such as those of `go test`, share it.
static char *junit_path(const char *wanted, char **command) {
	struct stat status;
	size_t length = wanted ? strlen(wanted) : 0;
	bool folder = length && (wanted[length - 1] == '/' ||
				 (system_stat(wanted, &status) == 0 && S_ISDIR(status.st_mode)));
	if (!folder)
		return wanted ? memory_string(wanted) : NULL;
	CLEANUP_FREE char *program = system_command_name(command[0]);
	char safe[ARTIFACT_NAME_SIZE];
	artifact_safe_name(program, safe);
	int error = artifact_make_dir(wanted);
	if (error)
		log_verbose("--junit: %s: %s", wanted, strerror(-error)); // writing to it will fail
	CLEANUP_FREE char *base = artifact_base(wanted, safe);
	return memory_format("%s_%d.xml", base, (int)getpid());
}

static int run_cases(struct runner *runner, const struct cases *cases) {
	double began = seconds_now();
	CLEANUP_FREE char *junit = junit_path(runner->options->junit, runner->settings->command);
	CLEANUP_FREE char *program = system_program();
	runner->program = program;
	runner->jobs = runner->options->jobs ? runner->options->jobs : children_usual();
	for (size_t i = 0; i < cases->count; i++)
		array_push(&runner->results,
			   (struct case_result){.test = &cases->items[i], .words = "not run"});
	if ((junit && !can_write(junit)) || !make_folder(runner)) {
		each_results_free(&runner->results);
		return 2;
	}
	runner->children = children_begin();
	// What --user has changed in this process must not be changed again.
	if (!runner->settings->user && !runner->settings->artifact_group) {
		children_run_here(runner->children, runner->program, runner->options->here);
		if (settings_enabled(runner->settings))
			identity_look(); // all cases then have the answer
	}
	run_all(runner);
	double seconds = seconds_now() - began;
	size_t dependent = look_for_reasons(runner, seconds);
	if (!runner->settings->quiet)
		each_print_table(&runner->results, seconds, runner->options->all,
				 settings_enabled(runner->settings));
	if (!runner->settings->quiet && dependent)
		text_line(stdout, "%s as a whole passes: %zu case%s on cases that run before %s",
			  runner->settings->command[0], dependent, dependent == 1 ? " depends" : "s depend",
			  dependent == 1 ? "it" : "them");
	int status = exit_status(runner);
	if (junit && !each_write_junit(&runner->results, runner->framework, runner->settings->command, junit,
				       runner->folder, seconds))
		status = status ? status : 2;
	if (settings_enabled(runner->settings))
		each_write_page(&runner->results, runner->settings, runner->folder);
	remove_folder(runner);
	each_results_free(&runner->results);
	if (children_end(runner->children)) {
		state_array sessions = {0};
		operation_list(&sessions); // ends sessions without an owner
		array_free(&sessions);
	}
	return status;
}

// ---- which cases ----

static int filter_cases(struct cases *cases, const char *filter) {
	char why[NAME_FILTER_WHY_SIZE];
	struct name_filter *expression = name_filter_new(filter, why);
	if (!expression) {
		log_error("--filter: '%s': %s", filter, why);
		return 2;
	}
	size_t kept = 0;
	for (size_t i = 0; i < cases->count; i++)
		if (name_filter_fits(expression, cases->items[i].name))
			cases->items[kept++] = cases->items[i];
		else
			free(cases->items[i].name);
	cases->count = kept;
	name_filter_free(expression);
	if (kept)
		return 0;
	log_error("--filter: no case has '%s' in its name", filter);
	return 2;
}

// With --junit the program counts as one case; otherwise it runs as it is.
static int run_whole(struct runner *runner) {
	if (runner->options->list)
		return 2;
	if (!runner->options->junit)
		return session_run(runner->settings, NULL);
	struct cases whole = {0};
	CLEANUP_FREE char *usual = system_command_name(runner->settings->command[0]);
	const char *name = runner->settings->name ? runner->settings->name : usual;
	runner->settings->name = NULL;
	runner->framework = NULL;
	cases_add(&whole, name, strlen(name));
	int status = run_cases(runner, &whole);
	cases_free(&whole);
	return status;
}

static int choose_framework(struct runner *runner) {
	const struct each_options *options = runner->options;
	char **command = runner->settings->command;
	runner->framework = options->framework ? framework_by_name(options->framework)
					       : framework_of(command);
	if (options->framework && !runner->framework) {
		struct buffer names = {0};
		for (const struct framework *const *known = framework_list(); *known; known++)
			buffer_printf(&names, " %s", (*known)->name);
		log_error("--framework: unknown framework '%s'; known:%.*s", options->framework,
			  (int)names.size, (char *)names.data);
		buffer_free(&names);
		return 2;
	}
	if (runner->framework && runner->framework->wrapper && runner->settings->user && !options->list) {
		log_error("each --user: %s would run as root itself, and only its tests as %s",
			  runner->framework->name, runner->settings->user);
		return 2;
	}
	if (runner->framework && !runner->framework->select && !options->select) {
		log_error("--framework %s needs --select: the arguments that run one case, with {} for its "
			  "name",
			  runner->framework->name);
		return 2;
	}
	return 0;
}

int session_each(struct settings *settings, const struct each_options *options) {
	struct runner runner = {.settings = settings, .options = options};
	choose_run(&runner);
	struct cases cases = {0};
	int status = choose_framework(&runner);
	if (status)
		return status;
	// Without tracing, runs just the program, unless an option concerns its cases.
	if (!settings_enabled(settings) && !options->list && !options->filter && !options->junit)
		return session_run(settings, NULL);
	if (!runner.framework) {
		log_warning(
			"%s: unknown test framework; running it as a whole (--framework NAME chooses one)",
			settings->command[0]);
		return run_whole(&runner);
	}
	status = cases_list(runner.framework, settings->command, &cases);
	if (status) {
		log_warning("%s: cannot list its cases with %s (%s%.0d); running it as a whole",
			    settings->command[0], runner.framework->name,
			    status == -EINVAL ? "it printed no list"
			    : status < 0      ? strerror(-status)
					      : "exit status ",
			    MAX(status, 0));
		cases_free(&cases);
		return run_whole(&runner);
	}
	if (!cases.count)
		log_warning("%s: no cases found", settings->command[0]);
	else if (options->filter)
		status = filter_cases(&cases, options->filter);
	for (size_t i = 0; options->list && i < cases.count; i++)
		text_line(stdout, "%s", cases.items[i].name);
	if (cases.count && !status && !options->list)
		status = run_cases(&runner, &cases);
	cases_free(&cases);
	return status;
}
