#include "session/tracer.h"
#include "base/log.h"
#include "session/ci.h"
#include "session/control.h"
#include "session/descriptors.h"
#include "session/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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

// Only the waiter's word ends us; the terminal and the job's signals do not. Of
// the test's descriptors we keep stderr, for warnings and the summary, and the
// one that --json names.
static void detach_from_terminal(const struct settings *settings, int socket, int marks, int heap) {
	setsid();
	prctl(PR_SET_NAME, "tracelet-tracer");
	control_take_signals(false);
	int json = settings->json ? descriptor_named(settings->json) : -1;
	int lines = ci_wants_lines(settings) ? STDOUT_FILENO : -1;
	descriptors_give_up((int[]){socket, json, marks, heap, lines}, 5);
}

// The result is out; taking the programs out of the kernel can happen behind
// the waiter's back, and must not hold up whoever reads what we write to its end.
static void let_go_of_readers(const struct settings *settings) {
	int json = settings->json ? descriptor_named(settings->json) : -1;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	if (json >= 0)
		dup2(null, json);
}

static void finish(struct recording *recording, const struct test_end *end) {
	struct summary summary;
	recording_finish(recording, end, &summary);
	if (recording->settings->json)
		summary_write_json(&summary);
	if (!recording->settings->quiet && (recording->backend || end->timed_out || summary.files.count))
		summary_print(&summary);
	if (!recording->settings->quiet)
		recording_tell_leaks(recording);
	if (recording->backend)
		summary_publish(&summary);
	array_free(&summary.files);
}

// The life of the tracer. Returns its exit status.
static int tracer_main(const struct settings *settings, const char *test_name, int socket, int marks,
		       int heap) {
	struct recording recording = {.settings = settings, .name = test_name, .marks = marks, .heap = heap};
	struct message message = {0};
	detach_from_terminal(settings, socket, marks, heap);
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
	struct control control = CONTROL_NONE;
	int error = ready.recording ? control_open(&control, &recording, "") : 0;
	if (error)
		log_verbose("this session is not listed by 'tracelet status': %s", strerror(-error));
	control_attend(&control, &recording, socket);
	bool waiter_is_there = recv(socket, &message, sizeof(message), 0) == (ssize_t)sizeof(message);
	control_close(&control);
	if (!waiter_is_there) {
		// The waiter was killed: what we have stays in the spool, and nothing in the kernel.
		recording_leave_spool(&recording);
		return 1;
	}
	if (message.type == MESSAGE_CANCEL)
		recording_drop(&recording);
	else
		finish(&recording, &message.end);
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

bool tracer_attach(struct tracer *tracer, pid_t pid) {
	struct message message = {.type = MESSAGE_ATTACH, .pid = pid};
	if (tracer->socket < 0 || !send_message(tracer->socket, &message) ||
	    !receive_message(tracer->socket, &message, MESSAGE_READY))
		return false;
	memcpy(tracer->spool, message.spool, sizeof(tracer->spool));
	return message.recording;
}

static bool say_last(struct tracer *tracer, const struct message *message) {
	struct message answer;
	bool done = tracer->socket >= 0 && send_message(tracer->socket, message) &&
		    receive_message(tracer->socket, &answer, MESSAGE_DONE);
	tracer->leaked = done && answer.leaked;
	if (tracer->socket >= 0)
		close(tracer->socket);
	tracer->socket = -1;
	return done;
}

bool tracer_finish(struct tracer *tracer, const struct test_end *end) {
	return say_last(tracer, &(struct message){.type = MESSAGE_END, .end = *end});
}

void tracer_cancel(struct tracer *tracer) {
	say_last(tracer, &(struct message){.type = MESSAGE_CANCEL});
}
