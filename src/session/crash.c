// tracelet-stacks makes the stacks from the records, with a time limit: whatever it
// runs into, the recording is safe.
#include "session/crash.h"
#include "base/file.h"
#include "event/crash.h"
#include "process/user.h"
#include "session/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_STACKS = 4, STACK_SECONDS = 5, MOST_OUTPUT = 1 << 20 };

// ---- running tracelet-stacks ----

static void become(const char *program, const char *what, int input, int output) {
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	if (user_become() == 0)
		execl(program, program, what, NULL);
	_exit(127);
}

// Reads until end of file or until the time is up.
static void read_output(int fd, struct buffer *text) {
	double deadline = seconds_now() + STACK_SECONDS;
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	for (;;) {
		double left = deadline - seconds_now();
		int ready = left > 0 ? poll(&readable, 1, (int)(left * 1000) + 1) : 0;
		if (ready < 0 && errno == EINTR)
			continue;
		ssize_t got = ready > 0 ? read(fd, buffer_room(text, 1 << 14), 1 << 14) : 0;
		if (got <= 0 || text->size > MOST_OUTPUT)
			return;
		text->size += (size_t)got;
	}
}

// Takes over the input.
static void run_stacks(const char *what, int input, struct buffer *text) {
	CLEANUP_FREE char *program = stacks_program();
	int ends[2];
	if (!program || pipe2(ends, O_CLOEXEC)) {
		close(input);
		return;
	}
	pid_t child = fork();
	if (child == 0)
		become(program, what, input, ends[1]);
	close(ends[1]);
	close(input);
	if (child > 0) {
		read_output(ends[0], text);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	close(ends[0]);
	buffer_append(text, "", 1);
	text->size--;
}

static void unwind(const struct buffer *records, struct buffer *text) {
	int input = memfd_create("tracelet-crashes", MFD_CLOEXEC);
	if (input >= 0 && !file_write_all(input, records->data, records->size) && !lseek(input, 0, SEEK_SET))
		run_stacks("--crashes", input, text);
	else if (input >= 0)
		close(input);
}

// ---- reports ----

static struct crash_report report_of(const struct capture_crash *crash) {
	const struct record_crash *record = (const void *)crash->record.data;
	struct crash_report report = {.time = crash->time,
				      .signal = record->signal,
				      .code = record->code,
				      .pid = record->pid,
				      .tid = record->tid,
				      .address = record->address,
				      .instruction = record->instruction};
	memcpy(report.name, record->name, RECORD_NAME_SIZE);
	return report;
}

static bool has_stack(size_t index, size_t count) {
	return index < MOST_STACKS - 1 || index == count - 1;
}

// The stacks are in the order of the records, each followed by "end".
static void give_out(struct crash_reports *reports, char *text) {
	static const char end[] = "end\n";
	for (size_t i = 0; i < reports->list.count; i++) {
		if (!has_stack(i, reports->list.count))
			continue;
		char *stop = strncmp(text, end, strlen(end)) == 0 ? text : strstr(text, "\nend\n");
		if (!stop)
			return;
		stop += *stop == '\n';
		if (stop > text)
			reports->list.items[i].stack = memory_format("%.*s", (int)(stop - text), text);
		text = stop + strlen(end);
	}
}

static void append_stack(struct spool *spool, const struct crash_report *report) {
	struct buffer content = {0};
	struct spool_crash crash = {.time = report->time, .tid = report->tid};
	buffer_append(&content, &crash, sizeof(crash));
	buffer_append(&content, report->stack, strlen(report->stack) + 1);
	if (content.size < SPOOL_LARGEST_BLOCK)
		spool_append(spool, SPOOL_CRASH, content.data, content.size);
	buffer_free(&content);
}

void crash_report_all(struct crash_reports *reports, const struct capture_crashes *crashes,
		      struct spool *spool) {
	size_t count = crashes ? crashes->list.count : 0;
	struct buffer records = {0}, text = {0};
	for (size_t i = 0; i < count; i++) {
		const struct capture_crash *crash = &crashes->list.items[i];
		array_push(&reports->list, report_of(crash));
		if (has_stack(i, count))
			buffer_append(&records, crash->record.data, crash->record.size);
	}
	reports->more = crashes ? crashes->more : 0;
	if (count)
		unwind(&records, &text);
	if (text.size)
		give_out(reports, (char *)text.data);
	for (size_t i = 0; i < count; i++)
		if (reports->list.items[i].stack)
			append_stack(spool, &reports->list.items[i]);
	buffer_free(&records);
	buffer_free(&text);
}

static void unwind_core(struct crash_reports *reports, const char *core) {
	struct buffer text = {0};
	user_files_begin();
	int input = file_open_regular(core, O_RDONLY | O_NOFOLLOW);
	user_files_end();
	if (input >= 0)
		run_stacks("--core", input, &text);
	if (text.size)
		give_out(reports, (char *)text.data);
	buffer_free(&text);
}

void crash_report_test(struct crash_reports *reports, pid_t pid, int wait_status, const char *core) {
	if (!WIFSIGNALED(wait_status) || !crash_signal_name((uint32_t)WTERMSIG(wait_status)))
		return;
	// Not by pid: in a container ours differs from the kernel's.
	for (size_t i = 0; i < reports->list.count; i++)
		if (reports->list.items[i].signal == (uint32_t)WTERMSIG(wait_status))
			return;
	array_push(&reports->list,
		   (struct crash_report){.signal = (uint32_t)WTERMSIG(wait_status), .pid = (uint32_t)pid});
	if (*core && reports->list.count == 1)
		unwind_core(reports, core);
}

void crash_reports_free(struct crash_reports *reports) {
	for (size_t i = 0; i < reports->list.count; i++)
		free(reports->list.items[i].stack);
	array_free(&reports->list);
}
