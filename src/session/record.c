#include "session/record.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "session/descriptors.h"
#include "session/manifest.h"
#include "session/retention.h"
#include "session/variant.h"

void record_started(struct json *json, const struct timespec *started) {
	char text[64];
	struct tm utc;
	gmtime_r(&started->tv_sec, &utc);
	size_t length = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text + length, sizeof(text) - length, ".%03ldZ", started->tv_nsec / 1000000);
	json_string(json, "started", text);
}

void record_variant(struct json *json, const struct settings *settings) {
	char digits[VARIANT_HASH_SIZE];
	if (settings->variant) {
		variant_hash(settings->variant, digits);
		json_raw(json, "variant", settings->variant);
		json_string(json, "variant_hash", digits);
	}
	if (settings->is_repro)
		json_bool(json, "repro", true);
}

void record_file(struct json *json, const char *kind, const char *path, uint64_t size, const char *sha256) {
	json_object(json, NULL);
	json_string(json, "kind", kind);
	json_string(json, "path", path);
	json_uint(json, "size", size);
	if (*sha256)
		json_string(json, "sha256", sha256);
	json_close_object(json);
}

void record_append(const char *dir, const struct buffer *line, bool warn) {
	int error = manifest_append(dir, line);
	if (error && warn)
		log_warning("%s/manifest.jsonl: cannot be written: %s", dir, strerror(-error));
}

void record_write(const char *target, const struct buffer *line) {
	int error, fd = descriptor_named(target);
	if (fd >= 0) {
		error = file_write_all(fd, line->data, line->size);
	} else {
		struct output output;
		error = output_open(&output, target, OUTPUT_REPLACE);
		if (!error) {
			output_write(&output, line->data, line->size);
			error = output_commit(&output);
		}
	}
	if (error)
		log_warning("--json %s: cannot be written: %s", target, strerror(-error));
}

bool record_keep_limits(const struct settings *settings, const char *trace) {
	struct retention retention = {
		.max_total_size = settings->max_total_size, .max_age = settings->max_age, .now = time(NULL)};
	if (!retention.max_total_size && retention.max_age <= 0)
		return false;
	int deleted = retention_apply(settings->output_dir, &retention);
	if (deleted < 0)
		log_warning("%s: cannot be kept within its limits: %s", settings->output_dir,
			    strerror(-deleted));
	else if (deleted > 0)
		log_verbose("%s: deleted to keep its limits: %d files", settings->output_dir, deleted);
	struct stat status;
	return trace && system_link_stat(trace, &status) != 0;
}
