// The machine's counters, read from a folder that is made up here.
#include "unit.h"

#include "base/memory.h"
#include "process/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char folder[] = "/tmp/tracelet-machine-XXXXXX";

static void write_file(const char *name, const char *text) {
	CLEANUP_FREE char *path = memory_format("%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int begin(void **state) {
	assert_non_null(mkdtemp(folder));
	CLEANUP_FREE char *pressure = memory_format("%s/pressure", folder);
	CLEANUP_FREE char *net = memory_format("%s/net", folder);
	return mkdir(pressure, 0700) || mkdir(net, 0700);
}

static int end(void **state) {
	CLEANUP_FREE char *command = memory_format("rm -r '%s'", folder);
	return system(command);
}

static void test_what_is_missing_is_zero(void **state) {
	struct machine_counters counters;
	machine_read(&counters, folder);
	assert_int_equal(counters.cpu_stalled_ns, 0);
	assert_int_equal(counters.listen_overflows, 0);
}

static void test_the_files_of_the_kernel_are_read(void **state) {
	struct machine_counters counters;
	write_file("pressure/cpu", "some avg10=97.60 avg60=98.45 avg300=97.27 total=11764157117\n"
				   "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
	write_file("pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=25\n");
	write_file("pressure/memory", "full avg10=0.00 avg60=0.00 avg300=0.00 total=25\n");
	write_file("net/netstat", "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 23 45\n"
				  "IpExt: InNoRoutes\nIpExt: 0\n");
	write_file("net/snmp", "Ip: Forwarding\nIp: 1\nTcp: MaxConn RetransSegs\nTcp: -1 678\n");
	machine_read(&counters, folder);
	assert_int_equal(counters.cpu_stalled_ns, 11764157117000);
	assert_int_equal(counters.io_stalled_ns, 25000);
	assert_int_equal(counters.memory_stalled_ns, 0);
	assert_int_equal(counters.listen_overflows, 23);
	assert_int_equal(counters.retransmits, 678);
}

static void test_other_texts_say_nothing(void **state) {
	static const char *const texts[] = {
		"",
		"TcpExt:",
		"TcpExt: ListenOverflows",
		"TcpExt: ListenOverflows\nTcpExt:\n",
		"TcpExt: ListenOverflows\nIpExt: 5\n",
		"TcpExt: ListenOverflowsX ListenOverflow\nTcpExt: 5 6\n",
		"\n\nIp: ListenOverflows\nIp: 5\n",
	};
	struct machine_counters counters;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		write_file("net/netstat", texts[i]);
		machine_read(&counters, folder);
		assert_int_equal(counters.listen_overflows, 0);
	}
}

static void test_growth_of_what_was_not_read_is_zero(void **state) {
	struct machine_counters before = {0}, after = {.retransmits = 3, .network = true};
	assert_int_equal(machine_growth(&before, &after).retransmits, 0);
	before.network = true;
	assert_int_equal(machine_growth(&before, &after).retransmits, 3);
}

static void test_growth_is_never_negative(void **state) {
	struct machine_counters before = {.io_stalled_ns = 5, .retransmits = 9, .network = true};
	struct machine_counters after = {.io_stalled_ns = 7, .retransmits = 3, .network = true};
	struct machine_counters grown = machine_growth(&before, &after);
	assert_int_equal(grown.io_stalled_ns, 2);
	assert_int_equal(grown.retransmits, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_missing_is_zero),
		cmocka_unit_test(test_the_files_of_the_kernel_are_read),
		cmocka_unit_test(test_other_texts_say_nothing),
		cmocka_unit_test(test_growth_of_what_was_not_read_is_zero),
		cmocka_unit_test(test_growth_is_never_negative),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
