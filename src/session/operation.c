#include "session/operation.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/marker/holder.h"
#include "capture/tasks.h"
#include "process/descriptors.h"
#include "process/user.h"
#include "session/control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- the tracer ----

struct beginning { // what the tracer reports to the process that started it
	bool recording;
	char artifact[4096];
};

// Its messages go to a file that `stop` shows, so that it keeps no terminal and no pipe open.
static void detach(const char *log, int report) {
	setsid();
	prctl(PR_SET_NAME, "tracelet-tracer");
	control_take_signals(true);
	descriptors_give_up(&report, 1);
	int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0) {
		dup2(fd, STDERR_FILENO);
		close(fd);
	}
}

static void fill_answer(const struct finish *finish, const char *spool, struct control_answer *answer) {
	const struct manifest_artifact *trace = finish_trace(finish);
	answer->size = trace ? trace->size : 0;
	answer->events = finish->record.events;
	for (size_t i = 0; i < finish->record.lost.count; i++)
		answer->lost += finish->record.lost.items[i].count;
	if (trace) {
		snprintf(answer->path, sizeof(answer->path), "%s", trace->path);
	} else {
		answer->error = -EIO;
		snprintf(answer->said, sizeof(answer->said), "cannot make a trace from %s",
			 access(spool, F_OK) == 0 ? spool : "what was recorded");
	}
}

static void end_recording(struct recording *recording, struct control *control, int request) {
	struct control_answer answer = {0};
	if (request == CONTROL_CANCEL) {
		recording_stop(recording);
		recording_drop(recording);
	} else {
		struct test_end end = {.operation = true,
				       .started = recording->started,
				       .wall_seconds = recording_seconds(recording)};
		struct finish finish;
		recording_finish(recording, &end, &finish);
		fill_answer(&finish, recording->spool_path, &answer);
		finish_free(&finish);
	}
	// The answer means that the name is free, so it must be.
	int waiting = control->waiting;
	control->waiting = -1;
	user_files_end();
	control_close(control);
	user_files_begin();
	control->waiting = waiting;
	control_answer(control, &answer);
}

struct asked_for {
	const struct settings *settings;
	const char *name, *log;
	struct followed *followed; // what to record, with its descendants
	pid_t controller;          // the process that asked for it
	int report;                // where to report that recording has begun
};

// Any process that knows their name can put marks into the trace: `tracelet mark` does.
static void open_marks(struct recording *recording) {
	recording->marks = marker_create();
	if (recording->marks >= 0)
		marker_name(recording->marks, marker_holder(recording->marks, getpid()),
			    recording->marks_name);
}

static int operation_main(const struct asked_for *asked) {
	struct recording recording = {.settings = asked->settings,
				      .name = asked->name,
				      .operation = true,
				      .followed = asked->followed,
				      .marks = -1,
				      .heap = -1};
	pid_array processes = {0};
	struct control control = CONTROL_NONE;
	struct beginning beginning = {0};
	detach(asked->log, asked->report);
	open_marks(&recording);
	recording_open(&recording);
	if (asked->settings->scope == SCOPE_TREE)
		followed_begin(asked->followed);
	task_tree(asked->followed->process.pid, asked->controller, &processes);
	bool recorded = recording_begin(&recording, processes.items, processes.count);
	if (recorded)
		recording_begun(&recording);
	user_files_end();
	int error = recorded ? control_open(&control, &recording, asked->log) : -ENODATA;
	user_files_begin();
	array_free(&processes);
	if (error && recording.backend) {
		log_error("cannot register the session: %s", strerror(-error));
		recording_stop(&recording);
		recording_drop(&recording);
	}
	beginning.recording = !error;
	snprintf(beginning.artifact, sizeof(beginning.artifact), "%s", control.state.artifact);
	if (file_write_all(asked->report, &beginning, sizeof(beginning)) || error)
		return 1;
	close(asked->report);
	if (chdir("/")) // keep no file system busy
		log_verbose("cannot leave the current directory");
	int request = control_attend(&control, &recording, -1);
	end_recording(&recording, &control, request);
	recording_close(&recording);
	followed_free(asked->followed);
	return 0;
}

// The tracer is a tracelet process and is running.
bool operation_is_there(const struct state *session) {
	return true;
}

// ---- starting ----

// The tracer's directory may no longer be ours when it writes.
static char *absolute(const char *path) {
	if (*path == '/')
		return memory_format("%s", path);
	CLEANUP_FREE char *folder = getcwd(NULL, 0);
	return memory_format("%s/%s", folder ? folder : "", path);
}

static int log_file(const char *name, char *path, size_t size) {
	char folder[STATE_FOLDER_SIZE];
	int error = state_folder(folder);
	if (error)
		log_error("cannot keep the state of sessions in %s: %s",
			  error == -ENAMETOOLONG ? "TRACELET_STATE_DIR" : folder,
			  error == -EACCES ? "other users can write to it" : strerror(-error));
	else
		snprintf(path, size, "%s/%s.log", folder, name);
	return error;
}

// Prints the tracer's messages on our stderr.
static void show_log(const char *path) {
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t got;
	while (fd >= 0 && (got = read(fd, text, sizeof(text))) > 0)
		file_write_all(STDERR_FILENO, text, (size_t)got);
	if (fd >= 0)
		close(fd);
}

// As a grandchild, so that no process has to wait for it.
static bool spawn(const struct asked_for *asked) {
	pid_t child = fork();
	if (child == 0) {
		pid_t tracer = fork();
		if (tracer == 0)
			_exit(operation_main(asked));
		_exit(tracer < 0);
	}
	int status = 1;
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && status == 0;
}

static int begin(const struct settings *settings, const char *name, pid_t pid, char artifact[4096]) {
	char log[512];
	int report[2], error = log_file(name, log, sizeof(log));
	if (error)
		return error;
	if (pipe2(report, O_CLOEXEC))
		return -errno;
	struct settings theirs = *settings;
	CLEANUP_FREE char *folder = absolute(settings->output_dir);
	theirs.output_dir = folder;
	theirs.command = NULL;
	struct beginning beginning = {0};
	struct followed followed;
	followed_choose(&followed, pid);
	struct asked_for asked = {.settings = &theirs,
				  .name = name,
				  .log = log,
				  .followed = &followed,
				  .controller = getpid(),
				  .report = report[1]};
	bool spawned = spawn(&asked);
	close(report[1]);
	followed_free(&followed);
	ssize_t got;
	while (spawned && (got = read(report[0], &beginning, sizeof(beginning))) < 0 && errno == EINTR)
		;
	close(report[0]);
	if (!beginning.recording) {
		show_log(log);
		unlink(log);
		return -ENODATA;
	}
	memcpy(artifact, beginning.artifact, sizeof(beginning.artifact));
	return 0;
}

int operation_start(const struct settings *settings, const char *name, pid_t pid, char artifact[4096]) {
	char log[512];
	int error = log_file(name, log, sizeof(log));
	int lock = error ? error : state_lock(name);
	if (lock < 0)
		return lock;
	error = operation_stop_earlier(name);
	if (!error)
		error = begin(settings, name, pid, artifact);
	state_unlock(name, lock);
	return error;
}

// ---- stopping ----

int operation_snapshot(const struct state *session, struct control_answer *answer) {
	return control_ask(session, CONTROL_SNAPSHOT, answer);
}

int operation_stop(const struct state *session, enum control_request how, struct control_answer *answer) {
	// The tracer removes its log together with its state, so read it before asking.
	int log = *session->log ? open(session->log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	*answer = (struct control_answer){0};
	int error = control_ask(session, how, answer);
	char text[4096];
	ssize_t got;
	while (log >= 0 && (got = read(log, text, sizeof(text))) > 0)
		file_write_all(STDERR_FILENO, text, (size_t)got);
	if (log >= 0)
		close(log);
	if (error) // it died while we were asking
		operation_clean_up(session);
	return error;
}
