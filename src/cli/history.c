// `tracelet history`: questions about all sessions of all tests.
#include "base/log.h"
#include "base/near.h"
#include "base/system.h"
#include "base/text.h"
#include "suite/confirm.h"
#include "cli/verb.h"
#include "history/index.h"
#include "store/questions.h"

#include <errno.h>
#include <time.h>

enum {
	OPTION_SINCE = LETTERS + 1,
	OPTION_UNTIL,
	OPTION_BRANCH,
	OPTION_METRIC,
	OPTION_CLASS,
	OPTION_PROJECT,
	OPTION_WHY,
	OPTION_BASELINE,
	OPTION_STALE,
	OPTION_RECENT,
	OPTION_FAIL_ON,
	OPTION_CONFIRM,
	OPTION_STORE,
	OPTION_JSON,
	OPTION_MARKDOWN,
};

static const struct verb_option own_options[] = {
	{"since", OPTION_SINCE, "TIME", "only sessions since then: 30d, 12h, 2w, 2026-11-01"},
	{"until", OPTION_UNTIL, "TIME", "only sessions before then; the default is now"},
	{"branch", OPTION_BRANCH, "NAME", "only this branch"},
	{"metric", OPTION_METRIC, "NAME",
	 "what to compare instead of wall_ns; several: repeat it, or separate them by commas"},
	{"class", OPTION_CLASS, "NAME", "only machines of this class"},
	{"project", OPTION_PROJECT, "NAME", "only tests of this project"},
	{"why", OPTION_WHY, "TEST", "flaky: what is different when this test fails"},
	{"baseline", OPTION_BASELINE, "BRANCH", "compare: with the last run of this branch"},
	{"stale", OPTION_STALE, "TIME", "tests: only those that have not run for so long, as in 30d"},
	{"recent", OPTION_RECENT, "TIME",
	 "functions: the time that is compared with the time before; 7d by default"},
	{"fail-on", OPTION_FAIL_ON, "WHAT", "exit with status 1 if there is a regression, or a flaky test",
	 "regression flaky"},
	{"confirm", OPTION_CONFIRM, "N", "compare: run suspects N times more before that"},
	{"store", OPTION_STORE, "ADDRESS", "ask the store of a fleet instead of the output directory"},
	{"json", OPTION_JSON, NULL, "print the answer as JSON"},
	{"markdown", OPTION_MARKDOWN, NULL, "print the answer as Markdown, for a pull request"},
	{0},
};

struct arguments {
	struct history_question question;
	const char *since, *until, *store;
	const char *fail_on;
	unsigned long confirm;
	char *metrics; // the texts of question.metrics
};

// ---- options ----

// 30d, 12h, 90min, 2w; in ms. False if it is none.
static bool read_duration(const char *text, int64_t *ms) {
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = {
		{"s", 1000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}, {"w", 7 * (int64_t)86400000}};
	char *end;
	errno = 0;
	double number = strtod(text, &end);
	for (size_t i = 0; i < ARRAY_SIZE(units) && end > text; i++)
		if (strcmp(end, units[i].unit) == 0 && number >= 0 && number < 1e6) {
			*ms = (int64_t)(number * (double)units[i].ms);
			return true;
		}
	return false;
}

static bool read_date(const char *text, int64_t *ms) {
	struct tm utc = {0};
	const char *end = strptime(text, "%Y-%m-%d", &utc);
	if (end && *end == 'T')
		end = strptime(end, "T%H:%M:%S", &utc);
	if (!end || (*end && strcmp(end, "Z") != 0))
		return false;
	*ms = (int64_t)timegm(&utc) * 1000;
	return *ms > 0;
}

static bool read_time(const char *option, const char *text, int64_t now, int64_t *ms) {
	int64_t duration;
	if (!text || read_date(text, ms))
		return true;
	if (read_duration(text, &duration) && duration < now) {
		*ms = now - duration;
		return true;
	}
	log_error("--%s: '%s' is not a time, as in 30d or 2026-11-01", option, text);
	return false;
}

static bool add_metrics(struct arguments *arguments, const char *value) {
	struct history_question *question = &arguments->question;
	char *longer = arguments->metrics ? memory_format("%s,%s", arguments->metrics, value)
					  : memory_string(value);
	free(arguments->metrics);
	arguments->metrics = longer;
	question->metric_count = 0;
	size_t count = 0;
	for (const char *at = longer; at; at = strchr(at + 1, ','))
		count++;
	if (count <= ARRAY_SIZE(question->metrics))
		return true;
	log_error("--metric: at most %zu of them", ARRAY_SIZE(question->metrics));
	return false;
}

static bool take_option(int option, const char *value, void *context) {
	struct arguments *arguments = context;
	struct history_question *question = &arguments->question;
	char *end;
	const struct {
		int option;
		const char **text;
	} texts[] = {{OPTION_SINCE, &arguments->since},      {OPTION_UNTIL, &arguments->until},
		     {OPTION_BRANCH, &question->branch},     {OPTION_CLASS, &question->machine_class},
		     {OPTION_PROJECT, &question->project},   {OPTION_WHY, &question->test},
		     {OPTION_BASELINE, &question->baseline}, {OPTION_FAIL_ON, &arguments->fail_on},
		     {OPTION_STORE, &arguments->store}};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].option == option)
			*texts[i].text = value;
	if (option == OPTION_METRIC)
		return add_metrics(arguments, value);
	if (option == OPTION_JSON || option == OPTION_MARKDOWN)
		question->form = option == OPTION_JSON ? HISTORY_JSON : HISTORY_MARKDOWN;
	if ((option == OPTION_STALE && !read_duration(value, &question->stale)) ||
	    (option == OPTION_RECENT && !read_duration(value, &question->recent))) {
		log_error("'%s' is not a duration, as in 30d", value);
		return false;
	}
	if (option == OPTION_CONFIRM &&
	    ((arguments->confirm = strtoul(value, &end, 10)) > 1000 || *end || end == value)) {
		log_error("--confirm: '%s' is not a number up to 1000", value);
		return false;
	}
	if (option == OPTION_FAIL_ON && strcmp(value, "regression") != 0 && strcmp(value, "flaky") != 0) {
		log_error("--fail-on: '%s' is neither regression nor flaky", value);
		return false;
	}
	return true;
}

// ---- words ----

static int ask_flaky(struct history_question *question) {
	return question->test ? question_why_flaky(question) : question_flaky(question);
}

static const struct word {
	const char *name;
	int (*ask)(struct history_question *question);
	const char *since;  // by default; NULL for everything
	size_t least, most; // words after it
} words[] = {
	{"trend", question_trend, NULL, 0, 0},
	{"slow", question_slow, "14d", 0, 0},
	{"flaky", ask_flaky, NULL, 0, 0},
	{"compare", question_compare, NULL, 0, 2},
	{"functions", question_functions, "30d", 0, 0},
	{"runs", question_runs, NULL, 0, 0},
	{"tests", question_tests, NULL, 0, 0},
};

static const struct word any_test = {"TEST", question_test, NULL, 0, 0};
static const struct word nothing = {"", question_totals, NULL, 0, 0};

// After "--" a word is the name of a test, whatever it is.
static const struct word *find_word(int argc, char **argv) {
	bool quoted = strcmp(argv[optind - 1], "--") == 0;
	if (optind == argc)
		return &nothing;
	for (size_t i = 0; i < ARRAY_SIZE(words) && !quoted; i++)
		if (strcmp(words[i].name, argv[optind]) == 0)
			return &words[i];
	return &any_test;
}

static bool take_words(struct arguments *arguments, const struct word *word, int argc, char **argv) {
	struct history_question *question = &arguments->question;
	size_t more = (size_t)(argc - optind) - (word != &nothing);
	if (word == &any_test)
		question->test = argv[optind];
	else if (word->ask != ask_flaky)
		question->test = NULL;
	if (more > word->most || more < word->least) {
		log_error("history %s: too many words; a test whose name is a word is asked for with --",
			  word->name);
		return false;
	}
	for (size_t i = 0; i < more; i++)
		question->runs[i] = argv[optind + 1 + (int)i];
	if (word->ask == question_compare && !more && !question->baseline) {
		log_error("history compare needs a run, two runs, or --baseline BRANCH");
		return false;
	}
	return true;
}

// ---- asking ----

static bool finish_question(struct arguments *arguments, const struct word *word) {
	struct history_question *question = &arguments->question;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	question->now = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	if (!read_time("until", arguments->until, question->now, &question->until))
		return false;
	if (question->until)
		question->now = question->until;
	if (!read_time("since", arguments->since ? arguments->since : word->since, question->now,
		       &question->since))
		return false;
	if (!question->recent)
		question->recent = 7 * (int64_t)86400000;
	for (char *at = arguments->metrics; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		question->metrics[question->metric_count++] = at;
	for (size_t i = 0; i + 1 < question->metric_count; i++)
		((char *)question->metrics[i + 1])[-1] = 0;
	if (!question->metric_count)
		question->metrics[question->metric_count++] = "wall_ns";
	return true;
}

// An index that turns out to be damaged is made again, once.
static int ask(struct history_question *question, const struct word *word, const char *where) {
	int error = -EUCLEAN;
	for (int attempt = 0; attempt < 2 && error == -EUCLEAN; attempt++) {
		if (attempt)
			index_delete(where);
		error = history_open(where, &question->store);
		if (error)
			return error;
		question->out->size = 0;
		error = word->ask(question);
		question->store->operations->close(question->store);
	}
	return error;
}

// Runs the suspects again and asks again.
static int confirm(struct arguments *arguments, const struct word *word, const char *folder) {
	struct history_question *question = &arguments->question;
	struct history_run run;
	CLEANUP_FREE char *program = system_program();
	const char *name = question->baseline ? question->runs[0] : question->runs[1];
	int error = history_open(folder, &question->store);
	if (error || !program)
		return error ? error : -ENOENT;
	error = question_run(question, name ? name : "latest", &run);
	CLEANUP_FREE char *id = error ? NULL : memory_string(run.run);
	question->store->operations->close(question->store);
	if (!error)
		error = confirm_suspects(program, folder, question, id, (unsigned)arguments->confirm);
	question->confirmed = (unsigned)arguments->confirm;
	return error ? error : ask(question, word, folder);
}

// A misspelt metric must not look like one that did not change.
static void warn_unseen(const struct history_question *question) {
	for (size_t m = 0; m < question->metric_count; m++) {
		struct near_name near = {.wanted = question->metrics[m]};
		char hint[128];
		if (question->seen >> m & 1 || strcmp(question->metrics[m], "wall_ns") == 0)
			continue;
		for (int i = 0; i < METRIC_COUNT_ALL && history_metric_find(near.wanted) < 0; i++)
			near_offer(&near, history_metric_name(i));
		near_words(&near, hint, sizeof(hint));
		CLEANUP_FREE char *plain = text_plain_copy(question->metrics[m]);
		log_warning("no passed session here has the metric '%s'%s", plain, hint);
	}
}

static int answer(struct arguments *arguments, const struct word *word, const char *folder) {
	struct history_question *question = &arguments->question;
	struct buffer out = {0};
	question->out = &out;
	int error = ask(question, word, arguments->store ? arguments->store : folder);
	bool again = arguments->confirm && word->ask == question_compare && question->suspects.count;
	if (!error && again && arguments->store)
		log_warning("--confirm runs tests of the output directory only, not of --store");
	else if (!error && again)
		error = confirm(arguments, word, folder);
	if (!error)
		fwrite(out.data, 1, out.size, stdout);
	if (!error && (word == &any_test || word->ask == question_trend || word->ask == question_compare))
		warn_unseen(question);
	buffer_free(&out);
	array_free(&question->suspects);
	if (error)
		return EXIT_USAGE;
	const char *fail_on = arguments->fail_on ? arguments->fail_on : "";
	bool found = (strcmp(fail_on, "regression") == 0 && question->regression) ||
		     (strcmp(fail_on, "flaky") == 0 && question->flaky);
	return found ? EXIT_FOUND : 0;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct arguments arguments = {0};
	struct settings settings;
	history_open_fleet = store_open;
	int status = verb_take_settings(argc, argv, verb, take_option, &arguments, &settings);
	if (status >= 0)
		return status;
	const struct word *word = find_word(argc, argv);
	if (!take_words(&arguments, word, argc, argv))
		status = verb_bad_usage(verb);
	else if (!finish_question(&arguments, word))
		status = EXIT_USAGE;
	else
		status = answer(&arguments, word, settings.output_dir);
	settings_free(&settings);
	free(arguments.metrics);
	return status;
}

const struct verb verb_history = {
	.name = "history",
	.family = FAMILY_RESULTS,
	.settings = OF_HISTORY,
	.options = own_options,
	.summary = "every session of every test: what became slower, what is flaky, since when",
	.usage = "tracelet history [OPTIONS] TEST\n"
		 "tracelet history trend|slow|flaky|functions|runs|tests [OPTIONS]\n"
		 "tracelet history compare [OPTIONS] RUN [RUN]",
	.about = "Answers questions about all sessions in the output directory's manifest. TEST shows one "
		 "test, "
		 "commit by commit; '-- NAME' where the name is one of the words. trend: where tests changed "
		 "their "
		 "level, the newest first. slow: the slowest tests and what they wait for. flaky: tests that "
		 "pass "
		 "and fail with the same commit. compare: what a run changed against another one. functions: "
		 "which "
		 "function takes more CPU time than before. runs, tests: lists.\n\n"
		 "A RUN is the beginning of its id, a commit, BRANCH@{N} (the Nth before the last of a "
		 "branch) or "
		 "'latest'.",
	.notes = "Exit status: 0; 1 with --fail-on, if it was found; 2 bad options, or nothing to ask.\n\n"
		 "Example: tracelet history compare --baseline main --fail-on regression --confirm 5",
	.run = run,
};
