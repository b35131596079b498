// Machines with several kinds of cores: one event becomes a part for each, according to a made-up
// sysfs.
#include "aside.h"

#include "capture/pmu/events.h"

#include <linux/perf_event.h>
#include <sys/stat.h>

static void put_line(const char *pmu, const char *name, const char *text) {
	char path[160];
	snprintf(path, sizeof(path), "%s/%s", pmu, name);
	put_file(in_folder(path), text, strlen(text));
}

// A PMU; cpus may be NULL, as for PMUs outside the cores.
static void have_pmu(const char *name, const char *type, const char *cpus) {
	char path[160];
	static const char *const folders[] = {"", "/events", "/format"};
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s%s", name, folders[i]);
		assert_int_equal(mkdir(in_folder(path), 0777), 0);
	}
	if (type)
		put_line(name, "type", type);
	if (cpus)
		put_line(name, "cpus", cpus);
	put_line(name, "format/event", "config:0-15\n");
}

static void have_big_and_little(void) {
	have_pmu("armv8_cortex_a53", "8\n", "0-3\n");
	have_pmu("armv8_cortex_a73", "9\n", "4-7\n");
}

static struct pmu_event spread(uint32_t type, uint64_t config, const char *name) {
	struct pmu_event event = {.type = type, .config = {config}};
	pmu_spread(&event, aside_folder, name);
	return event;
}

static void free_parts(struct pmu_event *event) {
	for (size_t i = 0; i < event->parts.count; i++)
		free(event->parts.items[i].cpus);
	array_free(&event->parts);
}

static void assert_part(const struct pmu_event *event, size_t number, uint32_t type, uint64_t config,
			const char *cpus) {
	assert_true(number < event->parts.count);
	assert_int_equal(event->parts.items[number].type, type);
	assert_int_equal(event->parts.items[number].config[0], config);
	assert_string_equal(event->parts.items[number].cpus, cpus);
}

static void test_cores_of_one_kind_need_no_parts(void **state) {
	have_pmu("cpu", "4\n", NULL);
	have_pmu("cpu_core", "8\n", "0-7\n");
	have_pmu("cpu_none", "9\n", "\n"); // a kind whose cores are all offline
	struct pmu_event event = spread(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NULL);
	assert_int_equal(event.parts.count, 0);
	pmu_confine(&event, aside_folder, "cpu_core");
	assert_int_equal(event.parts.count, 0);
}

// A PMU's own number goes into the upper half.
static void test_an_event_of_all_machines_goes_to_each_kind(void **state) {
	have_big_and_little();
	struct pmu_event event = spread(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NULL);
	assert_int_equal(event.parts.count, 2);
	assert_part(&event, 0, PERF_TYPE_HARDWARE, 8ull << 32 | PERF_COUNT_HW_CPU_CYCLES, "0-3");
	assert_part(&event, 1, PERF_TYPE_HARDWARE, 9ull << 32 | PERF_COUNT_HW_CPU_CYCLES, "4-7");
	free_parts(&event);
}

// Arm kernels before 6.6 do not accept that number, but have their own event names.
static void test_a_pmu_that_names_the_event_is_asked_by_that_name(void **state) {
	have_big_and_little();
	put_line("armv8_cortex_a53", "events/cpu_cycles", "event=0x11\n");
	put_line("armv8_cortex_a73", "events/cpu-cycles", "event=0x3c\n");
	struct pmu_event event = spread(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NULL);
	assert_int_equal(event.parts.count, 2);
	assert_part(&event, 0, 8, 0x11, "0-3");
	assert_part(&event, 1, 9, 0x3c, "4-7");
	free_parts(&event);
	event = spread(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, NULL); // not in their lists
	assert_part(&event, 0, PERF_TYPE_HARDWARE, 8ull << 32 | PERF_COUNT_HW_INSTRUCTIONS, "0-3");
	free_parts(&event);
}

static void test_raw_numbers_go_to_each_pmu_as_they_are(void **state) {
	have_big_and_little();
	struct pmu_event event = spread(PERF_TYPE_RAW, 0x1a0, NULL);
	assert_int_equal(event.parts.count, 2);
	assert_part(&event, 0, 8, 0x1a0, "0-3");
	assert_part(&event, 1, 9, 0x1a0, "4-7");
	free_parts(&event);
}

static void test_a_name_is_counted_where_it_is_known(void **state) {
	have_big_and_little();
	put_line("armv8_cortex_a73", "events/stall_slot", "event=0x3f\n");
	struct pmu_event event = spread(9, 0x3f, "stall_slot");
	assert_int_equal(event.parts.count, 1);
	assert_part(&event, 0, 9, 0x3f, "4-7");
	free_parts(&event);
}

static void test_a_pmu_without_a_number_is_left_out(void **state) {
	have_big_and_little();
	have_pmu("broken", NULL, "8-9\n");
	struct pmu_event event = spread(PERF_TYPE_RAW, 0x11, NULL);
	assert_int_equal(event.parts.count, 2);
	free_parts(&event);
}

static void test_an_event_of_one_pmu_stays_on_its_cores(void **state) {
	have_big_and_little();
	struct pmu_event event = {.type = 9, .config = {0x11, 0x22, 0x33}};
	pmu_confine(&event, aside_folder, "armv8_cortex_a73");
	assert_int_equal(event.parts.count, 1);
	assert_part(&event, 0, 9, 0x11, "4-7");
	assert_int_equal(event.parts.items[0].config[2], 0x33);
	free_parts(&event);
	event = (struct pmu_event){.type = 12};
	have_pmu("uncore", "12\n", NULL); // outside the cores
	pmu_confine(&event, aside_folder, "uncore");
	assert_int_equal(event.parts.count, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_cores_of_one_kind_need_no_parts),
		IN_FOLDER(test_an_event_of_all_machines_goes_to_each_kind),
		IN_FOLDER(test_a_pmu_that_names_the_event_is_asked_by_that_name),
		IN_FOLDER(test_raw_numbers_go_to_each_pmu_as_they_are),
		IN_FOLDER(test_a_name_is_counted_where_it_is_known),
		IN_FOLDER(test_a_pmu_without_a_number_is_left_out),
		IN_FOLDER(test_an_event_of_one_pmu_stays_on_its_cores),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
