#include "session/operation.h"
#include "base/buffer.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>

int operation_list(state_array *sessions) {
	state_array all = {0};
	int error = state_list(&all);
	for (size_t i = 0; !error && i < all.count; i++) {
		if (all.items[i].stale)
			operation_clean_up(&all.items[i]);
		else
			array_push(sessions, all.items[i]);
	}
	array_free(&all);
	return error;
}

int operation_find(const char *name, bool tests_too, struct state *session) {
	state_array sessions = {0};
	size_t found = 0, tests = 0;
	struct buffer names = {0};
	int error = operation_list(&sessions);
	for (size_t i = 0; i < sessions.count; i++) {
		const struct state *candidate = &sessions.items[i];
		char number[16];
		snprintf(number, sizeof(number), "%d", (int)candidate->pid);
		if (name && strcmp(name, candidate->name) != 0 && strcmp(name, number) != 0)
			continue;
		if (!candidate->operation && !tests_too) {
			tests += name != NULL;
			continue;
		}
		*session = *candidate;
		buffer_printf(&names, "%s%s (%d)", found++ ? ", " : "", candidate->name, (int)candidate->pid);
	}
	if (error)
		log_error("cannot read the state of sessions: %s", strerror(-error));
	else if (!found && tests)
		log_error("%s is a test: its recording ends when the test ends ('tracelet snapshot %s' saves "
			  "what it has so far)",
			  name, name);
	else if (!found && name)
		log_error("no session %s is recording ('tracelet status' lists them)", name);
	else if (!found)
		log_error("no session is recording");
	else if (found > 1)
		log_error("several sessions are recording; choose one by name or process id: %.*s",
			  (int)names.size, (char *)names.data);
	array_free(&sessions);
	buffer_free(&names);
	return error ? error : found == 0 ? -ENOENT : found > 1 ? -EEXIST : 0;
}

int operation_stop_earlier(const char *name) {
	state_array sessions = {0};
	int error = operation_list(&sessions);
	for (size_t i = 0; !error && i < sessions.count; i++) {
		const struct state *session = &sessions.items[i];
		struct control_answer answer;
		if (!session->operation || strcmp(session->name, name) != 0)
			continue;
		if (operation_stop(session, CONTROL_STOP, &answer))
			continue; // what is left of it has been reported
		if (answer.error)
			log_warning("an earlier recording of %s was stopped: %s", name, answer.said);
		else
			log_warning("an earlier recording of %s was stopped and saved: %s", name,
				    answer.path);
	}
	array_free(&sessions);
	return error;
}
