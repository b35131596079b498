// The table of metrics as data.
#include "history/fact.h"

static const struct {
	const char *name;
	enum metric_unit unit;
	bool exact;
} metrics[] = {
#define METRIC_ROW(name, unit, exact) {#name, METRIC_##unit, exact},
	HISTORY_METRIC_TABLE(METRIC_ROW)};

const char *history_metric_name(enum history_metric metric) {
	return metrics[metric].name;
}

int history_metric_find(const char *name) {
	for (int i = 0; i < METRIC_COUNT_ALL; i++)
		if (strcmp(metrics[i].name, name) == 0)
			return i;
	return -1;
}

static bool ends_with(const char *text, const char *end) {
	size_t length = strlen(text), wanted = strlen(end);
	return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

enum metric_unit history_metric_unit(const char *name) {
	int metric = history_metric_find(name);
	if (metric >= 0)
		return metrics[metric].unit;
	return ends_with(name, "_ns")      ? METRIC_NANOSECONDS
	       : ends_with(name, "_bytes") ? METRIC_BYTES
					   : METRIC_COUNT;
}

bool history_metric_is_exact(const char *name) {
	int metric = history_metric_find(name);
	return metric >= 0 && metrics[metric].exact;
}
