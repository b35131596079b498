// The page of all cases, with the end of what failed ones printed.
#include "suite/each_report.h"

#include "artifact/artifact.h"
#include "artifact/identity.h"
#include "artifact/manifest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "flow/report.h"
#include "process/user_files.h"
#include "settings/settings.h"

#include <string.h>

struct cases_page {
	const struct each_results *results;
	const char *folder; // of temporary files
	struct report_run run;
	struct input output; // of the case whose article is being written
	bool open;
};

static void close_output(struct cases_page *page) {
	if (page->open)
		input_close(&page->output);
	page->open = false;
}

// The records are in the order of the results.
static const char *output_of(void *context, const struct report_record *record, size_t *size) {
	struct cases_page *page = context;
	CLEANUP_FREE char *path = memory_format("%s/%zu.out", page->folder,
						(size_t)(record - page->run.records.items));
	close_output(page);
	user_files_end(); // the file is ours
	page->open = input_open(&page->output, path) == 0;
	user_files_begin();
	*size = page->open ? page->output.size : 0;
	return page->open ? (const char *)page->output.data : NULL;
}

static void add_result(struct cases_page *page, const struct case_result *result, const char *folder) {
	static const enum manifest_status ends[] = {[CASE_NOT_RUN] = ENDED_UNKNOWN,
						    [CASE_RUNNING] = ENDED_UNKNOWN,
						    [CASE_PASSED] = ENDED_PASSED,
						    [CASE_FAILED] = ENDED_FAILED,
						    [CASE_SKIPPED] = ENDED_SKIPPED};
	struct report_record new = {
		.folder = folder, .order = page->run.records.count, .passed = result->outcome == CASE_PASSED};
	struct buffer line = {0};
	manifest_write(&result->record, &line);
	if (!result->record.test || !manifest_parse((const char *)line.data, line.size, &new.record)) {
		new.record = (struct manifest_record){0};
		char safe[ARTIFACT_NAME_SIZE];
		artifact_safe_name(result->test->name, safe);
		MANIFEST_PUT(&new.record, test, manifest_keep(&new.record, memory_string(safe)));
		MANIFEST_PUT(&new.record, name,
			     manifest_keep(&new.record, memory_string(result->test->name)));
	}
	bool more = new.record.status && result->outcome == CASE_FAILED &&
		    !new.passed &&strcmp(new.record.status, manifest_status_names[ENDED_PASSED]) != 0;
	if (!more) // otherwise the line says more: crashed, timed out
		MANIFEST_PUT(&new.record, status, manifest_status_names[ends[result->outcome]]);
	MANIFEST_PUT(&new.record, result, manifest_keep(&new.record, memory_string(result->words)));
	MANIFEST_PUT(&new.record, wall_seconds, result->seconds);
	array_push(&page->run.records, new);
	buffer_free(&line);
}

void each_write_page(const struct each_results *results, const struct settings *settings,
		     const char *folder) {
	struct cases_page page = {.results = results, .folder = folder};
	struct report_run history = {0};
	struct buffer text = {0};
	bool failed = false;
	for (size_t i = 0; i < results->count; i++)
		failed |= results->items[i].outcome == CASE_FAILED;
	if (!report_wanted(settings, !failed))
		return;
	user_files_begin(); // the folder is the test's, which may have planted links
	report_add_folder(&history, settings->output_dir);
	for (size_t i = 0; i < results->count; i++)
		add_result(&page, &results->items[i], settings->output_dir);
	CLEANUP_FREE char *path = memory_format("%s/report.html", settings->output_dir);
	struct report_options options = {.title = settings->command[0],
					 .budget = REPORT_BUDGET,
					 .history = &history,
					 .output = output_of,
					 .context = &page};
	report_group(&page.run);
	report_run_page(&text, &page.run, &options);
	close_output(&page);
	int error = report_write(path, &text, true);
	user_files_end();
	if (error)
		log_warning("%s: cannot be written: %s", path, strerror(-error));
	else if (!settings->quiet)
		text_line(stdout, "page: %s", path);
	buffer_free(&text);
	report_run_free(&page.run);
	report_run_free(&history);
}
