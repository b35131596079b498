// On Windows wpr.exe reads the profile. What can be said before is said here: that
// there is none, or that it is broken.
#include "session/choose_profile.h"
#include "base/log.h"
#include "base/system.h"
#include "profile/builtin.h"
#include "profile/find.h"

#include <string.h>

// What costs more on Linux is WPR's daily work.
static const char *whole_one(void) {
	return builtins[BUILTIN_EMBEDDED].name;
}

bool choose_profile(struct settings *settings) {
	struct plan plan;
	struct findings findings = {0};
	CLEANUP_FREE char *path = NULL;
	if (strcmp(settings->profile, builtins[BUILTIN_DEFAULT].name) == 0)
		settings->profile = whole_one();
	enum plan_mode mode = settings->type == RECORD_TO_MEMORY ? MODE_MEMORY : MODE_FILE;
	bool found = profile_find(settings->profile, mode, &plan, &findings, &path);
	if (findings.list.count) {
		CLEANUP_FREE char *line = finding_line(&findings.list.items[0],
						       path ? path : settings->profile);
		if (!found && settings->strict)
			log_error("profile %s; --strict: nothing is run", line);
		else
			log_warning("profile %s%s%s", line, found ? "" : "; recording with ",
				    found ? "" : whole_one());
	}
	findings_free(&findings);
	if (found)
		plan_free(&plan);
	else if (!settings->strict)
		settings->profile = whole_one();
	return found || !settings->strict;
}
