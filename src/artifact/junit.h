// JUnit XML: written for the cases of a test program, and read to add artifacts to the
// cases of a file from another program.
//
// An artifact is given in the form that CI systems look for: a line [[ATTACHMENT|path]] in the
// <system-out> of its <testcase>.
#pragma once

#include "artifact/ci.h"
#include "base/buffer.h"

// ---- writing ----

enum junit_result { JUNIT_PASSED, JUNIT_FAILED, JUNIT_ERROR, JUNIT_SKIPPED };

struct junit_case {
	const char *class_name, *name;
	const char *message; // of a failure
	enum junit_result result;
	double seconds;
	const char *output; // output of a failed case
	size_t output_size;
	const struct manifest_artifact *artifacts;
	size_t artifact_count;
};

// All of a program's cases as one suite.
void junit_write(struct buffer *out, const char *suite, double seconds, const struct junit_case *cases,
		 size_t count);

// ---- adding to a file ----

// Artifacts of one test, under its names in the manifest.
struct junit_record {
	const char *test; // made safe for files
	const char *name; // as the user calls it; NULL if not known
	const struct manifest_artifact *artifacts;
	size_t artifact_count;
	const char *why; // where the time of a failed test went; NULL if unknown
};

struct junit_attached {
	size_t cases;     // in the file
	size_t matched;   // of these, with artifacts
	size_t unmatched; // records that belong to no case, or to more than one
};

// Copies the file to `out` and adds the artifacts of each record, and why it failed, to its case; everything
// else stays unchanged, byte for byte. A record belongs to the one case with the same class and name, or
// suite and name, or name alone (the first of these that matches any case). Names that are equal as they are
// come first, then those that differ in separators before a parameter ("["), then those that differ in any.
// Of several records with one name the last counts. 0, or -EINVAL with the reason in `why`.
int junit_attach(const char *text, size_t size, const struct junit_record *records, size_t count,
		 struct buffer *out, struct junit_attached *attached, char why[256]);
