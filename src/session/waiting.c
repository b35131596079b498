#include "session/waiting.h"
#include "base/log.h"

// Different clocks may disagree by this many seconds.
#define CLOCKS_DIFFER 0.05

// True if nothing is left, or if we stop waiting for it.
static bool wait_for_tree(const struct settings *settings, const struct waiting *waiting, double passed) {
	double timeout = settings->timeout, most = settings->wait_tree;
	double left = timeout > 0 ? MAX(timeout - passed, 0.001) : 0;
	bool limited = left > 0 && (most == 0 || left < most);
	if (waiting->tree(waiting->context, limited ? left : most))
		return true;
	if (limited && waiting->elapsed(waiting->context) >= timeout - CLOCKS_DIFFER)
		return false;
	log_warning("processes of the test are still running; the trace ends here (--wait-tree)");
	return true;
}

bool waiting_for_end(const struct settings *settings, const struct waiting *waiting, struct test_end *end,
		     bool *test_ended) {
	*test_ended = waiting->test(waiting->context, settings->timeout);
	end->wall_seconds = waiting->elapsed(waiting->context);
	if (!*test_ended)
		return false;
	return settings->wait_tree < 0 || wait_for_tree(settings, waiting, end->wall_seconds);
}

bool waiting_is_over(const struct settings *settings, const char *test, const char *what, size_t processes) {
	bool saving = settings->keep != KEEP_NEVER;
	log_error("%s: time limit of %g s reached; %s%s%sending it (processes: %zu)", test, settings->timeout,
		  saving ? "saving " : "", saving ? what : "", saving ? ", " : "", processes);
	return saving;
}
