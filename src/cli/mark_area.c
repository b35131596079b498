// On Linux a mark is written by the same client code as a test's own. It belongs to the test as a whole, not
// to this short-lived process.
#include "base/log.h"
#include "cli/mark.h"
#include "session/operation.h"
#include "tracelet/mark.h"

#include <errno.h>

// The area that TRACELET_MARKS names; another one than at the start of this process.
static void attach_to(const char *marks) {
	setenv("TRACELET_MARKS", marks, 1);
	tl_mark_process.tried = 0;
	tl_mark_attach();
}

// The operation of this name or, without one, the only one there is. 0, or an exit status.
static int find_operation(const char *name) {
	char safe[ARTIFACT_NAME_SIZE];
	struct state session;
	if (name)
		artifact_safe_name(name, safe);
	int error = operation_find(name ? safe : NULL, false, &session);
	if (error)
		return error == -EEXIST ? EXIT_USAGE : EXIT_FOUND;
	attach_to(session.marks);
	return 0;
}

static bool is_recorded(void) {
	return !tl_mark_off && tl_mark_process.area &&
	       __atomic_load_n(&tl_mark_process.area->recording, __ATOMIC_RELAXED);
}

int mark_put(const char *session, const char *text) {
	int status = session || !is_recorded() ? find_operation(session) : 0;
	if (status)
		return status;
	if (!is_recorded()) {
		log_error("the session does not accept marks from this process");
		return EXIT_FOUND;
	}
	tl_mark_write(TL_MARK_INSTANT | TL_MARK_ABOUT_ALL >> 16, text, 0);
	return 0;
}
