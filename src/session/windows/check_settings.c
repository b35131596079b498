// WPR knows its profiles by itself; what else can be asked for is for Linux, and is said here.
#include "session/check_settings.h"
#include "base/log.h"
#include "base/system.h"
#include "capture/sources.h"
#include "session/choose_profile.h"

// All others mean nothing to WPR.
static const enum setting_id here[] = {
	SETTING_ENABLED, SETTING_NAME,        SETTING_VARIANT,   SETTING_OUTPUT_DIR, SETTING_PROFILE,
	SETTING_SCOPE,   SETTING_TYPE,        SETTING_WAIT_TREE, SETTING_TIMEOUT,    SETTING_TIMEOUT_STATUS,
	SETTING_CORE,    SETTING_CORE_LIMIT,  SETTING_KEEP,      SETTING_MAX_AGE,    SETTING_MAX_TOTAL_SIZE,
	SETTING_JSON,    SETTING_ATTACHMENTS, SETTING_STRICT,    SETTING_QUIET,      SETTING_VERBOSE,
};

static bool is_here(enum setting_id id) {
	for (size_t i = 0; i < ARRAY_SIZE(here); i++)
		if (here[i] == id)
			return true;
	return false;
}

// Where a flag has asked for one: files and variables may be the same for all systems.
bool check_settings(const struct settings *settings) {
	struct buffer names = {0};
	for (enum setting_id id = 0; id < SETTING_COUNT; id++)
		if (settings->origins[id] == FROM_FLAG && !is_here(id))
			buffer_printf(&names, "%s--%s", names.size ? ", " : "", setting_name(id));
	if (settings->origins[SETTING_SCOPE] == FROM_FLAG && settings->scope == SCOPE_TREE)
		buffer_printf(&names, "%s--scope tree", names.size ? ", " : "");
	if (names.size && !system_variable(CHOICE_TOLD))
		log_warning("not on Windows, where the profile decides: %.*s", (int)names.size,
			    (char *)names.data);
	buffer_free(&names);
	return true;
}

const char *source_why_not(int source) {
	return NULL;
}
