#include "profile/plan.h"
#include "base/json.h"
#include "profile/sizes.h"
#include "profile/stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const plan_detail_names[] = {[DETAIL_LIGHT] = "Light", [DETAIL_VERBOSE] = "Verbose"};
const char *const plan_mode_names[] = {[MODE_FILE] = "File", [MODE_MEMORY] = "Memory"};
const char *const plan_collector_names[] = {[COLLECTOR_SYSTEM] = "SystemCollector",
					    [COLLECTOR_EVENT] = "EventCollector",
					    [COLLECTOR_HEAP] = "HeapEventCollector",
					    [COLLECTOR_HYPERVISOR] = "HypervisorEventCollector"};

void plan_free(struct plan *plan) {
	for (size_t i = 0; i < plan->collectors.count; i++) {
		free(plan->collectors.items[i].id);
		free(plan->collectors.items[i].name);
	}
	for (size_t i = 0; i < plan->providers.count; i++) {
		free(plan->providers.items[i].id);
		free(plan->providers.items[i].name);
		free(plan->providers.items[i].collector);
	}
	array_free(&plan->collectors);
	array_free(&plan->providers);
	free(plan->name);
	free(plan->file);
	*plan = (struct plan){0};
}

bool plan_wants(const struct plan *plan, int source) {
	for (int i = 0; i < KEYWORD_COUNT; i++)
		if (plan->keywords[i] && keyword_asks_for(&system_keywords[i], source))
			return true;
	return false;
}

void plan_missing(const struct plan *plan, struct buffer *text) {
	for (int i = 0; i < KEYWORD_COUNT; i++)
		if (plan->keywords[i] && !keyword_recorded(&system_keywords[i]))
			buffer_printf(text, "%s%s", text->size ? ", " : "", system_keywords[i].name);
}

// ---- for people ----

#ifdef _WIN32
static const bool by_wpr = true; // WPR knows all keywords
#else
static const bool by_wpr = false;
#endif

// Why this machine does not record what others do; NULL if it does.
static const char *reason_here(plan_why_not *why_not, const struct system_keyword *keyword) {
	int source = keyword_source(keyword);
	return why_not && source != NOT_RECORDED ? why_not(source) : NULL;
}

static const char *state_here(const struct system_keyword *keyword, const char *reason) {
	return by_wpr ? "recorded by WPR" : reason ? "not available" : keyword_state(keyword);
}

// The caller frees it.
static char *stack_here(const char *stack, plan_why_not *why_not) {
	struct buffer text = {0};
	if (by_wpr)
		buffer_printf(&text, "recorded by WPR");
	else
		stack_describe(stack, why_not, &text);
	buffer_append(&text, "", 1);
	return (char *)text.data;
}

static void show_keyword(plan_why_not *why_not, const struct system_keyword *keyword, struct buffer *text) {
	const char *reason = reason_here(why_not, keyword);
	buffer_printf(text, "  %-24s %s", keyword->name, state_here(keyword, reason));
	if (keyword->linux_events && !by_wpr)
		buffer_printf(text, ": %s", keyword->linux_events);
	if ((reason || keyword->part) && !by_wpr)
		buffer_printf(text, " (%s)", reason ? reason : keyword->part);
	buffer_printf(text, "\n");
}

static void show_collector(const struct plan_collector *collector, struct buffer *text) {
	buffer_printf(text, "  %-24s %u KB x %u%s", collector->id, collector->buffer_size, collector->buffers,
		      collector->buffers_percent ? " % of memory" : " buffers");
	if (collector->file_limit)
		buffer_printf(text, ", at most %u MB, %s", collector->file_limit,
			      collector->circular ? "overwriting the oldest events" : "then recording stops");
	buffer_printf(text, "\n");
}

static void show_provider(const struct plan_provider *provider, struct buffer *text) {
	buffer_printf(text, "  %-24s %s", provider->id, provider->name);
	if (provider->has_keywords)
		buffer_printf(text, ", keywords 0x%" PRIx64, provider->keywords);
	if (provider->level)
		buffer_printf(text, ", level %u", provider->level);
	buffer_printf(text, "%s\n", provider->stack ? ", stacks" : "");
}

void plan_show(const struct plan *plan, plan_why_not *why_not, struct buffer *text) {
	buffer_printf(text, "%s.%s.%s, %s\n", plan->name, plan_detail_names[plan->detail],
		      plan_mode_names[plan->mode], plan->file ? plan->file : "built in");
	if (!by_wpr)
		buffer_printf(text,
			      "\nrecorded with every profile: processes and threads, marks of the test\n");
	buffer_printf(text, "\nkeywords\n");
	for (int i = 0; i < KEYWORD_COUNT; i++)
		if (plan->keywords[i])
			show_keyword(why_not, &system_keywords[i], text);
	if (plan->custom_keywords)
		buffer_printf(text, "  0x%-22" PRIx32 " %s\n", plan->custom_keywords,
			      by_wpr ? "recorded by WPR" : "numbers have no meaning on Linux");
	bool heading = false;
	for (int i = 0; i < STACK_COUNT; i++)
		if (plan->stacks[i]) {
			CLEANUP_FREE char *state = stack_here(stack_names[i], why_not);
			buffer_printf(text, "%s  %-24s %s\n", heading ? "" : "\nstacks\n", stack_names[i],
				      state);
			heading = true;
		}
	if (plan->collectors.count)
		buffer_printf(text, "\ncollectors\n");
	for (size_t i = 0; i < plan->collectors.count; i++)
		show_collector(&plan->collectors.items[i], text);
	if (!by_wpr)
		plan_sizes_show(plan, text);
	if (plan->providers.count)
		buffer_printf(text, "\nevent providers (Windows; Linux has nothing like them)\n");
	for (size_t i = 0; i < plan->providers.count; i++)
		show_provider(&plan->providers.items[i], text);
}

// ---- for programs ----

static void json_keywords(const struct plan *plan, plan_why_not *why_not, struct json *json) {
	json_array(json, "keywords");
	for (int i = 0; i < KEYWORD_COUNT; i++) {
		const struct system_keyword *keyword = &system_keywords[i];
		if (!plan->keywords[i])
			continue;
		json_object(json, NULL);
		json_string(json, "name", keyword->name);
		json_string(json, "linux", keyword->linux_events);
		const char *reason = reason_here(why_not, keyword);
		json_bool(json, "recorded", by_wpr || (keyword_recorded(keyword) && !reason));
		json_string(json, "state", state_here(keyword, reason));
		if (reason)
			json_string(json, "reason", reason);
		json_string(json, "part", keyword->part);
		json_close_object(json);
	}
	json_close_array(json);
	json_uint(json, "custom_keywords", plan->custom_keywords);
	json_array(json, "stacks");
	for (int i = 0; i < STACK_COUNT; i++) {
		if (!plan->stacks[i])
			continue;
		json_object(json, NULL);
		json_string(json, "name", stack_names[i]);
		CLEANUP_FREE char *state = stack_here(stack_names[i], why_not);
		const struct system_stack *stack = stack_on_linux(stack_names[i]);
		json_bool(json, "recorded", by_wpr || (stack && !(why_not && why_not(stack->source))));
		json_string(json, "state", state);
		json_close_object(json);
	}
	json_close_array(json);
}

static void json_collector(const struct plan_collector *collector, struct json *json) {
	json_object(json, NULL);
	json_string(json, "id", collector->id);
	json_string(json, "name", collector->name);
	json_string(json, "kind", plan_collector_names[collector->kind]);
	json_uint(json, "buffer_size_kb", collector->buffer_size);
	json_uint(json, collector->buffers_percent ? "buffers_percent" : "buffers", collector->buffers);
	if (collector->file_limit) {
		json_uint(json, "file_limit_mb", collector->file_limit);
		json_bool(json, "circular", collector->circular);
	}
	json_close_object(json);
}

static void json_provider(const struct plan_provider *provider, struct json *json) {
	json_object(json, NULL);
	json_string(json, "id", provider->id);
	json_string(json, "name", provider->name);
	json_string(json, "collector", provider->collector);
	if (provider->has_keywords) {
		// As text: JSON numbers are exact only up to 53 bits.
		char keywords[24];
		snprintf(keywords, sizeof(keywords), "0x%" PRIx64, provider->keywords);
		json_string(json, "keywords", keywords);
	}
	if (provider->level)
		json_uint(json, "level", provider->level);
	json_bool(json, "stack", provider->stack);
	if (provider->non_paged)
		json_bool(json, "non_paged_memory", true);
	json_close_object(json);
}

void plan_json(const struct plan *plan, plan_why_not *why_not, struct buffer *text) {
	struct json json = json_into(text);
	json_object(&json, NULL);
	json_string(&json, "name", plan->name);
	json_string(&json, "detail", plan_detail_names[plan->detail]);
	json_string(&json, "mode", plan_mode_names[plan->mode]);
	json_string(&json, "file", plan->file);
	json_keywords(plan, why_not, &json);
	json_array(&json, "collectors");
	for (size_t i = 0; i < plan->collectors.count; i++)
		json_collector(&plan->collectors.items[i], &json);
	json_close_array(&json);
	plan_sizes_json(plan, &json);
	json_array(&json, "providers");
	for (size_t i = 0; i < plan->providers.count; i++)
		json_provider(&plan->providers.items[i], &json);
	json_close_array(&json);
	json_close_object(&json);
	buffer_printf(text, "\n");
}
