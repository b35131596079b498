// No tracelet process runs between start and stop: WPR records on its own, and the state directory
// holds its instance name.
#include "session/operation.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "capture/wpr/wpr.h"
#include "process/interrupt_windows.h"
#include "session/finish.h"
#include "session/wpr_session.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static int begin(const struct settings *settings, const char *name, char artifact[4096]) {
	struct wpr_session *session = memory_alloc(sizeof(*session));
	*session = (struct wpr_session){.settings = settings, .name = name, .give_up = interrupt_event()};
	char why[2048];
	int error = 0;
	wpr_session_name(session);
	if (!wpr_session_begin(session, true, why)) {
		log_error("%s: not recorded: %s", name, interrupted() ? "ended by Ctrl-C" : why);
		error = -ENODATA;
	} else if (interrupted()) {
		log_error("%s: not recorded: ended by Ctrl-C", name);
		wpr_session_cancel(&session->state);
		error = -EINTR;
	} else if ((error = state_register(&session->state))) {
		log_error("cannot register the session: %s", strerror(-error));
		wpr_session_cancel(&session->state);
	}
	if (!error)
		memcpy(artifact, session->state.artifact, sizeof(session->state.artifact));
	free(session);
	return error;
}

int operation_start(const struct settings *settings, const char *name, pid_t pid, char artifact[4096]) {
	int lock = state_lock(name);
	if (lock < 0) {
		log_error("cannot use the state of sessions: %s", strerror(-lock));
		return lock;
	}
	int error = operation_stop_earlier(name);
	if (!error)
		error = begin(settings, name, artifact);
	close(lock);
	return error;
}

// ---- the end ----

// Relative to where it was started: the manifest is next to the artifact, whatever our directory is
// now. The caller frees `folder`.
static bool settings_of(const struct state *session, struct settings *settings, char **folder) {
	*folder = memory_string(session->artifact);
	size_t length = (size_t)(system_base_name(*folder) - *folder);
	(*folder)[length ? length - 1 : 0] = 0;
	if (!settings_load(settings, true)) {
		settings_free(settings);
		return false;
	}
	settings->output_dir = *folder;
	settings->profile = session->profile;
	settings->variant = *session->variant ? session->variant : NULL;
	settings->type = session->memory ? RECORD_TO_MEMORY : RECORD_TO_FILE;
	return true;
}

static void record(const struct state *session, struct control_answer *answer) {
	CLEANUP_FREE char *folder = NULL;
	struct settings settings;
	struct finish finish;
	if (!settings_of(session, &settings, &folder))
		return;
	finish_open(&finish, &settings, session->name);
	finish.recorded = true;
	finish_end(&finish,
		   &(struct test_end){.operation = true,
				      .started = {.tv_sec = (time_t)session->since},
				      .wall_seconds = (double)((long long)time(NULL) - session->since)});
	MANIFEST_PUT(&finish.record, backend, "wpr");
	finish_add_trace(&finish, "etl", session->artifact, 0, NULL);
	const struct manifest_artifact *trace = finish_trace(&finish);
	answer->size = trace ? trace->size : 0;
	finish_note(&finish);
	finish_keep_limits(&finish);
	finish_free(&finish);
	settings_free(&settings);
}

static void save(const struct state *session, struct control_answer *answer) {
	char why[2048];
	if (!wpr_session_save(session, why)) {
		answer->error = -EIO;
		snprintf(answer->said, sizeof(answer->said), "%s", why);
		return;
	}
	if (*why)
		log_warning("%s: %s", session->name, why);
	snprintf(answer->path, sizeof(answer->path), "%s", session->artifact);
	record(session, answer);
}

int operation_stop(const struct state *session, enum control_request how, struct control_answer *answer) {
	*answer = (struct control_answer){0};
	interrupt_event(); // from here on it must be completed
	if (!state_remove(session))
		return -ENOENT; // another process is doing it
	if (how == CONTROL_CANCEL)
		wpr_session_cancel(session);
	else
		save(session, answer);
	return 0;
}

// ---- a look in between ----

// WPR cannot save and continue. So a new recording takes over, which begins before this one ends.
static int take_over(const struct state *session, struct wpr_session *next, struct control_answer *answer) {
	char why[2048];
	if (!wpr_session_begin(next, true, why)) {
		answer->error = -EIO;
		snprintf(answer->said, sizeof(answer->said),
			 "no snapshot: cannot start the recording that would follow: %s; the current one "
			 "continues",
			 why);
		return 0;
	}
	int error = state_remove(session) ? state_register(&next->state) : -ENOENT;
	if (error)
		wpr_session_cancel(&next->state);
	if (error == -ENOENT)
		return error; // another process has ended it meanwhile
	if (error)
		log_warning("stopped recording %s: cannot register the session: %s", session->name,
			    strerror(-error));
	save(session, answer);
	return 0;
}

int operation_snapshot(const struct state *session, struct control_answer *answer) {
	CLEANUP_FREE char *folder = NULL;
	struct settings settings;
	*answer = (struct control_answer){.error = -EINVAL};
	if (!session->operation) {
		snprintf(answer->said, sizeof(answer->said),
			 "no snapshots of a test: its recording is saved when it ends");
		return 0;
	}
	if (!settings_of(session, &settings, &folder)) {
		snprintf(answer->said, sizeof(answer->said), "no snapshot: cannot read the settings");
		return 0;
	}
	answer->error = 0;
	struct wpr_session *next = memory_alloc(sizeof(*next));
	*next = (struct wpr_session){
		.settings = &settings, .name = session->name, .give_up = interrupt_event()};
	wpr_session_name(next);
	int error = take_over(session, next, answer);
	free(next);
	settings_free(&settings);
	return error;
}

// ---- who is gone ----

// A test itself knows what happens to its recording. Keep the session if the answer is unclear.
bool operation_is_there(const struct state *session) {
	struct wpr_answer answer;
	if (!session->operation || !wpr_is_idle(session->instance, &answer))
		return true;
	if (state_remove(session)) {
		system_unlink(session->spool);
		log_warning("%s is no longer being recorded: WPR was stopped by another program",
			    session->name);
	}
	return false;
}

// A test's tracelet.exe was killed: its collectors would record forever.
void operation_clean_up(const struct state *session) {
	if (!state_remove(session))
		return;
	if (session->operation)
		system_unlink(session->spool);
	else
		wpr_session_cancel(session);
	log_warning("%s is no longer being recorded: %s", session->name,
		    session->operation ? "Windows was restarted"
				       : "its tracelet.exe died; its trace was discarded");
}
