#include "suite/each_report.h"
#include "artifact/junit.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "base/text.h"
#include "session/summary.h"

enum { MOST_OUTPUT = 1 << 20 }; // per case; if longer, only the end is kept, where the failure is

void each_results_free(struct each_results *results) {
	for (size_t i = 0; i < results->count; i++)
		manifest_record_free(&results->items[i].record);
	array_free(results);
}

static bool colours(void) {
	return system_is_terminal(STDOUT_FILENO) && log_colours();
}

static const char *colour_of(const struct case_result *result) {
	static const char *const codes[] = {[CASE_NOT_RUN] = "\033[33m",
					    [CASE_RUNNING] = "\033[33m",
					    [CASE_PASSED] = "\033[32m",
					    [CASE_FAILED] = "\033[31m",
					    [CASE_SKIPPED] = "\033[33m"};
	return colours() ? codes[result->outcome] : "";
}

static const char *plain(void) {
	return colours() ? "\033[0m" : "";
}

// ---- a failure ----

void each_print_failure(const struct case_result *result, const char *output) {
	struct input input = {0};
	CLEANUP_FREE char *title = memory_format("--- %s %s ---", result->test->name, result->words);
	struct buffer crashes = {0};
	bool read = input_open(&input, output) == 0;
	summary_add_crashes(&result->record, &crashes);
	summary_add_time(&result->record, &crashes);
	size_t left_out = input.size > MOST_OUTPUT ? input.size - MOST_OUTPUT : 0;
	fputs(colour_of(result), stdout);
	ci_begin_fold(title);
	fputs(plain(), stdout);
	if (left_out)
		printf("[%zu bytes left out]\n", left_out);
	if (input.size)
		fwrite(input.data + left_out, 1, input.size - left_out, stdout);
	if (input.size && input.data[input.size - 1] != '\n')
		putchar('\n');
	fwrite(crashes.data, 1, crashes.size, stdout);
	ci_end_fold();
	fflush(stdout);
	if (read)
		input_close(&input);
	buffer_free(&crashes);
}

// ---- the table ----

static int failed_first(const void *one, const void *other) {
	const struct case_result *left = *(const struct case_result *const *)one,
				 *right = *(const struct case_result *const *)other;
	int order = (right->outcome == CASE_FAILED) - (left->outcome == CASE_FAILED);
	if (order)
		return order;
	return left->seconds != right->seconds
		       ? (left->seconds < right->seconds) - (left->seconds > right->seconds)
		       : strcmp(left->test->name, right->test->name);
}

static void print_padded(const char *text, size_t width) {
	CLEANUP_FREE char *plain = text_plain_copy(text);
	size_t columns = text_width(plain, strlen(plain));
	printf("%s%*s", plain, (int)(columns < width ? width - columns : 0), "");
}

static void print_row(const struct case_result *result, size_t name_width, size_t words_width) {
	char size[16];
	print_padded(result->test->name, name_width);
	printf("  %s", colour_of(result));
	print_padded(result->words, words_width);
	printf("%s  %7.3f s  ", plain(), result->seconds);
	for (size_t i = 0; i < result->record.artifacts.count; i++) {
		const struct manifest_artifact *artifact = &result->record.artifacts.items[i];
		printf("%s", i ? ", " : "");
		print_padded(artifact->path, 0);
		if (artifact->size)
			printf(" (%s)", file_size_words(artifact->size, size));
	}
	printf("%s\n", result->record.artifacts.count ? "" : "-");
}

static void print_totals(const struct each_results *results, double seconds, bool traced) {
	size_t counts[CASE_SKIPPED + 1] = {0}, artifacts = 0;
	for (size_t i = 0; i < results->count; i++) {
		counts[results->items[i].outcome]++;
		artifacts += results->items[i].record.artifacts.count;
	}
	printf("%zu %s: %zu passed, %zu failed, %zu skipped", results->count,
	       results->count == 1 ? "case" : "cases", counts[CASE_PASSED], counts[CASE_FAILED],
	       counts[CASE_SKIPPED]);
	if (counts[CASE_NOT_RUN])
		printf(", %zu not run", counts[CASE_NOT_RUN]);
	printf("; %.3g s\n", seconds);
	if (traced && !artifacts && counts[CASE_PASSED] + counts[CASE_FAILED])
		printf("no artifacts: to find out why, use 'tracelet run' on one case, or 'tracelet "
		       "doctor'\n");
}

void each_print_table(const struct each_results *results, double seconds, bool all, bool traced) {
	enum { SLOWEST = 10 };
	const struct case_result **sorted = memory_alloc((results->count + 1) * sizeof(*sorted));
	size_t name_width = 4, words_width = 6, shown = SLOWEST;
	for (size_t i = 0; i < results->count; i++) {
		sorted[i] = &results->items[i];
		shown += sorted[i]->outcome == CASE_FAILED;
	}
	// Leaving out a single case would not save a line.
	shown = all || results->count <= shown + 1 ? results->count : shown;
	qsort(sorted, results->count, sizeof(*sorted), failed_first);
	for (size_t i = 0; i < shown; i++) {
		name_width = MAX(name_width, MIN(strlen(sorted[i]->test->name), (size_t)60));
		words_width = MAX(words_width, strlen(sorted[i]->words));
	}
	printf("%-*s  %-*s  %9s  artifacts\n", (int)name_width, "case", (int)words_width, "result", "time");
	for (size_t i = 0; i < shown; i++)
		print_row(sorted[i], name_width, words_width);
	if (shown < results->count)
		printf("(%zu more case%s; --all lists %s)\n", results->count - shown,
		       plural(results->count - shown), results->count - shown == 1 ? "it" : "them");
	print_totals(results, seconds, traced);
	fflush(stdout);
	free(sorted);
}

// ---- JUnit ----

static const enum junit_result junit_results[] = {[CASE_NOT_RUN] = JUNIT_SKIPPED,
						  [CASE_RUNNING] = JUNIT_ERROR,
						  [CASE_PASSED] = JUNIT_PASSED,
						  [CASE_FAILED] = JUNIT_FAILED,
						  [CASE_SKIPPED] = JUNIT_SKIPPED};

// JUnit splits "Suite.Case" and "module::case" into class and name; the class is allocated.
static const char *split_name(const struct framework *framework, const char *name, const char *suite,
			      char **class_name) {
	const char *separator = framework ? framework->separator : NULL, *last = NULL;
	for (const char *at = name; separator && (at = strstr(at, separator)); at += strlen(separator)) {
		if (strchr(name, '[') && at > strchr(name, '['))
			break; // inside a parameter
		last = at;
	}
	*class_name = last ? memory_format("%.*s", (int)(last - name), name) : memory_string(suite);
	return last ? last + strlen(separator) : name;
}

// The output of a failed case, and the stacks of its crashes.
static void take_output(const struct case_result *result, const char *path, struct buffer *text) {
	struct input input;
	if (result->outcome != CASE_FAILED)
		return;
	if (input_open(&input, path) == 0) {
		size_t left_out = input.size > MOST_OUTPUT ? input.size - MOST_OUTPUT : 0;
		buffer_append(text, input.data + left_out, input.size - left_out);
		input_close(&input);
	}
	if (text->size && text->data[text->size - 1] != '\n' &&
	    (result->record.crashes.count || result->record.explanation))
		buffer_append(text, "\n", 1);
	summary_add_crashes(&result->record, text);
	summary_add_time(&result->record, text);
}

bool each_write_junit(const struct each_results *results, const struct framework *framework, char **command,
		      const char *path, const char *folder, double seconds) {
	CLEANUP_FREE char *suite = system_command_name(command[0]);
	struct junit_case *cases = memory_alloc((results->count + 1) * sizeof(*cases));
	struct buffer *outputs = memory_alloc((results->count + 1) * sizeof(*outputs));
	for (size_t i = 0; i < results->count; i++) {
		const struct case_result *result = &results->items[i];
		CLEANUP_FREE char *file = memory_format("%s/%zu.out", folder, i);
		char *class_name;
		take_output(result, file, &outputs[i]);
		cases[i] = (struct junit_case){
			.name = split_name(framework, result->test->name, suite, &class_name),
			.message = result->words,
			.result = junit_results[result->outcome],
			.seconds = result->seconds,
			.output = outputs[i].size ? (const char *)outputs[i].data : "",
			.output_size = outputs[i].size,
			.artifacts = result->record.artifacts.items,
			.artifact_count = result->record.artifacts.count,
		};
		cases[i].class_name = class_name;
	}
	struct buffer text = {0};
	struct output output;
	junit_write(&text, suite, seconds, cases, results->count);
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (!error) {
		output_take(&output, &text);
		error = output_commit(&output);
	}
	if (error)
		log_error("--junit: cannot write %s: %s", path, strerror(-error));
	for (size_t i = 0; i < results->count; i++) {
		buffer_free(&outputs[i]);
		free((char *)(uintptr_t)cases[i].class_name);
	}
	buffer_free(&text);
	free(outputs);
	free(cases);
	return !error;
}
