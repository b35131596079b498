#include "session/wpr_session.h"
#include "artifact/artifact.h"
#include "artifact/stem.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "capture/wpr/wpr.h"
#include "profile/builtin.h"
#include "profile/find.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

// ---- names ----

// One for each session, in plain letters: it becomes part of collector names.
void wpr_session_name(struct wpr_session *session) {
	char plain[48];
	size_t length = 0;
	for (const char *name = session->name; *name && length + 1 < sizeof(plain); name++)
		plain[length++] = isalnum((unsigned char)*name) ? *name : '_';
	plain[length] = 0;
	snprintf(session->state.instance, sizeof(session->state.instance), "tracelet_%s_%lu_%llu", plain,
		 GetCurrentProcessId(), (unsigned long long)GetTickCount64());
}

// The file that reserved the name before there was an .etl file.
static void free_name(const struct state *state) {
	if (*state->spool)
		system_unlink(state->spool);
}

static int reserve_name(struct wpr_session *session) {
	struct settings settings = *session->settings;
	char *stem = NULL;
	int fd = artifact_make_dir(settings.output_dir);
	// The session may be ended from another directory.
	CLEANUP_FREE char *absolute = fd ? NULL : system_absolute(settings.output_dir);
	if (session->state.operation && absolute)
		settings.output_dir = absolute;
	if (!fd)
		fd = stem_reserve(&settings, session->name, &stem);
	if (fd < 0)
		return fd;
	close(fd);
	snprintf(session->state.artifact, sizeof(session->state.artifact), "%s.etl", stem);
	snprintf(session->state.spool, sizeof(session->state.spool), "%s.spool", stem);
	for (char *at = session->state.artifact; *at; at++)
		*at = *at == '/' ? '\\' : *at; // as Windows users write it, and as some programs require
	free(stem);
	return 0;
}

// ---- the profile ----

struct chosen {
	ARRAY(char *) profiles; // as wpr.exe takes them
	char *exported;         // a file of ours, to be deleted
	struct buffer newer;    // keywords in it that older versions may reject, "A, B"
};

// Writes a plan to a file for wpr.exe; NULL on failure.
static char *export_plan(const struct plan *plan) {
	wchar_t folder[MAX_PATH + 1];
	struct buffer text = {0};
	struct output output;
	if (!GetTempPathW(MAX_PATH, folder))
		return NULL;
	CLEANUP_FREE char *utf8 = system_utf8(folder);
	char *path = memory_format("%stracelet-%lu.wprp", utf8, GetCurrentProcessId());
	plan_export(plan, &text);
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (!error) {
		output_write(&output, text.data, text.size);
		error = output_commit(&output);
	}
	buffer_free(&text);
	if (error) {
		log_warning("%s: cannot be written: %s", path, strerror(-error));
		free(path);
		return NULL;
	}
	return path;
}

// A single file for all built-in profiles, so that nothing in it occurs twice.
static void export_builtins(struct chosen *chosen, struct plan *plan, bool plain) {
	for (char *plus = plan->name; (plus = strchr(plus, '+'));)
		*plus = '_'; // WPR uses + as a separator
	for (int i = 0; i < KEYWORD_COUNT; i++) {
		if (!plan->keywords[i] || !system_keywords[i].newer)
			continue;
		buffer_printf(&chosen->newer, "%s%s", chosen->newer.size ? ", " : "",
			      system_keywords[i].name);
		plan->keywords[i] = !plain;
	}
	chosen->exported = export_plan(plan);
	if (chosen->exported)
		array_push(&chosen->profiles, memory_string(chosen->exported));
}

// FILE!NAME.DETAIL of the chosen profile, so that WPR does not choose again; -filemode selects the
// logging mode.
static char *name_in_file(const char *text, enum plan_mode mode) {
	struct findings findings = {0};
	struct plan plan;
	CLEANUP_FREE char *path = NULL;
	bool found = profile_find(text, mode, &plan, &findings, &path);
	findings_free(&findings);
	if (!found)
		return memory_string(text);
	CLEANUP_FREE char *absolute = system_absolute(path);
	char *name = memory_format("%s!%s.%s", absolute ? absolute : path, plan.name,
				   plan_detail_names[plan.detail]);
	plan_free(&plan);
	return name;
}

static void choose(struct chosen *chosen, const struct settings *settings, bool plain) {
	enum plan_mode mode = settings->type == RECORD_TO_MEMORY ? MODE_MEMORY : MODE_FILE;
	struct plan builtin;
	bool any = false;
	ARRAY(char *) files = {0};
	const char *text = settings->profile;
	for (bool more = true; more;) {
		size_t length = profile_first(text);
		CLEANUP_FREE char *name = memory_format("%.*s", (int)length, text);
		struct plan next;
		if (!builtin_find(name)) {
			array_push(&files, name_in_file(name, mode));
		} else if (any) {
			builtin_plan(builtin_find(name), mode, &next);
			plan_add(&builtin, &next);
		} else {
			builtin_plan(builtin_find(name), mode, &builtin);
			any = true;
		}
		more = text[length];
		text += length + more;
	}
	if (any) {
		export_builtins(chosen, &builtin, plain);
		plan_free(&builtin);
	}
	for (size_t i = 0; i < files.count; i++)
		array_push(&chosen->profiles, files.items[i]);
	array_free(&files);
}

static void chosen_free(struct chosen *chosen) {
	if (chosen->exported)
		system_unlink(chosen->exported);
	free(chosen->exported);
	for (size_t i = 0; i < chosen->profiles.count; i++)
		free(chosen->profiles.items[i]);
	array_free(&chosen->profiles);
	buffer_free(&chosen->newer);
	*chosen = (struct chosen){0};
}

// ---- the beginning ----

// Waiting sessions retry at different times.
static DWORD pause_before(unsigned attempt) {
	DWORD most = MIN(250u << MIN(attempt, 3u), 2000u);
	return most / 2 + GetCurrentProcessId() % (most / 2);
}

static bool start(const struct chosen *chosen, const struct wpr_session *session, struct wpr_answer *answer) {
	double limit = wpr_seconds("TRACELET_WPR_WAIT_SECONDS", 120);
	bool to_file = session->settings->type != RECORD_TO_MEMORY;
	ULONGLONG begun = GetTickCount64();
	char words[2048];
	for (unsigned attempt = 0; !wpr_start(chosen->profiles.items, chosen->profiles.count, to_file,
					      session->state.instance, answer);
	     attempt++) {
		double waited = (double)(GetTickCount64() - begun) / 1000;
		if (!wpr_is_busy(answer) || waited >= limit)
			return false;
		wpr_words(answer, words, sizeof(words));
		if (!attempt)
			log_warning("%s: waiting at most %g s for a free collector: %s", session->name, limit,
				    words);
		DWORD pause = (DWORD)MIN((double)pause_before(attempt), (limit - waited) * 1000 + 1);
		if (!session->give_up)
			Sleep(pause);
		else if (WaitForSingleObject(session->give_up, pause) == WAIT_OBJECT_0)
			return false;
	}
	return true;
}

// A WPR older than a keyword rejects the whole profile because of it.
static bool start_without_newer(struct chosen *chosen, const struct wpr_session *session,
				struct wpr_answer *answer) {
	if ((int)answer->code != WPR_INVALID_PROFILE || !chosen->exported || !chosen->newer.size)
		return false;
	CLEANUP_FREE char *newer = memory_format("%.*s", (int)chosen->newer.size, (char *)chosen->newer.data);
	chosen_free(chosen);
	choose(chosen, session->settings, true);
	if (!start(chosen, session, answer))
		return false;
	log_warning("not recorded because this wpr.exe does not support it: %s", newer);
	return true;
}

bool wpr_session_begin(struct wpr_session *session, bool operation, char why[2048]) {
	const struct settings *settings = session->settings;
	struct state *state = &session->state;
	struct wpr_answer answer;
	state->operation = operation;
	state->memory = settings->type == RECORD_TO_MEMORY;
	snprintf(state->name, sizeof(state->name), "%s", session->name);
	snprintf(state->profile, sizeof(state->profile), "%s", settings->profile);
	if (operation && settings->variant && strlen(settings->variant) >= sizeof(state->variant)) {
		snprintf(why, 2048, "--variant is longer than %zu bytes", sizeof(state->variant) - 1);
		return false;
	}
	snprintf(state->variant, sizeof(state->variant), "%s", settings->variant ? settings->variant : "");
	snprintf(state->marks, sizeof(state->marks), MARKS_OF_WPR "%.90s", state->instance);
	int error = reserve_name(session);
	if (error) {
		snprintf(why, 2048, "cannot write to %s: %s", settings->output_dir, strerror(-error));
		return false;
	}
	struct chosen chosen = {0};
	choose(&chosen, settings, false);
	bool any = chosen.profiles.count;
	session->active = any && (start(&chosen, session, &answer) ||
				  start_without_newer(&chosen, session, &answer));
	chosen_free(&chosen);
	if (session->active)
		return true;
	if (any)
		wpr_words(&answer, why, 2048);
	else
		snprintf(why, 2048, "there is no profile for wpr.exe");
	if (any && answer.timed_out) // a collector may be running already
		wpr_cancel(state->instance, &answer);
	free_name(state);
	return false;
}

// ---- the end ----

// The file next to the artifact that holds the trace until it is complete.
static char *part_name(const struct state *state) {
	CLEANUP_FREE char *spool = system_absolute(state->spool); // it exists, so its folder is known
	size_t length = spool ? strlen(spool) : 0;
	return length > 6 ? memory_format("%.*s.part.etl", (int)length - 6, spool)
			  : memory_format("%s.part.etl", state->artifact);
}

// The file that wpr.exe writes: it does not accept names of 260 characters.
static char *name_for_wpr(const char *part, const struct state *state) {
	enum { LONGEST = 240 };
	wchar_t folder[MAX_PATH + 1];
	CLEANUP_FREE wchar_t *wide = system_wide(part);
	if (wcslen(wide) <= LONGEST || !GetTempPathW(MAX_PATH, folder))
		return memory_string(part);
	CLEANUP_FREE char *utf8 = system_utf8(folder);
	return memory_format("%s%s.etl", utf8, state->instance);
}

// To another disk if necessary.
static bool move(const char *from, const char *to) {
	CLEANUP_FREE wchar_t *old = system_wide_path(from), *new = system_wide_path(to);
	return strcmp(from, to) == 0 || MoveFileExW(old, new, MOVEFILE_COPY_ALLOWED);
}

// An older wpr.exe leaves symbols of managed code in a directory next to the trace, with the
// trace's name.
static void move_symbols(const char *written, const char *artifact) {
	CLEANUP_FREE char *from = memory_format("%s.NGENPDB", written),
			  *to = memory_format("%s.NGENPDB", artifact);
	struct stat status;
	if (system_stat(from, &status) == 0 && system_rename(from, to, false))
		log_verbose("%s: cannot be renamed: %s", from, strerror(errno));
}

// Under another name until it is complete.
bool wpr_session_save(const struct state *state, char why[2048]) {
	struct wpr_answer answer, cancelled;
	struct stat status;
	CLEANUP_FREE char *part = part_name(state), *written = name_for_wpr(part, state);
	*why = 0;
	bool stopped = wpr_stop(written, state->instance, &answer);
	if (!stopped)
		wpr_words(&answer, why, 2048);
	bool made = system_stat(written, &status) == 0 && status.st_size > 0;
	if (stopped && !made)
		snprintf(why, 2048, "wpr.exe left no file");
	// Sometimes it complains about a provider only now, and the rest is fine.
	made = made && (stopped || (int)answer.code == WPR_NO_PROVIDER);
	// It may keep recording forever, which leaves one collector less for everyone else.
	if (!stopped && !made && !answer.missing && (int)answer.code != WPR_NOTHING_RUNNING)
		wpr_cancel(state->instance, &cancelled);
	if (made && (!move(written, part) || system_rename(part, state->artifact, false))) {
		snprintf(why, 2048, "%s: cannot be written: %s", state->artifact, strerror(errno));
		made = false;
	}
	if (made) {
		move_symbols(written, state->artifact);
	} else {
		system_unlink(written);
		system_unlink(part);
	}
	free_name(state);
	return made;
}

void wpr_session_cancel(const struct state *state) {
	struct wpr_answer answer;
	char words[2048];
	if (!wpr_cancel(state->instance, &answer) && (int)answer.code != WPR_NOTHING_RUNNING) {
		wpr_words(&answer, words, sizeof(words));
		log_warning("%s: cannot be cancelled: %s", state->name, words);
	}
	free_name(state);
}
