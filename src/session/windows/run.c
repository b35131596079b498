// One process does what three do on Linux: WPR records by itself, and wpr.exe is
// waited for with a limit. The test is there, suspended, before recording begins.
#include "session/run.h"
#include "base/log.h"
#include "base/system.h"
#include "session/artifact.h"
#include "session/stem.h"
#include "session/windows/dump.h"
#include "session/windows/finish.h"
#include "session/windows/interrupt.h"
#include "session/windows/test.h"
#include "session/windows/wpr_session.h"

#include <stdio.h>

#ifndef ERROR_ELEVATION_REQUIRED
#define ERROR_ELEVATION_REQUIRED 740
#endif

enum { STATUS_NO_TRACE = 125, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

// ---- what is asked for ----

// The program's name without folder and extension.
static void choose_name(const struct settings *settings, char name[ARTIFACT_NAME_SIZE]) {
	CLEANUP_FREE char *plain = system_command_name(settings->command[0]);
	artifact_safe_name(settings->name ? settings->name : plain, name);
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
		log_error("%s: cannot be run: error %lu of Windows", command, error);
	return missing ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

// ---- the time limit ----

// The files of a session that records nothing have a name, too.
static char *find_stem(const struct settings *settings, const struct wpr_session *session) {
	size_t length = strlen(session->state.artifact);
	if (session->active && length > 4)
		return memory_format("%.*s", (int)length - 4, session->state.artifact);
	char *stem = NULL;
	int fd = artifact_make_dir(settings->output_dir);
	if (!fd)
		fd = stem_reserve(settings, session->name, &stem);
	if (fd < 0) {
		log_warning("no dump: cannot write to %s: %s", settings->output_dir, strerror(-fd));
		return NULL;
	}
	close(fd);
	CLEANUP_FREE char *placeholder = memory_format("%s.spool", stem);
	system_unlink(placeholder);
	return stem;
}

static bool wants_all_memory(const struct settings *settings, DWORD pid) {
	size_t size = settings->core ? dump_size(pid) : 0;
	if (size > settings->core_limit)
		log_warning("process %lu is larger than --core-limit: its dump has stacks only", pid);
	return settings->core && size <= settings->core_limit;
}

static void save_dumps(const struct settings *settings, const struct wpr_session *session,
		       const process_array *processes, struct finish *finish) {
	enum { MOST = 16 };
	CLEANUP_FREE char *stem = find_stem(settings, session);
	for (size_t i = 0; stem && i < processes->count && i < MOST; i++) {
		DWORD pid = processes->items[i];
		CLEANUP_FREE char *path = i ? memory_format("%s.%lu.dmp", stem, pid)
					    : memory_format("%s.dmp", stem);
		if (dump_process(pid, path, wants_all_memory(settings, pid)))
			finish_add_file(finish, "dump", path);
	}
}

static void end_hung_test(struct test *test, const struct wpr_session *session, struct finish *finish) {
	const struct settings *settings = finish->settings;
	bool saving = settings_enabled(settings) && settings->keep != KEEP_NEVER;
	process_array processes = {0};
	test_processes(test, &processes);
	finish->timed_out = true;
	log_error("%s: its time limit of %g s is over; %sending it (processes: %zu)", session->name,
		  settings->timeout, saving ? "saving dumps, " : "", processes.count);
	if (saving)
		save_dumps(settings, session, &processes, finish);
	test_end_tree(test, (UINT)settings->timeout_status);
	array_free(&processes);
}

// ---- the run ----

static double seconds_since(ULONGLONG begun) {
	return (double)(GetTickCount64() - begun) / 1000;
}

static void wait_for_end(struct test *test, const struct wpr_session *session, struct finish *finish) {
	const struct settings *settings = finish->settings;
	ULONGLONG begun = GetTickCount64();
	bool ended = test_wait(test, settings->timeout);
	finish->wall_seconds = seconds_since(begun);
	bool all_ended = ended;
	if (ended && settings->wait_tree >= 0) {
		double left = settings->timeout > 0 ? MAX(settings->timeout - finish->wall_seconds, 0.001)
						    : 0;
		bool limited = left > 0 && (settings->wait_tree == 0 || left < settings->wait_tree);
		all_ended = test_wait_tree(test, limited ? left : settings->wait_tree);
		if (!all_ended && !limited) {
			log_warning(
				"processes of the test are still running; the trace ends here (--wait-tree)");
			all_ended = true;
		}
	}
	if (!all_ended)
		end_hung_test(test, session, finish);
	finish->wall_seconds = seconds_since(begun);
	finish->cpu_seconds = test_cpu_seconds(test);
	finish->code = test_exit_code(test);
}

static const char *why_not_kept(const struct finish *finish) {
	const struct settings *settings = finish->settings;
	bool passed = !finish->timed_out && !finish->code;
	return settings->keep == KEEP_NEVER                   ? "--keep never"
	       : passed && settings->keep == KEEP_FAILED      ? "the test passed (--keep failed)"
	       : passed && settings->type == RECORD_TO_MEMORY ? "a flight recorder is saved when a test fails"
							      : NULL;
}

static void end_recording(const struct wpr_session *session, struct finish *finish) {
	char why[2048] = "";
	finish->not_kept = why_not_kept(finish);
	if (finish->not_kept) {
		wpr_session_cancel(&session->state);
		return;
	}
	bool saved = wpr_session_save(&session->state, why);
	if (*why)
		log_warning("%s%s", saved ? "" : "no trace: ", why);
	if (!saved)
		return;
	// The trace comes first, before what was saved of a test that hung.
	finish_files dumps = finish->files;
	finish->files = (finish_files){0};
	finish_add_file(finish, "etl", session->state.artifact);
	for (size_t i = 0; i < dumps.count; i++)
		array_push(&finish->files, dumps.items[i]);
	array_free(&dumps);
}

// False: there is no trace, and there must be one.
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
		return true; // nobody wants to know
	if (session->settings->strict)
		log_error("no trace: %s; --strict: the test was not run", why);
	else
		log_warning("no trace: %s", why);
	return !session->settings->strict;
}

// The test is over; the same for what was recorded of it.
static int end_run(const struct wpr_session *session, struct finish *finish) {
	finish->traced = session->active;
	if (session->active) {
		end_recording(session, finish);
		state_remove(&session->state);
	}
	finish_tell(finish);
	return finish->timed_out ? finish->settings->timeout_status : (int)finish->code;
}

static int run_test(struct test *test, struct wpr_session *session, struct finish *finish) {
	if (!begin_recording(session)) {
		test_drop(test);
		return STATUS_NO_TRACE;
	}
	clock_gettime(CLOCK_REALTIME, &finish->started);
	// Ctrl-C is the test's business: it gets it as well, and we wait for what it does. Until now it got
	// nothing.
	if (!interrupted()) {
		test_begin(test);
		wait_for_end(test, session, finish);
		int status = end_run(session, finish);
		test_close(test);
		return status;
	}
	test_drop(test);
	if (session->active && state_remove(&session->state))
		wpr_session_cancel(&session->state);
	log_error("%s: was not run: ended by Ctrl-C", session->name);
	return (int)STATUS_CONTROL_C_EXIT;
}

// How `tracelet mark` finds the recording that it is part of.
static void tell_marks(const struct wpr_session *session) {
	CLEANUP_FREE char *marks = memory_format("%s%s", MARKS_OF_WPR, session->state.instance);
	CLEANUP_FREE wchar_t *wide = system_wide(marks);
	SetEnvironmentVariableW(L"TRACELET_MARKS", wide);
}

int session_run(const struct settings *settings) {
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
		tell_marks(session);
	DWORD error = test_prepare(&test, settings->command, count);
	if (error) {
		free(session);
		return say_not_started(settings->command[0], error);
	}
	struct finish finish = {.settings = settings, .test = name, .profile = settings->profile};
	int status = run_test(&test, session, &finish);
	finish_free(&finish);
	free(session);
	return status;
}
