#include "capture/pmu/metrics.h"

#include <errno.h>
#include <fnmatch.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

// Made by tools/embed of the files in share/metrics/.
extern const char generic_ini[], amd_ini[], intel_ini[], neoverse_ini[];

const char *metrics_built_in(size_t index) {
	const char *const files[] = {generic_ini, amd_ini, intel_ini, neoverse_ini};
	return index < ARRAY_SIZE(files) ? files[index] : NULL;
}

// ---- this CPU ----

// The value of a line "key   : value" of /proc/cpuinfo, of the first CPU.
static bool take_value(const char *line, const char *key, char value[32]) {
	const char *colon = strchr(line, ':');
	size_t length = strlen(key);
	if (!colon || *value || strncmp(line, key, length) != 0 ||
	    (line[length] != '\t' && line[length] != ' '))
		return false;
	snprintf(value, 32, "%.*s", (int)strcspn(colon + 1 + strspn(colon + 1, " "), "\n"),
		 colon + 1 + strspn(colon + 1, " "));
	return true;
}

char *metrics_this_cpu(void) {
	char vendor[32] = "", family[32] = "", model[32] = "", implementer[32] = "", part[32] = "";
	char line[512];
	FILE *file = fopen("/proc/cpuinfo", "re");
	while (file && fgets(line, sizeof(line), file)) {
		take_value(line, "vendor_id", vendor);
		take_value(line, "cpu family", family);
		if (strncmp(line, "model name", 10) != 0)
			take_value(line, "model", model);
		take_value(line, "CPU implementer", implementer);
		take_value(line, "CPU part", part);
	}
	if (file)
		fclose(file);
	return *part ? memory_format("arm-%s-%s", implementer, part)
		     : memory_format("%s-%s-%s", vendor, family, model);
}

// ---- files ----

static bool matches(const char *patterns, const char *cpu) {
	CLEANUP_FREE char *copy = memory_string(patterns);
	char *rest = copy;
	for (char *pattern; (pattern = strsep(&rest, " "));)
		if (*pattern && fnmatch(pattern, cpu, 0) == 0)
			return true;
	return false;
}

static void set(char **field, const char *value) {
	free(*field);
	*field = memory_string(value);
}

// "match" comes before "name".
static int take_family(struct metrics *metrics, const char *key, const char *value) {
	if (strcmp(key, "match") == 0)
		metrics->skipping = !matches(value, metrics->cpu);
	else if (strcmp(key, "name") != 0)
		return 0;
	else if (!metrics->skipping)
		set(&metrics->family, value);
	return 1;
}

static int take_alias(struct metrics *metrics, const char *name, const char *key, const char *value) {
	size_t count = metrics->aliases.count;
	if (!count || strcmp(metrics->aliases.items[count - 1].name, name) != 0) {
		array_push(&metrics->aliases, (struct event_alias){.name = memory_string(name)});
		count++;
	}
	struct event_alias *alias = &metrics->aliases.items[count - 1];
	if (strcmp(key, "code") == 0)
		set(&alias->code, value);
	else if (strcmp(key, "description") == 0)
		set(&alias->description, value);
	else
		return 0;
	return 1;
}

static int take_metric(struct metrics *metrics, const char *name, const char *key, const char *value) {
	size_t count = metrics->metrics.count;
	char why[FORMULA_WHY_SIZE];
	if (!count || strcmp(metrics->metrics.items[count - 1].name, name) != 0) {
		array_push(&metrics->metrics, (struct metric){.name = memory_string(name)});
		count++;
	}
	struct metric *metric = &metrics->metrics.items[count - 1];
	if (strcmp(key, "formula") == 0) {
		set(&metric->text, value);
		formula_free(&metric->formula);
		return formula_parse(&metric->formula, value, why) == 0 && !metric->formula.comparison;
	}
	if (strcmp(key, "unit") == 0)
		set(&metric->unit, value);
	else if (strcmp(key, "description") == 0)
		set(&metric->description, value);
	else if (strcmp(key, "default") == 0)
		metric->is_default = strcmp(value, "yes") == 0;
	else if (strcmp(key, "group") == 0)
		metric->group = strcmp(value, "yes") == 0;
	else
		return 0;
	return 1;
}

static int take_key(void *context, const char *section, const char *key, const char *value) {
	struct metrics *metrics = context;
	if (strcmp(section, "family") == 0)
		return take_family(metrics, key, value);
	bool event = strncmp(section, "event ", 6) == 0, metric = strncmp(section, "metric ", 7) == 0;
	if (metrics->skipping)
		return event || metric;
	return event    ? take_alias(metrics, section + 6, key, value)
	       : metric ? take_metric(metrics, section + 7, key, value)
			: 0;
}

int metrics_read(struct metrics *metrics, const char *text) {
	metrics->skipping = false;
	return ini_parse_string(text, take_key, metrics);
}

void metrics_load(struct metrics *metrics, const char *cpu) {
	*metrics = (struct metrics){.cpu = memory_string(cpu), .family = memory_string("")};
	for (size_t i = 0; metrics_built_in(i); i++)
		metrics_read(metrics, metrics_built_in(i));
}

void metrics_free(struct metrics *metrics) {
	for (size_t i = 0; i < metrics->metrics.count; i++) {
		struct metric *metric = &metrics->metrics.items[i];
		formula_free(&metric->formula);
		free(metric->name);
		free(metric->unit);
		free(metric->description);
		free(metric->text);
	}
	for (size_t i = 0; i < metrics->aliases.count; i++) {
		free(metrics->aliases.items[i].name);
		free(metrics->aliases.items[i].code);
		free(metrics->aliases.items[i].description);
	}
	array_free(&metrics->metrics);
	array_free(&metrics->aliases);
	free(metrics->family);
	free(metrics->cpu);
}

const struct metric *metrics_find(const struct metrics *metrics, const char *name) {
	for (size_t i = metrics->metrics.count; i > 0; i--)
		if (strcmp(metrics->metrics.items[i - 1].name, name) == 0)
			return &metrics->metrics.items[i - 1];
	return NULL;
}

const char *metrics_alias(const char *name, void *context) {
	const struct metrics *metrics = context;
	for (size_t i = metrics->aliases.count; i > 0; i--)
		if (strcmp(metrics->aliases.items[i - 1].name, name) == 0)
			return metrics->aliases.items[i - 1].code;
	return NULL;
}

int metrics_parse_events(struct pmu_events *events, const char *list, char why[PMU_WHY_SIZE]) {
	struct metrics metrics;
	struct pmu_source source = PMU_SOURCE_HERE;
	CLEANUP_FREE char *cpu = metrics_this_cpu();
	metrics_load(&metrics, cpu);
	source.alias = metrics_alias;
	source.context = &metrics;
	int error = pmu_events_parse(events, list, &source, why);
	metrics_free(&metrics);
	return error;
}
