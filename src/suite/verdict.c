// Looks for the framework's report about a case in the output of that case. The texts are in
// framework_table.h; TAP has a line for each case, which is parsed.
//
// Only the end of the output is searched: a report is the last thing that a framework prints.
#include "suite/verdict.h"
#include "base/file.h"

#include <ctype.h>
#include <stdio.h>

// ---- the text without colours ----

// The size of the escape sequence ("ESC [ 0 ; 3 2 m") at `at`, or 0.
static size_t escape_size(const char *at, const char *end) {
	if (end - at < 2 || at[0] != '\033' || at[1] != '[')
		return 0;
	const char *last = at + 2;
	while (last < end && (isdigit((unsigned char)*last) || *last == ';'))
		last++;
	return last < end ? (size_t)(last + 1 - at) : 0;
}

static void copy_plain(const char *text, size_t size, struct buffer *plain) {
	const char *at = text, *end = text + size;
	while (at < end) {
		const char *escape = memchr(at, '\033', (size_t)(end - at));
		escape = escape ? escape : end;
		buffer_append(plain, at, (size_t)(escape - at));
		size_t length = escape_size(escape, end);
		if (!length && escape < end)
			buffer_append(plain, escape, length = 1);
		at = escape + length;
	}
}

// ---- patterns ----

// Skips a number that is not 0; NULL if there is none.
static const char *after_number(const char *at, const char *end) {
	bool positive = false;
	const char *first = at;
	for (; at < end && isdigit((unsigned char)*at); at++)
		positive |= *at != '0';
	return at > first && positive ? at : NULL;
}

static const char *after_blanks(const char *at, const char *end) {
	const char *first = at;
	while (at < end && *at == ' ')
		at++;
	return at > first ? at : NULL;
}

static const char *after_text(const char *at, const char *end, const char *text, size_t length) {
	return (size_t)(end - at) >= length && memcmp(at, text, length) == 0 ? at + length : NULL;
}

// The end of the match at `at`, or NULL.
static const char *match_end(const char *pattern, const char *name, const char *at, const char *end) {
	while (at && *pattern) {
		bool is_name = strncmp(pattern, "{}", 2) == 0, is_number = strncmp(pattern, "{n}", 3) == 0;
		at = is_name           ? after_text(at, end, name, strlen(name))
		     : is_number       ? after_number(at, end)
		     : *pattern == ' ' ? after_blanks(at, end)
				       : after_text(at, end, pattern, 1);
		pattern += is_name ? 2 : is_number ? 3 : 1;
	}
	return at;
}

// The text after the first match, or NULL.
static const char *find_after(const char *pattern, const char *name, const struct buffer *plain) {
	const char *text = (const char *)plain->data, *end = text + plain->size, *after = NULL;
	for (const char *at = text; at < end && !after; at++)
		after = match_end(pattern, name, at, end);
	return after;
}

static bool plain_matches(const char *pattern, const char *name, const struct buffer *plain) {
	return find_after(pattern, name, plain);
}

static bool any_matches(const char *const *patterns, const char *name, const struct buffer *plain) {
	for (; patterns && *patterns; patterns++)
		if (plain_matches(*patterns, name, plain))
			return true;
	return false;
}

// ---- TAP ----

// The worst of the lines about this case; a program may have several cases of one name.
static enum case_report tap_report(const char *name, const struct buffer *plain) {
	static const int badness[] = {
		[REPORT_MISSING] = 0, [REPORT_PASSED] = 1, [REPORT_SKIPPED] = 2, [REPORT_FAILED] = 3};
	enum case_report worst = REPORT_MISSING;
	bool plan_is_empty = plain_matches("\n1..0", name, plain);
	struct tap_line line;
	const char *at = (const char *)plain->data, *end = at + plain->size;
	while (tap_next(&at, end, &line)) {
		if (line.length != strlen(name) || memcmp(line.name, name, line.length) != 0)
			continue;
		enum case_report report = line.skipped           ? REPORT_SKIPPED
					  : line.ok || line.todo ? REPORT_PASSED
								 : REPORT_FAILED;
		if (badness[report] > badness[worst])
			worst = report;
	}
	return worst == REPORT_MISSING && plan_is_empty ? REPORT_NO_CASE : worst;
}

// ---- the report ----

static struct buffer plain_end(const char *output, size_t size) {
	struct buffer plain = {0};
	size_t left_out = size > VERDICT_SEARCHED ? size - VERDICT_SEARCHED : 0;
	buffer_append(&plain, "\n", 1); // before the first line
	copy_plain(output + left_out, size - left_out, &plain);
	return plain;
}

enum case_report case_report_of(const struct framework *framework, const char *name, const char *passed,
				const char *output, size_t size) {
	struct buffer plain = plain_end(output, size);
	const char *const own[] = {passed, NULL}, *const missing[] = {framework->missing, NULL};
	enum case_report report = REPORT_MISSING;
	if (any_matches(missing, name, &plain))
		report = REPORT_NO_CASE;
	else if (any_matches(framework->skipped, name, &plain))
		report = REPORT_SKIPPED;
	else if (any_matches(passed ? own : framework->passed, name, &plain))
		report = REPORT_PASSED;
	else if (!passed && framework->parse == cases_from_tap)
		report = tap_report(name, &plain);
	buffer_free(&plain);
	return report;
}

bool case_verdict_of(const struct framework *framework, const char *name, const char *output, size_t size,
		     char verdict[VERDICT_SIZE]) {
	struct buffer plain = plain_end(output, size);
	const char *end = (const char *)plain.data + plain.size;
	const char *word = framework->verdict ? find_after(framework->verdict, name, &plain) : NULL;
	const char *close = word ? memchr(word, ')', MIN((size_t)(end - word), (size_t)VERDICT_SIZE)) : NULL;
	snprintf(verdict, VERDICT_SIZE, "%.*s", close ? (int)(close - word) : 0, word ? word : "");
	buffer_free(&plain);
	return close && strcmp(verdict, "Failed") != 0;
}

// ---- the judgement ----

static struct case_judgement judgement_of(enum case_report report, bool may_skip, int status) {
	static const char *const words[] = {
		[REPORT_MISSING] = "failed: no report from its framework",
		[REPORT_PASSED] = "passed",
		[REPORT_SKIPPED] = "skipped",
		[REPORT_FAILED] = "failed: its framework says so",
		[REPORT_NO_CASE] = "not found by its own name",
	};
	bool skipped = report == REPORT_SKIPPED && (!status || may_skip);
	bool failed = status ? !skipped : report != REPORT_PASSED && !skipped;
	return (struct case_judgement){.report = report,
				       .skipped = skipped,
				       .failed = failed,
				       .by_report = skipped || (failed && !status),
				       .words = status && failed ? NULL : words[report]};
}

struct case_judgement case_judge_text(const struct case_rule *rule, const char *text, size_t size,
				      int status) {
	const struct framework *framework = rule->framework;
	if (!framework)
		return judgement_of(REPORT_PASSED, false, status);
	enum case_report report = case_report_of(framework, rule->name, rule->passed, text, size);
	struct case_judgement judgement = judgement_of(report, status == framework->skipped_status, status);
	if (!case_verdict_of(framework, rule->name, text, size, judgement.verdict))
		*judgement.verdict = 0;
	return judgement;
}

struct case_judgement case_judge(const struct case_rule *rule, const char *output, int status) {
	struct input input;
	if (rule->framework && input_open(&input, output))
		return judgement_of(REPORT_MISSING, false, status);
	if (!rule->framework)
		return case_judge_text(rule, "", 0, status);
	struct case_judgement judgement = case_judge_text(rule, (const char *)input.data, input.size, status);
	input_close(&input);
	return judgement;
}
