#include "session/each_report.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "session/junit.h"

enum { MOST_OUTPUT = 1 << 20 }; // of one case; of more the end is shown, where the failure is

void each_results_free(struct each_results *results) {
	for (size_t i = 0; i < results->count; i++)
		manifest_line_free(&results->items[i].record);
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
	bool read = input_open(&input, output) == 0;
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
	ci_end_fold();
	fflush(stdout);
	if (read)
		input_close(&input);
}

// ---- the table ----

static int slower_first(const void *one, const void *other) {
	const struct case_result *left = *(const struct case_result *const *)one,
				 *right = *(const struct case_result *const *)other;
	return left->seconds != right->seconds
		       ? (left->seconds < right->seconds) - (left->seconds > right->seconds)
		       : strcmp(left->test->name, right->test->name);
}

// A name may hold anything; it is shown in one line.
static void print_padded(const char *text, size_t width) {
	size_t columns = 0;
	for (; *text; text++) {
		columns += ((unsigned char)*text & 0xc0) != 0x80;
		putchar((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
	}
	for (; columns < width; columns++)
		putchar(' ');
}

static void print_row(const struct case_result *result, size_t name_width, size_t words_width) {
	char size[16];
	print_padded(result->test->name, name_width);
	printf("  %s", colour_of(result));
	print_padded(result->words, words_width);
	printf("%s  %7.3f s  ", plain(), result->seconds);
	for (size_t i = 0; i < result->record.artifact_count; i++) {
		const struct ci_artifact *artifact = &result->record.artifacts[i];
		printf("%s%s", i ? ", " : "", artifact->path);
		if (artifact->size)
			printf(" (%s)", file_size_words(artifact->size, size));
	}
	printf("%s\n", result->record.artifact_count ? "" : "-");
}

static void print_totals(const struct each_results *results, double seconds) {
	size_t counts[CASE_SKIPPED + 1] = {0}, artifacts = 0;
	for (size_t i = 0; i < results->count; i++) {
		counts[results->items[i].outcome]++;
		artifacts += results->items[i].record.artifact_count;
	}
	printf("%zu %s: %zu passed, %zu failed, %zu skipped", results->count,
	       results->count == 1 ? "case" : "cases", counts[CASE_PASSED], counts[CASE_FAILED],
	       counts[CASE_SKIPPED]);
	if (counts[CASE_NOT_RUN])
		printf(", %zu not run", counts[CASE_NOT_RUN]);
	printf("; %.3g s\n", seconds);
	if (!artifacts && counts[CASE_PASSED] + counts[CASE_FAILED])
		printf("no artifacts: 'tracelet run' of one case and 'tracelet doctor' tell why\n");
}

void each_print_table(const struct each_results *results, double seconds) {
	const struct case_result **sorted = memory_alloc((results->count + 1) * sizeof(*sorted));
	size_t name_width = 4, words_width = 6;
	for (size_t i = 0; i < results->count; i++) {
		sorted[i] = &results->items[i];
		name_width = MAX(name_width, MIN(strlen(sorted[i]->test->name), (size_t)60));
		words_width = MAX(words_width, strlen(sorted[i]->words));
	}
	qsort(sorted, results->count, sizeof(*sorted), slower_first);
	printf("%-*s  %-*s  %9s  artifacts\n", (int)name_width, "case", (int)words_width, "result", "time");
	for (size_t i = 0; i < results->count; i++)
		print_row(sorted[i], name_width, words_width);
	print_totals(results, seconds);
	fflush(stdout);
	free(sorted);
}

// ---- JUnit ----

static const enum junit_result junit_results[] = {[CASE_NOT_RUN] = JUNIT_SKIPPED,
						  [CASE_RUNNING] = JUNIT_ERROR,
						  [CASE_PASSED] = JUNIT_PASSED,
						  [CASE_FAILED] = JUNIT_FAILED,
						  [CASE_SKIPPED] = JUNIT_SKIPPED};

// "Suite.Case" and "module::case" are a class and a name there; the class is allocated.
static const char *split_name(const struct framework *framework, const char *name, const char *suite,
			      char **class_name) {
	const char *separator = framework ? framework->separator : NULL, *last = NULL;
	for (const char *at = name; separator && (at = strstr(at, separator)); at += strlen(separator)) {
		if (strchr(name, '[') && at > strchr(name, '['))
			break; // in a parameter
		last = at;
	}
	*class_name = last ? memory_format("%.*s", (int)(last - name), name) : memory_string(suite);
	return last ? last + strlen(separator) : name;
}

bool each_write_junit(const struct each_results *results, const struct framework *framework, char **command,
		      const char *path, const char *folder, double seconds) {
	CLEANUP_FREE char *suite = system_command_name(command[0]);
	struct junit_case *cases = memory_alloc((results->count + 1) * sizeof(*cases));
	struct input *outputs = memory_alloc((results->count + 1) * sizeof(*outputs));
	for (size_t i = 0; i < results->count; i++) {
		const struct case_result *result = &results->items[i];
		CLEANUP_FREE char *file = memory_format("%s/%zu.out", folder, i);
		if (result->outcome == CASE_FAILED && input_open(&outputs[i], file))
			outputs[i] = (struct input){0};
		size_t left_out = outputs[i].size > MOST_OUTPUT ? outputs[i].size - MOST_OUTPUT : 0;
		char *class_name;
		cases[i] = (struct junit_case){
			.name = split_name(framework, result->test->name, suite, &class_name),
			.message = result->words,
			.result = junit_results[result->outcome],
			.seconds = result->seconds,
			.output = outputs[i].size ? (const char *)outputs[i].data + left_out : "",
			.output_size = outputs[i].size - left_out,
			.artifacts = result->record.artifacts,
			.artifact_count = result->record.artifact_count,
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
		input_close(&outputs[i]);
		free((char *)(uintptr_t)cases[i].class_name);
	}
	buffer_free(&text);
	free(outputs);
	free(cases);
	return !error;
}
