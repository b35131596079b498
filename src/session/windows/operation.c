// Between start and stop no process of ours is there: WPR records by itself, and the
// state folder says under which instance name.
#include "session/operation.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "capture/wpr/wpr.h"
#include "session/windows/finish.h"
#include "session/windows/interrupt.h"
#include "session/windows/wpr_session.h"

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
		log_error("the session cannot be registered: %s", strerror(-error));
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
		log_error("the state of sessions cannot be used: %s", strerror(-lock));
		return lock;
	}
	int error = operation_stop_earlier(name);
	if (!error)
		error = begin(settings, name, artifact);
	close(lock);
	return error;
}

// ---- the end ----

// As it was started: the manifest is beside the artifact, wherever we are now. `folder` is the
// caller's to free.
static bool settings_of(const struct state *session, struct settings *settings, char **folder) {
	*folder = memory_string(session->artifact);
	size_t length = (size_t)(system_base_name(*folder) - *folder);
	(*folder)[length ? length - 1 : 0] = 0;
	if (!settings_load(settings)) {
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
	if (!settings_of(session, &settings, &folder))
		return;
	struct finish finish = {.settings = &settings,
				.test = session->name,
				.profile = session->profile,
				.operation = true,
				.traced = true,
				.started = {.tv_sec = (time_t)session->since},
				.wall_seconds = (double)((long long)time(NULL) - session->since)};
	finish_add_file(&finish, "etl", session->artifact);
	answer->size = finish.files.count ? finish.files.items[0].size : 0;
	finish_record(&finish);
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
	interrupt_event(); // from here on it has to be done
	if (!state_remove(session))
		return -ENOENT; // someone else does it
	if (how == CONTROL_CANCEL)
		wpr_session_cancel(session);
	else
		save(session, answer);
	return 0;
}

// ---- a look in between ----

// WPR cannot save and go on. So another recording takes over: it begins before this one ends.
static int take_over(const struct state *session, struct wpr_session *next, struct control_answer *answer) {
	char why[2048];
	if (!wpr_session_begin(next, true, why)) {
		answer->error = -EIO;
		snprintf(answer->said, sizeof(answer->said),
			 "no snapshot, it is recorded as before: another recording cannot take over: %s",
			 why);
		return 0;
	}
	int error = state_remove(session) ? state_register(&next->state) : -ENOENT;
	if (error)
		wpr_session_cancel(&next->state);
	if (error == -ENOENT)
		return error; // someone else has ended it meanwhile
	if (error)
		log_warning("%s is not being recorded any more: it cannot be registered: %s", session->name,
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
			 "no snapshot of a test, whose recording is saved when it ends");
		return 0;
	}
	if (!settings_of(session, &settings, &folder)) {
		snprintf(answer->said, sizeof(answer->said), "no snapshot: settings cannot be read");
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

// A test knows by itself what becomes of its recording. An answer that says neither is no reason to forget
// it.
bool operation_is_there(const struct state *session) {
	struct wpr_answer answer;
	if (!session->operation || !wpr_is_idle(session->instance, &answer))
		return true;
	if (state_remove(session)) {
		system_unlink(session->spool);
		log_warning("%s is not being recorded any more: somebody has told WPR to end it",
			    session->name);
	}
	return false;
}

// A test's tracelet.exe was killed: its collectors would record for ever.
void operation_clean_up(const struct state *session) {
	if (!state_remove(session))
		return;
	if (session->operation)
		system_unlink(session->spool);
	else
		wpr_session_cancel(session);
	log_warning("%s is not being recorded any more: %s", session->name,
		    session->operation ? "Windows has been started anew since"
				       : "its tracelet.exe is gone, and its trace was dropped");
}
