// Names of events, formulas and metrics, without a PMU: sysfs is one of the test's folders.
#include "aside.h"

#include "capture/pmu/counters.h"
#include "capture/pmu/metrics.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sys/stat.h>

// ---- formulas ----

static double known_value(const char *name, void *context) {
	static const struct {
		const char *name;
		double value;
	} values[] = {
		{"instructions", 3000}, {"cycles", 1500}, {"branch-misses", 6}, {"a:u", 7}, {"zero", 0}};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (strcmp(name, values[i].name) == 0)
			return values[i].value;
	return (double)NAN;
}

static double value_of(const char *text) {
	struct formula formula;
	char why[FORMULA_WHY_SIZE] = "";
	assert_int_equal(formula_parse(&formula, text, why), 0);
	double value = formula_value(&formula, known_value, NULL);
	formula_free(&formula);
	return value;
}

static void test_formulas_are_calculated(void **state) {
	assert_true(value_of("1 + 2 * 3") == 7);
	assert_true(value_of("(1 + 2) * 3") == 9);
	assert_true(value_of("10 - 4 - 3") == 3);
	assert_true(value_of("16 / 4 / 2") == 2);
	assert_true(value_of("-2 * --3") == -6);
	assert_true(value_of("5e6") == 5e6);
	assert_true(value_of("instructions/cycles") == 2);
	assert_true(value_of("1000 * branch-misses / instructions") == 2);
	assert_true(value_of("cycles - branch-misses") == 1494);
	assert_true(value_of("a:u * 2") == 14);
	assert_true(value_of("min(3, max(1, 2))") == 2);
}

static void test_what_is_not_known_stays_so(void **state) {
	assert_true(isnan(value_of("nobody + 1")));
	assert_true(isnan(value_of("min(nobody, 1)")));
	assert_true(isnan(value_of("max(1, nobody)")));
	assert_true(isnan(value_of("cycles / zero")));
}

static void test_bad_formulas_are_refused(void **state) {
	static const char *const bad[] = {"",          "1 +", "(1",           "1)",        "a b",  "min(1)",
					  "f(1)",      "1 2", "* 2",          "5e6x",      "<",    "1 <",
					  "1 < 2 < 3", "a,b", "min(1, 2, 3)", "1 +\x01 2", "a $ b"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct formula formula;
		char why[FORMULA_WHY_SIZE] = "";
		assert_int_equal(formula_parse(&formula, bad[i], why), -EINVAL);
		assert_true(*why);
	}
}

static void test_formulas_have_a_depth(void **state) {
	char text[4096];
	struct formula formula;
	char why[FORMULA_WHY_SIZE];
	memset(text, '(', 2000);
	text[2000] = 0;
	assert_int_equal(formula_parse(&formula, text, why), -EINVAL);
	assert_non_null(strstr(why, "too deep"));
	memset(text, '-', 4000);
	strcpy(text + 4000, "1");
	assert_true(value_of(text) == 1);
}

static void test_comparisons_hold_or_not(void **state) {
	static const struct {
		const char *text;
		bool holds;
	} cases[] = {{"instructions<5e6", true},   {"instructions < 3000", false},
		     {"instructions<=3000", true}, {"cycles>=1501", false},
		     {"cycles > 1499", true},      {"cycles==1500", true},
		     {"cycles != 1500", false},    {"nobody < 1", false},
		     {"nobody >= 1", false},       {"instructions / cycles > 1 + 0.5", true}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct formula formula;
		char why[FORMULA_WHY_SIZE];
		double left, right;
		assert_int_equal(formula_parse(&formula, cases[i].text, why), 0);
		assert_true(formula.comparison);
		assert_int_equal(formula_holds(&formula, known_value, NULL, &left, &right), cases[i].holds);
		formula_free(&formula);
	}
}

// ---- events ----

static struct pmu_source source;
static char why[PMU_WHY_SIZE];

static void put_line(const char *name, const char *text) {
	put_file(in_folder(name), text, strlen(text));
}

static int events_setup(void **state) {
	static char tracing[160];
	if (folder_setup(state))
		return -1;
	static const char *const folders[] = {"cpu",    "cpu/events",    "cpu/format",
					      "uncore", "uncore/events", "uncore/format",
					      "events", "events/sched",  "events/sched/sched_switch"};
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		assert_int_equal(mkdir(in_folder(folders[i]), 0777), 0);
	put_line("cpu/type", "4\n");
	put_line("cpu/format/event", "config:0-7,32-35\n");
	put_line("cpu/format/umask", "config:8-15\n");
	put_line("cpu/format/any", "config1:21\n");
	put_line("cpu/events/slots", "event=0x00,umask=0x4\n");
	put_line("uncore/type", "12\n");
	put_line("uncore/cpumask", "0,2-3\n");
	put_line("uncore/format/event", "config:0-7\n");
	put_line("uncore/events/reads", "event=0x04\n");
	put_line("uncore/events/reads.scale", "6.4e-05\n");
	put_line("uncore/events/reads.unit", "MiB\n");
	put_line("events/sched/sched_switch/id", "372\n");
	snprintf(tracing, sizeof(tracing), "%s", aside_folder);
	source = (struct pmu_source){.devices = tracing, .tracing = tracing};
	*why = 0;
	return 0;
}

#define WITH_SYSFS(test) cmocka_unit_test_setup_teardown(test, events_setup, folder_teardown)

static struct pmu_events parse(const char *list) {
	struct pmu_events events = {0};
	assert_int_equal(pmu_events_parse(&events, list, &source, why), 0);
	return events;
}

static void assert_event(const char *name, uint32_t type, uint64_t config) {
	struct pmu_events events = parse(name);
	assert_int_equal(events.count, 1);
	assert_string_equal(events.items[0].name, name);
	assert_int_equal(events.items[0].type, type);
	assert_int_equal(events.items[0].config[0], config);
	assert_null(events.items[0].missing);
	pmu_events_free(&events);
}

static void test_names_of_all_kinds(void **state) {
	assert_event("page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	assert_event("cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	assert_event("instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	assert_event("L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000);
	assert_event("dTLB-stores", PERF_TYPE_HW_CACHE, 0x00103);
	assert_event("r1a0", PERF_TYPE_RAW, 0x1a0);
	assert_event("sched:sched_switch", PERF_TYPE_TRACEPOINT, 372);
	assert_event("cpu/event=0x1a0,umask=0x7/", 4, 0x1000007a0);
	assert_event("cpu/config=0x123/", 4, 0x123);
	assert_event("cpu/slots/", 4, 0x400);
	assert_event("slots", 4, 0x400);
	assert_event("cpu/slots,event=1/", 4, 0x401);
}

static void test_bits_go_where_the_format_says(void **state) {
	struct pmu_events events = parse("cpu/any/,uncore/reads/");
	assert_int_equal(events.items[0].config[1], 1 << 21);
	assert_string_equal(events.items[1].cpus, "0,2-3");
	assert_string_equal(events.items[1].unit, "MiB");
	assert_true(events.items[1].scale == 6.4e-05);
	pmu_events_free(&events);
}

// ---- several kinds of cores ----

static void make_hybrid(void) {
	static const char *const folders[] = {"cpu_core", "cpu_core/events", "cpu_core/format",
					      "cpu_atom", "cpu_atom/events", "cpu_atom/format"};
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		assert_int_equal(mkdir(in_folder(folders[i]), 0777), 0);
	put_line("cpu_core/type", "4\n");
	put_line("cpu_core/cpus", "0-7\n");
	put_line("cpu_core/format/event", "config:0-7\n");
	put_line("cpu_core/events/instructions", "event=0xc0\n");
	put_line("cpu_core/events/topdown-retiring", "event=0x80\n");
	put_line("cpu_core/events/mem-loads", "event=0xcd\n");
	put_line("cpu_atom/type", "10\n");
	put_line("cpu_atom/cpus", "8-11\n");
	put_line("cpu_atom/format/event", "config:0-7\n");
	put_line("cpu_atom/events/instructions", "event=0xc1\n");
	put_line("cpu_atom/events/mem-loads", "event=0xd0\n");
}

// PMUs are queried in the order of their names.
static void assert_parts(const char *name, size_t count, uint32_t atom_type, uint64_t atom,
			 uint32_t core_type, uint64_t core) {
	struct pmu_events events = parse(name);
	assert_int_equal(events.count, 1);
	const struct pmu_event *event = &events.items[0];
	assert_int_equal(event->parts.count, count);
	if (count) {
		const struct pmu_part *last = &event->parts.items[count - 1];
		assert_int_equal(last->type, core_type);
		assert_int_equal(last->config[0], core);
		assert_string_equal(last->cpus, "0-7");
		assert_int_equal(pmu_part_on(event, 3), count - 1);
		assert_int_equal(pmu_part_on(event, 9), count == 2 ? 0 : -1);
		assert_int_equal(pmu_part_on(event, 12), -1);
	}
	if (count == 2) {
		assert_int_equal(event->parts.items[0].type, atom_type);
		assert_int_equal(event->parts.items[0].config[0], atom);
		assert_string_equal(event->parts.items[0].cpus, "8-11");
	}
	pmu_events_free(&events);
}

static void test_one_event_is_on_all_kinds_of_cores(void **state) {
	make_hybrid();
	assert_parts("instructions", 2, 10, 0xc1, 4, 0xc0); // by each PMU's own name for it
	assert_parts("cycles", 2, 0, 10ull << 32, 0, 4ull << 32);
	assert_parts("L1-dcache-load-misses", 2, PERF_TYPE_HW_CACHE, 10ull << 32 | 0x10000,
		     PERF_TYPE_HW_CACHE, 4ull << 32 | 0x10000);
	assert_parts("r3c:u", 2, 10, 0x3c, 4, 0x3c);
	assert_parts("mem-loads", 2, 10, 0xd0, 4, 0xcd);
	assert_parts("topdown-retiring", 1, 0, 0, 4, 0x80); // only one kind has it
	assert_parts("cpu_core/event=0x11/", 1, 0, 0, 4, 0x11);
	assert_parts("page-faults", 0, 0, 0, 0, 0);
	assert_parts("uncore/reads/", 0, 0, 0, 0, 0);
	struct pmu_events events = parse("page-faults,uncore/reads/");
	assert_int_equal(pmu_part_on(&events.items[0], 77), 0);
	assert_string_equal(events.items[1].cpus, "0,2-3");
	pmu_events_free(&events);
}

static void test_cores_that_are_alike_have_one_pmu(void **state) {
	static const char *const folders[] = {"armv8_pmuv3_0", "armv8_pmuv3_0/events",
					      "armv8_pmuv3_0/format"};
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		assert_int_equal(mkdir(in_folder(folders[i]), 0777), 0);
	put_line("armv8_pmuv3_0/type", "8\n");
	put_line("armv8_pmuv3_0/cpus", "0-3\n");
	put_line("armv8_pmuv3_0/format/event", "config:0-15\n");
	put_line("armv8_pmuv3_0/events/inst_retired", "event=0x08\n");
	static const char *const names[] = {"inst_retired", "instructions", "armv8_pmuv3_0/inst_retired/"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct pmu_events events = parse(names[i]);
		assert_int_equal(events.items[0].parts.count, 0);
		pmu_events_free(&events);
	}
}

static void test_the_time_on_another_kind_of_core_is_no_time_without_a_counter(void **state) {
	struct count count = {0};
	count_add_part(&count, 3000, 100000, 40000);
	count_add_part(&count, 1000, 100000, 60000);
	assert_int_equal(count.value, 4000);
	assert_true(count.scaled == 4000);
	assert_int_equal(count.running, count.enabled);
	struct count shared = {0};
	count_add_part(&shared, 3000, 100000, 20000);
	count_add_part(&shared, 1000, 100000, 30000);
	assert_true(shared.scaled == 8000);
	assert_int_equal(shared.running, 50000);
	assert_int_equal(shared.enabled, 100000);
}

static void test_modifiers(void **state) {
	struct pmu_events events = parse("cycles:u,cycles:k,cycles:uk,sched:sched_switch:u,cpu/slots/:k");
	static const bool user[] = {true, false, false, true, false};
	static const bool kernel[] = {false, true, false, false, true};
	for (size_t i = 0; i < events.count; i++) {
		assert_int_equal(events.items[i].only_user, user[i]);
		assert_int_equal(events.items[i].only_kernel, kernel[i]);
	}
	assert_int_equal(events.count, 5);
	assert_string_equal(events.items[0].name, "cycles:u");
	pmu_events_free(&events);
}

static void test_groups_stay_together(void **state) {
	struct pmu_events events = parse("cycles,{instructions,cpu/event=1,umask=2/}:u,branches");
	assert_int_equal(events.count, 4);
	assert_int_equal(events.items[1].group, events.items[2].group);
	assert_int_not_equal(events.items[0].group, events.items[1].group);
	assert_int_not_equal(events.items[3].group, events.items[2].group);
	assert_true(events.items[1].only_user && events.items[2].only_user);
	assert_string_equal(events.items[2].name, "cpu/event=1,umask=2/:u");
	pmu_events_free(&events);
}

static void test_a_pmu_that_is_not_there_is_no_mistake(void **state) {
	struct pmu_events events = parse("cpu_atom/event=1/,cycles");
	assert_non_null(strstr(events.items[0].missing, "no PMU 'cpu_atom'"));
	assert_null(events.items[1].missing);
	pmu_events_free(&events);
}

static void test_mistakes_are_reported(void **state) {
	static const struct {
		const char *list, *told;
	} cases[] = {
		{"nonsense", "no event 'nonsense'"},
		{"", "missing"},
		{"cycles,", "missing"},
		{"{cycles", "not a group"},
		{"{a,{b}}", "not a group"},
		{"{cycles}:x", "not a group"},
		{"cpu/nonsense/", "no event or term"},
		{"cpu/event=0x1000/", "too large"},
		{"cpu/event=x/", "not a valid number"},
		{"cpu/nonsense=1/", "no term"},
		{"cpu/slots", "pmu/event/"},
		{"sched:nonsense", "no tracepoint"},
		{"sched:..", "no tracepoint"},
		{"rxyz", "no event"},
		{"r11112222333344445", "no event"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pmu_events events = {0};
		assert_int_equal(pmu_events_parse(&events, cases[i].list, &source, why), -EINVAL);
		if (!strstr(why, cases[i].told))
			fail_msg("'%s': %s", cases[i].list, why);
		pmu_events_free(&events);
	}
}

static void test_lists_of_cpus(void **state) {
	static const char *const bad[] = {"", "x", "1-", "3-1", "1,", "1,,2", "-1", "99999", "1 2"};
	struct cpu_list cpus = {0};
	assert_int_equal(cpu_list_parse(&cpus, "0,3-5"), 0);
	assert_int_equal(cpus.count, 4);
	assert_int_equal(cpus.items[0], 0);
	assert_int_equal(cpus.items[3], 5);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(cpu_list_parse(&cpus, bad[i]), -EINVAL);
	array_free(&cpus);
}

// ---- metrics ----

static void test_built_in_files_are_right(void **state) {
	static const char *const cpus[] = {"AuthenticAMD-25-17", "GenuineIntel-6-143", "arm-0x41-0xd49",
					   "arm-0x41-0xd4f", "something-else"};
	static const char *const families[] = {"AMD Zen 4", "Intel", "Neoverse N2", "Neoverse V2", "generic"};
	for (size_t i = 0; i < ARRAY_SIZE(cpus); i++) {
		struct metrics metrics = {.cpu = memory_string(cpus[i])};
		for (size_t file = 0; metrics_built_in(file); file++)
			assert_int_equal(metrics_read(&metrics, metrics_built_in(file)), 0);
		assert_string_equal(metrics.family, families[i]);
		assert_non_null(metrics_find(&metrics, "ipc"));
		assert_int_equal(metrics_find(&metrics, "retiring") != NULL, i < 4);
		for (size_t metric = 0; metric < metrics.metrics.count; metric++) {
			assert_true(metrics.metrics.items[metric].formula.steps.count > 0);
			assert_non_null(metrics.metrics.items[metric].unit);
			assert_non_null(metrics.metrics.items[metric].description);
		}
		for (size_t alias = 0; alias < metrics.aliases.count; alias++)
			assert_non_null(metrics.aliases.items[alias].code);
		metrics_free(&metrics);
	}
}

static void test_other_cores_do_not_get_the_slots_of_zen_4(void **state) {
	static const struct {
		const char *cpu;
		bool zen_4;
	} cases[] = {{"AuthenticAMD-25-17", true},  {"AuthenticAMD-25-97", true},
		     {"AuthenticAMD-25-116", true}, {"AuthenticAMD-25-33", false},
		     {"AuthenticAMD-25-80", false}, {"AuthenticAMD-23-49", false}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct metrics metrics;
		metrics_load(&metrics, cases[i].cpu);
		assert_int_equal(metrics_find(&metrics, "retiring") != NULL, cases[i].zen_4);
		metrics_free(&metrics);
	}
}

// What a core counts in a thousand cycles, as names of events and as numbers.
struct core {
	const char *cpu;
	struct {
		const char *name;
		double value;
	} counts[8];
	double frontend, backend, bad, retiring;
};

static double count_of(const char *name, void *context) {
	const struct core *core = context;
	for (size_t i = 0; i < ARRAY_SIZE(core->counts) && core->counts[i].name; i++)
		if (strcmp(core->counts[i].name, name) == 0)
			return core->counts[i].value;
	return (double)NAN;
}

static void assert_metric(const struct metrics *metrics, const char *name, struct core *core, double wanted) {
	const struct metric *metric = metrics_find(metrics, name);
	assert_non_null(metric);
	double value = formula_value(&metric->formula, count_of, core);
	assert_true(fabs(value - wanted) < 1e-9);
}

// Each slot is in one of the four categories, so that they add up to a hundred percent.
static struct core top_down_cores[] = {
	{"AuthenticAMD-25-17", // 6000 slots
	 {{"zen-cycles", 1000},
	  {"zen-slots-frontend", 1200},
	  {"zen-slots-backend", 1800},
	  {"zen-ops-dispatched", 3000},
	  {"zen-ops-retired", 2400}},
	 20,
	 30,
	 10,
	 40},
	{"AuthenticAMD-26-2", // 8000
	 {{"zen-cycles", 1000},
	  {"zen-slots-frontend", 1600},
	  {"zen-slots-backend", 2400},
	  {"zen-ops-dispatched", 4000},
	  {"zen-ops-retired", 3200}},
	 20,
	 30,
	 10,
	 40},
	{"GenuineIntel-6-143", // the core reports shares
	 {{"slots", 6000},
	  {"topdown-fe-bound", 51},
	  {"topdown-be-bound", 102},
	  {"topdown-bad-spec", 51},
	  {"topdown-retiring", 51}},
	 20,
	 40,
	 20,
	 20},
	{"GenuineIntel-6-85", // 4000
	 {{"skl-cycles", 1000},
	  {"skl-slots-frontend", 800},
	  {"skl-ops-issued", 1800},
	  {"skl-ops-retired", 1600},
	  {"skl-recovery", 50}},
	 20,
	 30,
	 10,
	 40},
	{"arm-0x41-0xd40", // 8000, of which 4000 had an op, and a fifth of those was wasted
	 {{"arm-cycles", 1000},
	  {"arm-stall-slot", 4000},
	  {"arm-stall-slot-frontend", 1600},
	  {"arm-stall-slot-backend", 2400},
	  {"arm-op-spec", 4000},
	  {"arm-op-retired", 3200}},
	 20,
	 30,
	 10,
	 40},
	{"arm-0x41-0xd49", // 5000
	 {{"arm-cycles", 1000},
	  {"arm-stall-slot", 2500},
	  {"arm-stall-slot-frontend", 1000},
	  {"arm-stall-slot-backend", 1500},
	  {"arm-op-spec", 2500},
	  {"arm-op-retired", 2000}},
	 20,
	 30,
	 10,
	 40},
	{"arm-0x41-0xd4f", // 8000
	 {{"arm-cycles", 1000},
	  {"arm-stall-slot", 4000},
	  {"arm-stall-slot-frontend", 1600},
	  {"arm-stall-slot-backend", 2400},
	  {"arm-op-spec", 4000},
	  {"arm-op-retired", 3200}},
	 20,
	 30,
	 10,
	 40},
};

static void test_top_down_shares_the_slots(void **state) {
	for (size_t i = 0; i < ARRAY_SIZE(top_down_cores); i++) {
		struct core *core = &top_down_cores[i];
		struct metrics metrics;
		metrics_load(&metrics, core->cpu);
		assert_metric(&metrics, "frontend_bound", core, core->frontend);
		assert_metric(&metrics, "backend_bound", core, core->backend);
		assert_metric(&metrics, "bad_speculation", core, core->bad);
		assert_metric(&metrics, "retiring", core, core->retiring);
		metrics_free(&metrics);
	}
}

static void test_bad_lines_of_a_file_are_found(void **state) {
	static const struct {
		const char *text;
		int line;
	} cases[] = {{"[metric a]\nformula = b /\n", 2},
		     {"[metric a]\nformula = b < 1\n", 2},
		     {"[metric a]\nunit = x\nnonsense = 1\n", 3},
		     {"[event a]\nnonsense = 1\n", 2},
		     {"[nonsense]\na = 1\n", 2}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct metrics metrics = {.cpu = memory_string("x")};
		assert_int_equal(metrics_read(&metrics, cases[i].text), cases[i].line);
		metrics_free(&metrics);
	}
}

static void test_aliases_are_events(void **state) {
	struct metrics metrics = {.cpu = memory_string("x")};
	assert_int_equal(metrics_read(&metrics, "[event mine]\ncode = cpu/event=0x1a0/\n"), 0);
	source.alias = metrics_alias;
	source.context = &metrics;
	assert_event("mine", 4, 0x1000000a0);
	metrics_free(&metrics);
}

// ---- counting ----

static void test_own_page_faults_are_counted(void **state) {
	struct pmu_source here = PMU_SOURCE_HERE;
	struct pmu_events events = {0};
	struct counter_place own = {.pid = 0, .cpu = -1};
	struct counters counters;
	struct count counts[3] = {0}, more[3] = {0};
	enum { PAGES = 64, PAGE = 4096 };
	assert_int_equal(
		pmu_events_parse(&events, "{page-faults:u,task-clock:u},nothing_here/x=1/", &here, why), 0);
	counters_open(&counters, &events, &own, 1);
	if (events.items[0].missing) { // not permitted here
		counters_close(&counters);
		pmu_events_free(&events);
		skip();
	}
	counters_enable(&counters);
	volatile char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				     -1, 0);
	assert_true(memory != MAP_FAILED);
	madvise((void *)memory, PAGES * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		memory[i * PAGE] = 1;
	counters_read(&counters, counts);
	assert_in_range(counts[0].value, PAGES, PAGES + 32);
	assert_true(counts[0].scaled == (double)counts[0].value);
	assert_true(counts[1].value > 0);
	assert_int_equal(counts[2].enabled, 0);
	counters_read(&counters, more); // since then
	assert_in_range(more[0].value, 0, 16);
	munmap((void *)memory, PAGES * PAGE);
	counters_close(&counters);
	pmu_events_free(&events);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formulas_are_calculated),
		cmocka_unit_test(test_what_is_not_known_stays_so),
		cmocka_unit_test(test_bad_formulas_are_refused),
		cmocka_unit_test(test_formulas_have_a_depth),
		cmocka_unit_test(test_comparisons_hold_or_not),
		WITH_SYSFS(test_names_of_all_kinds),
		WITH_SYSFS(test_bits_go_where_the_format_says),
		WITH_SYSFS(test_modifiers),
		WITH_SYSFS(test_groups_stay_together),
		WITH_SYSFS(test_a_pmu_that_is_not_there_is_no_mistake),
		WITH_SYSFS(test_one_event_is_on_all_kinds_of_cores),
		WITH_SYSFS(test_cores_that_are_alike_have_one_pmu),
		cmocka_unit_test(test_the_time_on_another_kind_of_core_is_no_time_without_a_counter),
		cmocka_unit_test(test_top_down_shares_the_slots),
		WITH_SYSFS(test_mistakes_are_reported),
		cmocka_unit_test(test_lists_of_cpus),
		cmocka_unit_test(test_built_in_files_are_right),
		cmocka_unit_test(test_other_cores_do_not_get_the_slots_of_zen_4),
		cmocka_unit_test(test_bad_lines_of_a_file_are_found),
		WITH_SYSFS(test_aliases_are_events),
		cmocka_unit_test(test_own_page_faults_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
