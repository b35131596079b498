// Telling a CI system about a test and its artifacts, in the words that it reads:
//
//   [[ATTACHMENT|/absolute/path]]   a line of the test's own standard output: Jenkins, GitLab and
//                                   Azure find it in the JUnit file that is made of that output
//   a row in GITHUB_STEP_SUMMARY    GitHub Actions
//   ##vso[artifact.upload ...]      Azure Pipelines, with TF_BUILD
//
// The setting `attachments` decides: "no" says nothing at all; "yes" writes the lines to
// standard output; "auto" writes them only where it is known that the test's output becomes a
// JUnit file that a CI reads. GitHub and Azure are told unless it is "no".
#pragma once

#include "base/buffer.h"
#include "session/settings.h"

struct ci_artifact {
	const char *path;
	uint64_t size; // 0: not known
};

struct ci_test {
	const char *name, *result; // the result in words
	bool passed;
	double seconds;
	const struct ci_artifact *artifacts;
	size_t artifact_count;
};

// Whether lines go to standard output.
bool ci_wants_lines(const struct settings *settings);

// Lines go to `lines`, if wanted; commands for Azure to `commands`.
void ci_publish(const struct settings *settings, const struct ci_test *test, int lines, int commands);

// How an artifact is named to a CI: by its absolute path, on GitLab from the project's folder on.
// The caller frees it.
char *ci_artifact_path(const char *path);

// What folds the text between the two, in this CI; nothing elsewhere. On standard output.
void ci_begin_fold(const char *title);
void ci_end_fold(void);
