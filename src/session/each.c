// One process waits for all. Each case is a child (session/child.h), `tracelet run` under the case's name.
//
// The files are in a temporary folder: N.out what the case printed, N.json its summary.
#include "session/each.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "session/cases.h"
#include "session/each_report.h"
#include "session/name_filter.h"
#include "session/run.h"

#include <errno.h>
#include <time.h>

enum { TICK_MS = 100, GRACE_SECONDS = 5 };

struct runner {
	struct settings *settings;
	const struct each_options *options;
	const struct framework *framework;
	struct each_results results;
	struct children *children;
	char *folder;  // for temporary files
	char *program; // this one
	unsigned jobs, running;
	size_t next; // case to start
	size_t done;
	bool alone;     // the one that runs wants no company
	int stopped_by; // the status of who ends it all
	double kill_at; // then: no more patience
	off_t shown;    // live: of the output of the running case
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

// What was given to us as a flag; files and environment it finds by itself. In a wrapper it is
// started in some other folder, where it would find other files.
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

static void words_of_run(const struct runner *runner, size_t index, const char *name, struct words *words) {
	const char *prefix = runner->settings->name;
	CLEANUP_FREE char *json = case_file(runner, index, "json");
	words_add(words, "%s", runner->program ? runner->program : "tracelet");
	words_add(words, "run");
	words_add(words, "--name=%s%s%s", prefix ? prefix : "", prefix ? "::" : "", name);
	words_add(words, "--quiet=yes");
	words_add(words, "--attachments=no"); // we tell the CI, when we know how the case has ended
	words_add(words, "--json=%s", json);
	add_flags(runner, words);
	words_add(words, "--");
}

static void words_of_case(const struct runner *runner, size_t index, struct words *words) {
	const char *name = runner->results.items[index].test->name;
	if (!runner->framework) {
		words_of_run(runner, index, name, words);
		words_add_all(words, runner->settings->command);
	} else if (!runner->framework->wrapper) {
		words_of_run(runner, index, name, words);
		case_command(runner->framework, runner->settings->command, runner->options->select, name,
			     words);
	} else {
		struct words wrapper = {0};
		struct buffer line = {0};
		words_of_run(runner, index, name, &wrapper);
		for (size_t i = 0; i < wrapper.count; i++)
			child_quote(&line, wrapper.items[i]);
		case_command(runner->framework, runner->settings->command, runner->options->select, name,
			     words);
		words_add(words, "--wrapper=%.*s", (int)line.size, (char *)line.data);
		words_free(&wrapper);
		buffer_free(&line);
	}
}

static void start_case(struct runner *runner, size_t index) {
	struct case_result *result = &runner->results.items[index];
	struct words words = {0};
	CLEANUP_FREE char *output = case_file(runner, index, "out");
	words_of_case(runner, index, &words);
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
	runner->running++;
	runner->alone = result->test->alone;
	runner->shown = 0;
}

// ---- the end of a case ----

static bool output_has(const struct runner *runner, size_t index, const char *text) {
	struct input input;
	CLEANUP_FREE char *path = case_file(runner, index, "out");
	if (!text || input_open(&input, path))
		return false;
	bool found = system_find(input.data, input.size, text, strlen(text));
	input_close(&input);
	return found;
}

static void take_record(struct runner *runner, size_t index) {
	struct case_result *result = &runner->results.items[index];
	struct input input;
	CLEANUP_FREE char *path = case_file(runner, index, "json");
	if (input_open(&input, path))
		return;
	if (manifest_line_parse((const char *)input.data, input.size, &result->record))
		result->seconds = result->record.seconds;
	input_close(&input);
}

static void judge(struct runner *runner, size_t index, int status) {
	struct case_result *result = &runner->results.items[index];
	const struct framework *framework = runner->framework;
	result->status = status;
	result->outcome = result->status ? CASE_FAILED : CASE_PASSED;
	// Of Windows the codes of exceptions are below 0.
	const char *words = result->status > 128 || result->status < 0 ? "crashed" : "failed";
	if (framework && result->status == 0 && output_has(runner, index, framework->missing)) {
		result->outcome = CASE_FAILED;
		result->status = 1;
		words = "not found by its own name";
	} else if (framework && (result->status == 0 || result->status == framework->skipped_status) &&
		   output_has(runner, index, framework->skipped)) {
		result->outcome = CASE_SKIPPED;
		words = "skipped";
	} else if (result->status == 0) {
		words = "passed";
	} else if (runner->stopped_by) {
		words = "interrupted";
	} else if (result->record.result && strcmp(result->record.result, "passed") != 0) {
		words = result->record.result;
	}
	snprintf(result->words, sizeof(result->words), "%s", words);
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
			       .seconds = result->seconds,
			       .artifacts = result->record.artifacts,
			       .artifact_count = result->record.artifact_count};
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

static bool make_folder(struct runner *runner) {
	runner->folder = system_make_temporary_dir("tracelet-each");
	if (!runner->folder)
		log_error("cannot make a temporary folder: %s (" SYSTEM_TEMPORARY " says where)",
			  strerror(errno));
	return runner->folder;
}

static void remove_folder(struct runner *runner) {
	static const char *const extensions[] = {"out", "json"};
	for (size_t i = 0; i < runner->results.count; i++)
		for (size_t k = 0; k < ARRAY_SIZE(extensions); k++) {
			CLEANUP_FREE char *path = case_file(runner, i, extensions[k]);
			system_unlink(path);
		}
	system_remove_dir(runner->folder);
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

// Found out before anything is run, not after the last case.
static bool can_write(const char *path) {
	struct output output;
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (error)
		log_error("--junit: cannot write %s: %s", path, strerror(-error));
	else
		output_abandon(&output);
	return !error;
}

static int run_cases(struct runner *runner, const struct cases *cases) {
	double began = seconds_now();
	CLEANUP_FREE char *program = system_program();
	runner->program = program;
	runner->jobs = runner->options->jobs ? runner->options->jobs : children_usual();
	for (size_t i = 0; i < cases->count; i++)
		array_push(&runner->results,
			   (struct case_result){.test = &cases->items[i], .words = "not run"});
	if ((runner->options->junit && !can_write(runner->options->junit)) || !make_folder(runner)) {
		each_results_free(&runner->results);
		return 2;
	}
	runner->children = children_begin();
	run_all(runner);
	double seconds = seconds_now() - began;
	if (!runner->settings->quiet)
		each_print_table(&runner->results, seconds);
	int status = exit_status(runner);
	if (runner->options->junit &&
	    !each_write_junit(&runner->results, runner->framework, runner->settings->command,
			      runner->options->junit, runner->folder, seconds))
		status = status ? status : 2;
	remove_folder(runner);
	each_results_free(&runner->results);
	children_end(runner->children);
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

// With a report to write it is one case like others; else nothing of its own is taken from it.
static int run_whole(struct runner *runner) {
	if (runner->options->list)
		return 2;
	if (!runner->options->junit)
		return session_run(runner->settings);
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
		log_error("--framework: '%s' is none of:%.*s", options->framework, (int)names.size,
			  (char *)names.data);
		buffer_free(&names);
		return 2;
	}
	if (runner->framework && !runner->framework->select && !options->select) {
		log_error("--framework %s needs --select: the words that run one case, {} for its name",
			  runner->framework->name);
		return 2;
	}
	return 0;
}

int session_each(struct settings *settings, const struct each_options *options) {
	struct runner runner = {.settings = settings, .options = options};
	struct cases cases = {0};
	int status = choose_framework(&runner);
	if (status)
		return status;
	if (!settings_enabled(settings) && !options->list)
		return session_run(settings);
	if (!runner.framework) {
		log_warning("%s: no test framework that tracelet knows; it is run whole (--framework NAME)",
			    settings->command[0]);
		return run_whole(&runner);
	}
	status = cases_list(runner.framework, settings->command, &cases);
	if (status) {
		log_warning("%s: does not list its cases as %s does (%s%.0d); it is run whole",
			    settings->command[0], runner.framework->name,
			    status < 0 ? strerror(-status) : "exit status ", MAX(status, 0));
		cases_free(&cases);
		return run_whole(&runner);
	}
	if (!cases.count)
		log_warning("%s: has no cases", settings->command[0]);
	else if (options->filter)
		status = filter_cases(&cases, options->filter);
	for (size_t i = 0; options->list && i < cases.count; i++)
		printf("%s\n", cases.items[i].name);
	if (cases.count && !status && !options->list)
		status = run_cases(&runner, &cases);
	cases_free(&cases);
	return status;
}
