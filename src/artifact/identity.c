#include "artifact/identity.h"
#include "artifact/source.h"
#include "base/uuid.h"

#include <string.h>

// Takes a text over, if there is one.
#define PUT_KEPT(record, member, text)                                                                       \
	do {                                                                                                 \
		if (text)                                                                                    \
			MANIFEST_PUT(record, member, manifest_keep(record, memory_string(text)));            \
	} while (0)

static void put_names(struct manifest_record *record, const struct settings *settings,
		      const struct source *source) {
	const char *project = settings && settings->project ? settings->project : source->project;
	const char *run = settings && settings->run ? settings->run : source->run;
	PUT_KEPT(record, run, run);
	PUT_KEPT(record, project, project);
	if (settings) {
		PUT_KEPT(record, suite, settings->suite);
		PUT_KEPT(record, machine_class, settings->machine_class);
	}
}

static bool looked, dirty; // a program may have thousands of cases, each with a line

void identity_look(void) {
	if (!looked)
		dirty = source_is_dirty(".");
	looked = true;
}

void identity_put(struct manifest_record *record, const struct settings *settings) {
	char session[UUID_SIZE];
	struct source source;
	identity_look();
	uuid_new(session);
	source_find(&source, ".");
	MANIFEST_PUT(record, version, MANIFEST_VERSION);
	MANIFEST_PUT(record, session, manifest_keep(record, memory_string(session)));
	put_names(record, settings, &source);
	if (source.attempt)
		MANIFEST_PUT(record, attempt, source.attempt);
	PUT_KEPT(record, source_commit, source.commit);
	PUT_KEPT(record, source_branch, source.branch);
	PUT_KEPT(record, source_head, source.head);
	PUT_KEPT(record, source_change, source.change);
	if (source.fork)
		MANIFEST_PUT(record, source_fork, true);
	if (dirty)
		MANIFEST_PUT(record, source_dirty, true);
	PUT_KEPT(record, source_ci, source.ci);
	PUT_KEPT(record, source_job, source.job);
	source_free(&source);
}
