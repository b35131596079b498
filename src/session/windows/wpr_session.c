#include "session/windows/wpr_session.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "capture/wpr/wpr.h"
#include "profile/builtin.h"
#include "profile/find.h"
#include "session/artifact.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <windows.h>

// ---- names ----

// One for each session, of plain letters: it becomes part of the names of collectors.
static void make_instance(const char *name, char instance[96]) {
	char plain[48];
	size_t length = 0;
	for (; *name && length + 1 < sizeof(plain); name++)
		plain[length++] = isalnum((unsigned char)*name) ? *name : '_';
	plain[length] = 0;
	snprintf(instance, 96, "tracelet_%s_%lu_%llu", plain, GetCurrentProcessId(),
		 (unsigned long long)GetTickCount64());
}

// What held the name while there was no .etl file.
static void free_name(const struct state *state) {
	if (*state->spool)
		system_unlink(state->spool);
}

static int reserve_name(struct wpr_session *session) {
	const char *folder = session->settings->output_dir;
	char *stem = NULL;
	int fd = artifact_make_dir(folder);
	// The session may be ended from another folder.
	CLEANUP_FREE char *absolute = fd ? NULL : system_absolute(folder);
	if (!fd)
		fd = artifact_reserve(session->state.operation && absolute ? absolute : folder, session->name,
				      &stem);
	if (fd < 0)
		return fd;
	close(fd);
	snprintf(session->state.artifact, sizeof(session->state.artifact), "%s.etl", stem);
	snprintf(session->state.spool, sizeof(session->state.spool), "%s.spool", stem);
	free(stem);
	return 0;
}

// ---- the profile ----

// A built-in profile as a file for wpr.exe, to be deleted; NULL: it cannot be written.
static char *export_profile(const struct builtin *builtin, size_t number) {
	wchar_t folder[MAX_PATH + 1];
	struct plan plan;
	struct buffer text = {0};
	struct output output;
	if (!GetTempPathW(MAX_PATH, folder))
		return NULL;
	CLEANUP_FREE char *utf8 = system_utf8(folder);
	char *path = memory_format("%stracelet-%lu-%zu.wprp", utf8, GetCurrentProcessId(), number);
	builtin_plan(builtin, MODE_FILE, &plan);
	plan_export(&plan, &text);
	plan_free(&plan);
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (!error) {
		output_write(&output, text.data, text.size);
		error = output_commit(&output);
	}
	buffer_free(&text);
	if (error) {
		free(path);
		return NULL;
	}
	return path;
}

// Ours may end in .File or .Memory, which wpr.exe says with -filemode.
static void cut_mode(char *profile) {
	static const char *const modes[] = {".File", ".Memory"};
	size_t length = strlen(profile);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		size_t mode = strlen(modes[i]);
		if (strchr(profile, '!') && length > mode &&
		    strcasecmp(profile + length - mode, modes[i]) == 0)
			profile[length - mode] = 0;
	}
}

struct chosen {
	ARRAY(char *) profiles; // as wpr.exe takes them
	ARRAY(char *) exported; // files of ours, to be deleted
};

static void choose(struct chosen *chosen, const char *text) {
	for (bool more = true; more;) {
		size_t length = profile_first(text);
		char *profile = memory_format("%.*s", (int)length, text);
		const struct builtin *builtin = builtin_find(profile);
		char *exported = builtin ? export_profile(builtin, chosen->exported.count) : NULL;
		if (exported) {
			free(profile);
			profile = memory_string(exported);
			array_push(&chosen->exported, exported);
		} else {
			cut_mode(profile);
		}
		array_push(&chosen->profiles, profile);
		more = text[length];
		text += length + more;
	}
}

static void chosen_free(struct chosen *chosen) {
	for (size_t i = 0; i < chosen->exported.count; i++) {
		system_unlink(chosen->exported.items[i]);
		free(chosen->exported.items[i]);
	}
	for (size_t i = 0; i < chosen->profiles.count; i++)
		free(chosen->profiles.items[i]);
	array_free(&chosen->exported);
	array_free(&chosen->profiles);
}

// ---- the beginning ----

// All who wait try again at times of their own.
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
			log_warning("%s: waiting for a collector, at most %g s: %s", session->name, limit,
				    words);
		Sleep((DWORD)MIN((double)pause_before(attempt), (limit - waited) * 1000 + 1));
	}
	return true;
}

bool wpr_session_begin(struct wpr_session *session, bool operation, char why[2048]) {
	const struct settings *settings = session->settings;
	struct state *state = &session->state;
	struct wpr_answer answer;
	*state = (struct state){.operation = operation};
	snprintf(state->name, sizeof(state->name), "%s", session->name);
	snprintf(state->profile, sizeof(state->profile), "%s", settings->profile);
	make_instance(session->name, state->instance);
	int error = reserve_name(session);
	if (error) {
		snprintf(why, 2048, "cannot write to %s: %s", settings->output_dir, strerror(-error));
		return false;
	}
	struct chosen chosen = {0};
	choose(&chosen, settings->profile);
	session->active = start(&chosen, session, &answer);
	chosen_free(&chosen);
	if (session->active)
		return true;
	wpr_words(&answer, why, 2048);
	if (answer.timed_out) // it may have come so far that a collector runs
		wpr_cancel(state->instance, &answer);
	free_name(state);
	return false;
}

// ---- the end ----

// Under another name until it is whole.
bool wpr_session_save(const struct state *state, char why[2048]) {
	struct wpr_answer answer;
	struct stat status;
	CLEANUP_FREE char *folder = system_absolute(state->spool); // it exists, so this is its folder
	*why = 0;
	size_t length = folder ? strlen(folder) : 0;
	CLEANUP_FREE char *part = length > 6 ? memory_format("%.*s.part.etl", (int)length - 6, folder)
					     : memory_format("%s.part.etl", state->artifact);
	bool stopped = wpr_stop(part, state->instance, &answer);
	if (!stopped)
		wpr_words(&answer, why, 2048);
	if (answer.timed_out)
		wpr_cancel(state->instance, &answer);
	bool made = system_stat(part, &status) == 0 && status.st_size > 0;
	if (stopped && !made)
		snprintf(why, 2048, "wpr.exe has left no file");
	// Sometimes it complains of a provider only now, and the rest is there.
	made = made && (stopped || (int)answer.code == WPR_NO_PROVIDER);
	if (made && system_rename(part, state->artifact, false)) {
		snprintf(why, 2048, "%s: cannot be written: %s", state->artifact, strerror(errno));
		made = false;
	}
	if (!made)
		system_unlink(part);
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
