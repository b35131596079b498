// What an earlier run counted, from the JSON it wrote. With json-c, whose names and those of
// base/json.h do not go together.
#include "session/stat.h"
#include "base/log.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>

static void take_counters(struct stat_baseline *baseline, struct json_object *counters) {
	for (size_t i = 0; i < json_object_array_length(counters); i++) {
		struct json_object *counter = json_object_array_get_idx(counters, i), *name, *value, *scaled;
		if (!json_object_object_get_ex(counter, "event_name", &name) ||
		    !json_object_object_get_ex(counter, "counter_value", &value) || !value)
			continue;
		if (json_object_object_get_ex(counter, "scaled_value", &scaled))
			value = scaled;
		array_reserve(baseline, baseline->count + 1);
		baseline->items[baseline->count].name = memory_string(json_object_get_string(name));
		baseline->items[baseline->count++].value = json_object_get_double(value);
	}
}

static bool take_reading(struct stat_baseline *baseline, struct json_object *reading) {
	struct json_object *core, *overall, *counters;
	bool good = json_object_object_get_ex(reading, "core", &core) &&
		    json_object_object_get_ex(core, "overall", &overall) &&
		    json_object_object_get_ex(overall, "Systemwide_Overall_Performance_Counters",
					      &counters) &&
		    json_object_is_type(counters, json_type_array);
	if (good)
		take_counters(baseline, counters);
	return good;
}

// A case that is not in there is new, and has nothing to be compared with.
static bool take_cases(struct stat_baseline *baseline, struct json_object *tests, const char *test) {
	bool good = json_object_is_type(tests, json_type_array);
	for (size_t i = 0; good && i < json_object_array_length(tests); i++) {
		struct json_object *reading = json_object_array_get_idx(tests, i), *name;
		bool named = json_object_object_get_ex(reading, "test", &name);
		if (!test || (named && strcmp(json_object_get_string(name), test) == 0))
			return take_reading(baseline, reading);
	}
	return good;
}

int stat_baseline_read(struct stat_baseline *baseline, const char *path, const char *test) {
	struct input input;
	int error = input_open(&input, path);
	if (error) {
		log_error("%s: %s", path, strerror(-error));
		return STAT_USAGE;
	}
	struct json_tokener *tokener = json_tokener_new_ex(32);
	struct json_object *root = input.size && input.size < INT_MAX
					   ? json_tokener_parse_ex(tokener, (const char *)input.data,
								   (int)input.size)
					   : NULL;
	struct json_object *tests;
	bool good = json_object_object_get_ex(root, "tests", &tests) ? take_cases(baseline, tests, test)
								     : take_reading(baseline, root);
	if (!good)
		log_error("%s: this was not written by 'tracelet stat --json'", path);
	json_object_put(root);
	json_tokener_free(tokener);
	input_close(&input);
	return good ? 0 : STAT_USAGE;
}

void stat_baseline_free(struct stat_baseline *baseline) {
	for (size_t i = 0; i < baseline->count; i++)
		free(baseline->items[i].name);
	array_free(baseline);
}
