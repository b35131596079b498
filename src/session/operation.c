#include "session/operation.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/tasks.h"
#include "session/control.h"
#include "session/convert.h"
#include "session/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- the tracer ----

struct beginning { // what the tracer tells whoever started it
	bool recording;
	char artifact[4096];
};

// Its words go to a file that `stop` shows: nobody's terminal and nobody's pipe is kept open.
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

static void fill_answer(const struct summary *summary, struct control_answer *answer) {
	answer->size = summary->trace_size;
	answer->events = summary->events;
	for (int source = 0; source < SOURCE_COUNT; source++)
		answer->lost += summary->lost[source];
	if (summary->trace) {
		snprintf(answer->path, sizeof(answer->path), "%s", summary->trace);
	} else {
		answer->error = -EIO;
		snprintf(answer->said, sizeof(answer->said), "no trace could be made of %s",
			 summary->spool ? summary->spool : "what was recorded");
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
		struct summary summary;
		recording_finish(recording, &end, &summary);
		fill_answer(&summary, &answer);
		array_free(&summary.files);
	}
	// The answer says that the name is free: so it must be.
	int waiting = control->waiting;
	control->waiting = -1;
	control_close(control);
	control->waiting = waiting;
	control_answer(control, &answer);
}

struct asked_for {
	const struct settings *settings;
	const char *name, *log;
	pid_t pid;        // what to record, with all it starts
	pid_t controller; // who asks
	int report;       // where the beginning is told
};

// Whoever knows their name can put marks into the trace: `tracelet mark` does.
static void open_marks(struct recording *recording) {
	recording->marks = marker_create();
	if (recording->marks >= 0)
		marker_name(recording->marks, marker_holder(recording->marks, getpid()),
			    recording->marks_name);
}

static int operation_main(const struct asked_for *asked) {
	struct recording recording = {
		.settings = asked->settings, .name = asked->name, .operation = true, .marks = -1, .heap = -1};
	pid_array processes = {0};
	struct control control = CONTROL_NONE;
	struct beginning beginning = {0};
	detach(asked->log, asked->report);
	open_marks(&recording);
	recording_open(&recording);
	task_tree(asked->pid, asked->controller, &processes);
	int error = recording_begin(&recording, processes.items, processes.count)
			    ? control_open(&control, &recording, asked->log)
			    : -ENODATA;
	array_free(&processes);
	if (error && recording.backend) {
		log_error("the session cannot be registered: %s", strerror(-error));
		recording_stop(&recording);
		recording_drop(&recording);
	}
	beginning.recording = !error;
	snprintf(beginning.artifact, sizeof(beginning.artifact), "%s", control.state.artifact);
	if (file_write_all(asked->report, &beginning, sizeof(beginning)) || error)
		return 1;
	close(asked->report);
	if (chdir("/")) // no file system is kept busy by us
		log_verbose("cannot leave the folder");
	int request = control_attend(&control, &recording, -1);
	end_recording(&recording, &control, request);
	recording_close(&recording);
	return 0;
}

// ---- a tracer that is gone ----

// Its tracer was killed, or the machine has been started anew since.
void operation_clean_up(const struct state *session) {
	struct conversion_result result;
	struct stat file;
	struct conversion conversion = {.input = session->spool,
					.output = session->artifact,
					.reader = &spool_reader,
					.writer = &perfetto_writer,
					.mode = OUTPUT_CREATE};
	if (!state_remove(session) || !session->operation)
		return; // another controller does it; or whoever ran the test knows
	if (lstat(session->spool, &file) || !S_ISREG(file.st_mode) || file.st_size == 0) {
		log_warning("the tracer of %s is gone; it has left nothing", session->name);
	} else if (convert(&conversion, &result) == 0) {
		unlink(session->spool);
		log_warning("the tracer of %s is gone; what it had recorded: %s", session->name,
			    session->artifact);
	} else {
		log_warning("the tracer of %s is gone; what it had recorded: %s", session->name,
			    session->spool);
	}
}

// The tracer is one of us, and is there.
bool operation_is_there(const struct state *session) {
	return true;
}

// ---- starting ----

// The tracer's folder may not be ours any more when it writes.
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
		log_error("%s cannot be used for the state of sessions: %s",
			  error == -ENAMETOOLONG ? "TRACELET_STATE_DIR" : folder,
			  error == -EACCES ? "others may write to it" : strerror(-error));
	else
		snprintf(path, size, "%s/%s.log", folder, name);
	return error;
}

// What the tracer had to say, on our stderr.
static void show_log(const char *path) {
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t got;
	while (fd >= 0 && (got = read(fd, text, sizeof(text))) > 0)
		file_write_all(STDERR_FILENO, text, (size_t)got);
	if (fd >= 0)
		close(fd);
}

// As a grandchild: nobody has to wait for it.
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
	struct asked_for asked = {.settings = &theirs,
				  .name = name,
				  .log = log,
				  .pid = pid,
				  .controller = getpid(),
				  .report = report[1]};
	bool spawned = spawn(&asked);
	close(report[1]);
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
	pid = pid ? pid : getppid();
	int error = log_file(name, log, sizeof(log));
	int lock = error ? error : state_lock(name);
	if (lock < 0)
		return lock;
	error = operation_stop_earlier(name);
	if (!error)
		error = begin(settings, name, pid, artifact);
	close(lock);
	return error;
}

// ---- stopping ----

int operation_snapshot(const struct state *session, struct control_answer *answer) {
	return control_ask(session, CONTROL_SNAPSHOT, answer);
}

int operation_stop(const struct state *session, enum control_request how, struct control_answer *answer) {
	// The tracer removes its log with its state: it is read before it is asked.
	int log = *session->log ? open(session->log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	*answer = (struct control_answer){0};
	int error = control_ask(session, how, answer);
	char text[4096];
	ssize_t got;
	while (log >= 0 && (got = read(log, text, sizeof(text))) > 0)
		file_write_all(STDERR_FILENO, text, (size_t)got);
	if (log >= 0)
		close(log);
	if (error) // it died while we asked
		operation_clean_up(session);
	return error;
}
