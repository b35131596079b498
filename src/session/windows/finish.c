#include "session/windows/finish.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "session/artifact.h"
#include "session/ci.h"
#include "session/record.h"

#include <inttypes.h>
#include <windows.h>

void finish_add_file(struct finish *finish, const char *kind, const char *path) {
	struct stat status;
	if (system_stat(path, &status))
		return;
	struct finish_file file = {
		.kind = kind, .path = memory_string(path), .size = (uint64_t)status.st_size};
	if (artifact_sha256(path, file.sha256))
		*file.sha256 = 0;
	array_push(&finish->files, file);
}

static bool passed(const struct finish *finish) {
	return !finish->timed_out && finish->code == 0;
}

// ---- words ----

// A process that dies of an exception has its code as exit code.
static const char *exception_words(uint32_t code) {
	static const struct {
		uint32_t code;
		const char *words;
	} known[] = {
		{0xc0000005, "access violation"},
		{0xc00000fd, "stack overflow"},
		{0xc0000374, "heap corruption"},
		{0xc0000409, "stack buffer overrun or fast fail"},
		{0xc000001d, "illegal instruction"},
		{0xc0000094, "integer division by zero"},
		{0xc000013a, "ended by Ctrl-C"},
		{0xc0000135, "a DLL was not found"},
		{0xc0000139, "a function was not found in a DLL"},
		{0xc0000142, "a DLL could not be initialised"},
		{0xc0000417, "invalid parameter of the C library"},
		{0x80000003, "breakpoint"},
		{0xe06d7363, "C++ exception"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].code == code)
			return known[i].words;
	return NULL;
}

void finish_words(const struct finish *finish, char *words, size_t size) {
	const char *exception = exception_words(finish->code);
	if (finish->timed_out)
		snprintf(words, size, "timed out: limit %g s", finish->settings->timeout);
	else if (exception)
		snprintf(words, size, "crashed: %s (%08" PRIx32 ")", exception, finish->code);
	else if (finish->code)
		snprintf(words, size, "failed: exit code %" PRId32, (int32_t)finish->code);
	else
		snprintf(words, size, "passed");
}

static void print(const struct finish *finish) {
	struct buffer out = {0};
	char words[128], size[16];
	finish_words(finish, words, sizeof(words));
	buffer_printf(&out, "tracelet: %s %s in %.3g s\n", finish->test, words, finish->wall_seconds);
	for (size_t i = 0; i < finish->files.count; i++) {
		const struct finish_file *file = &finish->files.items[i];
		buffer_printf(&out, "  %-7s %s (%s)\n", strcmp(file->kind, "etl") == 0 ? "trace" : file->kind,
			      file->path, file_size_words(file->size, size));
	}
	if (finish->not_kept)
		buffer_printf(&out, "  trace   not kept: %s\n", finish->not_kept);
	if (finish->files.count && strcmp(finish->files.items[0].kind, "etl") == 0)
		buffer_printf(&out,
			      "  next    open it in Windows Performance Analyzer, or: tracelet info %s\n",
			      finish->files.items[0].path);
	file_write_all(STDERR_FILENO, out.data, out.size);
	buffer_free(&out);
}

// ---- JSON ----

static void add_system(struct json *json) {
	struct system_version version = system_version();
	CLEANUP_FREE char *host = system_host_name();
	CLEANUP_FREE char *kernel = memory_format("Windows %u.%u.%u", version.major, version.minor,
						  version.build);
	json_string(json, "host", host);
	json_string(json, "kernel", kernel);
	json_string(json, "machine", "x86_64");
}

static void add_result(struct json *json, const struct finish *finish) {
	char words[128];
	json_string(json, "kind", finish->operation ? "operation" : "test");
	finish_words(finish, words, sizeof(words));
	json_string(json, "result", finish->operation ? "recorded" : words);
	if (finish->timed_out)
		json_double(json, "timed_out_after", finish->settings->timeout);
	if (!finish->operation)
		json_int(json, "exit", (int32_t)finish->code);
}

static void make_record(const struct finish *finish, struct buffer *line) {
	struct json json = json_into(line);
	json_object(&json, NULL);
	json_string(&json, "test", finish->test);
	json_array(&json, "command");
	for (char **word = finish->settings->command; word && *word; word++)
		json_string(&json, NULL, *word);
	json_close_array(&json);
	add_result(&json, finish);
	record_variant(&json, finish->settings);
	record_started(&json, &finish->started);
	json_double(&json, "wall_seconds", finish->wall_seconds);
	json_double(&json, "cpu_seconds", finish->cpu_seconds);
	add_system(&json);
	json_string(&json, "tracelet", TRACELET_VERSION);
	json_string(&json, "profile", finish->profile);
	json_string(&json, "scope", "system"); // WPR knows no other
	json_string(&json, "backend", finish->traced ? "wpr" : NULL);
	json_array(&json, "artifacts");
	for (size_t i = 0; i < finish->files.count; i++) {
		const struct finish_file *file = &finish->files.items[i];
		record_file(&json, file->kind, file->path, file->size, file->sha256);
	}
	json_close_array(&json);
	if (finish->not_kept)
		json_string(&json, "not_kept", finish->not_kept);
	json_close_object(&json);
	buffer_append(line, "\n", 1);
}

// ---- all of it ----

static void publish(const struct finish *finish) {
	char words[128];
	struct ci_artifact *artifacts = memory_alloc((finish->files.count + 1) * sizeof(*artifacts));
	for (size_t i = 0; i < finish->files.count; i++)
		artifacts[i] = (struct ci_artifact){finish->files.items[i].path, finish->files.items[i].size};
	finish_words(finish, words, sizeof(words));
	struct ci_test test = {.name = finish->test,
			       .result = words,
			       .passed = passed(finish),
			       .seconds = finish->wall_seconds,
			       .artifacts = artifacts,
			       .artifact_count = finish->files.count};
	ci_publish(finish->settings, &test, STDOUT_FILENO, STDERR_FILENO);
	free(artifacts);
}

void finish_record(struct finish *finish) {
	struct buffer line = {0};
	if (!settings_enabled(finish->settings) && !finish->files.count)
		return;
	make_record(finish, &line);
	record_append(finish->settings->output_dir, &line, finish->files.count > 0);
	buffer_free(&line);
	const char *first = finish->files.count ? finish->files.items[0].path : NULL;
	if (record_keep_limits(finish->settings, first)) {
		finish->not_kept = RECORD_NO_ROOM;
		finish_free(finish);
	}
}

void finish_tell(struct finish *finish) {
	const struct settings *settings = finish->settings;
	finish_record(finish);
	if (settings_enabled(settings) && !settings->quiet)
		print(finish);
	if (settings->json) {
		struct buffer line = {0};
		make_record(finish, &line);
		record_write(settings->json, &line);
		buffer_free(&line);
	}
	if (settings_enabled(settings))
		publish(finish);
}

void finish_free(struct finish *finish) {
	for (size_t i = 0; i < finish->files.count; i++)
		free(finish->files.items[i].path);
	array_free(&finish->files);
}
