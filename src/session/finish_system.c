#include "session/finish_system.h"
#include "base/system.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>

void finish_status_words(int status, char *words, size_t size) {
	if (WIFSIGNALED(status))
		snprintf(words, size, "killed by signal %d (%s)%s", WTERMSIG(status),
			 strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
	else if (WEXITSTATUS(status))
		snprintf(words, size, "failed: exit status %d", WEXITSTATUS(status));
	else
		snprintf(words, size, "passed");
}

bool finish_crashed(int status) {
	return WIFSIGNALED(status);
}

void finish_put_status(struct manifest_record *record, int status) {
	if (WIFSIGNALED(status))
		MANIFEST_PUT(record, signal, WTERMSIG(status));
	else
		MANIFEST_PUT(record, exit, WEXITSTATUS(status));
}

// All CPUs of a machine are taken for the same kind: the file may have hundreds of kilobytes. Not on arm64.
static char *cpu_model(void) {
	static const char key[] = "model name";
	char text[2048];
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[MAX(size, 0)] = 0;
	const char *line = strstr(text, key), *value = line ? strchr(line, ':') : NULL;
	return value ? memory_format("%.*s", (int)strcspn(value + 2, "\n"), value + 2) : NULL;
}

void finish_put_system(struct manifest_record *record) {
	struct utsname system;
	uname(&system);
	char *model = cpu_model();
	if (model)
		MANIFEST_PUT(record, cpu, manifest_keep(record, model));
	MANIFEST_PUT(record, cpus, system_cpus());
	MANIFEST_PUT(record, memory, system_memory());
	MANIFEST_PUT(record, host, manifest_keep(record, memory_string(system.nodename)));
	MANIFEST_PUT(record, kernel, manifest_keep(record, memory_string(system.release)));
	MANIFEST_PUT(record, machine, manifest_keep(record, memory_string(system.machine)));
}

const char *finish_scope(const struct settings *settings) {
	return settings->scope == SCOPE_SYSTEM ? "system" : "tree";
}
