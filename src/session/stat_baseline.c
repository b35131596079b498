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

int stat_baseline_read(struct stat_baseline *baseline, const char *path) {
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
	struct json_object *core, *overall, *counters;
	bool good = json_object_object_get_ex(root, "core", &core) &&
		    json_object_object_get_ex(core, "overall", &overall) &&
		    json_object_object_get_ex(overall, "Systemwide_Overall_Performance_Counters",
					      &counters) &&
		    json_object_is_type(counters, json_type_array);
	if (good)
		take_counters(baseline, counters);
	else
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
