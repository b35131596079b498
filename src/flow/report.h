// Pages that people look at: of one test, and of a run of many.
//
//   report_records.c  the lines of several manifests as one run: no session twice, attempts in order
//   report_trace.c    one recording: its answer, columns and picture
//   report_test.c     the article about a test, plain HTML first
//   report_answer.c   its answer in words and as a bar, and the numbers of the last passing run
//   report_preset.c   what a view begins with, from files of Windows Performance Analyzer
//   report_run.c      the table of a run, and which tests are inside the page
//   report_session.c  at the end of a session: is a page wanted, and where?
#pragma once

#include "analyse/why.h"
#include "flow/pipeline.h"
#include "format/manifest_record.h"
#include "write/page/trace.h"

// ---- records ----

struct report_record {
	struct manifest_record record;
	const char *folder; // of its artifacts
	uint64_t order;     // in which it was read
	bool passed;
};

// One test of a run: the same name and variant.
struct report_test {
	const char *name;
	ARRAY(size_t) attempts; // records, the newest last
	bool flaky;
};

// A folder of a run. Its manifest is read, and a page that goes beside it is written, through `pinned`: the
// owner may put a link in its place meanwhile.
struct report_folder {
	char *name; // as the user gave it
	char *pinned;
	int fd; // keeps it pinned; or -1
};

struct report_run {
	ARRAY(struct report_record) records;
	ARRAY(struct report_folder) folders;
	ARRAY(struct report_test) tests; // after report_group()
	struct map sessions;
	size_t duplicates; // sessions that were in more than one manifest
	size_t most;       // bytes to read of a manifest, its end; 0 for all
	const char *only;  // lines without this text are not read; NULL for all
};

// At the end of a session: where earlier runs are looked for, at the end of the manifest.
enum { REPORT_RECENT = 4 << 20 };

// Adds a folder with a manifest. 0 or -errno.
int report_add_folder(struct report_run *run, const char *folder);
// What lines about this test have in them, for `only`. To be freed.
char *report_test_text(const char *test);
// The run's folder of this name. Adds one, without looking into it, if there is none.
const struct report_folder *report_folder(struct report_run *run, const char *name);
void report_group(struct report_run *run);
void report_run_free(struct report_run *run);

// One of manifest_status_names[], whatever the line says.
const char *report_status(const struct report_record *record);
// The path of an artifact of this kind (NULL for a trace) that is still there, to be freed; or NULL.
char *report_artifact(const struct report_record *record, const char *kind);
// The last passing attempt before a record, of the same test and variant; NULL if none. One whose time is
// known is preferred. `others` gets the digests of those that passed before it, the newest first; or is NULL.
const struct report_record *report_last_pass(const struct report_run *run, const struct report_record *record,
					     struct why_passes *others);
// Adds a line that is not in the manifest yet. Returns it, or NULL. It moves when another one is added.
const struct report_record *report_add_own(struct report_run *run, const char *folder,
					   const struct manifest_record *record);
// The record whose artifact is this file; NULL if none.
const struct report_record *report_of_file(const struct report_run *run, const char *file);

// ---- one recording ----

struct report_trace {
	struct tables tables;
	struct timeline timeline;
	struct page_trace page;
	struct why why;
	struct why_parts parts;
	struct why_difference difference;
	struct why_parts base_parts;
	struct sink *tables_set; // all tables, or NULL
	uint8_t colours[REASON_COUNT];
	bool explained, compared;
};

// What to read. Only `trace` must be there.
struct report_files {
	const char *trace;
	const char *heap;                // a heap profile, or NULL
	const char *baseline;            // the trace of the last passing run, or NULL
	const char *baseline_digest;     // or its digest
	const struct why_passes *others; // that passed before it, or NULL
	bool all_tables;                 // for a view
};

// The colour of each reason.
void report_colours(uint8_t all[REASON_COUNT]);
// 0 or -errno, after an error message. Free it in any case.
int report_trace_read(struct report_trace *trace, const struct report_files *files);
void report_trace_free(struct report_trace *trace);

// ---- pages ----

struct report_article {
	const struct report_record *record; // NULL if only a file is known
	const struct report_record *before; // the last passing run, or NULL
	const struct why_passes *others;    // as report_last_pass() found them, or NULL
	const char *trace, *heap;           // paths, or NULL
	const char *title;
	const char *output; // the end of what the test printed; NULL if it was not recorded
	size_t output_size;
	bool all_tables;     // as a view has them
	bool in_run;         // there is a table to go back to
	bool embed_files;    // the trace can be saved from the page
	uint64_t most_trace; // bytes; larger ones are only linked
	struct buffer *bulk; // gets the columns of a large recording, for the end of the page; or NULL
};

// Appends the article. 0, or -errno with an article that says what is missing.
int report_article(struct buffer *out, const struct report_article *article);

// Parts of it. Text of others: escape sequences go, "file:line" is marked.
void report_printed(struct buffer *out, const char *text, size_t size);
void report_duration(struct buffer *out, uint64_t ns); // as a cell of a table
// A bar of where the time went, and its legend.
void report_shares(struct buffer *out, const uint64_t sums[COLOUR_COUNT]);
void report_answer(struct buffer *out, struct report_trace *trace, const struct report_record *record);
void report_counts(struct buffer *out, const struct manifest_record *now, const struct manifest_record *then);

enum { REPORT_BUDGET = 20 << 20 };

enum report_embed { EMBED_FAILED, EMBED_ALL, EMBED_NONE };

struct report_options {
	const char *title;
	enum report_embed embed;
	uint64_t budget;                  // bytes of the page for tests inside it
	const struct report_run *history; // where to look for the last passing runs; NULL for the run itself
	// Returns the end of a test's output, or NULL; or is NULL.
	const char *(*output)(void *context, const struct report_record *record, size_t *size);
	void *context;
};

void report_run_page(struct buffer *out, const struct report_run *run, const struct report_options *options);
// Of one test or file; `record` may be NULL if `trace` is there.
int report_test_page(struct buffer *out, const struct report_run *run, const struct report_record *record,
		     const char *trace, const char *output, size_t output_size);

// Presets of Windows Performance Analyzer (report_preset.c). Returns them as JSON, to be freed; or NULL after
// an error message. What does not exist here is reported as a warning.
bool report_preset_is_wpa(const void *bytes, size_t size);
char *report_preset_from_wpa(const void *bytes, size_t size, const char *path);
// Of recordings, with all tables; `preset` is JSON, or NULL.
int report_view_page(struct buffer *out, char **files, size_t count, const char *preset);
// Writes the page; `artifact`: a file that is ours, private, which replaces an older one. 0 or -errno.
int report_write(const char *path, struct buffer *page, bool artifact);

// ---- at the end of a session ----

struct settings;
bool report_wanted(const struct settings *settings, bool passed);
// Writes the page next to the trace if it is wanted. Returns its path, to be freed, or NULL.
char *report_session(const struct settings *settings, const struct manifest_record *record, bool passed);
