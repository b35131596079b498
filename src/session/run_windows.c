// One process does what three do on Linux: WPR records on its own, and we wait for wpr.exe with a
// time limit. The test is created, suspended, before recording starts.
#include "session/run.h"
#include "artifact/artifact.h"
#include "artifact/stem.h"
#include "base/log.h"
#include "base/system.h"
#include "process/interrupt_windows.h"
#include "process/test_windows.h"
#include "session/dump_windows.h"
#include "session/finish.h"
#include "session/waiting.h"
#include "session/wpr_session.h"

#include <stdio.h>

#ifndef ERROR_ELEVATION_REQUIRED
#define ERROR_ELEVATION_REQUIRED 740
#endif

enum { STATUS_NO_TRACE = 125, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

// ---- what is asked for ----

// The program's name without folder and extension.
static void choose_name(const struct settings *settings, char name[ARTIFACT_NAME_SIZE]) {
	CLEANUP_FREE char *wanted = session_true_name(settings);
	artifact_safe_name(wanted, name);
}

static int say_not_started(const char *command, DWORD error) {
	bool missing = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
	const char *why = missing                             ? "not found"
			  : error == ERROR_BAD_EXE_FORMAT     ? "not a program for this machine"
			  : error == ERROR_ACCESS_DENIED      ? "access denied"
			  : error == ERROR_ELEVATION_REQUIRED ? "it needs administrator rights"
							      : NULL;
	if (why)
		log_error("%s: cannot be run: %s", command, why);
	else
		log_error("%s: cannot be run: Windows error %lu", command, error);
	return missing ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

// ---- the time limit ----

// Even a session that records nothing needs a name for its files.
static char *find_stem(const struct settings *settings, const struct wpr_session *session) {
	size_t length = strlen(session->state.artifact);
	if (session->active && length > 4)
		return memory_format("%.*s", (int)length - 4, session->state.artifact);
	char *stem = NULL;
	int error = artifact_make_dir(settings->output_dir);
	if (!error)
		error = stem_choose(settings, session->name, &stem);
	if (error)
		log_warning("no dump: cannot write to %s: %s", settings->output_dir, strerror(-error));
	return stem;
}

static bool wants_all_memory(const struct settings *settings, DWORD pid) {
	size_t size = settings->core ? dump_size(pid) : 0;
	if (size > settings->core_limit)
		log_warning("process %lu is larger than --core-limit: dumping only its stacks", pid);
	return settings->core && size <= settings->core_limit;
}

// State of a run in progress.
struct running {
	struct test *test;
	struct wpr_session *session;
	ULONGLONG begun;
	struct test_end end;
	const struct run_judge *judge; // may be NULL
	struct finish finish;
};

enum { MOST_DUMPS = 16 };

// The processes whose dumps were tried, in that order.
struct dumped {
	DWORD pids[MOST_DUMPS];
	size_t count;
};

static bool dumped_has(const struct dumped *dumped, DWORD pid) {
	size_t i = 0;
	while (i < dumped->count && dumped->pids[i] != pid)
		i++;
	return i < dumped->count;
}

// Returns whether there was one that had not been dumped.
static bool dump_new_processes(struct running *running, const char *stem, struct dumped *dumped) {
	const struct settings *settings = running->finish.settings;
	process_array processes = {0};
	size_t before = dumped->count;
	test_processes(running->test, &processes);
	for (size_t i = 0; i < processes.count && dumped->count < MOST_DUMPS; i++) {
		DWORD pid = processes.items[i];
		if (dumped_has(dumped, pid))
			continue;
		CLEANUP_FREE char *path = dumped->count ? memory_format("%s.%lu.dmp", stem, pid)
							: memory_format("%s.dmp", stem);
		dumped->pids[dumped->count++] = pid;
		if (dump_process(pid, path, wants_all_memory(settings, pid)))
			finish_add_file(&running->finish, "dump", path);
	}
	array_free(&processes);
	return dumped->count > before;
}

// Dumps take a while, and the test goes on meanwhile: what it starts then is dumped, too.
static void save_dumps(struct running *running) {
	CLEANUP_FREE char *stem = find_stem(running->finish.settings, running->session);
	struct dumped dumped = {.count = 0};
	while (stem && dump_new_processes(running, stem, &dumped))
		;
}

static void end_hung_test(struct running *running) {
	const struct settings *settings = running->finish.settings;
	process_array processes = {0};
	test_processes(running->test, &processes);
	running->end.timed_out = true;
	if (waiting_is_over(settings, running->session->name, "dumps", processes.count))
		save_dumps(running);
	test_end_tree(running->test, (UINT)settings->timeout_status);
	array_free(&processes);
}

// ---- the run ----

static bool wait_for_test(void *context, double seconds) {
	return test_wait(((struct running *)context)->test, seconds);
}

static bool wait_for_tree(void *context, double seconds) {
	return test_wait_tree(((struct running *)context)->test, seconds);
}

static double elapsed(void *context) {
	return (double)(GetTickCount64() - ((struct running *)context)->begun) / 1000;
}

static void wait_for_end(struct running *running) {
	struct waiting waiting = {
		.context = running, .test = wait_for_test, .tree = wait_for_tree, .elapsed = elapsed};
	bool ended;
	running->begun = GetTickCount64();
	if (!waiting_for_end(running->finish.settings, &waiting, &running->end, &ended)) {
		end_hung_test(running);
		running->end.wall_seconds = elapsed(running);
	}
	running->end.cpu_seconds = test_cpu_seconds(running->test);
	running->end.status = (int)test_exit_code(running->test);
}

static void end_recording(const struct wpr_session *session, const struct test_end *end,
			  struct finish *finish) {
	char why[2048] = "";
	const char *not_kept = finish_not_kept(finish->settings, end);
	MANIFEST_PUT(&finish->record, backend, "wpr");
	if (not_kept) {
		MANIFEST_PUT(&finish->record, not_kept, not_kept);
		wpr_session_cancel(&session->state);
		return;
	}
	bool saved = wpr_session_save(&session->state, why);
	if (*why)
		log_warning("%s%s", saved ? "" : "no trace: ", why);
	if (saved)
		finish_add_trace(finish, "etl", session->state.artifact, 0, NULL);
}

// False if there is no trace but --strict requires one.
static bool begin_recording(struct wpr_session *session) {
	char why[2048];
	if (!settings_enabled(session->settings))
		return true;
	if (wpr_session_begin(session, false, why)) {
		if (state_register(&session->state))
			log_verbose("'tracelet status' will not list this session");
		return true;
	}
	if (interrupted())
		return true; // the user interrupted us: say nothing
	if (session->settings->strict)
		log_error("no trace: %s; --strict: the test was not run", why);
	else
		log_warning("no trace: %s", why);
	return !session->settings->strict;
}

// The test has ended, and so has the recording.
static int end_run(struct running *running) {
	struct finish *finish = &running->finish;
	const struct run_judge *judge = running->judge;
	struct test_end *end = &running->end;
	if (judge && !end->timed_out)
		judge->judge(judge->context, end->status, end);
	finish_end(finish, end);
	if (running->session->active) {
		end_recording(running->session, end, finish);
		state_remove(&running->session->state);
	}
	finish_page(finish);
	finish_note(finish);
	finish_keep_limits(finish);
	finish_report(finish);
	return end->timed_out ? finish->settings->timeout_status : end->status;
}

static int run_test(struct running *running) {
	struct wpr_session *session = running->session;
	if (!begin_recording(session)) {
		test_drop(running->test);
		return STATUS_NO_TRACE;
	}
	clock_gettime(CLOCK_REALTIME, &running->end.started);
	// Ctrl-C is for the test: it receives it as well, and we wait for what it does. Up to now
	// it received nothing.
	if (!interrupted()) {
		test_begin(running->test);
		wait_for_end(running);
		int status = end_run(running);
		test_close(running->test);
		return status;
	}
	test_drop(running->test);
	if (session->active && state_remove(&session->state))
		wpr_session_cancel(&session->state);
	log_error("%s: not run: ended by Ctrl-C", session->name);
	return (int)STATUS_CONTROL_C_EXIT;
}

// How `tracelet mark` finds the recording that it is part of.
static void report_marks(const struct wpr_session *session) {
	CLEANUP_FREE char *marks = memory_format("%s%s", MARKS_OF_WPR, session->state.instance);
	CLEANUP_FREE wchar_t *wide = system_wide(marks);
	SetEnvironmentVariableW(L"TRACELET_MARKS", wide);
}

int session_run(const struct settings *settings, const struct run_judge *judge) {
	char name[ARTIFACT_NAME_SIZE];
	size_t count = 0;
	struct test test;
	while (settings->command[count])
		count++;
	choose_name(settings, name);
	system_give_back_console();
	struct wpr_session *session = memory_alloc(sizeof(*session));
	*session = (struct wpr_session){.settings = settings, .name = name, .give_up = interrupt_event()};
	wpr_session_name(session);
	if (settings_enabled(settings))
		report_marks(session);
	DWORD error = test_prepare(&test, settings->command, count);
	if (error) {
		free(session);
		return say_not_started(settings->command[0], error);
	}
	struct running running = {.test = &test, .session = session, .judge = judge};
	finish_open(&running.finish, settings, name);
	running.finish.recorded = settings_enabled(settings);
	int status = run_test(&running);
	finish_free(&running.finish);
	free(session);
	return status;
}
