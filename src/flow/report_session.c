// At the end of a session: the page of the test that has just ended.
#include "flow/report.h"

#include "artifact/manifest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "settings/settings.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool report_wanted(const struct settings *settings, bool passed) {
	return settings->report == PAGE_FOR_ALL || (settings->report == PAGE_FOR_FAILED && !passed);
}

// ---- what the test printed ----

// The test's output is its own, and nothing of it is kept. But where it goes to a file anyway, as in
// `tracelet each`, the file's end can be read.
static void read_printed(struct buffer *out) {
#ifndef _WIN32
	enum { MOST = 64 << 10 };
	struct stat status;
	int printed = fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode) && status.st_size
			      ? STDOUT_FILENO
		      : fstat(STDERR_FILENO, &status) == 0 && S_ISREG(status.st_mode) && status.st_size
			      ? STDERR_FILENO
			      : -1;
	if (printed < 0)
		return;
	CLEANUP_FREE char *path = memory_format("/proc/self/fd/%d", printed);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	off_t skip = status.st_size > MOST ? status.st_size - MOST : 0;
	ssize_t got = pread(fd, buffer_room(out, MOST), MOST, skip);
	out->size += got > 0 ? (size_t)got : 0;
	close(fd);
#endif
}

// ---- the page ----

// A test must not wait long for its page.
static char *page_path(const struct manifest_record *record) {
	enum { MOST_TRACE = 16 << 20 };
	for (size_t i = 0; i < record->artifacts.count; i++) {
		const struct manifest_artifact *artifact = &record->artifacts.items[i];
		size_t length = manifest_is_trace(artifact) ? strlen(artifact->path) : 0;
		if (length && artifact->size > MOST_TRACE) {
			log_warning("no page: the trace is large; 'tracelet report %s' makes one",
				    artifact->path);
			return NULL;
		}
		const char *dot = length ? strrchr(artifact->path, '.') : NULL;
		if (dot && !strpbrk(dot, "/\\"))
			return memory_format("%.*s.html", (int)(dot - artifact->path), artifact->path);
	}
	return NULL;
}

int report_write(const char *path, struct buffer *page, bool artifact) {
	struct output output;
	if (artifact)
		system_unlink(path);
	int error = output_open(&output, path, artifact ? OUTPUT_CREATE : OUTPUT_REPLACE);
	if (!error) {
		error = output_take(&output, page);
		if (!error)
			error = output_commit(&output);
		output_abandon(&output);
	}
	return error;
}

static uint64_t now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

char *report_session(const struct settings *settings, const struct manifest_record *record, bool passed) {
	uint64_t begun = now();
	char *path = report_wanted(settings, passed) ? page_path(record) : NULL;
	if (!path)
		return NULL;
	CLEANUP_FREE char *only = report_test_text(record->test);
	struct report_run run = {.most = REPORT_RECENT, .only = only};
	struct buffer page = {0}, printed = {0};
	report_add_folder(&run, settings->output_dir);
	read_printed(&printed);
	const struct report_record *own = report_add_own(&run, settings->output_dir, record);
	int error = own ? report_test_page(&page, &run, own, NULL,
					   printed.size ? (const char *)printed.data : NULL, printed.size)
			: -1;
	if (!error && (error = report_write(path, &page, true)))
		log_warning("%s: cannot be written: %s", path, strerror(-error));
	report_run_free(&run);
	buffer_free(&page);
	buffer_free(&printed);
	log_verbose("writing the page took %" PRIu64 " us", (now() - begun) / 1000);
	if (!error)
		return path;
	free(path);
	return NULL;
}
