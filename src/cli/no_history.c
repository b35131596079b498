// In place of history.c and store.c in the agent for guests, which must be small and has no SQLite: the host
// has the manifests.
#include "base/log.h"
#include "cli/verb.h"
#include "history/glance.h"

static int run(int argc, char **argv, const struct verb *verb) {
	log_error("the agent keeps no history; ask on the host");
	return EXIT_USAGE;
}

const struct verb verb_history = {.name = "history",
				  .family = FAMILY_RESULTS,
				  .summary = "not in the agent; ask on the host",
				  .usage = "tracelet history",
				  .run = run};

const struct verb verb_store = {.name = "store",
				.family = FAMILY_RESULTS,
				.summary = "not in the agent; push from the host",
				.usage = "tracelet store",
				.run = run};

char *history_glance(const char *folder, const struct manifest_record *record) {
	return NULL;
}
