// A mark on Windows: WPR puts it into the recording.
#include "base/log.h"
#include "base/system.h"
#include "capture/wpr/wpr.h"
#include "cli/mark.h"
#include "session/operation.h"

#include <errno.h>
#include <string.h>

// The instance of the test that we are part of or, without one, the operation that is meant. 0, or an
// exit status.
static int find_instance(const char *name, char instance[96]) {
	static const char prefix[] = MARKS_OF_WPR;
	const char *marks = system_variable("TRACELET_MARKS");
	char safe[ARTIFACT_NAME_SIZE];
	struct state session;
	if (!name && marks && strncmp(marks, prefix, strlen(prefix)) == 0) {
		snprintf(instance, 96, "%s", marks + strlen(prefix));
		return 0;
	}
	if (name)
		artifact_safe_name(name, safe);
	int error = operation_find(name ? safe : NULL, false, &session);
	if (!error)
		memcpy(instance, session.instance, sizeof(session.instance));
	return !error ? 0 : error == -EEXIST ? EXIT_USAGE : EXIT_FOUND;
}

int mark_put(const char *session, const char *text) {
	struct wpr_answer answer;
	char instance[96], words[1024];
	int status = find_instance(session, instance);
	if (status || wpr_marker(text, instance, &answer))
		return status;
	wpr_words(&answer, words, sizeof(words));
	log_error("no mark: %s", words);
	return EXIT_FOUND;
}
