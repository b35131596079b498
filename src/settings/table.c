// Instantiates settings.def.
#include "settings/table.h"
#include "format/collector_wire.h"
#include "settings/variant.h"

#include <string.h>
#include <strings.h>

// OpenVMM's rule: what is not plainly "yes" is "no".
static bool openvmm_enabled(const char *text, const char **value) {
	*value = strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0 ? "yes" : "no";
	return true;
}

static bool openvmm_profile(const char *text, const char **value) {
	*value = !*text || strcasecmp(text, "embedded") == 0 ? "embedded" : text;
	return true;
}

static bool openvmm_folder(const char *text, const char **value) {
	*value = text;
	return *text;
}

static const char *const enabled_choices[] = {
	[ENABLED_NO] = "no", [ENABLED_YES] = "yes", [ENABLED_AUTO] = "auto", NULL};
static const char *const keep_choices[] = {
	[KEEP_ALWAYS] = "always", [KEEP_FAILED] = "failed", [KEEP_NEVER] = "never", NULL};
static const char *const report_choices[] = {
	[PAGE_FOR_NONE] = "never", [PAGE_FOR_FAILED] = "failed", [PAGE_FOR_ALL] = "always", NULL};
static const char *const scope_choices[] = {[SCOPE_TREE] = "tree", [SCOPE_SYSTEM] = "system", NULL};
static const char *const type_choices[] = {[RECORD_TO_FILE] = "file", [RECORD_TO_MEMORY] = "memory", NULL};
static const char *const collector_choices[] = {
	[COLLECTOR_AUTO] = "auto", [COLLECTOR_NEVER] = "never", [COLLECTOR_REQUIRED] = "require", NULL};
static const char *const call_graph_choices[] = {
	[CALL_GRAPH_AUTO] = "auto", [CALL_GRAPH_FP] = "fp", [CALL_GRAPH_DWARF] = "dwarf", NULL};

const struct setting setting_table[SETTING_COUNT] = {
#define SETTING(id, field, text, kind, ...)                                                                  \
	[SETTING_##id] = {                                                                                   \
		.name = text, .type = TYPE_##kind, .offset = offsetof(struct settings, field), __VA_ARGS__},
#include "settings/settings.def"
#undef SETTING
};

const char *const *setting_choices(const struct setting *setting) {
	static const char *const yes_no[] = {"yes", "no", NULL};
	return setting->type == TYPE_YES_NO ? yes_no : setting->choices;
}

// 'a', 'b' or 'c'
static void choices_text(const char *const *choices, struct buffer *text) {
	for (size_t i = 0; choices[i]; i++)
		buffer_printf(text, "%s'%s'", !i ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
}

void setting_wanted(const struct setting *setting, struct buffer *text) {
	const char *const *choices = setting_choices(setting);
	if (setting->wanted)
		buffer_printf(text, "%s", setting->wanted);
	else if (choices)
		choices_text(choices, text);
	else
		buffer_printf(text, "seconds");
}
