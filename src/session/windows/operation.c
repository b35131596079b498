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

// The manifest is beside the artifact, wherever we are now.
static void record(const struct state *session, struct control_answer *answer) {
	CLEANUP_FREE char *folder = memory_string(session->artifact);
	size_t length = (size_t)(system_base_name(folder) - folder);
	folder[length ? length - 1 : 0] = 0;
	struct settings settings;
	if (!settings_load(&settings)) {
		settings_free(&settings);
		return;
	}
	settings.output_dir = folder;
	settings.variant = *session->variant ? session->variant : NULL;
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

int operation_stop(const struct state *session, enum control_request how, struct control_answer *answer) {
	*answer = (struct control_answer){0};
	interrupt_event(); // from here on it has to be done
	if (!state_remove(session))
		return -ENOENT; // someone else does it
	if (how == CONTROL_CANCEL) {
		wpr_session_cancel(session);
		return 0;
	}
	char why[2048];
	bool saved = wpr_session_save(session, why);
	if (!saved) {
		answer->error = -EIO;
		snprintf(answer->said, sizeof(answer->said), "%s", why);
		return 0;
	}
	if (*why)
		log_warning("%s: %s", session->name, why);
	snprintf(answer->path, sizeof(answer->path), "%s", session->artifact);
	record(session, answer);
	return 0;
}

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
