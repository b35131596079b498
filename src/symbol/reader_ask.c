// The side that asks. It opens files by name, and looks at no byte of them beyond the first four; it takes
// nothing from an answer without a check. A reader that dies, hangs or answers nonsense is killed, and the
// next question starts another one, a few times.
#include "symbol/reader.h"

#include "symbol/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	MOST_STARTS = 8,       // then there are no more names
	MOST_CPU_SECONDS = 60, // for one question: the largest files take a few
	MOST_SECONDS = 300,    // for one question, on a busy machine; the file system may hang
	MOST_WANTED = 64,      // files for one question
};

struct reader {
	pid_t pid; // 0 if it is not running
	int socket;
	unsigned starts;
	bool idle;        // it runs only when nothing else does, as the thread that started it
	const char *path; // of the module that the question is about
	const volatile sig_atomic_t *asked_to_stop; // or NULL
	char problem[80];
	uint8_t *packet;
	struct answer answer;
};

// ---- the process ----

static const char *program;

void reader_program(const char *path) {
	program = path;
}

static int fork_reader(int socket, pid_t *pid) {
	*pid = fork();
	if (*pid == 0)
		reader_serve(socket);
	return *pid < 0 ? errno : 0;
}

// A fresh image of our own program has nothing of this process in its memory.
static int spawn_reader(int socket, pid_t *pid) {
	char *arguments[] = {(char[]){READER_NAME}, NULL};
	const char *libraries = getenv("LD_LIBRARY_PATH");
	CLEANUP_FREE char *variable = libraries ? memory_format("LD_LIBRARY_PATH=%s", libraries) : NULL;
	char *environment[] = {variable, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, socket, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	int error = posix_spawn(pid, program, &actions, &attributes, arguments, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static int start(struct reader *reader) {
	int ends[2];
	if (reader->starts == MOST_STARTS)
		return -EAGAIN;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		snprintf(reader->problem, sizeof(reader->problem), "no socket: %s", strerror(errno));
		return -errno;
	}
	const struct timeval now_and_then = {.tv_usec = 100000};
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &now_and_then, sizeof(now_and_then));
	reader->idle = sched_getscheduler(0) == SCHED_IDLE;
	reader->starts++;
	int error = program ? spawn_reader(ends[1], &reader->pid) : fork_reader(ends[1], &reader->pid);
	close(ends[1]);
	if (!error) {
		reader->socket = ends[0];
		return 0;
	}
	close(ends[0]);
	reader->pid = 0;
	snprintf(reader->problem, sizeof(reader->problem), "cannot start a process: %s", strerror(error));
	return -error;
}

void reader_stop(struct reader *reader, const char *why) {
	int status = 0;
	if (!reader->pid)
		return;
	close(reader->socket);
	if (why)
		kill(reader->pid, SIGKILL);
	pid_t ended;
	while ((ended = waitpid(reader->pid, &status, 0)) < 0 && errno == EINTR)
		;
	reader->pid = 0;
	if (why)
		snprintf(reader->problem, sizeof(reader->problem), "%s", why);
	else if (ended > 0 && WIFSIGNALED(status))
		snprintf(reader->problem, sizeof(reader->problem), "the reader process died: %s",
			 strsignal(WTERMSIG(status)));
	else
		snprintf(reader->problem, sizeof(reader->problem),
			 "the reader process gave up, perhaps for lack of memory");
}

struct reader *reader_new(void) {
	struct reader *reader = memory_alloc(sizeof(*reader));
	reader->packet = memory_alloc(LARGEST_ANSWER);
	return reader;
}

void reader_free(struct reader *reader) {
	if (!reader)
		return;
	reader_stop(reader, NULL);
	free(reader->packet);
	free(reader);
}

unsigned reader_running(const struct reader *reader) {
	return reader->pid ? reader->starts : 0;
}

const char *reader_problem(const struct reader *reader) {
	return reader->problem;
}

pid_t reader_pid(const struct reader *reader) {
	return reader->pid;
}

void reader_stop_when(struct reader *reader, const volatile sig_atomic_t *asked) {
	reader->asked_to_stop = asked;
}

// The thread that waits for an answer may have become more urgent: the test has ended.
static void keep_pace(struct reader *reader) {
	if (!reader->idle || sched_getscheduler(0) == SCHED_IDLE)
		return;
	sched_setscheduler(reader->pid, SCHED_OTHER, &(struct sched_param){0});
	reader->idle = false;
}

// ---- packets ----

static int send_question(struct reader *reader, const struct question *question, int file) {
	struct iovec bytes = {(void *)(uintptr_t)question, sizeof(*question)};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
	if (file >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		*header = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
		memcpy(CMSG_DATA(header), &file, sizeof(file));
	}
	ssize_t sent;
	while ((sent = sendmsg(reader->socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	return sent < 0 ? -errno : 0;
}

static time_t seconds_of(clockid_t clock) {
	struct timespec time = {0};
	clock_gettime(clock, &time);
	return time.tv_sec;
}

// Waits for a packet, and now and then looks whether that takes too long.
static ssize_t receive_packet(struct reader *reader, struct msghdr *message) {
	clockid_t used;
	bool known = false;
	time_t begun = 0, used_before = 0;
	for (;;) {
		ssize_t got = recvmsg(reader->socket, message, 0);
		if (got >= 0 || (errno != EAGAIN && errno != EINTR))
			return got;
		if (reader->asked_to_stop && *reader->asked_to_stop) {
			errno = EINTR;
			return -1;
		}
		keep_pace(reader);
		if (!begun) {
			begun = seconds_of(CLOCK_MONOTONIC);
			known = clock_getcpuclockid(reader->pid, &used) == 0;
			used_before = known ? seconds_of(used) : 0;
		}
		if ((known && seconds_of(used) - used_before > MOST_CPU_SECONDS) ||
		    seconds_of(CLOCK_MONOTONIC) - begun > MOST_SECONDS) {
			errno = EAGAIN;
			return -1;
		}
	}
}

static int receive_answer(struct reader *reader) {
	struct iovec bytes = {reader->packet, LARGEST_ANSWER};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
	ssize_t got = receive_packet(reader, &message);
	if (got <= 0) {
		bool interrupted = got < 0 && errno == EINTR;
		reader_stop(reader, interrupted                  ? "interrupted"
				    : got < 0 && errno == EAGAIN ? "it took too long"
								 : NULL);
		return interrupted ? -EINTR : -EPIPE;
	}
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
	    !answer_read(reader->packet, (size_t)got, &reader->answer)) {
		reader_stop(reader, "the reader process gave no proper answer");
		return -EPROTO;
	}
	return 0;
}

// ---- questions ----

static int give_file(struct reader *reader) {
	const struct answer *answer = &reader->answer;
	const struct debug_wanted wanted = {
		.kind = answer->value, .text = answer->wanted, .path = reader->path};
	unsigned index = (unsigned)MIN(answer->address, UINT16_MAX);
	int file = debug_file_candidate(&wanted, &index);
	struct question given = {.kind = QUESTION_FILE, .address = index};
	int error = send_question(reader, &given, file);
	if (file >= 0)
		close(file);
	return error;
}

int reader_next(struct reader *reader, const struct answer **answer) {
	int error = receive_answer(reader);
	for (unsigned wanted = 0; !error && reader->answer.kind == ANSWER_WANT; wanted++) {
		if (wanted == MOST_WANTED) {
			reader_stop(reader, "the reader process wanted too many files");
			return -EPROTO;
		}
		error = give_file(reader);
		if (error)
			reader_stop(reader, NULL);
		else
			error = receive_answer(reader);
	}
	*answer = &reader->answer;
	return error;
}

int reader_ask(struct reader *reader, const struct question *question, int file, const char *path,
	       const struct answer **answer) {
	int error = reader->pid ? 0 : start(reader);
	if (error)
		return error;
	reader->path = path;
	keep_pace(reader);
	error = send_question(reader, question, file);
	if (!error)
		return reader_next(reader, answer);
	reader_stop(reader, NULL);
	return error;
}

void reader_tell(struct reader *reader, const struct question *question) {
	if (reader->pid && send_question(reader, question, -1))
		reader_stop(reader, NULL);
}

int reader_check(void) {
	const struct question hello = {.kind = QUESTION_HELLO};
	const struct answer *answer;
	struct reader *reader = reader_new();
	int result = reader_ask(reader, &hello, -1, "", &answer);
	if (!result)
		result = answer->kind == ANSWER_HELLO ? (int)(answer->value & 7) : -EPROTO;
	reader_free(reader);
	return result;
}
