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
	size_t found = 0;
	struct buffer names = {0};
	int error = operation_list(&sessions);
	for (size_t i = 0; i < sessions.count; i++) {
		const struct state *candidate = &sessions.items[i];
		char number[16];
		snprintf(number, sizeof(number), "%d", (int)candidate->pid);
		if ((!candidate->operation && !tests_too) ||
		    (name && strcmp(name, candidate->name) != 0 && strcmp(name, number) != 0))
			continue;
		*session = *candidate;
		buffer_printf(&names, "%s%s (%d)", found++ ? ", " : "", candidate->name, (int)candidate->pid);
	}
	if (error)
		log_error("the state of sessions cannot be read: %s", strerror(-error));
	else if (!found && name)
		log_error("no session %s is recording ('tracelet status' lists them)", name);
	else if (!found)
		log_error("no session is recording");
	else if (found > 1)
		log_error("several sessions are recording, say which by name or number: %.*s",
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
			continue; // what is left of it has been said
		if (answer.error)
			log_warning("%s was being recorded: %s", name, answer.said);
		else
			log_warning("%s was being recorded; saved: %s", name, answer.path);
	}
	array_free(&sessions);
	return error;
}
