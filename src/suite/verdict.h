// What a framework reported about one case, read from the case's output. The exit status alone is not
// enough: a case that calls exit(0) ends its program with status 0, and so does a filter that selects
// nothing.
#pragma once

#include "suite/cases.h"

enum case_report {
	REPORT_MISSING, // nothing from the framework
	REPORT_PASSED,
	REPORT_SKIPPED,
	REPORT_FAILED,
	REPORT_NO_CASE, // the framework found no case of that name
};

enum { VERDICT_SIZE = 40, VERDICT_SEARCHED = 4 << 20 }; // bytes; of the output, the end is searched

// How a case is judged.
struct case_rule {
	const struct framework *framework; // NULL to judge by the exit status alone
	const char *name;                  // of the case
	const char *passed;                // the user's own text for a case that passed, or NULL
};

struct case_judgement {
	enum case_report report;
	bool failed, skipped;
	bool by_report;             // the exit status alone would say something else
	const char *words;          // "passed", "skipped", "failed: ..."; NULL if the exit status says it all
	char verdict[VERDICT_SIZE]; // the framework's own word for a failure, or ""
};

// The exit status can make a case fail; only the framework's report can make it pass. `output` is the file
// with the case's output; `status` is as in a shell.
struct case_judgement case_judge(const struct case_rule *rule, const char *output, int status);
// The same for output in memory.
struct case_judgement case_judge_text(const struct case_rule *rule, const char *text, size_t size,
				      int status);

// `passed`: the user's own text for a case that passed, or NULL for the framework's.
enum case_report case_report_of(const struct framework *framework, const char *name, const char *passed,
				const char *output, size_t size);

// The framework's own word for a failure, such as ctest's "Timeout"; false if it has none but "Failed".
bool case_verdict_of(const struct framework *framework, const char *name, const char *output, size_t size,
		     char verdict[VERDICT_SIZE]);
