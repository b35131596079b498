// Turns a list of names into events. Names that are the same everywhere are in tables here; those of a
// specific machine come from sysfs and tracefs.
#include "capture/pmu/events.h"
#include "base/near.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct known {
	const char *name, *other; // `other` as some say it, or NULL
	uint32_t type;
	uint64_t config;
	const char *description;
};

static const struct known known[] = {
	{"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "nanoseconds on a CPU"},
	{"cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, "nanoseconds of the CPU clock"},
	{"context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES,
	 "times a thread left its CPU"},
	{"cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS,
	 "times a thread moved to another CPU"},
	{"page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "page faults"},
	{"minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN,
	 "page faults served from memory"},
	{"major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
	 "page faults that read a disk"},
	{"alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS,
	 "unaligned accesses fixed up by the kernel"},
	{"emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS,
	 "instructions emulated by the kernel"},
	{"cgroup-switches", NULL, PERF_TYPE_SOFTWARE, 11, "switches to a task in another cgroup"},
	{"cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "CPU cycles"},
	{"instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "retired instructions"},
	{"cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES,
	 "usually accesses to the last-level cache"},
	{"cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES,
	 "usually misses of the last-level cache"},
	{"branches", "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	 "retired branches"},
	{"branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "mispredicted branches"},
	{"bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, "bus cycles"},
	{"stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "cycles in which the frontend delivered nothing"},
	{"stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "cycles in which the backend could execute nothing"},
	{"ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, "cycles at a constant rate"},
};

static const struct {
	const char *name, *what;
	uint64_t config;
} caches[] = {
	{"L1-dcache", "the level 1 data cache", PERF_COUNT_HW_CACHE_L1D},
	{"L1-icache", "the level 1 instruction cache", PERF_COUNT_HW_CACHE_L1I},
	{"LLC", "the last-level cache", PERF_COUNT_HW_CACHE_LL},
	{"dTLB", "the data TLB", PERF_COUNT_HW_CACHE_DTLB},
	{"iTLB", "the instruction TLB", PERF_COUNT_HW_CACHE_ITLB},
	{"branch", "the branch predictor", PERF_COUNT_HW_CACHE_BPU},
	{"node", "the NUMA node's memory", PERF_COUNT_HW_CACHE_NODE},
};

static const struct {
	const char *name;
	uint64_t operation, result;
} accesses[] = {
	{"loads", PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
	{"load-misses", PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS},
	{"stores", PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
	{"store-misses", PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_MISS},
	{"prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
	{"prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_MISS},
};

void pmu_event_names(pmu_name_taker *take, void *context) {
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		take(known[i].name, known[i].type == PERF_TYPE_SOFTWARE ? "software" : "hardware",
		     known[i].description, context);
	for (size_t cache = 0; cache < ARRAY_SIZE(caches); cache++)
		for (size_t access = 0; access < ARRAY_SIZE(accesses); access++) {
			CLEANUP_FREE char *name = memory_format("%s-%s", caches[cache].name,
								accesses[access].name);
			CLEANUP_FREE char *words = memory_format("%s of %s", accesses[access].name,
								 caches[cache].what);
			take(name, "cache", words, context);
		}
}

// ---- one name ----

static bool take_known(struct pmu_event *event, const char *name) {
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(name, known[i].name) == 0 ||
		    (known[i].other && strcmp(name, known[i].other) == 0)) {
			event->type = known[i].type;
			event->config[0] = known[i].config;
			return true;
		}
	return false;
}

static bool take_cache(struct pmu_event *event, const char *name) {
	for (size_t cache = 0; cache < ARRAY_SIZE(caches); cache++) {
		size_t length = strlen(caches[cache].name);
		if (strncmp(name, caches[cache].name, length) != 0 || name[length] != '-')
			continue;
		for (size_t access = 0; access < ARRAY_SIZE(accesses); access++)
			if (strcmp(name + length + 1, accesses[access].name) == 0) {
				event->type = PERF_TYPE_HW_CACHE;
				event->config[0] = caches[cache].config | accesses[access].operation << 8 |
						   accesses[access].result << 16;
				return true;
			}
	}
	return false;
}

static bool take_raw(struct pmu_event *event, const char *name) {
	char *end;
	if (*name != 'r' || !isxdigit((unsigned char)name[1]) || strlen(name) > 17)
		return false;
	event->type = PERF_TYPE_RAW;
	event->config[0] = strtoull(name + 1, &end, 16);
	return !*end;
}

// A name with a colon is a tracepoint, unless it is an event with a modifier.
static void no_tracepoint(const char *name, char *why) {
	struct pmu_event event = {0};
	CLEANUP_FREE char *before = memory_string(name);
	*strchr(before, ':') = 0;
	if (take_known(&event, before) || take_cache(&event, before))
		snprintf(why, PMU_WHY_SIZE, "'%.100s': only :u (programs) or :k (kernel) may follow an event",
			 name);
	else
		snprintf(why, PMU_WHY_SIZE,
			 "there is no tracepoint '%.100s'; /sys/kernel/tracing/available_events lists them",
			 name);
}

static int take_tracepoint(struct pmu_event *event, const char *name, const struct pmu_source *source,
			   char *why) {
	CLEANUP_FREE char *path = memory_string(name);
	*strchr(path, ':') = '/';
	CLEANUP_FREE char *events = memory_format("%s/events", source->tracing);
	CLEANUP_FREE char *file = memory_format("%s/id", path);
	if (strstr(path, "..")) {
		snprintf(why, PMU_WHY_SIZE, "there is no tracepoint '%.100s'", name);
		return -EINVAL;
	}
	CLEANUP_FREE char *id = pmu_sysfs_line(events, file);
	if (!id && source->pfm && pmu_pfm_event(event, name) == 0)
		return 0;
	event->type = PERF_TYPE_TRACEPOINT;
	if (access(events, R_OK | X_OK) < 0) {
		event->missing = memory_format("cannot look up tracepoints: %s: %s", events, strerror(errno));
		return 0;
	}
	if (!id) {
		no_tracepoint(name, why);
		return -EINVAL;
	}
	event->config[0] = strtoull(id, NULL, 10);
	return 0;
}

static int take_pmu(struct pmu_event *event, const char *name, const struct pmu_source *source, char *why) {
	CLEANUP_FREE char *pmu = memory_string(name);
	char *terms = strchr(pmu, '/'), what[PMU_WHY_SIZE] = "";
	*terms++ = 0;
	char *end = strchr(terms, '/');
	if (!end || end[1]) {
		snprintf(why, PMU_WHY_SIZE, "'%.100s' is not of the form pmu/event/", name);
		return -EINVAL;
	}
	*end = 0;
	int error = pmu_sysfs_event(event, source->devices, pmu, terms, what);
	if (error == -ENOENT) {
		event->missing = memory_format("this machine has no PMU '%s'", pmu);
		return 0;
	}
	if (error)
		snprintf(why, PMU_WHY_SIZE, "%.100s: %.140s", name, what);
	else
		pmu_confine(event, source->devices, pmu);
	return error;
}

static int take_own(struct pmu_event *event, const char *owner, const char *name,
		    const struct pmu_source *source, char *why) {
	int error = pmu_sysfs_event(event, source->devices, owner, name, why);
	if (!error && !event->cpus)
		pmu_spread(event, source->devices, name);
	return error;
}

static void offer_name(const char *name, const char *kind, const char *description, void *context) {
	(void)kind, (void)description;
	near_offer(context, name);
}

static void no_event(const char *name, char *why) {
	struct near_name near = {.wanted = name};
	char words[NEAR_LONGEST + 32];
	pmu_event_names(offer_name, &near);
	near_words(&near, words, sizeof(words));
	snprintf(why, PMU_WHY_SIZE, "there is no event '%.100s'%s; 'tracelet stat list' lists them", name,
		 words);
}

static int take_name(struct pmu_event *event, const char *name, const struct pmu_source *source, char *why,
		     bool alias) {
	const char *code = alias && source->alias ? source->alias(name, source->context) : NULL;
	if (code)
		return take_name(event, code, source, why, false);
	if (strchr(name, '/'))
		return take_pmu(event, name, source, why);
	if (take_known(event, name) || take_cache(event, name) || take_raw(event, name)) {
		if (event->type != PERF_TYPE_SOFTWARE)
			pmu_spread(event, source->devices, NULL);
		return 0;
	}
	if (strchr(name, ':'))
		return take_tracepoint(event, name, source, why);
	CLEANUP_FREE char *owner = pmu_sysfs_owner(source->devices, name);
	if (owner)
		return take_own(event, owner, name, source, why);
	if (source->pfm && pmu_pfm_event(event, name) == 0)
		return 0;
	no_event(name, why);
	return -EINVAL;
}

// ---- lists ----

// Cuts off ":u" and the like after a name; "sched:u" is not a tracepoint.
static void take_modifiers(char *name, struct pmu_event *event) {
	char *colon = strrchr(name, ':');
	if (!colon || !colon[1] || strspn(colon + 1, "uk") != strlen(colon + 1))
		return;
	event->only_user = !strchr(colon, 'k');
	event->only_kernel = !strchr(colon, 'u');
	*colon = 0;
}

static int add_event(struct pmu_events *events, const char *text, const char *modifiers, unsigned group,
		     const struct pmu_source *source, char *why) {
	struct pmu_event event = {.group = group, .scale = 1};
	CLEANUP_FREE char *name = memory_string(text);
	take_modifiers(name, &event);
	if (!event.only_user && !event.only_kernel && *modifiers) {
		event.name = memory_format("%s:%s", text, modifiers);
		event.only_user = !strchr(modifiers, 'k');
		event.only_kernel = !strchr(modifiers, 'u');
	} else {
		event.name = memory_string(text);
	}
	if (!*name) {
		snprintf(why, PMU_WHY_SIZE, "missing event name");
		free(event.name);
		return -EINVAL;
	}
	int error = take_name(&event, name, source, why, true);
	array_push(events, event); // also if it failed: the list is freed as a whole
	return error;
}

// The length of the next item of a list: to a comma that is not between slashes or braces.
static size_t item_length(const char *list) {
	bool in_slashes = false, in_braces = false;
	size_t length = 0;
	for (; list[length]; length++) {
		char letter = list[length];
		if (letter == '/')
			in_slashes = !in_slashes;
		else if (!in_slashes && (letter == '{' || letter == '}'))
			in_braces = letter == '{';
		else if (letter == ',' && !in_slashes && !in_braces)
			break;
	}
	return length;
}

static int add_list(struct pmu_events *events, const char *list, const char *modifiers, bool grouped,
		    const struct pmu_source *source, char *why);

static int add_group(struct pmu_events *events, char *text, const struct pmu_source *source, char *why) {
	char *end = strrchr(text, '}');
	const char *modifiers = end && end[1] == ':' ? end + 2 : "";
	if (!end || strchr(text + 1, '{') || (end[1] && (end[1] != ':' || !*modifiers)) ||
	    strspn(modifiers, "uk") != strlen(modifiers)) {
		snprintf(why, PMU_WHY_SIZE, "'%.100s' is not a group such as {a,b} or {a,b}:u", text);
		return -EINVAL;
	}
	*end = 0;
	return add_list(events, text + 1, modifiers, true, source, why);
}

static int add_list(struct pmu_events *events, const char *list, const char *modifiers, bool grouped,
		    const struct pmu_source *source, char *why) {
	int error = 0;
	unsigned group = grouped ? events->groups++ : 0;
	for (bool more = true; more && !error;) {
		size_t length = item_length(list);
		CLEANUP_FREE char *item = memory_format("%.*s", (int)length, list);
		if (*item == '{' && !grouped)
			error = add_group(events, item, source, why);
		else
			error = add_event(events, item, modifiers, grouped ? group : events->groups++, source,
					  why);
		more = list[length] == ',';
		list += length + 1;
	}
	return error;
}

int pmu_events_parse(struct pmu_events *events, const char *list, const struct pmu_source *source,
		     char why[PMU_WHY_SIZE]) {
	return add_list(events, list, "", false, source, why);
}

struct pmu_event *pmu_events_find(const struct pmu_events *events, const char *name) {
	for (size_t i = 0; i < events->count; i++)
		if (strcmp(events->items[i].name, name) == 0)
			return &events->items[i];
	return NULL;
}

void pmu_events_free(struct pmu_events *events) {
	for (size_t i = 0; i < events->count; i++) {
		free(events->items[i].name);
		free(events->items[i].cpus);
		free(events->items[i].unit);
		free(events->items[i].missing);
		for (size_t part = 0; part < events->items[i].parts.count; part++)
			free(events->items[i].parts.items[part].cpus);
		array_free(&events->items[i].parts);
	}
	array_free(events);
}
