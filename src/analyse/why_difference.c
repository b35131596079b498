// Two runs of a test: which parts of the path grew. Thread and process ids differ from run to run, so parts
// are the same if role, reason, function and its caller are. The caller matters where all phases of a test
// use the same helper. The parts of a run also make its digest, which is enough to compare with a run whose
// trace is gone.
#include "analyse/why.h"
#include "base/json.h"
#include "base/json_read.h"

#include <string.h>

// ---- parts ----

static bool same_text(const char *left, const char *right) {
	return left == right || (left && right && strcmp(left, right) == 0);
}

static bool same_part(const struct why_part *left, const struct why_part *right) {
	return strcmp(left->reason, right->reason) == 0 && same_text(left->function, right->function) &&
	       same_text(left->caller, right->caller) && strcmp(left->role, right->role) == 0;
}

static char *copy(const char *text) {
	return text ? memory_string(text) : NULL;
}

static void add_part(struct why_parts *parts, const struct why_part *part) {
	for (size_t i = 0; i < parts->list.count; i++)
		if (same_part(&parts->list.items[i], part)) {
			parts->list.items[i].ns += part->ns;
			return;
		}
	array_push(&parts->list, (struct why_part){.role = copy(part->role),
						   .reason = copy(part->reason),
						   .function = copy(part->function),
						   .caller = copy(part->caller),
						   .ns = part->ns});
}

static int by_time(const void *left, const void *right) {
	const struct why_part *a = left, *b = right;
	return (a->ns < b->ns) - (a->ns > b->ns);
}

static int by_called_time(const void *left, const void *right) {
	const struct why_called *a = left, *b = right;
	return (a->ns < b->ns) - (a->ns > b->ns);
}

static char *function_name(const struct why *why, uint32_t own) {
	const char *function = why_place(why, own).function;
	return function && *function ? memory_string(function) : NULL;
}

static void add_called(struct why_parts *parts, const struct why *why, const struct why_called *called) {
	const struct why_segment *segment = &why->segments.items[called->segment];
	bool named = segment->state != PATH_READY;
	CLEANUP_FREE char *role = why_role(why, segment->thread);
	CLEANUP_FREE char *function = named ? function_name(why, segment->own) : NULL;
	CLEANUP_FREE char *caller = function ? function_name(why, called->caller) : NULL;
	struct why_part part = {.role = role,
				.reason = (char *)(uintptr_t)reason_names[segment->reason],
				.function = function,
				.caller = caller,
				.ns = called->ns};
	add_part(parts, &part);
}

void why_parts_of(struct why_parts *parts, const struct why *why) {
	enum { MOST = 256 };
	*parts = (struct why_parts){.wall = why->to - why->from};
	size_t count = why->called.count;
	struct why_called *called = memory_alloc((count + 1) * sizeof(*called));
	if (count) {
		memcpy(called, why->called.items, count * sizeof(*called));
		qsort(called, count, sizeof(*called), by_called_time);
	}
	for (size_t i = 0; i < MIN(count, (size_t)MOST); i++)
		add_called(parts, why, &called[i]);
	if (parts->list.count)
		qsort(parts->list.items, parts->list.count, sizeof(struct why_part), by_time);
	free(called);
}

void why_parts_free(struct why_parts *parts) {
	for (size_t i = 0; i < parts->list.count; i++) {
		free(parts->list.items[i].role);
		free(parts->list.items[i].reason);
		free(parts->list.items[i].function);
		free(parts->list.items[i].caller);
	}
	array_free(&parts->list);
}

// ---- the digest ----

static void add_name(struct json *json, const char *key, const char *name) {
	enum { LONGEST = 200 };
	if (name)
		json_text(json, key, name, MIN(strlen(name), (size_t)LONGEST));
}

void why_digest(const struct why_parts *parts, struct buffer *out) {
	enum { ENOUGH = 3400 };
	struct json json = json_into(out);
	uint64_t told = 0;
	json_object(&json, NULL);
	json_uint(&json, "wall_ns", parts->wall);
	json_array(&json, "segments");
	for (size_t i = 0; i < parts->list.count && out->size < ENOUGH; i++) {
		const struct why_part *part = &parts->list.items[i];
		json_object(&json, NULL);
		json_string(&json, "role", part->role);
		json_string(&json, "reason", part->reason);
		add_name(&json, "function", part->function);
		add_name(&json, "caller", part->caller);
		json_uint(&json, "ns", part->ns);
		json_close_object(&json);
		told += part->ns;
	}
	json_close_array(&json);
	if (told < parts->wall)
		json_uint(&json, "rest_ns", parts->wall - told);
	json_close_object(&json);
}

static void read_part(struct json_reader *reader, struct why_parts *parts) {
	static const char *const keys[] = {"role", "reason", "function", "caller"};
	struct json_piece key;
	char *texts[ARRAY_SIZE(keys)] = {0};
	uint64_t ns = 0;
	json_enter(reader, '{');
	while (json_member(reader, &key)) {
		size_t i = 0;
		while (i < ARRAY_SIZE(keys) && !json_is(&key, keys[i]))
			i++;
		if (i < ARRAY_SIZE(keys) && !texts[i])
			texts[i] = json_read_if_text(reader);
		else if (json_is(&key, "ns"))
			ns = (uint64_t)json_read_if_number(reader);
		else
			json_skip(reader);
	}
	struct why_part part = {texts[0], texts[1], texts[2], texts[3], ns};
	if (part.role && part.reason && !reader->failed)
		add_part(parts, &part);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		free(texts[i]);
}

bool why_parts_read(struct why_parts *parts, const char *digest) {
	enum { MOST = 256 };
	struct json_reader reader = json_from(digest, strlen(digest));
	struct json_piece key;
	*parts = (struct why_parts){0};
	json_enter(&reader, '{');
	while (json_member(&reader, &key)) {
		if (json_is(&key, "segments") && json_peek(&reader) == '[') {
			json_enter(&reader, '[');
			while (json_item(&reader))
				if (json_peek(&reader) == '{' && parts->list.count < MOST)
					read_part(&reader, parts);
				else
					json_skip(&reader);
		} else if (json_is(&key, "wall_ns")) {
			parts->wall = (uint64_t)json_read_if_number(&reader);
		} else if (json_is(&key, "rest_ns")) {
			parts->missing = (uint64_t)json_read_if_number(&reader);
		} else {
			json_skip(&reader);
		}
	}
	for (size_t i = 0; i < parts->list.count; i++) // the largest are there
		parts->missing = MIN(parts->missing, parts->list.items[i].ns);
	return !reader.failed && parts->wall;
}

// ---- comparing ----

enum { MS = 1000 * 1000 };

// What a busy machine does to a test differs from run to run.
static bool is_weather(const char *reason) {
	return strcmp(reason, reason_names[REASON_READY]) == 0 ||
	       strcmp(reason, reason_names[REASON_UNKNOWN]) == 0;
}

static bool is_running(const char *reason) {
	return strcmp(reason, reason_names[REASON_CPU]) == 0 ||
	       strcmp(reason, reason_names[REASON_PAGE_FAULT]) == 0;
}

// Waits whose length the program chose.
static bool is_chosen(const char *reason) {
	return strcmp(reason, reason_names[REASON_SLEEP]) == 0 ||
	       strcmp(reason, reason_names[REASON_TIMEOUT]) == 0;
}

struct both {
	const struct why_parts *parts, *baseline;
	double slower; // than the baseline is the machine itself
	double least;  // by which a function must grow, in ns
	bool is_other; // the baseline is one of the other passing runs
};

// By how much a function must grow to be named, in ns; `passes` is the number of runs that it is compared
// with. The numbers were chosen from 150 runs of a test with ten functions (bench/why_difference.sh), on a
// machine with five to ten times more work than CPUs. Samples of a function differ by about 1 ms and a
// twentieth; the pace of such a machine changes during a run, so that a single function may take half as long
// again. Of runs in which nothing changed, 13 % had a function that took 7 ms more than in one other run, 7 %
// than in two, 4 % than in three, 2 % than in five. With one or two passing runs a function must grow by a
// tenth of what the test ran: 5 % and 2 % of those runs had such a function.
static double least_growth(const struct why_parts *parts, size_t passes) {
	enum { MANY = 6 };
	double ran = 0;
	for (size_t i = 0; i < parts->list.count; i++)
		ran += is_running(parts->list.items[i].reason) ? (double)parts->list.items[i].ns : 0;
	double least = MIN((passes < MANY ? 7.0 : 4.0) * MS, (double)parts->wall / 3);
	return passes < WHY_FEW ? MAX(least, ran / 10) : least;
}

// Growth that is more than chance. What other passing runs took, too, is no growth.
static bool is_growth(const struct why_change *change, const struct both *both) {
	double wall = (double)both->parts->wall;
	double before = (double)(change->baseline_ns ? change->baseline_ns : both->baseline->missing);
	double growth = (double)change->ns - before;
	if (growth <= (both->is_other ? 0 : MS))
		return false;
	if (is_weather(change->reason))
		return both->is_other ? growth > before : growth > wall / 2;
	if (is_running(change->reason) && change->function)
		return growth > both->least + before * (both->slower - 1) + before * 0.06;
	if (is_chosen(change->reason))
		return growth > (both->is_other ? 0 : wall / 100) + before * 0.06;
	return both->is_other || growth > wall / (is_running(change->reason) ? 10 : 20);
}

static int by_growth(const void *left, const void *right) {
	const struct why_change *a = left, *b = right;
	if (is_weather(a->reason) != is_weather(b->reason))
		return is_weather(a->reason) ? 1 : -1;
	int64_t first = (int64_t)(a->ns - a->baseline_ns), second = (int64_t)(b->ns - b->baseline_ns);
	return (first < second) - (first > second);
}

static uint64_t ns_of(const struct why_parts *parts, const struct why_part *wanted) {
	uint64_t ns = 0;
	for (size_t i = 0; i < parts->list.count; i++) {
		const struct why_part *part = &parts->list.items[i];
		ns += same_part(part, wanted) ? part->ns : 0;
	}
	return ns;
}

// Whether the function has other callers, too.
static bool is_ambiguous(const struct why_parts *parts, const struct why_part *part) {
	for (size_t i = 0; i < parts->list.count; i++) {
		const struct why_part *other = &parts->list.items[i];
		if (strcmp(other->reason, part->reason) == 0 && strcmp(other->role, part->role) == 0 &&
		    same_text(other->function, part->function) && !same_text(other->caller, part->caller))
			return true;
	}
	return false;
}

static struct why_change change_of(const struct both *both, const struct why_part *part) {
	bool ambiguous = is_ambiguous(both->parts, part) || is_ambiguous(both->baseline, part);
	struct why_change change = {.role = part->role,
				    .reason = part->reason,
				    .function = part->function,
				    .caller = ambiguous ? part->caller : NULL,
				    .ns = ns_of(both->parts, part),
				    .baseline_ns = ns_of(both->baseline, part)};
	change.grew = is_growth(&change, both);
	return change;
}

struct pace {
	double ratio;
	uint64_t weight;
};

static int by_ratio(const void *left, const void *right) {
	const struct pace *a = left, *b = right;
	return (a->ratio > b->ratio) - (a->ratio < b->ratio);
}

// By how much most functions took longer: the median, weighted by their time. A busy machine slows all of
// them down, a fault only some.
static double slowdown(const struct why_parts *parts, const struct why_parts *baseline) {
	enum { LEAST_NS = 3 * 1000 * 1000, LEAST_FUNCTIONS = 3 };
	ARRAY(struct pace) paces = {0};
	uint64_t sum = 0, passed = 0;
	double found = 1;
	for (size_t i = 0; i < parts->list.count; i++) {
		const struct why_part *part = &parts->list.items[i];
		uint64_t before = ns_of(baseline, part);
		if (is_running(part->reason) && part->function && MIN(before, part->ns) > LEAST_NS) {
			array_push(&paces, (struct pace){(double)part->ns / (double)before, before});
			sum += before;
		}
	}
	if (paces.count >= LEAST_FUNCTIONS) {
		qsort(paces.items, paces.count, sizeof(struct pace), by_ratio);
		for (size_t i = 0; passed * 2 < sum; i++) {
			passed += paces.items[i].weight;
			found = paces.items[i].ratio;
		}
	}
	array_free(&paces);
	return MAX(found, 1.0);
}

// Whether it is more than in each of the other passing runs, too.
static bool exceeds(const struct why_change *change, const struct why_parts *parts,
		    const struct why_part *part, const struct why_passes *others) {
	for (size_t i = 0; i < (others ? others->list.count : 0); i++) {
		const struct why_parts *other = &others->list.items[i];
		struct both both = {.parts = parts,
				    .baseline = other,
				    .slower = slowdown(parts, other),
				    .least = MIN(2 * MS, parts->wall / 3.0),
				    .is_other = true};
		struct why_change compared = *change;
		compared.baseline_ns = ns_of(other, part);
		if (!is_growth(&compared, &both))
			return false;
	}
	return true;
}

void why_passes_add(struct why_passes *passes, const char *digest) {
	struct why_parts parts = {0};
	if (passes->list.count < WHY_PASSES && digest && why_parts_read(&parts, digest))
		array_push(&passes->list, parts);
	else
		why_parts_free(&parts);
}

void why_passes_free(struct why_passes *passes) {
	for (size_t i = 0; i < passes->list.count; i++)
		why_parts_free(&passes->list.items[i]);
	array_free(&passes->list);
}

static void sort(struct why_difference *difference, int (*order)(const void *, const void *)) {
	if (difference->changes.count)
		qsort(difference->changes.items, difference->changes.count, sizeof(struct why_change), order);
}

void why_compare(struct why_difference *difference, const struct why_parts *parts,
		 const struct why_parts *baseline, const struct why_passes *others) {
	struct both both = {.parts = parts,
			    .baseline = baseline,
			    .slower = slowdown(parts, baseline),
			    .least = least_growth(parts, 1 + (others ? others->list.count : 0))};
	difference->baseline_wall = baseline->wall;
	difference->few = 1 + (others ? others->list.count : 0) < WHY_FEW;
	for (size_t i = 0; i < parts->list.count; i++) {
		struct why_change change = change_of(&both, &parts->list.items[i]);
		if (change.grew && exceeds(&change, parts, &parts->list.items[i], others))
			array_push(&difference->changes, change);
	}
	sort(difference, by_growth);
}

static int by_change(const void *left, const void *right) {
	const struct why_change *a = left, *b = right;
	uint64_t first = MAX(a->ns, a->baseline_ns) - MIN(a->ns, a->baseline_ns);
	uint64_t second = MAX(b->ns, b->baseline_ns) - MIN(b->ns, b->baseline_ns);
	return (first < second) - (first > second);
}

void why_changes(struct why_difference *difference, const struct why_parts *parts,
		 const struct why_parts *baseline) {
	struct both both = {.parts = parts,
			    .baseline = baseline,
			    .slower = slowdown(parts, baseline),
			    .least = least_growth(parts, 1)};
	difference->baseline_wall = baseline->wall;
	for (size_t i = 0; i < parts->list.count; i++)
		array_push(&difference->changes, change_of(&both, &parts->list.items[i]));
	for (size_t i = 0; i < baseline->list.count; i++)
		if (!ns_of(parts, &baseline->list.items[i]))
			array_push(&difference->changes, change_of(&both, &baseline->list.items[i]));
	sort(difference, by_change);
}

void why_difference_free(struct why_difference *difference) {
	array_free(&difference->changes);
}
