// Limits of control groups, read from folders that are made up here: the machine has only one of the
// versions.
#include "unit.h"

#include "base/memory.h"
#include "process/control_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct machine {
	char folder[64], mounts[96];
};

static void write_file(const struct machine *machine, const char *name, const char *text) {
	CLEANUP_FREE char *path = memory_format("%s/%s", machine->folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void make_folder(const struct machine *machine, const char *name) {
	CLEANUP_FREE char *path = memory_format("%s/%s", machine->folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

// With one hierarchy, which is mounted at the folder.
static void begin(struct machine *machine, const char *type, const char *options) {
	snprintf(machine->folder, sizeof(machine->folder), "/tmp/tracelet-groups-XXXXXX");
	assert_non_null(mkdtemp(machine->folder));
	snprintf(machine->mounts, sizeof(machine->mounts), "%s/mounts", machine->folder);
	CLEANUP_FREE char *text = memory_format("proc /proc proc rw 0 0\n%s %s %s %s 0 0\n", type,
						machine->folder, type, options);
	write_file(machine, "mounts", text);
}

static void end(const struct machine *machine) {
	CLEANUP_FREE char *command = memory_format("rm -r '%s'", machine->folder);
	assert_int_equal(system(command), 0);
}

static void test_the_second_version_has_one_line(void **state) {
	struct machine machine;
	struct control_group group;
	begin(&machine, "cgroup2", "rw,nsdelegate");
	make_folder(&machine, "ci.slice");
	make_folder(&machine, "ci.slice/job:7");
	write_file(&machine, "ci.slice/memory.max", "62914560\n");
	write_file(&machine, "ci.slice/memory.peak", "62910464\n");
	write_file(&machine, "ci.slice/memory.events",
		   "low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n");
	write_file(&machine, "ci.slice/job:7/memory.max", "max\n");
	write_file(&machine, "ci.slice/job:7/cpu.max", "20000 100000\n");
	write_file(&machine, "ci.slice/job:7/cpu.stat",
		   "usage_usec 9\nnr_periods 46\nnr_throttled 45\nthrottled_usec 2960000\n");
	control_group_read_mounted(&group, "0::/ci.slice/job:7\n", machine.mounts);
	assert_int_equal(group.memory_limit, 62914560); // of the group above it
	assert_int_equal(group.memory_peak, 62910464);
	assert_int_equal(group.oom_kills, 1);
	assert_int_equal((int)(group.cpus * 1000), 200);
	assert_int_equal(group.periods, 46);
	assert_int_equal(group.throttled_periods, 45);
	assert_int_equal(group.throttled_ns, 2960000000);
	end(&machine);
}

static void test_no_limit_is_none(void **state) {
	struct machine machine;
	struct control_group group;
	begin(&machine, "cgroup2", "rw");
	make_folder(&machine, "a");
	write_file(&machine, "a/memory.max", "max\n");
	write_file(&machine, "a/cpu.max", "max 100000\n");
	write_file(&machine, "a/cpu.stat", "nr_periods 0\n");
	control_group_read_mounted(&group, "0::/a\n", machine.mounts);
	assert_int_equal(group.memory_limit, 0);
	assert_int_equal((int)(group.cpus * 1000), 0);
	control_group_read_mounted(&group, "nonsense\n0:\n::\n", machine.mounts);
	assert_int_equal(group.memory_limit, 0);
	end(&machine);
}

static void test_the_first_version_has_a_line_for_each_controller(void **state) {
	struct machine machine;
	struct control_group group;
	begin(&machine, "cgroup", "rw,memory");
	make_folder(&machine, "job");
	write_file(&machine, "job/memory.limit_in_bytes", "62914560\n");
	write_file(&machine, "job/memory.max_usage_in_bytes", "62914560\n");
	write_file(&machine, "job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	write_file(&machine, "memory.limit_in_bytes", "9223372036854771712\n"); // of the root: none
	control_group_read_mounted(&group, "4:memory:/job\n1:cpu:/\n0::/\n", machine.mounts);
	assert_int_equal(group.memory_limit, 62914560);
	assert_int_equal(group.oom_kills, 2);
	end(&machine);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_second_version_has_one_line),
		cmocka_unit_test(test_no_limit_is_none),
		cmocka_unit_test(test_the_first_version_has_a_line_for_each_controller),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
