// Events and metrics with their meaning, and whether they are available here, determined by
// trying them.
#include "cli/stat_list.h"
#include "base/log.h"
#include "capture/pmu/counters.h"
#include "capture/pmu/metrics.h"
#include "cli/verb.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

static const struct pmu_source here = PMU_SOURCE_HERE;

static void load(struct metrics *metrics, struct pmu_source *source) {
	CLEANUP_FREE char *cpu = metrics_this_cpu();
	metrics_load(metrics, cpu);
	*source = here;
	source->alias = metrics_alias;
	source->context = metrics;
}

// Why it cannot be counted, to be freed; NULL if it can.
static char *why_not(const char *list, const struct pmu_source *source) {
	struct pmu_events events = {0};
	char words[PMU_WHY_SIZE] = "", *why = NULL;
	if (pmu_events_parse(&events, list, source, words)) {
		why = memory_string(words);
	} else {
		struct counter_place own = {.pid = 0, .cpu = -1};
		struct counters counters;
		counters_open(&counters, &events, &own, 1);
		counters_close(&counters);
		for (size_t i = 0; i < events.count && !why; i++)
			if (events.items[i].missing)
				why = memory_string(events.items[i].missing);
	}
	pmu_events_free(&events);
	return why;
}

static char *why_no_metric(const struct metric *metric, const struct pmu_source *source) {
	char *why = NULL;
	for (size_t i = 0; i < metric->formula.steps.count && !why; i++) {
		const char *name = metric->formula.steps.items[i].name;
		if (name && strcmp(name, "seconds") != 0)
			why = why_not(name, source);
	}
	return why;
}

static void print_line(const char *name, const char *kind, const char *description, const char *why) {
	printf("%-32s %-10s %-4s %s%s%s%s\n", name, kind, why ? "no" : "yes", description ? description : "",
	       why ? " (" : "", why ? why : "", why ? ")" : "");
}

struct listing {
	const struct pmu_source *source;
	const char *text; // only what has it in its name or description, or is of this kind; NULL for all
	size_t count;
};

static bool is_listed(struct listing *listing, const char *name, const char *kind, const char *description) {
	bool listed = !listing->text || strcasestr(name, listing->text) ||
		      strcasecmp(kind, listing->text) == 0 ||
		      (description && strcasestr(description, listing->text));
	if (listed && !listing->count++)
		printf("%-32s %-10s %-4s %s\n", "NAME", "KIND", "HERE", "WHAT");
	return listed;
}

static void list_name(const char *name, const char *kind, const char *description, void *context) {
	struct listing *listing = context;
	if (!is_listed(listing, name, kind, description))
		return;
	CLEANUP_FREE char *why = why_not(name, listing->source);
	print_line(name, kind, description, why);
}

// The events that the kernel's drivers name.
static void list_sysfs(struct listing *listing) {
	struct pmu_sysfs_names pmus = {0};
	const char *devices = listing->source->devices;
	pmu_sysfs_list(&pmus, devices);
	for (size_t i = 0; i < pmus.count; i++) {
		CLEANUP_FREE char *folder = memory_format("%s/%s/events", devices, pmus.items[i]);
		struct pmu_sysfs_names events = {0};
		pmu_sysfs_list(&events, folder);
		for (size_t event = 0; event < events.count; event++) {
			if (strchr(events.items[event], '.')) // its .scale, its .unit
				continue;
			CLEANUP_FREE char *name = memory_format("%s/%s/", pmus.items[i], events.items[event]);
			CLEANUP_FREE char *terms = pmu_sysfs_line(folder, events.items[event]);
			list_name(name, "pmu", terms, listing);
		}
		pmu_sysfs_names_free(&events);
	}
	pmu_sysfs_names_free(&pmus);
}

static int flush(void) {
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	log_error("cannot write to standard output");
	return EXIT_USAGE;
}

int stat_list(const char *text) {
	struct metrics metrics;
	struct pmu_source source;
	load(&metrics, &source);
	struct listing listing = {.source = &source, .text = text};
	pmu_event_names(list_name, &listing);
	list_sysfs(&listing);
	for (size_t i = 0; i < metrics.aliases.count; i++)
		list_name(metrics.aliases.items[i].name, "cpu", metrics.aliases.items[i].description,
			  &listing);
	for (size_t i = 0; i < metrics.metrics.count; i++) {
		const struct metric *metric = &metrics.metrics.items[i];
		if (!is_listed(&listing, metric->name, "metric", metric->description))
			continue;
		CLEANUP_FREE char *why = why_no_metric(metric, &source);
		print_line(metric->name, "metric", metric->description, why);
	}
	metrics_free(&metrics);
	int status = flush();
	if (status || listing.count)
		return status;
	log_error("no event or metric has '%s' in its name or description", text);
	return EXIT_USAGE;
}

// The kernel's own events have no folder in sysfs.
static void count_software(const char *name, const char *kind, const char *description, void *context) {
	(void)name, (void)description;
	*(size_t *)context += strcmp(kind, "software") == 0;
}

static void print_hardware(const struct pmu_source *source) {
	CLEANUP_FREE char *why = why_not("instructions:u", source);
	printf("hardware counters: %s%s\n", why ? "none: " : "yes", why ? why : "");
	if (why)
		printf("  a virtual machine has them if its host passes its PMU through; without them, "
		       "software events are\n"
		       "  counted: 'tracelet stat list software'\n");
	printf("\n");
}

int stat_detect(void) {
	struct metrics metrics;
	struct pmu_source source;
	struct pmu_sysfs_names pmus = {0};
	load(&metrics, &source);
	printf("CPU %s, metrics for: %s\n", metrics.cpu, metrics.family);
	print_hardware(&source);
	printf("%-24s %6s %7s  %s\n", "PMU", "TYPE", "EVENTS", "CPUS");
	pmu_sysfs_list(&pmus, source.devices);
	for (size_t i = 0; i < pmus.count; i++) {
		CLEANUP_FREE char *folder = memory_format("%s/%s", source.devices, pmus.items[i]);
		CLEANUP_FREE char *names = memory_format("%s/events", folder);
		CLEANUP_FREE char *type = pmu_sysfs_line(folder, "type");
		CLEANUP_FREE char *beside = pmu_sysfs_line(folder, "cpumask");
		CLEANUP_FREE char *cores = pmu_sysfs_line(folder, "cpus");
		struct pmu_sysfs_names events = {0};
		pmu_sysfs_list(&events, names);
		size_t count = events.count;
		if (strcmp(pmus.items[i], "software") == 0 && !count)
			pmu_event_names(count_software, &count);
		printf("%-24s %6s %7zu  %s\n", pmus.items[i], type ? type : "", count,
		       beside  ? beside
		       : cores ? cores
			       : "all");
		pmu_sysfs_names_free(&events);
	}
	pmu_sysfs_names_free(&pmus);
	metrics_free(&metrics);
	return flush();
}

struct searched {
	const char *name;
	const char *kind;
	char *description;
};

static void find_name(const char *name, const char *kind, const char *description, void *context) {
	struct searched *searched = context;
	if (strcmp(name, searched->name) == 0) {
		searched->kind = kind;
		searched->description = memory_string(description);
	}
}

static void print_page(const char *name, const char *kind, const char *description, const char *formula,
		       const char *unit, const char *why) {
	printf("%s\n  kind       %s\n", name, kind);
	if (description)
		printf("  what       %s\n", description);
	if (formula)
		printf("  formula    %s\n", formula);
	if (unit)
		printf("  unit       %s\n", unit);
	printf("  available  %s%s\n", why ? "no: " : "yes", why ? why : "");
}

static int man_event(const char *name, const struct metrics *metrics, const struct pmu_source *source) {
	struct searched searched = {.name = name};
	struct pmu_events events = {0};
	char why[PMU_WHY_SIZE] = "";
	pmu_event_names(find_name, &searched);
	for (size_t i = 0; i < metrics->aliases.count && !searched.kind; i++)
		if (strcmp(metrics->aliases.items[i].name, name) == 0)
			find_name(name, "cpu", metrics->aliases.items[i].description, &searched);
	int status = pmu_events_parse(&events, name, source, why) ? EXIT_USAGE : 0;
	if (status) {
		log_error("%s", why);
	} else {
		CLEANUP_FREE char *missing = why_not(name, source);
		const char *kind = searched.kind                                  ? searched.kind
				   : events.items[0].type == PERF_TYPE_TRACEPOINT ? "tracepoint"
				   : events.items[0].type == PERF_TYPE_RAW        ? "raw"
										  : "pmu";
		CLEANUP_FREE char *code = memory_format("type %u, config 0x%llx", events.items[0].type,
							(unsigned long long)events.items[0].config[0]);
		print_page(name, kind, searched.description, NULL, events.items[0].unit, missing);
		printf("  code       %s\n", code);
	}
	free(searched.description);
	pmu_events_free(&events);
	return status;
}

int stat_man(const char *name) {
	struct metrics metrics;
	struct pmu_source source;
	load(&metrics, &source);
	const struct metric *metric = metrics_find(&metrics, name);
	int status = 0;
	if (metric) {
		CLEANUP_FREE char *why = why_no_metric(metric, &source);
		print_page(name, "metric", metric->description, metric->text, metric->unit, why);
	} else {
		status = man_event(name, &metrics, &source);
	}
	metrics_free(&metrics);
	return status ? status : flush();
}
