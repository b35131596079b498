// Announces a test and its artifacts to a CI system, in the form that it reads:
//
//   [[ATTACHMENT|/absolute/path]]   a line of the test's own standard output: Jenkins, GitLab and
//                                   Azure find it in the JUnit file made from that output
//   a row in GITHUB_STEP_SUMMARY    GitHub Actions
//   ##vso[artifact.upload ...]      Azure Pipelines, with TF_BUILD; for tests that failed also
//   ##vso[task.uploadsummary]       a table in tracelet-summary.md, as GitHub has it
//   a section of the log            GitLab: where the time of a test that failed went
//
// The setting `attachments` decides: "no" announces nothing; "yes" writes the lines to
// standard output; "auto" writes them only where the test's output is known to become a
// JUnit file that a CI system reads. GitHub, Azure and GitLab get theirs unless it is "no".
#pragma once

#include "format/manifest_record.h"
#include "settings/settings.h"

struct ci_test {
	const char *name, *result; // the result in words
	bool passed;
	double seconds;
	const struct manifest_artifact *artifacts; // size 0 if unknown
	size_t artifact_count;
	const char *why; // where its time went; NULL if unknown
	bool shown;      // the log has that already
};

// Whether the lines go to standard output.
bool ci_wants_lines(const struct settings *settings);

// Lines go to `lines`, if wanted; commands for Azure and GitLab to `commands`.
void ci_publish(const struct settings *settings, const struct ci_test *test, int lines, int commands);

// The name of an artifact for a CI system: its absolute path, or on GitLab the path from the project's
// directory. The caller frees it.
char *ci_artifact_path(const char *path);
bool ci_fits_a_line(const char *path); // CI systems read paths line by line

// Prints what makes this CI system fold the text between the two, on standard output; nothing elsewhere.
void ci_begin_fold(const char *title);
void ci_end_fold(void);
