#include "session/tracer.h"
#include "artifact/ci.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "flow/report.h"
#include "heap/heap.h"
#include "process/descriptors.h"
#include "process/test.h"
#include "process/user.h"
#include "session/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- the talk between waiter and tracer ----

enum message_type { MESSAGE_ATTACH, MESSAGE_READY, MESSAGE_END, MESSAGE_CANCEL, MESSAGE_DONE };

struct message {
	enum message_type type;
	bool recording, leaked;
	pid_t pid;
	struct test_end end;
	char spool[512];
};

static bool send_message(int socket, const struct message *message) {
	return send(socket, message, sizeof(*message), MSG_NOSIGNAL) == (ssize_t)sizeof(*message);
}

static bool receive_message(int socket, struct message *message, enum message_type wanted) {
	ssize_t got;
	while ((got = recv(socket, message, sizeof(*message), 0)) < 0 && errno == EINTR)
		;
	return got == (ssize_t)sizeof(*message) && message->type == wanted;
}

// ---- inside the tracer ----

// Limits that the user set are for the test: ours are as high as allowed.
static void lift_limits(void) {
	static const int resources[] = {RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CPU};
	for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
		struct rlimit limit;
		if (getrlimit(resources[i], &limit) == 0 && limit.rlim_cur != limit.rlim_max)
			setrlimit(resources[i], &(struct rlimit){limit.rlim_max, limit.rlim_max});
	}
}

// The page of a test shows the end of its output if that is in a file. Holding a file open delays no process.
static bool output_is_shown(const struct settings *settings) {
	struct stat status;
	return report_wanted(settings, false) && fstat(STDOUT_FILENO, &status) == 0 &&
	       S_ISREG(status.st_mode);
}

// Only the waiter can end us; the terminal and the job's signals cannot. Of the test's descriptors we
// keep stderr, for warnings and the summary, and the one that --json names.
static void detach_from_terminal(const struct settings *settings, int socket, int marks, int heap) {
	setsid();
	prctl(PR_SET_NAME, "tracelet-tracer");
	control_take_signals(false);
	int json = settings->json ? descriptor_named(settings->json) : -1;
	int lines = ci_wants_lines(settings) || output_is_shown(settings) ? STDOUT_FILENO : -1;
	descriptors_give_up((int[]){socket, json, marks, heap, lines}, 5);
}

// The result has been written. Removing the programs from the kernel may take longer, and must not
// delay processes that read our output to its end.
static void let_go_of_readers(const struct settings *settings) {
	int json = settings->json ? descriptor_named(settings->json) : -1;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	if (json >= 0)
		dup2(null, json);
}

static void finish(struct recording *recording, struct test_end *end) {
	struct finish finish;
	recording_finish(recording, end, &finish);
	// The caller named the file for JSON; a project's file does not have the caller's rights.
	bool named = recording->settings->origins[SETTING_JSON] != FROM_PROJECT_FILE;
	if (named)
		user_files_end();
	finish_report(&finish);
	user_files_begin();
	finish_free(&finish);
}

// CI systems end jobs with SIGKILL. Whether the test continues or was killed as well is not our
// concern; what was recorded so far becomes the trace.
static struct message killed_waiters_message(const struct recording *recording) {
	return (struct message){.type = MESSAGE_END,
				.end = {.abandoned = true,
					.started = recording->started,
					.wall_seconds = recording->begun ? recording_seconds(recording) : 0}};
}

// The life of the tracer. Returns its exit status.
static int tracer_main(const struct settings *settings, const char *test_name, int socket, int marks,
		       int heap) {
	struct recording recording = {.settings = settings, .name = test_name, .marks = marks, .heap = heap};
	struct message message = {0};
	detach_from_terminal(settings, socket, marks, heap);
	lift_limits();
	recording_open(&recording);
	if (!receive_message(socket, &message, MESSAGE_ATTACH)) {
		recording_drop(&recording);
		return 1;
	}
	heap_expect(heap, message.pid);
	struct message ready = {.type = MESSAGE_READY,
				.recording = recording_begin(&recording, &message.pid, 1)};
	if (ready.recording)
		snprintf(ready.spool, sizeof(ready.spool), "%s", recording.spool_path);
	send_message(socket, &ready);
	if (ready.recording)
		recording_begun(&recording);
	struct control control = CONTROL_NONE;
	if (ready.recording)
		control_open_soon(&control);
	control_attend(&control, &recording, socket);
	bool waiter_is_there = recv(socket, &message, sizeof(message), 0) == (ssize_t)sizeof(message);
	control_hang_up(&control);
	if (!waiter_is_there)
		message = killed_waiters_message(&recording);
	if (message.type == MESSAGE_CANCEL)
		recording_drop(&recording);
	else
		finish(&recording, &message.end);
	// If we are killed before this, the next tracelet finds what is left.
	user_files_end();
	control_close(&control);
	user_files_begin();
	let_go_of_readers(settings);
	send_message(socket, &(struct message){.type = MESSAGE_DONE, .leaked = recording.leaked});
	close(socket);
	recording_close(&recording);
	return 0;
}

// ---- in the waiter ----

int tracer_spawn(struct tracer *tracer, const struct settings *settings, const char *test_name, int marks,
		 int heap) {
	int ends[2];
	*tracer = (struct tracer){.pid = -1, .socket = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	tracer->patience = settings->tracer_limit;
	tracer->pid = fork();
	if (tracer->pid == 0) {
		close(ends[0]);
		_exit(tracer_main(settings, test_name, ends[1], marks, heap));
	}
	int error = tracer->pid < 0 ? -errno : 0;
	close(ends[1]);
	if (error)
		close(ends[0]);
	else
		tracer->socket = ends[0];
	return error;
}

// CPU time that it has used, in nanoseconds.
static uint64_t work_done(const struct tracer *tracer) {
	clockid_t clock;
	struct timespec time;
	if (clock_getcpuclockid(tracer->pid, &clock) || clock_gettime(clock, &time))
		return 0;
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// Signals for the test are blocked while we wait; this descriptor reports a pending one. -1 on failure.
static int pending_signals(void) {
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t signals;
	sigemptyset(&signals);
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		sigaddset(&signals, ending[i]);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Waits for an answer. A tracer that is working may take its time; one that used no CPU time for as
// long as our patience lasts is hanging (it was stopped, or waits for a file that never answers).
static enum tracer_wait await(const struct tracer *tracer) {
	enum { LOOK_EVERY_MS = 100 };
	struct pollfd waiting[] = {{.fd = tracer->socket, .events = POLLIN},
				   {.fd = pending_signals(), .events = POLLIN}};
	double progress = seconds_now();
	uint64_t done = work_done(tracer);
	enum tracer_wait result = TRACER_HANGS;
	while (result == TRACER_HANGS &&
	       (tracer->patience <= 0 || seconds_now() - progress < tracer->patience)) {
		if (poll(waiting, ARRAY_SIZE(waiting), LOOK_EVERY_MS) > 0)
			result = waiting[0].revents ? TRACER_ANSWERS : TRACER_INTERRUPTED;
		uint64_t now = work_done(tracer);
		if (now != done)
			progress = seconds_now();
		done = now;
	}
	if (waiting[1].fd >= 0)
		close(waiting[1].fd);
	return result;
}

static void abandon(struct tracer *tracer, bool kill_it) {
	if (kill_it)
		kill(tracer->pid, SIGKILL);
	close(tracer->socket);
	tracer->socket = -1;
}

bool tracer_attach(struct tracer *tracer, pid_t pid) {
	struct message message = {.type = MESSAGE_ATTACH, .pid = pid};
	if (tracer->socket < 0 || !send_message(tracer->socket, &message))
		return false;
	enum tracer_wait wait = await(tracer);
	if (wait != TRACER_ANSWERS) {
		abandon(tracer, true);
		log_warning(wait == TRACER_HANGS ? "no trace: the tracer hangs (--tracer-limit %g)"
						 : "no trace: interrupted before the tracer was ready",
			    tracer->patience);
		return false;
	}
	if (!receive_message(tracer->socket, &message, MESSAGE_READY))
		return false;
	memcpy(tracer->spool, message.spool, sizeof(tracer->spool));
	return message.recording;
}

static enum tracer_wait say_last(struct tracer *tracer, const struct message *message) {
	struct message answer = {0};
	if (tracer->socket < 0 || !send_message(tracer->socket, message)) {
		if (tracer->socket >= 0)
			abandon(tracer, false);
		return TRACER_DIED;
	}
	enum tracer_wait wait = await(tracer);
	if (wait == TRACER_ANSWERS && !receive_message(tracer->socket, &answer, MESSAGE_DONE))
		wait = TRACER_DIED;
	tracer->leaked = answer.leaked;
	abandon(tracer, wait == TRACER_HANGS);
	return wait;
}

enum tracer_wait tracer_finish(struct tracer *tracer, const struct test_end *end) {
	return say_last(tracer, &(struct message){.type = MESSAGE_END, .end = *end});
}

void tracer_cancel(struct tracer *tracer) {
	say_last(tracer, &(struct message){.type = MESSAGE_CANCEL});
}
