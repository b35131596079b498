// A session whose tracer is gone: it was killed, or the machine was restarted. What it had recorded becomes a
// trace, with its line in the manifest.
#include "base/log.h"
#include "flow/convert.h"
#include "session/census.h"
#include "session/finish.h"
#include "session/leftover.h"
#include "session/operation.h"
#include "session/recording_facts.h"

#include <stdio.h>
#include <string.h>

static void note(const struct state *session, const struct conversion_result *result,
		 const struct census *census) {
	struct finish finish;
	CLEANUP_FREE char *folder = memory_string(session->artifact);
	*strrchr(folder, '/') = 0;
	struct settings settings = {
		.output_dir = folder,
		.scope = census->scope && strcmp(census->scope, "system") == 0 ? SCOPE_SYSTEM : SCOPE_TREE};
	struct test_end end = {.operation = session->operation,
			       .abandoned = true,
			       .started = {.tv_sec = (time_t)session->since},
			       .wall_seconds = (double)(result->tally.last - result->tally.first) / 1e9};
	finish_open(&finish, &settings, session->name);
	finish_end(&finish, &end);
	MANIFEST_PUT(&finish.record, backend, census->backend);
	finish_add_trace(&finish, "perfetto", session->artifact, result->size, result->sha256);
	facts_put_counts(&finish.record, &result->tally, &(struct capture_totals){0});
	if (settings.scope == SCOPE_TREE)
		facts_put_census(&finish.record, census, false);
	finish_note(&finish);
	finish_free(&finish);
}

static void recover(const struct state *session, const struct leftover *spool) {
	struct conversion_result result = {0};
	struct census census = {0};
	struct conversion conversion = {.input = spool->path,
					.output = session->artifact,
					.reader = &spool_reader,
					.writer = &perfetto_writer,
					.mode = OUTPUT_CREATE,
					.summed = true};
	conversion_tap(&conversion, census_tap(&census));
	if (convert(&conversion, &result) == 0) {
		note(session, &result, &census);
		leftover_delete(spool);
		log_warning("the tracer of %s died; recovered what it had recorded: %s", session->name,
			    session->artifact);
	} else {
		log_warning("the tracer of %s died; its raw recording: %s", session->name, session->spool);
	}
	census_free(&census);
}

void operation_clean_up(const struct state *session) {
	if (!state_remove(session))
		return; // another controller is doing it
	if (!session->operation && state_system_waits(session))
		return; // the process that ran the test knows, and reports it
	struct leftover spool;
	if (*session->artifact == '/' && leftover_open(&spool, session)) {
		recover(session, &spool);
		leftover_close(&spool);
	} else if (session->operation) {
		log_warning("the tracer of %s died and left nothing that is certainly its own",
			    session->name);
	}
}
