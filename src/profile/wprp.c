#include "profile/wprp.h"

#include <strings.h>

const char *const wprp_order[] = {"SystemCollector",      "EventCollector",
				  "HeapEventCollector",   "HypervisorEventCollector",
				  "SystemProvider",       "MicroArchitecturalConfig",
				  "HardwareCounter",      "EventProvider",
				  "HeapEventProvider",    "Profile",
				  "TraceMergeProperties", NULL};

static bool has_id(const struct wprp *file, uint32_t node) {
	for (size_t i = 0; wprp_order[i]; i++)
		if (xml_is(&file->xml, node, wprp_order[i]))
			return xml_value(&file->xml, node, "Id") != NULL;
	return false;
}

static void index_ids(struct wprp *file) {
	for (uint32_t node = 1; node < file->xml.nodes.count; node++) {
		if (!has_id(file, node))
			continue;
		const char *id = xml_value(&file->xml, node, "Id");
		uint64_t *place = map_put(&file->ids, hash_bytes(id, strlen(id)));
		if (!*place)
			*place = node;
	}
}

uint32_t wprp_find(const struct wprp *file, const char *element, const char *id) {
	const uint64_t *place = map_get(&file->ids, hash_bytes(id, strlen(id)));
	return place && xml_is(&file->xml, (uint32_t)*place, element) ? (uint32_t)*place : 0;
}

bool wprp_open(struct wprp *file, const void *bytes, size_t size, struct findings *findings) {
	*file = (struct wprp){0};
	if (!xml_parse(&file->xml, bytes, size, findings))
		return false;
	if (!xml_is(&file->xml, 1, "WindowsPerformanceRecorder")) {
		findings_add(findings, AT(file, 1), "<%.64s> is not <WindowsPerformanceRecorder>",
			     xml_node(&file->xml, 1)->name);
		wprp_free(file);
		return false;
	}
	XML_EACH_CHILD(child, &file->xml, 1)
	if (!file->top && xml_is(&file->xml, child, "Profiles"))
		file->top = child;
	if (file->top)
		XML_EACH_CHILD(child, &file->xml, file->top)
	if (xml_is(&file->xml, child, "Profile"))
		array_push(&file->profiles, child);
	if (!file->profiles.count) {
		findings_add(findings, AT(file, file->top ? file->top : 1), "it has no <Profile>");
		wprp_free(file);
		return false;
	}
	index_ids(file);
	return true;
}

void wprp_free(struct wprp *file) {
	xml_free(&file->xml);
	map_free(&file->ids);
	array_free(&file->profiles);
}

// ---- selection ----

static int place_of(const char *const *names, int count, const char *text) {
	for (int i = 0; text && i < count; i++)
		if (strcasecmp(names[i], text) == 0)
			return i;
	return -1;
}

bool wprp_profile_id(const struct wprp *file, uint32_t profile, struct wprp_id *id) {
	int detail = place_of(plan_detail_names, 2, xml_value(&file->xml, profile, "DetailLevel"));
	int mode = place_of(plan_mode_names, 2, xml_value(&file->xml, profile, "LoggingMode"));
	const char *name = xml_value(&file->xml, profile, "Name");
	if (detail < 0 || mode < 0 || !name)
		return false;
	*id = (struct wprp_id){name, (enum plan_detail)detail, (enum plan_mode)mode};
	return true;
}

// Cuts ".Light" or the like from the end of `text`; -1 if there is no such suffix.
static int cut_suffix(char *text, const char *const *names) {
	char *dot = strrchr(text, '.');
	int place = dot ? place_of(names, 2, dot + 1) : -1;
	if (place >= 0)
		*dot = 0;
	return place;
}

// How well a profile fits; 0 if not at all.
static unsigned fit(const struct wprp_id *id, const char *name, int detail, int mode, enum plan_mode wanted) {
	if (strcasecmp(id->name, name) != 0 || (detail >= 0 && (int)id->detail != detail) ||
	    (mode >= 0 && (int)id->mode != mode))
		return 0;
	return 1 + 2 * (id->detail == DETAIL_VERBOSE) + (id->mode == wanted);
}

static uint32_t best_fit(const struct wprp *file, const char *name, int detail, int mode,
			 enum plan_mode wanted) {
	uint32_t best = 0;
	unsigned best_fit = 0;
	for (size_t i = 0; i < file->profiles.count; i++) {
		struct wprp_id id;
		unsigned found = wprp_profile_id(file, file->profiles.items[i], &id)
					 ? fit(&id, name, detail, mode, wanted)
					 : 0;
		if (found > best_fit) {
			best_fit = found;
			best = file->profiles.items[i];
		}
	}
	return best;
}

static void say_not_there(const struct wprp *file, const char *selection, struct findings *findings) {
	enum { MOST_NAMES = 10 };
	struct buffer names = {0};
	for (size_t i = 0; i < MIN(file->profiles.count, MOST_NAMES); i++) {
		const char *id = xml_value(&file->xml, file->profiles.items[i], "Id");
		buffer_printf(&names, "%s%.64s", i ? ", " : "", id ? id : "?");
	}
	findings_add(findings, 0, 0, "it has no profile '%.64s'; it has %.*s%s", selection, (int)names.size,
		     (char *)names.data, file->profiles.count > MOST_NAMES ? ", ..." : "");
	buffer_free(&names);
}

bool wprp_select(struct wprp *file, const char *selection, enum plan_mode wanted, struct plan *plan,
		 struct findings *findings) {
	uint32_t first = file->profiles.items[0];
	struct wprp_id id;
	if (!selection && !wprp_profile_id(file, first, &id)) {
		findings_add(
			findings, AT(file, first),
			"a Profile needs Name, DetailLevel (Light, Verbose) and LoggingMode (File, Memory)");
		return false;
	}
	CLEANUP_FREE char *name = memory_string(selection ? selection : id.name);
	// A name may itself contain dots.
	uint32_t found = best_fit(file, name, -1, -1, wanted);
	if (!found) {
		int mode = cut_suffix(name, plan_mode_names), detail = cut_suffix(name, plan_detail_names);
		found = best_fit(file, name, detail, mode, wanted);
	}
	if (!found) {
		say_not_there(file, selection ? selection : id.name, findings);
		return false;
	}
	return wprp_plan(file, found, plan, findings);
}
