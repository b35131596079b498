// From a manifest line to a row. Lines come from anyone: guests, forks, old versions, torn files. So every
// text is made UTF-8 without control characters and is bounded, every number is checked, and what is left
// of a line can go into any store.
#include "history/fact.h"
#include "base/json.h"
#include "base/json_read.h"
#include "base/sha256.h"
#include "base/siphash.h"
#include "base/text.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

// ---- texts ----

static char *keep(struct history_fact *fact, char *text) {
	array_push(&fact->kept, text);
	return text;
}

static bool is_clean(const char *text, size_t size) {
	for (size_t i = 0; i < size; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

// Text of any bytes as UTF-8 without control characters; to be freed.
static char *cleaned(const char *text, size_t size) {
	struct buffer out = {0};
	text_utf8(&out, text, size);
	for (size_t i = 0; i < out.size; i++)
		if (out.data[i] < ' ' || out.data[i] == 0x7f)
			out.data[i] = '?';
	buffer_append(&out, "", 1);
	return (char *)out.data;
}

// A text that is too long ends with a hash of the whole, so that two of them stay different.
static char *shortened(const char *text, size_t size, size_t most) {
	size_t cut = most - 20;
	while (cut && ((uint8_t)text[cut] & 0xc0) == 0x80)
		cut--; // not inside a character
	return memory_format("%.*s...%016" PRIx64, (int)cut, text, siphash13(text, size));
}

static const char *bounded(struct history_fact *fact, const char *text, size_t most) {
	size_t size = text ? strlen(text) : 0;
	if (!size)
		return "";
	if (!is_clean(text, size)) {
		text = keep(fact, cleaned(text, size));
		size = strlen(text);
	}
	return size > most ? keep(fact, shortened(text, size, most)) : text;
}

static const char *name_of(struct history_fact *fact, const char *text) {
	return bounded(fact, text, HISTORY_LONGEST_NAME);
}

// ---- ids ----

static int digit(char c) {
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_id(const char *text, uint8_t id[HISTORY_ID]) {
	size_t at = 0;
	for (size_t i = 0; i < HISTORY_ID; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			if (text[at++] != '-')
				return false;
		int high = digit(text[at]), low = high < 0 ? -1 : digit(text[at + 1]);
		if (low < 0)
			return false;
		id[i] = (uint8_t)(high << 4 | low);
		at += 2;
	}
	return !text[at];
}

static void hash_id(const char *line, size_t size, uint8_t id[HISTORY_ID]) {
	uint8_t digest[32];
	struct sha256 *sum = sha256_new();
	sha256_add(sum, line, size);
	sha256_finish(sum, digest);
	memcpy(id, digest, HISTORY_ID);
}

uint64_t history_test_key(const char *project, const char *suite, const char *name) {
	uint8_t digest[32];
	uint64_t key = 0;
	struct sha256 *sum = sha256_new();
	sha256_add(sum, project, strlen(project) + 1);
	sha256_add(sum, suite, strlen(suite) + 1);
	sha256_add(sum, name, strlen(name) + 1);
	sha256_finish(sum, digest);
	for (unsigned i = 0; i < 8; i++)
		key = key << 8 | digest[i];
	return key & INT64_MAX;
}

// ---- what ran, where ----

static bool is_test(const struct manifest_record *record) {
	static const char *const kinds[] = {"test", "case", "stat", "heap"};
	bool good = !record->kind;
	for (size_t i = 0; !good && i < ARRAY_SIZE(kinds); i++)
		good = strcmp(record->kind, kinds[i]) == 0;
	return good && record->test && !record->repro && record->there.started == MANIFEST_THERE &&
	       record->started.tv_sec > 0;
}

// A running process that was watched for a while: nothing failed, and its numbers count, except how long it
// was.
static bool is_window(const struct manifest_record *record) {
	return record->kind && strcmp(record->kind, "heap") == 0;
}

// Lines of version 1 have only words.
static enum manifest_status status_of(const struct manifest_record *record) {
	static const struct {
		const char *begin;
		enum manifest_status status;
	} words[] = {{"passed", ENDED_PASSED},
		     {"failed", ENDED_FAILED},
		     {"killed", ENDED_CRASHED},
		     {"crashed", ENDED_CRASHED},
		     {"timed out", ENDED_TIMED_OUT},
		     {"skipped", ENDED_SKIPPED},
		     {"not found", ENDED_FAILED},
		     {"recorded", ENDED_RECORDED},
		     {"guest failed", ENDED_MACHINE_FAILED}};
	for (int i = 0; record->status && i < ENDED_COUNT; i++)
		if (strcmp(record->status, manifest_status_names[i]) == 0)
			return i;
	if (record->there.timed_out_after == MANIFEST_THERE)
		return ENDED_TIMED_OUT;
	for (size_t i = 0; record->result && i < ARRAY_SIZE(words); i++)
		if (strncmp(record->result, words[i].begin, strlen(words[i].begin)) == 0)
			return words[i].status;
	return ENDED_UNKNOWN;
}

static void take_test(struct history_fact *fact, const struct manifest_record *record) {
	const char *name = record->name ? record->name : record->test;
	fact->project = name_of(fact, record->project);
	fact->suite = name_of(fact, record->suite);
	fact->variant = bounded(fact, record->variant_hash, 64);
	fact->name = name_of(fact, name);
	if (*fact->variant) // another variant is another test
		fact->name = keep(fact, memory_format("%s {%s}", fact->name, fact->variant));
	fact->test = history_test_key(fact->project, fact->suite, fact->name);
}

// Machines whose times can be compared.
static const char *class_of(struct history_fact *fact, const struct manifest_record *record) {
	if (record->machine_class)
		return name_of(fact, record->machine_class);
	if (record->there.cpus != MANIFEST_THERE)
		return name_of(fact, record->machine);
	CLEANUP_FREE char *class = memory_format(
		"%s, %" PRIu64 " x %s, %" PRIu64 " GiB", record->machine ? record->machine : "?",
		record->cpus, record->cpu ? record->cpu : "?", (record->memory + (1u << 29)) >> 30);
	return name_of(fact, keep(fact, memory_string(class)));
}

static const char *day_of(struct history_fact *fact, const struct timespec *time) {
	char text[32];
	struct tm utc = {0};
	gmtime_r(&time->tv_sec, &utc);
	strftime(text, sizeof(text), "%Y-%m-%d", &utc);
	return keep(fact, memory_string(text));
}

static void take_source(struct history_fact *fact, const struct manifest_record *record) {
	fact->branch = name_of(fact, record->source_branch);
	fact->commit = bounded(fact, record->source_commit, 64);
	fact->change = bounded(fact, record->source_change, 64);
	fact->ci = bounded(fact, record->source_ci, 64);
	fact->job = name_of(fact, record->source_job);
	fact->trusted = !record->source_fork;
	fact->attempt = record->attempt >= 1 && record->attempt <= 1000000 ? (uint32_t)record->attempt : 1;
	fact->run = name_of(fact, record->run);
	if (!*fact->run)
		fact->run = *fact->commit ? fact->commit : day_of(fact, &record->started);
}

// ---- numbers ----

static int64_t nanoseconds(double seconds, uint8_t there) {
	bool good = there == MANIFEST_THERE && seconds >= 0 && seconds < 9e9;
	return good ? llround(seconds * 1e9) : HISTORY_NONE;
}

static bool is_metric_name(const char *name) {
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-");
	return length && length <= HISTORY_LONGEST_METRIC && !name[length];
}

static void take_metrics(struct history_fact *fact, const struct manifest_record *record) {
	for (size_t i = 0; i < METRIC_COUNT_ALL; i++)
		fact->metrics[i] = HISTORY_NONE;
	for (size_t i = 0; i < record->metrics.count; i++) {
		const struct manifest_count *count = &record->metrics.items[i];
		int metric = history_metric_find(count->name);
		if (count->count > INT64_MAX)
			continue;
		if (metric >= 0)
			fact->metrics[metric] = (int64_t)count->count;
		else if (fact->own_count < HISTORY_MOST_OWN && is_metric_name(count->name))
			fact->own[fact->own_count++] = (struct history_own_metric){count->name,
										   (int64_t)count->count};
	}
	if (is_window(record))
		return;
	fact->metrics[METRIC_OF_wall_ns] = nanoseconds(record->wall_seconds, record->there.wall_seconds);
	fact->metrics[METRIC_OF_cpu_ns] = nanoseconds(record->cpu_seconds, record->there.cpu_seconds);
}

// ---- waits and functions ----

static bool is_count(struct json_reader *json) {
	char first = json_peek(json);
	return first >= '0' && first <= '9';
}

// {"futex":[n, total, longest]}: read and written again, so that a store has one form of it.
static const char *waits_of(struct history_fact *fact, const char *text) {
	enum { MOST = 12 };
	struct buffer out = {0};
	struct json json = json_into(&out);
	struct json_reader reader = json_from(text, strlen(text));
	struct json_piece key;
	unsigned count = 0;
	json_object(&json, NULL);
	for (json_enter(&reader, '{'); json_member(&reader, &key);) {
		uint64_t values[3] = {0};
		unsigned at = 0;
		CLEANUP_FREE char *name = json_key_text(&key);
		if (!name || json_peek(&reader) != '[' || count == MOST) {
			json_skip(&reader);
			continue;
		}
		for (json_enter(&reader, '['); json_item(&reader); at++) {
			if (at < 3 && is_count(&reader))
				values[at] = json_read_uint(&reader);
			else
				json_skip(&reader);
		}
		json_array(&json, bounded(fact, keep(fact, memory_string(name)), 64));
		for (unsigned i = 0; i < 3; i++)
			json_uint(&json, NULL, MIN(values[i], (uint64_t)INT64_MAX));
		json_close_array(&json);
		count++;
	}
	json_close_object(&json);
	buffer_append(&out, "", 1);
	keep(fact, (char *)out.data);
	return count && !reader.failed ? (char *)out.data : "";
}

// Bounded, so that sums of many do not overflow.
static uint64_t read_count(struct json_reader *json) {
	uint64_t count = json_read_uint(json);
	return MIN(count, UINT32_MAX);
}

static int by_name(const void *a, const void *b) {
	return strcmp(((const struct history_function *)a)->name, ((const struct history_function *)b)->name);
}

static void read_functions(struct history_fact *fact, struct json_reader *reader) {
	struct json_piece key;
	for (json_enter(reader, '{'); json_member(reader, &key);) {
		char *name = is_count(reader) ? json_key_text(&key) : NULL;
		if (!name || fact->function_count == HISTORY_MOST_FUNCTIONS) {
			free(name);
			json_skip(reader);
			continue;
		}
		fact->functions[fact->function_count++] = (struct history_function){
			name_of(fact, keep(fact, name)), read_count(reader)};
	}
}

// {"samples":n, "self":{"name":n}}. Of a name that comes twice the first counts.
static void take_functions(struct history_fact *fact, const char *text) {
	struct json_reader reader = json_from(text, strlen(text));
	struct json_piece key;
	for (json_enter(&reader, '{'); json_member(&reader, &key);) {
		if (json_is(&key, "samples") && is_count(&reader))
			fact->samples = read_count(&reader);
		else if (json_is(&key, "self") && json_peek(&reader) == '{')
			read_functions(fact, &reader);
		else
			json_skip(&reader);
	}
	if (reader.failed || !fact->samples)
		fact->function_count = fact->samples = 0;
	qsort(fact->functions, fact->function_count, sizeof(*fact->functions), by_name);
	size_t kept = 0;
	for (size_t i = 0; i < fact->function_count; i++)
		if (!kept || strcmp(fact->functions[i].name, fact->functions[kept - 1].name) != 0)
			fact->functions[kept++] = fact->functions[i];
	fact->function_count = kept;
}

// ---- all of it ----

bool history_fact_of(const struct manifest_record *record, const char *line, size_t size,
		     struct history_fact *fact) {
	enum { LONGEST_DIGEST = 8192 };
	if (!is_test(record) || (status_of(record) == ENDED_RECORDED && !is_window(record)))
		return false;
	memset(fact, 0, offsetof(struct history_fact, metrics)); // the lists are large
	fact->own_count = fact->function_count = fact->samples = 0;
	memset(&fact->kept, 0, sizeof(fact->kept));
	if (!record->session || !read_id(record->session, fact->id))
		hash_id(line, size, fact->id);
	if (!record->parent || !read_id(record->parent, fact->parent))
		memset(fact->parent, 0, HISTORY_ID);
	fact->content = siphash13(line, size) & INT64_MAX;
	fact->started = (int64_t)record->started.tv_sec * 1000 + record->started.tv_nsec / 1000000;
	fact->status = is_window(record) ? ENDED_PASSED : status_of(record);
	take_test(fact, record);
	fact->machine_class = class_of(fact, record);
	take_source(fact, record);
	take_metrics(fact, record);
	fact->waits = record->waited ? waits_of(fact, record->waited) : "";
	bool digest = record->time_digest && strlen(record->time_digest) <= LONGEST_DIGEST;
	fact->digest = digest ? record->time_digest : "";
	if (record->functions)
		take_functions(fact, record->functions);
	return true;
}

void history_fact_free(struct history_fact *fact) {
	for (size_t i = 0; i < fact->kept.count; i++)
		free(fact->kept.items[i]);
	array_free(&fact->kept);
}
