// What WPR's schema requires beyond what resolving a file needs: order, Ids, and that every profile
// records something.
#include "profile/wprp.h"

#define FIND(file, findings, node, ...) findings_add(findings, AT(file, node), __VA_ARGS__)

static int order_of(const struct wprp *file, uint32_t node) {
	for (int i = 0; wprp_order[i]; i++)
		if (xml_is(&file->xml, node, wprp_order[i]))
			return i;
	return -1;
}

static void check_order(struct wprp *file, struct findings *findings) {
	int last = 0;
	XML_EACH_CHILD(child, &file->xml, file->top) {
		int order = order_of(file, child);
		if (order < 0)
			FIND(file, findings, child, "<%.64s> does not belong under <Profiles>",
			     xml_node(&file->xml, child)->name);
		else if (order < last)
			FIND(file, findings, child, "<%s> must come before <%s>", wprp_order[order],
			     wprp_order[last]);
		else
			last = order;
	}
}

static void check_ids(struct wprp *file, struct findings *findings) {
	XML_EACH_CHILD(child, &file->xml, file->top) {
		const char *id = xml_value(&file->xml, child, "Id");
		if (order_of(file, child) < 0 || xml_is(&file->xml, child, "TraceMergeProperties"))
			continue;
		const char *name = xml_node(&file->xml, child)->name;
		uint64_t *first = id ? map_get(&file->ids, hash_bytes(id, strlen(id))) : NULL;
		if (!id || !*id)
			FIND(file, findings, child, "<%s> has no Id", name);
		else if (first && *first != child)
			FIND(file, findings, child, "the Id '%.64s' is already used in line %u", id,
			     xml_node(&file->xml, (uint32_t)*first)->line);
	}
}

static void check_profile(struct wprp *file, uint32_t profile, struct findings *findings) {
	struct plan plan;
	struct wprp_id parts;
	const char *id = xml_value(&file->xml, profile, "Id");
	if (!wprp_profile_id(file, profile, &parts)) {
		FIND(file, findings, profile,
		     "a Profile needs Name, DetailLevel (Light, Verbose) and LoggingMode (File, Memory)");
		return;
	}
	CLEANUP_FREE char *wanted = memory_format("%.256s.%s.%s", parts.name, plan_detail_names[parts.detail],
						  plan_mode_names[parts.mode]);
	if (id && strcmp(id, wanted) != 0)
		FIND(file, findings, profile, "the Id '%.64s' should be '%.128s'", id, wanted);
	if (wprp_plan(file, profile, &plan, findings))
		plan_free(&plan);
}

static bool before(const struct finding *a, const struct finding *b) {
	return a->line < b->line || (a->line == b->line && a->column < b->column);
}

// Sorts by line and removes duplicates: a provider that several profiles use is checked several
// times.
static void sort_findings(struct findings *findings) {
	struct finding *items = findings->list.items;
	size_t kept = 0;
	for (size_t i = 1; i < findings->list.count; i++)
		for (size_t k = i; k > 0 && before(&items[k], &items[k - 1]); k--) {
			struct finding swapped = items[k];
			items[k] = items[k - 1];
			items[k - 1] = swapped;
		}
	for (size_t i = 0; i < findings->list.count; i++) {
		bool same = kept && items[kept - 1].line == items[i].line &&
			    items[kept - 1].column == items[i].column &&
			    strcmp(items[kept - 1].text, items[i].text) == 0;
		if (same)
			free(items[i].text);
		else
			items[kept++] = items[i];
	}
	findings->list.count = kept;
}

void wprp_check(struct wprp *file, struct findings *findings) {
	check_order(file, findings);
	check_ids(file, findings);
	for (size_t i = 0; i < file->profiles.count; i++)
		check_profile(file, file->profiles.items[i], findings);
	sort_findings(findings);
}
