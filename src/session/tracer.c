#include "session/tracer.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/tasks.h"
#include "session/artifact.h"
#include "session/convert.h"
#include "session/descriptors.h"
#include "session/manifest.h"
#include "session/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

// ---- the talk between waiter and tracer ----

enum message_type { MESSAGE_ATTACH, MESSAGE_READY, MESSAGE_END, MESSAGE_CANCEL, MESSAGE_DONE };

struct message {
	enum message_type type;
	bool recording;
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

struct session {
	const struct settings *settings;
	const char *test_name;
	const struct capture_backend *backend; // NULL: nothing can be recorded
	struct capture *capture;
	struct capture_totals totals;
	struct spool spool;
	char *stem, *spool_path;
	int socket;
	bool recording;
};

enum { DRAIN_INTERVAL_MS = 100 };

// Only the waiter's word ends us; the terminal and the job's signals do not. Of
// the test's descriptors we keep stderr, for warnings and the summary, and the
// one that --json names.
static void detach_from_terminal(const struct session *session) {
	setsid();
	prctl(PR_SET_NAME, "tracelet-tracer");
	static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGTSTP,
				      SIGPIPE, SIGUSR1, SIGUSR2, SIGXFSZ};
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	const char *json = session->settings->json;
	descriptors_give_up((int[]){session->socket, json ? descriptor_named(json) : -1}, 2);
}

// The result is out; taking the programs out of the kernel can happen behind
// the waiter's back, and must not hold up whoever reads what we write to its end.
static void let_go_of_readers(const struct session *session) {
	int json = session->settings->json ? descriptor_named(session->settings->json) : -1;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDERR_FILENO);
	if (json >= 0)
		dup2(null, json);
}

static int open_spool(struct session *session) {
	const struct settings *settings = session->settings;
	int error = artifact_make_dir(settings->output_dir);
	int fd = error ? error : artifact_reserve(settings->output_dir, session->test_name, &session->stem);
	if (fd < 0) {
		log_warning("no trace: cannot write to %s: %s (name another folder with --output-dir)",
			    settings->output_dir, strerror(-fd));
		return fd;
	}
	session->spool_path = memory_format("%s.spool", session->stem);
	spool_open(&session->spool, fd, clock_boot_now());
	return 0;
}

static int open_capture(struct session *session) {
	struct capture_options options = {.scope = session->settings->scope,
					  .buffer_size = session->settings->buffer_size};
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		options.sources[source] = true;
	static const struct capture_backend *const backends[] = {&capture_bpf, &capture_perf};
	char why[ARRAY_SIZE(backends)][256] = {{0}};
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++) {
		if (backends[i]->open(&options, &session->capture, why[i]) == 0) {
			session->backend = backends[i];
			if (i > 0)
				log_warning("%s; recording less, with perf events", why[0]);
			return 0;
		}
	}
	log_warning("no trace: %s; %s. 'tracelet doctor' shows what to do", why[0], why[1]);
	return -EPERM;
}

static void write_facts(struct session *session) {
	struct utsname system;
	uname(&system);
	struct buffer command = {0};
	for (char **word = session->settings->command; *word; word++)
		buffer_printf(&command, "%s%s", command.size ? " " : "", *word);
	buffer_append(&command, "", 1);
	const char *facts[][2] = {
		{"test", session->test_name},
		{"command", (char *)command.data},
		{"tool", "tracelet " TRACELET_VERSION},
		{"scope", session->settings->scope == SCOPE_SYSTEM ? "system" : "tree"},
		{"backend", session->backend->name},
		{"host", system.nodename},
		{"system", system.sysname},
		{"kernel", system.release},
		{"kernel-version", system.version},
		{"machine", system.machine},
	};
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		spool_meta(&session->spool, facts[i][0], facts[i][1]);
	buffer_free(&command);
}

static bool begin_recording(struct session *session, pid_t pid) {
	char why[256] = "";
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	write_facts(session);
	spool_tasks(&session->spool, session->settings->scope == SCOPE_SYSTEM ? 0 : pid);
	int error = session->backend->follow(session->capture, pid, pidfd);
	if (error)
		snprintf(why, sizeof(why), "the test cannot be followed: %s", strerror(-error));
	else
		error = session->backend->start(session->capture, why);
	if (pidfd >= 0)
		close(pidfd);
	if (error)
		log_warning("no trace: %s", why);
	// On disk before the test begins: if we are killed, there is a spool to convert.
	else
		spool_flush(&session->spool);
	return !error;
}

static void stop_recording(struct session *session) {
	if (!session->recording)
		return;
	session->recording = false;
	session->backend->stop(session->capture, &session->spool, &session->totals);
	struct spool_lost lost = {.time = clock_boot_now(), .unfollowed = session->totals.unfollowed};
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		lost.count[source] = session->totals.lost[source];
	spool_append(&session->spool, SPOOL_LOST, &lost, sizeof(lost));
	spool_clock(&session->spool);
}

static void warn_of_full_disk(struct session *session) {
	if (session->spool.error && session->recording) {
		log_warning("recording stopped: %s: %s; what was written is kept", session->spool_path,
			    strerror(-session->spool.error));
		stop_recording(session);
	}
}

// Milliseconds: until the next drain is due or, if that is sooner, --duration is over.
static int poll_time(const struct session *session, uint64_t deadline) {
	uint64_t now = clock_boot_now();
	uint64_t left = deadline > now ? (deadline - now) / 1000000 + 1 : 0;
	return session->recording ? (int)MIN(left, (uint64_t)DRAIN_INTERVAL_MS) : -1;
}

// Drains until the waiter says something. False: the waiter is gone.
static bool record(struct session *session, struct message *message) {
	uint64_t deadline = session->settings->duration > 0
				    ? clock_boot_now() + (uint64_t)(session->settings->duration * 1e9)
				    : UINT64_MAX;
	struct pollfd waiting[] = {
		{.fd = session->socket, .events = POLLIN},
		{.fd = session->recording ? session->backend->wait_fd(session->capture) : -1,
		 .events = POLLIN},
	};
	uint64_t synced = clock_boot_now();
	while (!(waiting[0].revents & (POLLIN | POLLHUP))) {
		if (poll(waiting, ARRAY_SIZE(waiting), poll_time(session, deadline)) < 0 && errno != EINTR)
			break;
		uint64_t now = clock_boot_now();
		if (now >= deadline)
			stop_recording(session);
		if (!session->recording) {
			waiting[1].fd = -1;
			continue;
		}
		if (now - synced >= DRAIN_INTERVAL_MS * 1000000ull) {
			session->backend->sync(session->capture, &session->spool);
			spool_flush(&session->spool);
			synced = now;
		} else {
			session->backend->drain(session->capture, &session->spool);
		}
		warn_of_full_disk(session);
	}
	ssize_t got = recv(session->socket, message, sizeof(*message), 0);
	return got == (ssize_t)sizeof(*message);
}

static void write_result(struct session *session, const struct test_end *end) {
	char words[128];
	summary_result_words(end->wait_status, end->timed_out ? session->settings->timeout : 0, words, sizeof(words));
	spool_meta(&session->spool, "result", words);
	char number[32];
	snprintf(number, sizeof(number), "%d", end->wait_status >> 8 & 0xff);
	spool_meta(&session->spool, "exit-status", end->wait_status & 0x7f ? "none" : number);
	snprintf(number, sizeof(number), "%.6f", end->wall_seconds);
	spool_meta(&session->spool, "wall-seconds", number);
}

// The trace from the spool; NULL if that failed (and was said).
static char *make_trace(struct session *session, struct conversion_result *result) {
	for (unsigned number = 0; number < 1000; number++) {
		char *path = number ? memory_format("%s_%u.pb", session->stem, number)
				    : memory_format("%s.pb", session->stem);
		struct conversion conversion = {.input = session->spool_path,
						.output = path,
						.reader = &spool_reader,
						.writer = &perfetto_writer,
						.mode = OUTPUT_CREATE,
						.progress = true};
		struct stat there; // a link that leads nowhere is there too
		int error = lstat(path, &there) == 0 ? -EEXIST : convert(&conversion, result);
		if (!error)
			return path;
		free(path);
		if (error != -EEXIST) // someone put a file there meanwhile: it stays
			return NULL;
	}
	return NULL;
}

static double cpu_seconds_of_self(void) {
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static uint64_t file_size(const char *path) {
	struct stat status;
	return lstat(path, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
}

static void add_file(struct summary *summary, const char *kind, const char *path) {
	if (!*path)
		return;
	struct summary_file *file = &summary->files[summary->file_count++];
	*file = (struct summary_file){.kind = kind, .path = path, .size = file_size(path)};
	artifact_sha256(path, file->sha256);
}

static void finish(struct session *session, const struct test_end *end) {
	const struct settings *settings = session->settings;
	struct summary summary = {.settings = settings,
				  .test = session->test_name,
				  .wait_status = end->wait_status,
				  .timed_out = end->timed_out,
				  .started = end->started,
				  .wall_seconds = end->wall_seconds,
				  .test_cpu_seconds = end->cpu_seconds};
	struct conversion_result result = {0};
	CLEANUP_FREE char *trace = NULL;
	add_file(&summary, "stacks", end->stacks);
	add_file(&summary, "core", end->core);
	if (session->backend) {
		stop_recording(session);
		write_result(session, end);
		spool_close(&session->spool);
		// On a full disk there is no room for a trace either, as was said already.
		trace = session->spool.error ? NULL : make_trace(session, &result);
		summary.backend = session->backend->name;
		summary.missing = session->backend->missing;
		summary.totals = session->totals;
		summary.events = result.tally.events;
		memcpy(summary.lost, result.tally.lost, sizeof(summary.lost));
		summary.gaps = result.tally.gaps;
		summary.late = result.late;
		summary.trace = trace;
		summary.trace_size = result.size;
		if (trace)
			artifact_sha256(trace, summary.sha256);
		if (!trace || settings->keep_spool) {
			summary.spool = session->spool_path;
			summary.spool_size = file_size(session->spool_path);
		} else {
			unlink(session->spool_path);
		}
	}
	summary.tracer_cpu_seconds = cpu_seconds_of_self();
	if (session->backend || summary.file_count) {
		struct buffer line = {0};
		summary_json(&summary, &line);
		int error = manifest_append(settings->output_dir, &line);
		if (error && trace)
			log_warning("%s/manifest.jsonl: cannot be written: %s", settings->output_dir,
				    strerror(-error));
		buffer_free(&line);
	}
	if (settings->json)
		summary_write_json(&summary);
	if (!settings->quiet && (session->backend || end->timed_out))
		summary_print(&summary);
}

static void close_session(struct session *session) {
	if (session->backend)
		session->backend->close(session->capture);
	free(session->stem);
	free(session->spool_path);
}

static void drop_spool(struct session *session) {
	if (session->spool_path) {
		spool_close(&session->spool);
		unlink(session->spool_path);
	}
}

// The life of the tracer. Returns its exit status.
static int tracer_main(const struct settings *settings, const char *test_name, int socket) {
	struct session session = {.settings = settings, .test_name = test_name, .socket = socket};
	struct message message = {0};
	detach_from_terminal(&session);
	if (open_capture(&session) == 0 && open_spool(&session) != 0) {
		session.backend->close(session.capture);
		session.backend = NULL;
	}
	if (!receive_message(socket, &message, MESSAGE_ATTACH)) {
		drop_spool(&session);
		return 1;
	}
	session.recording = session.backend && begin_recording(&session, message.pid);
	if (session.backend && !session.recording) {
		drop_spool(&session);
		session.backend->close(session.capture);
		session.backend = NULL;
	}
	struct message ready = {.type = MESSAGE_READY, .recording = session.recording};
	if (session.recording)
		snprintf(ready.spool, sizeof(ready.spool), "%s", session.spool_path);
	send_message(socket, &ready);
	if (!record(&session, &message)) {
		// The waiter was killed: what we have stays in the spool, and nothing in the kernel.
		stop_recording(&session);
		if (session.backend)
			spool_close(&session.spool);
		return 1;
	}
	if (message.type == MESSAGE_CANCEL)
		drop_spool(&session);
	else
		finish(&session, &message.end);
	let_go_of_readers(&session);
	send_message(socket, &(struct message){.type = MESSAGE_DONE});
	close(socket);
	close_session(&session);
	return 0;
}

// ---- in the waiter ----

int tracer_spawn(struct tracer *tracer, const struct settings *settings, const char *test_name) {
	int ends[2];
	*tracer = (struct tracer){.pid = -1, .socket = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	tracer->pid = fork();
	if (tracer->pid == 0) {
		close(ends[0]);
		_exit(tracer_main(settings, test_name, ends[1]));
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
