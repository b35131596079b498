// WPR reads its profiles itself; a warning names options that work only on Linux.
#include "base/log.h"
#include "base/system.h"
#include "capture/sources.h"
#include "process/child.h"
#include "session/check_settings.h"
#include "session/choose_profile.h"
#include "settings/table.h"

// Only flags: files and variables may be shared by several systems.
bool check_settings(const struct settings *settings) {
	struct buffer names = {0};
	for (enum setting_id id = 0; id < SETTING_COUNT; id++)
		if (settings->origins[id] == FROM_FLAG && !setting_table[id].windows)
			buffer_printf(&names, "%s--%s", names.size ? ", " : "", setting_name(id));
	if (settings->origins[SETTING_SCOPE] == FROM_FLAG && settings->scope == SCOPE_TREE)
		buffer_printf(&names, "%s--scope tree", names.size ? ", " : "");
	if (names.size && !system_variable(CHILD_REPORTED))
		log_warning("ignored on Windows, where the profile decides: %.*s", (int)names.size,
			    (char *)names.data);
	buffer_free(&names);
	return true;
}

const char *source_why_not(int source) {
	return NULL;
}

bool check_user(const struct settings *settings) {
	return true;
}
