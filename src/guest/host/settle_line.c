// A guest's line is read into a record, and everything in it that the host knows better is replaced:
//
//   name, command, variant   what the host asked for. A case's name begins with that of its test.
//   artifacts                only files that were received, each once, with the path, size and sum here
//   guest, guest_clock, session, run, source   the host's
//   status                   only one that exists
//   time_digest              only the members that a digest has
// Lines about machines and deletions are ignored: only the host writes them. Reading drops unknown members.
#include "guest/host/settle_line.h"
#include "analyse/why.h"
#include "artifact/artifact.h"
#include "artifact/identity.h"
#include "artifact/manifest.h"
#include "base/log.h"
#include "session/finish.h"
#include "session/run.h"
#include "settings/variant.h"

#include <stdio.h>
#include <string.h>

struct lines {
	const struct settlement *settlement;
	bool *listed; // for each received file: a line has it already
	bool left_out;
};

// ---- what the guest may say ----

static bool is_kind(const struct manifest_record *record, const char *kind) {
	return record->kind && strcmp(record->kind, kind) == 0;
}

static bool is_acceptable(const struct settlement *settlement, const struct manifest_record *record) {
	bool operation = is_kind(record, "operation") && !settlement->settings;
	return record->test && record->there.deleted == MANIFEST_ABSENT &&
	       (is_kind(record, "test") || is_kind(record, "case") || operation);
}

// The members that a guest may set. A member that is new in the table of manifest_record.h is none of them.
// clang-format off
#define FROM_GUEST(MEMBER) \
	MEMBER(test) MEMBER(name) MEMBER(command) MEMBER(kind) MEMBER(status) MEMBER(result) \
	MEMBER(timed_out_after) MEMBER(signal) MEMBER(exit) MEMBER(variant) MEMBER(variant_hash) \
	MEMBER(repro) MEMBER(started) MEMBER(wall_seconds) MEMBER(cpu_seconds) MEMBER(limits_cpus) \
	MEMBER(limits_periods) MEMBER(limits_throttled_periods) MEMBER(limits_throttled_seconds) \
	MEMBER(limits_memory) MEMBER(limits_memory_peak) MEMBER(limits_oom_kills) MEMBER(outlived) \
	MEMBER(explanation) MEMBER(time_digest) MEMBER(host) MEMBER(kernel) MEMBER(machine) MEMBER(cpu) \
	MEMBER(cpus) MEMBER(memory) MEMBER(tracelet) MEMBER(profile) MEMBER(scope) MEMBER(backend) \
	MEMBER(artifacts) MEMBER(not_kept) MEMBER(events) MEMBER(lost) MEMBER(samples) \
	MEMBER(sample_event) MEMBER(samples_short_delivered) MEMBER(samples_short_expected) \
	MEMBER(samples_throttled) MEMBER(recording_stopped_by) MEMBER(recording_stopped_after_seconds) \
	MEMBER(held_seconds) MEMBER(waits) MEMBER(event_stacks) MEMBER(broken_stacks) MEMBER(cut_stacks) \
	MEMBER(gaps) MEMBER(late) MEMBER(crashes) MEMBER(crashes_more) MEMBER(cases) \
	MEMBER(cost_bpf_seconds) MEMBER(cost_bpf_runs_measured) MEMBER(cost_bpf_estimated) \
	MEMBER(cost_tracer_cpu_seconds) MEMBER(metrics) MEMBER(waited) MEMBER(functions)
// clang-format on

static void drop_the_rest(struct manifest_record *record) {
	__typeof__(record->there) there = record->there;
	memset(&record->there, MANIFEST_ABSENT, sizeof(record->there));
#define KEEP(member) record->there.member = there.member;
	FROM_GUEST(KEEP)
#undef KEEP
}

// Text from a guest may be shown on a terminal. U+0080 to U+009F are control characters, too.
static void make_plain(char *text) {
	for (char *at = text; at && *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
		else if ((unsigned char)at[0] == 0xc2 && (unsigned char)at[1] >= 0x80 &&
			 (unsigned char)at[1] < 0xa0)
			at[0] = at[1] = '?';
}

static const char *plain(struct manifest_record *record, const char *text) {
	if (!text)
		return NULL;
	char *copy = memory_string(text);
	make_plain(copy);
	return manifest_keep(record, copy);
}

// In JSON they are escapes: \n, \u001b and so on.
static const char *plain_json(struct manifest_record *record, const char *json) {
	if (!json)
		return NULL;
	struct buffer out = {0};
	for (const char *at = json; *at; at++) {
		unsigned code = 0;
		bool escaped = *at == '\\' && at[1];
		bool control = escaped &&
			       (strchr("nrtbf", at[1]) || (sscanf(at + 1, "u%4x", &code) == 1 &&
							   (code < ' ' || (code >= 0x7f && code < 0xa0))));
		buffer_append(&out, control ? "?" : at, escaped && !control ? 2 : 1);
		at += !escaped ? 0 : control && at[1] == 'u' ? 5 : 1;
	}
	buffer_append(&out, "", 1);
	make_plain((char *)out.data);
	return manifest_keep(record, (char *)out.data);
}

// Only the members that a digest has.
static void make_digest_plain(struct manifest_record *record) {
	struct why_parts parts = {0};
	struct buffer digest = {0};
	bool good = record->time_digest && why_parts_read(&parts, record->time_digest);
	for (size_t i = 0; i < parts.list.count; i++) {
		make_plain(parts.list.items[i].role);
		make_plain(parts.list.items[i].reason);
		make_plain(parts.list.items[i].function);
		make_plain(parts.list.items[i].caller);
	}
	record->there.time_digest = MANIFEST_ABSENT;
	if (good) {
		why_digest(&parts, &digest);
		buffer_append(&digest, "", 1);
		MANIFEST_PUT(record, time_digest, manifest_keep(record, (char *)digest.data));
	}
	why_parts_free(&parts);
}

static void make_texts_plain(struct manifest_record *record) {
	const char **texts[] = {&record->result,       &record->host,         &record->kernel,
				&record->machine,      &record->tracelet,     &record->profile,
				&record->scope,        &record->backend,      &record->not_kept,
				&record->sample_event, &record->variant_hash, &record->recording_stopped_by,
				&record->cpu,          &record->explanation};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		*texts[i] = plain(record, *texts[i]);
	for (size_t i = 0; i < record->lost.count; i++)
		record->lost.items[i].name = plain(record, record->lost.items[i].name);
	for (size_t i = 0; i < record->metrics.count; i++)
		record->metrics.items[i].name = plain(record, record->metrics.items[i].name);
	record->waited = plain_json(record, record->waited);
	record->functions = plain_json(record, record->functions);
	for (size_t i = 0; i < record->outlived.count; i++)
		record->outlived.items[i] = plain(record, record->outlived.items[i]);
	for (size_t i = 0; i < record->crashes.count; i++) {
		struct manifest_crash *crash = &record->crashes.items[i];
		const char **words[] = {&crash->name, &crash->thread, &crash->address, &crash->instruction};
		for (size_t k = 0; k < ARRAY_SIZE(words); k++)
			*words[k] = plain(record, *words[k]);
		for (size_t k = 0; k < crash->stack.count; k++)
			crash->stack.items[k] = plain(record, crash->stack.items[k]);
	}
	for (size_t i = 0; i < record->cases.count; i++) {
		struct manifest_case *test = &record->cases.items[i];
		test->name = plain(record, test->name);
		test->result = plain(record, test->result);
	}
}

// ---- what the host knows ----

// A case of the requested test is called TEST::CASE, as by a guest that was given a name.
static const char *case_name(struct manifest_record *record, const char *test) {
	char name[ARTIFACT_NAME_SIZE];
	size_t length = strlen(test);
	bool has_prefix = strncmp(record->test, test, length) == 0 &&
			  strncmp(record->test + length, "__", 2) == 0;
	CLEANUP_FREE char *full = has_prefix ? memory_string(record->test)
					     : memory_format("%s::%s", test, record->test);
	artifact_safe_name(full, name);
	return manifest_keep(record, memory_string(name));
}

// Likewise for the name that is not made safe.
static void put_true_name(struct manifest_record *record, const struct settings *settings) {
	const char *test = manifest_keep(record, session_true_name(settings));
	const char *name = plain(record, record->name);
	size_t length = strlen(test);
	if (!is_kind(record, "case"))
		name = test;
	else if (name && (strncmp(name, test, length) != 0 || strncmp(name + length, "::", 2) != 0))
		name = manifest_keep(record, memory_format("%s::%s", test, name));
	if (name)
		MANIFEST_PUT(record, name, name);
}

static void put_request(struct manifest_record *record, const struct settings *settings) {
	char name[ARTIFACT_NAME_SIZE], digits[VARIANT_HASH_SIZE];
	session_test_name(settings, name);
	put_true_name(record, settings);
	MANIFEST_PUT(record, test,
		     is_kind(record, "case") ? case_name(record, name)
					     : manifest_keep(record, memory_string(name)));
	record->command.count = 0;
	for (char **word = settings->command; *word; word++)
		manifest_put_word(record, *word);
	record->there.variant = record->there.variant_hash = MANIFEST_ABSENT;
	if (settings->variant) {
		variant_hash(settings->variant, digits);
		MANIFEST_PUT(record, variant, settings->variant);
		MANIFEST_PUT(record, variant_hash, manifest_keep(record, memory_string(digits)));
	}
	if (!settings->repro)
		record->there.repro = MANIFEST_ABSENT;
}

// For other verbs than `run`: the guest's names, made safe.
static void put_safe_names(struct manifest_record *record) {
	char name[ARTIFACT_NAME_SIZE], digits[VARIANT_HASH_SIZE];
	artifact_safe_name(record->test, name);
	MANIFEST_PUT(record, test, manifest_keep(record, memory_string(name)));
	record->name = plain(record, record->name);
	for (size_t i = 0; i < record->command.count; i++)
		record->command.items[i] = plain(record, record->command.items[i]);
	char *variant = record->variant ? variant_add(NULL, record->variant) : NULL;
	record->there.variant = record->there.variant_hash = MANIFEST_ABSENT;
	if (!variant)
		return;
	variant_hash(variant, digits);
	MANIFEST_PUT(record, variant, manifest_keep(record, variant));
	MANIFEST_PUT(record, variant_hash, manifest_keep(record, memory_string(digits)));
}

static void put_identity(struct manifest_record *record, const struct settings *settings) {
	identity_put(record, settings);
	record->status = manifest_known_status(record->status);
	record->there.status = record->status ? MANIFEST_THERE : MANIFEST_ABSENT;
}

static void put_guest(const struct settlement *settlement, struct manifest_record *record) {
	const struct guest_clock *clock = settlement->clock;
	const struct clock_offset *offset = clock->last.guest_ns ? &clock->last : &clock->first;
	MANIFEST_PUT(record, guest, settlement->address);
	record->there.guest_clock_offset_ns = record->there.guest_clock_bound_ns = MANIFEST_ABSENT;
	if (offset->guest_ns) {
		MANIFEST_PUT(record, guest_clock_offset_ns, offset->offset_ns);
		MANIFEST_PUT(record, guest_clock_bound_ns, guest_clock_bound(clock));
	}
	record->there.guest_failed = record->there.kvm = MANIFEST_ABSENT;
	record->there.why = record->there.when = MANIFEST_ABSENT;
}

// ---- files ----

// The file here that a path in the guest means, or NULL.
static const struct received *received_as(const struct settlement *settlement, const char *path) {
	size_t length = strlen(settlement->guest_folder);
	bool inside = length && strncmp(path, settlement->guest_folder, length) == 0 && path[length] == '/';
	return inside ? receiver_find(settlement->receiver, path + length + 1) : NULL;
}

static const char *path_here(struct manifest_record *record, const struct received *file) {
	char *absolute = realpath(file->path, NULL);
	return manifest_keep(record, absolute ? absolute : memory_string(file->path));
}

static void put_file(struct manifest_record *record, const char *kind, const struct received *file) {
	char digits[65];
	const char *path = path_here(record, file);
	const char *sum = artifact_sha256(file->path, digits) == 0
				  ? manifest_keep(record, memory_string(digits))
				  : NULL;
	struct manifest_artifact *artifact = manifest_put_artifact(record, kind, path, file->size, sum);
	if (file->partial)
		MANIFEST_PUT(artifact, partial, true);
}

static void put_files(struct lines *lines, struct manifest_record *record) {
	const struct settlement *settlement = lines->settlement;
	manifest_artifacts claimed = record->artifacts;
	record->artifacts = (manifest_artifacts){0};
	record->there.artifacts = MANIFEST_THERE;
	for (size_t i = 0; i < claimed.count; i++) {
		const struct received *file = received_as(settlement, claimed.items[i].path);
		size_t index = file ? (size_t)(file - settlement->receiver->files.items) : 0;
		if (!file || lines->listed[index])
			continue;
		lines->listed[index] = true;
		const char *kind = file->unsound ? NULL : claimed.items[i].kind;
		put_file(record, plain(record, kind ? kind : "file"), file);
	}
	array_free(&claimed);
}

static void put_case_files(const struct settlement *settlement, struct manifest_record *record) {
	for (size_t i = 0; i < record->cases.count; i++) {
		struct manifest_case *test = &record->cases.items[i];
		const struct received *file = test->trace ? received_as(settlement, test->trace) : NULL;
		test->there.trace = file ? MANIFEST_THERE : MANIFEST_ABSENT;
		test->trace = file ? path_here(record, file) : NULL;
	}
}

// ---- all of it ----

static void settle_record(struct lines *lines, struct manifest_record *record) {
	const struct settlement *settlement = lines->settlement;
	if (!is_acceptable(settlement, record)) {
		lines->left_out = true;
		return;
	}
	drop_the_rest(record);
	make_texts_plain(record);
	make_digest_plain(record);
	if (settlement->settings)
		put_request(record, settlement->settings);
	else
		put_safe_names(record);
	put_identity(record, settlement->settings);
	put_guest(settlement, record);
	put_files(lines, record);
	put_case_files(settlement, record);
	int error = manifest_note(settlement->folder, record);
	if (error)
		log_warning("%s/manifest.jsonl: %s", settlement->folder, strerror(-error));
	if (settlement->lines)
		manifest_write(record, settlement->lines);
}

void settle_lines(const struct settlement *settlement) {
	const struct receiver *receiver = settlement->receiver;
	const char *at = (const char *)receiver->manifest.data, *end = at + receiver->manifest.size;
	CLEANUP_FREE bool *listed = memory_alloc(receiver->files.count + 1);
	struct lines lines = {.settlement = settlement, .listed = listed};
	while (receiver->manifest.size && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((newline ? newline : end) - at);
		struct manifest_record record;
		if (manifest_parse(at, size, &record)) {
			settle_record(&lines, &record);
			manifest_record_free(&record);
		} else {
			lines.left_out |= size > 0;
		}
		at += size + (newline != NULL);
	}
	if (lines.left_out)
		log_warning("ignoring a line in the guest's manifest that is not about this test");
}
