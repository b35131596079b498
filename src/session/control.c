#include "session/control.h"
#include "base/log.h"
#include "base/system.h"
#include "process/user.h"
#include "symbol/cut_files.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sockaddr_un address_of(const char *path) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

// ---- the tracer's side ----

static int open_now(struct control *control, const struct recording *recording, const char *log) {
	struct state *state = &control->state;
	const struct followed *followed = recording->followed;
	control->open_at = 0;
	state->follows = followed && followed->ended >= 0 ? followed->process.pid : 0;
	snprintf(state->log, sizeof(state->log), "%s", log);
	state->operation = recording->operation;
	snprintf(state->marks, sizeof(state->marks), "%s", recording->marks_name);
	snprintf(state->name, sizeof(state->name), "%s", recording->name);
	CLEANUP_FREE char *folder = *recording->stem == '/' ? memory_format("%s", "") : getcwd(NULL, 0);
	const char *slash = *recording->stem == '/' ? "" : "/";
	snprintf(state->artifact, sizeof(state->artifact), "%s%s%s.pb", folder ? folder : "", slash,
		 recording->stem);
	snprintf(state->spool, sizeof(state->spool), "%s%s%s.spool", folder ? folder : "", slash,
		 recording->stem);
	int error = state_register(state);
	if (error)
		return error;
	struct sockaddr_un address = address_of(state->socket);
	unlink(state->socket); // left by an earlier process with our pid
	control->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (control->listener < 0 || bind(control->listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(control->listener, 16)) {
		error = -errno;
		control_close(control);
	}
	return error;
}

int control_open(struct control *control, const struct recording *recording, const char *log) {
	*control = CONTROL_NONE;
	return open_now(control, recording, log);
}

void control_open_soon(struct control *control) {
	enum { SOON_MS = 20 };
	control->open_at = clock_boot_now() + SOON_MS * 1000000ull;
}

// Milliseconds until the session is to be registered; -1 if it is not.
static int time_to_open(const struct control *control) {
	uint64_t now = clock_boot_now();
	return !control->open_at        ? -1
	       : control->open_at > now ? (int)((control->open_at - now) / 1000000) + 1
					: 0;
}

static void open_if_due(struct control *control, const struct recording *recording) {
	if (time_to_open(control) != 0)
		return;
	user_files_end();
	int error = open_now(control, recording, "");
	user_files_begin();
	if (error)
		log_verbose("'tracelet status' will not list this session: %s", strerror(-error));
}

static bool may_ask(int connection) {
	struct ucred peer;
	socklen_t size = sizeof(peer);
	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void send_answer(int connection, const struct control_answer *answer) {
	if (connection < 0)
		return;
	send(connection, answer, sizeof(*answer), MSG_NOSIGNAL);
	close(connection);
}

static void end_snapshot(struct control *control, int status) {
	struct control_answer answer = {0};
	struct stat file;
	if (status == 0 && stat(control->snapshot, &file) == 0) {
		CLEANUP_FREE char *absolute = system_absolute(control->snapshot); // the asker is elsewhere
		answer.size = (uint64_t)file.st_size;
		snprintf(answer.path, sizeof(answer.path), "%s", absolute ? absolute : control->snapshot);
	} else {
		answer.error = -EIO;
		snprintf(answer.said, sizeof(answer.said), "cannot make the snapshot");
	}
	send_answer(control->asker, &answer);
	control->asker = -1;
	control->saver = 0;
	free(control->snapshot);
	control->snapshot = NULL;
}

static void await_snapshot(struct control *control) {
	int status;
	if (control->saver && waitpid(control->saver, &status, 0) == control->saver)
		end_snapshot(control, status);
}

static void begin_snapshot(struct control *control, struct recording *recording, int asker) {
	await_snapshot(control); // one at a time
	pid_t child = recording_snapshot(recording, &control->snapshot);
	if (child < 0) {
		struct control_answer answer = {.error = (int)child};
		snprintf(answer.said, sizeof(answer.said), "cannot write the snapshot: %s",
			 strerror(-(int)child));
		send_answer(asker, &answer);
		return;
	}
	control->saver = child;
	control->asker = asker;
}

static void reap_snapshot(struct control *control) {
	int status;
	if (control->saver && waitpid(control->saver, &status, WNOHANG) == control->saver)
		end_snapshot(control, status);
}

static void accept_connection(struct control *control) {
	control->connection = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	control->connected = clock_boot_now();
	if (control->connection >= 0 && !may_ask(control->connection)) {
		close(control->connection);
		control->connection = -1;
	}
}

// Milliseconds until a connection that says nothing is dropped, so that it does not keep others out for long;
// -1 if there is none.
static int drop_silent(struct control *control) {
	enum { PATIENCE_MS = 2000 };
	uint64_t waited = (clock_boot_now() - control->connected) / 1000000;
	if (control->connection >= 0 && waited < PATIENCE_MS)
		return (int)(PATIENCE_MS - waited);
	if (control->connection >= 0)
		close(control->connection);
	control->connection = -1;
	return -1;
}

// The earlier of two poll() timeouts; -1 means none.
static int sooner(int a, int b) {
	return a < 0 ? b : b < 0 ? a : MIN(a, b);
}

// Takes a request. Returns what to do beyond it: CONTROL_STOP, CONTROL_CANCEL or 0.
static int serve(struct control *control, struct recording *recording) {
	int connection = control->connection;
	uint32_t request = 0;
	control->connection = -1;
	if (recv(connection, &request, sizeof(request), 0) != sizeof(request)) {
		close(connection);
		return 0;
	}
	if (request == CONTROL_SNAPSHOT) {
		begin_snapshot(control, recording, connection);
		return 0;
	}
	bool ends = (request == CONTROL_STOP || request == CONTROL_CANCEL) && control->state.operation;
	if (ends && control->waiting < 0) {
		control->waiting = connection;
		return (int)request;
	}
	struct control_answer answer = {.error = -EPERM};
	snprintf(answer.said, sizeof(answer.said), "a test's recording ends when the test ends");
	send_answer(connection, &answer);
	return 0;
}

// ---- attending to a recording ----

static volatile sig_atomic_t snapshot_wanted, end_wanted;

static void want_snapshot(int signal) {
	snapshot_wanted = 1;
}

static void want_end(int signal) {
	end_wanted = 1;
}

static void only_wake_up(int signal) {
}

void control_take_signals(bool operation) {
	static const int ignored[] = {SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE, SIGUSR2, SIGXFSZ};
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	// Without SA_RESTART, so that poll() returns.
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = want_snapshot}, NULL);
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = only_wake_up}, NULL);
	sigaction(SIGTERM, &(struct sigaction){.sa_handler = operation ? want_end : SIG_IGN}, NULL);
	cut_files_survive();
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

// The followed process has ended. If there is no other, `status` and `stop` report it.
static void follow_next(struct control *control, struct recording *recording) {
	struct state *state = &control->state;
	bool follows = followed_next(recording->followed, recording, state->ended, sizeof(state->ended));
	state->follows = follows ? recording->followed->process.pid : 0;
	user_files_end();
	state_update(state);
	user_files_begin();
}

int control_attend(struct control *control, struct recording *recording, int waiter) {
	enum { SNAPSHOT_POLL_MS = 20 };
	struct pollfd waiting[] = {
		{.fd = waiter, .events = POLLIN}, {.events = POLLIN}, {.events = POLLIN}, {.events = POLLIN}};
	int request = 0;
	while (!request && !end_wanted && !(waiting[0].revents & (POLLIN | POLLHUP))) {
		int limit = sooner(recording_wait_time(recording), drop_silent(control));
		limit = sooner(limit, control->saver ? SNAPSHOT_POLL_MS : -1);
		limit = sooner(limit, time_to_open(control));
		waiting[1].fd = recording_wait_fd(recording);
		waiting[2].fd = control->connection >= 0 ? control->connection : control->listener;
		waiting[3].fd = recording->followed ? recording->followed->ended : -1;
		if (poll(waiting, ARRAY_SIZE(waiting), limit) < 0) {
			if (errno != EINTR)
				break;
			waiting[0].revents = waiting[2].revents = waiting[3].revents = 0;
		}
		if (waiting[3].revents)
			follow_next(control, recording);
		recording_turn(recording);
		if (!waiting[0].revents)
			open_if_due(control, recording);
		reap_snapshot(control);
		if (waiting[2].revents && control->connection >= 0)
			request = serve(control, recording);
		else if (waiting[2].revents)
			accept_connection(control);
		if (snapshot_wanted) {
			snapshot_wanted = 0;
			begin_snapshot(control, recording, -1);
		}
	}
	return request ? request : end_wanted ? CONTROL_STOP : 0;
}

void control_answer(struct control *control, const struct control_answer *answer) {
	send_answer(control->waiting, answer);
	control->waiting = -1;
}

void control_hang_up(struct control *control) {
	await_snapshot(control);
	if (control->connection >= 0)
		close(control->connection);
	control->connection = -1;
	if (control->listener >= 0)
		close(control->listener);
	control->listener = -1;
}

void control_close(struct control *control) {
	control_hang_up(control);
	if (control->state.pid)
		state_remove(&control->state);
	control->state.pid = 0;
}

// ---- the other side ----

int control_ask(const struct state *session, enum control_request request, struct control_answer *answer) {
	struct sockaddr_un address = address_of(session->socket);
	uint32_t word = request;
	int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int error = connection < 0 ? -errno : 0;
	if (!error && connect(connection, (struct sockaddr *)&address, sizeof(address)))
		error = -errno;
	if (!error && send(connection, &word, sizeof(word), MSG_NOSIGNAL) != sizeof(word))
		error = -errno;
	ssize_t got = 0;
	while (!error && (got = recv(connection, answer, sizeof(*answer), 0)) < 0 && errno == EINTR)
		;
	if (!error && got != sizeof(*answer))
		error = got < 0 ? -errno : -ECONNRESET;
	if (connection >= 0)
		close(connection);
	if (!error) {
		answer->path[sizeof(answer->path) - 1] = 0;
		answer->said[sizeof(answer->said) - 1] = 0;
	}
	return error;
}
