// Has a trace arrived where it should be? Four questions, each with its own answer, because each
// points to a different step on the way to the file.
#include "check/landed.h"
#include "base/system.h"
#include "base/text.h"
#include "tracelet/tracelet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct first_defect {
	char text[256];
	uint64_t offset;
	bool tag;
};

static void take_finding(const struct tl_finding *finding, void *context) {
	struct first_defect *first = context;
	if (finding->note || *first->text)
		return;
	snprintf(first->text, sizeof(first->text), "%s", finding->text);
	first->offset = finding->offset;
	first->tag = strcmp(finding->kind, "first-tag") == 0;
}

int landed_say(int error, char *message, size_t size, const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	if (message && size)
		vsnprintf(message, size, format, arguments);
	va_end(arguments);
	return error;
}

int landed_unreadable(int error, const char *path, char *message, size_t size) {
	return landed_say(error, message, size,
			  "%s: expected a file that can be read, found: %s; look at the permissions of "
			  "the output folder",
			  path, strerror(-error));
}

static int check_content(const char *path, char *message, size_t size) {
	struct first_defect first = {0};
	struct tl_check_result result = TL_INIT(result);
	struct tl_check_opts options = {
		.size = sizeof(options), .on_finding = take_finding, .context = &first};
	int error = tl_check_trace(path, &options, &result);
	if (error)
		return landed_unreadable(error, path, message, size);
	if (!result.defects)
		return 0;
	if (first.tag)
		return landed_say(
			-EILSEQ, message, size,
			"%s: expected a Perfetto trace, which begins with byte 0x0a, found: %s; look at "
			"what wrote this file: it is not a trace from tracelet",
			path, first.text);
	return landed_say(
		-EBADMSG, message, size,
		"%s: expected good packets up to the last of %" PRIu64 " bytes, found %" PRIu64
		" defects, the first at byte %" PRIu64
		": %s; look at the transfer of the file, or at the conversion ('tracelet check' lists all)",
		path, result.bytes, result.defects, first.offset, first.text);
}

int landed_file(const char *path, uint64_t min_size, char *message, size_t size) {
	struct stat status;
	uint64_t least = min_size ? min_size : TL_LEAST_TRACE;
	if (!path || !*path)
		return landed_say(-EINVAL, message, size, "expected the path of a trace, found none");
	if (system_stat(path, &status)) {
		int error = -errno;
		return landed_say(
			error, message, size,
			"%s: expected a trace, found: %s; look at the session that makes it: was it run, "
			"with this output folder and name? ('tracelet doctor', manifest.jsonl)",
			path, strerror(-error));
	}
	if (!S_ISREG(status.st_mode))
		return landed_say(
			S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL, message, size,
			"%s: expected a trace, found something that is not a regular file; look at the path",
			path);
	if ((uint64_t)status.st_size < least)
		return landed_say(
			-ENODATA, message, size,
			"%s: expected at least %" PRIu64 " bytes, found %" PRIu64
			"; look at the recording: it began too late, ended too early, or has no events "
			"('tracelet info')",
			path, least, (uint64_t)status.st_size);
	return 0;
}

int tl_trace_landed(const char *path, uint64_t min_size, char *message, size_t size) {
	int error = landed_file(path, min_size, message, size);
	return error ? error : check_content(path, message, size);
}

void tl_assert_trace(const char *path) {
	char message[1024];
	if (tl_trace_landed(path, 0, message, sizeof(message)) == 0)
		return;
	text_line(stderr, "tl_assert_trace: %s", message);
	abort();
}
