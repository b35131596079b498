// Reads what an earlier run counted from the JSON it wrote.
#include "base/json_read.h"
#include "base/log.h"
#include "stat/stat.h"

#include <string.h>

// Into the object or list that is the next value; false if it is something else, which is skipped.
static bool enter(struct json_reader *reader, char bracket) {
	if (json_peek(reader) == bracket)
		return json_enter(reader, bracket);
	json_skip(reader);
	return false;
}

static bool is_number(struct json_reader *reader) {
	char first = json_peek(reader);
	return first == '-' || (first >= '0' && first <= '9');
}

static void take_counter(struct json_reader *reader, struct stat_baseline *baseline) {
	char *name = NULL;
	double value = 0, scaled = 0;
	bool has_value = false, has_scaled = false;
	struct json_piece key;
	if (!enter(reader, '{'))
		return;
	while (json_member(reader, &key)) {
		if (json_is(&key, "event_name")) {
			free(name);
			name = json_read_if_text(reader);
		} else if (json_is(&key, "counter_value")) {
			has_value = is_number(reader);
			value = json_read_if_number(reader);
		} else if (json_is(&key, "scaled_value")) {
			has_scaled = is_number(reader);
			scaled = json_read_if_number(reader);
		} else {
			json_skip(reader);
		}
	}
	if (!name || !has_value) {
		free(name);
		return;
	}
	array_reserve(baseline, baseline->count + 1);
	baseline->items[baseline->count].name = name;
	baseline->items[baseline->count++].value = has_scaled ? scaled : value;
}

// The member at the end of a path, which is entered; what is beside the path is passed over.
static bool take_reading(struct json_reader *reader, struct stat_baseline *baseline,
			 const char *const *path) {
	struct json_piece key;
	bool found = false;
	if (!*path) {
		found = enter(reader, '[');
		while (found && json_item(reader))
			take_counter(reader, baseline);
		return found;
	}
	if (!enter(reader, '{'))
		return false;
	while (json_member(reader, &key))
		if (json_is(&key, *path))
			found |= take_reading(reader, baseline, path + 1);
		else
			json_skip(reader);
	return found;
}

static const char *const counters_path[] = {"core", "overall", "Systemwide_Overall_Performance_Counters",
					    NULL};

// The member "test" of the next value, which is not used up; to be freed, or NULL.
static char *peek_test(const struct json_reader *at) {
	struct json_reader reader = *at;
	struct json_piece key;
	char *test = NULL;
	if (!enter(&reader, '{'))
		return NULL;
	while (!test && json_member(&reader, &key))
		if (json_is(&key, "test"))
			test = json_read_if_text(&reader);
		else
			json_skip(&reader);
	return test;
}

// A case that is not in there is new, and has nothing to be compared with.
static bool take_cases(struct json_reader *reader, struct stat_baseline *baseline, const char *test) {
	bool good = enter(reader, '['), taken = false;
	while (good && json_item(reader)) {
		CLEANUP_FREE char *name = taken ? NULL : peek_test(reader);
		if (!taken && (!test || (name && strcmp(name, test) == 0))) {
			good = take_reading(reader, baseline, counters_path);
			taken = true;
		} else {
			json_skip(reader);
		}
	}
	return good;
}

// Of a whole run, or of the cases of a test program.
static bool take_all(struct json_reader *reader, struct stat_baseline *baseline, const char *test) {
	struct json_reader whole = *reader;
	struct json_piece key;
	if (!enter(&whole, '{'))
		return false;
	while (json_member(&whole, &key)) {
		if (json_is(&key, "tests"))
			return take_cases(&whole, baseline, test) && !whole.failed;
		json_skip(&whole);
	}
	return !whole.failed && take_reading(reader, baseline, counters_path);
}

int stat_baseline_read(struct stat_baseline *baseline, const char *path, const char *test) {
	struct input input;
	int error = input_open(&input, path);
	if (error) {
		log_error("%s: %s", path, strerror(-error));
		return STAT_USAGE;
	}
	struct json_reader reader = json_from(input.data, input.size);
	bool good = take_all(&reader, baseline, test);
	if (!good)
		log_error("%s: not written by 'tracelet stat --json'", path);
	input_close(&input);
	return good ? 0 : STAT_USAGE;
}

void stat_baseline_free(struct stat_baseline *baseline) {
	for (size_t i = 0; i < baseline->count; i++)
		free(baseline->items[i].name);
	array_free(baseline);
}
