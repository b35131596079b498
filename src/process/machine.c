#include "process/machine.h"
#include "process/small_file.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_SIZE = 16 << 10 };

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=425916": microseconds.
static uint64_t stalled(const char *proc, const char *name) {
	static const char total[] = " total=";
	char text[FILE_SIZE];
	if (!small_file_read(proc, name, text, sizeof(text)) || strncmp(text, "some ", 5) != 0)
		return 0;
	text[strcspn(text, "\n")] = 0;
	const char *found = strstr(text, total);
	return found ? strtoull(found + strlen(total), NULL, 10) * 1000 : 0;
}

// A line of names and a line of values, both after the name of the protocol.
static uint64_t counter(const char *text, const char *protocol, const char *name) {
	size_t begin = strlen(protocol), size = strlen(name);
	const char *names = text;
	while (names && strncmp(names, protocol, begin) != 0)
		names = (names = strchr(names, '\n')) ? names + 1 : NULL;
	const char *values = names ? strchr(names, '\n') : NULL;
	if (!values || strncmp(++values, protocol, begin) != 0)
		return 0;
	for (names += begin, values += begin; *names == ' ' && *values == ' ';) {
		names++, values++;
		size_t length = strcspn(names, " \n");
		if (length == size && memcmp(names, name, size) == 0)
			return strtoull(values, NULL, 10);
		names += length;
		values += strcspn(values, " \n");
	}
	return 0;
}

void machine_read_pressure(struct machine_counters *counters, const char *proc) {
	*counters = (struct machine_counters){.cpu_stalled_ns = stalled(proc, "pressure/cpu"),
					      .io_stalled_ns = stalled(proc, "pressure/io"),
					      .memory_stalled_ns = stalled(proc, "pressure/memory")};
}

void machine_read_network(struct machine_counters *counters, const char *proc) {
	char text[FILE_SIZE];
	counters->network = true;
	if (small_file_read(proc, "net/netstat", text, sizeof(text)))
		counters->listen_overflows = counter(text, "TcpExt:", "ListenOverflows");
	if (small_file_read(proc, "net/snmp", text, sizeof(text)))
		counters->retransmits = counter(text, "Tcp:", "RetransSegs");
}

void machine_read(struct machine_counters *counters, const char *proc) {
	machine_read_pressure(counters, proc);
	machine_read_network(counters, proc);
}

static uint64_t grown(uint64_t before, uint64_t after) {
	return after > before ? after - before : 0;
}

struct machine_counters machine_growth(const struct machine_counters *before,
				       const struct machine_counters *after) {
	bool network = before->network && after->network;
	return (struct machine_counters){
		.cpu_stalled_ns = grown(before->cpu_stalled_ns, after->cpu_stalled_ns),
		.io_stalled_ns = grown(before->io_stalled_ns, after->io_stalled_ns),
		.memory_stalled_ns = grown(before->memory_stalled_ns, after->memory_stalled_ns),
		.listen_overflows = network ? grown(before->listen_overflows, after->listen_overflows) : 0,
		.retransmits = network ? grown(before->retransmits, after->retransmits) : 0,
		.network = network};
}
