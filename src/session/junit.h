// JUnit XML: written for the cases of a test program, and read to add artifacts to the
// cases of a file that something else has written.
//
// An artifact is told as CI systems look for it: a line [[ATTACHMENT|path]] in the
// <system-out> of its <testcase>.
#pragma once

#include "base/buffer.h"
#include "session/ci.h"

// ---- writing ----

enum junit_result { JUNIT_PASSED, JUNIT_FAILED, JUNIT_ERROR, JUNIT_SKIPPED };

struct junit_case {
	const char *class_name, *name;
	const char *message; // of a failure
	enum junit_result result;
	double seconds;
	const char *output; // what a failed one has printed
	size_t output_size;
	const struct ci_artifact *artifacts;
	size_t artifact_count;
};

// All of a program's cases as one suite.
void junit_write(struct buffer *out, const char *suite, double seconds, const struct junit_case *cases,
		 size_t count);

// ---- adding to a file ----

// Artifacts of one test, by the name that the manifest has for it.
struct junit_record {
	const char *test;
	const struct ci_artifact *artifacts;
	size_t artifact_count;
};

struct junit_attached {
	size_t cases;     // in the file
	size_t matched;   // of them now with artifacts
	size_t unmatched; // records that belong to no case, or to more than one
};

// Copies the file to `out` with the artifacts of each record in its case; everything else stays
// byte by byte. A record belongs to the one case whose class and name, or suite and name, or name alone
// (the first of these that fits any case) are its own, where separators of all kinds are the same.
// Of several records of one name the last counts. 0, or -EINVAL with the reason in `why`.
int junit_attach(const char *text, size_t size, const struct junit_record *records, size_t count,
		 struct buffer *out, struct junit_attached *attached, char why[256]);
