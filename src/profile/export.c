// Writes a plan as a .wprp file. WPR validates against a schema: the elements must be in its order,
// and the Id of a profile is its name, detail level and logging mode.
#include "base/text.h"
#include "profile/plan.h"

#include <inttypes.h>
#include <string.h>

// ` NAME="VALUE"`.
static void put_attribute(struct buffer *text, const char *name, const char *value) {
	buffer_printf(text, " %s=\"", name);
	text_xml(text, value, strlen(value));
	buffer_printf(text, "\"");
}

static void put_collector(const struct plan_collector *collector, struct buffer *text) {
	const char *element = plan_collector_names[collector->kind];
	buffer_printf(text, "    <%s", element);
	put_attribute(text, "Id", collector->id);
	put_attribute(text, "Name", collector->name);
	buffer_printf(text, ">\n      <BufferSize Value=\"%u\"/>\n      <Buffers Value=\"%u\"%s/>\n",
		      collector->buffer_size, collector->buffers,
		      collector->buffers_percent ? " PercentageOfTotalMemory=\"true\"" : "");
	if (collector->file_limit)
		buffer_printf(text, "      <MaximumFileSize Value=\"%u\" FileMode=\"%s\"/>\n",
			      collector->file_limit, collector->circular ? "Circular" : "Sequential");
	buffer_printf(text, "    </%s>\n", element);
}

static bool has_collector(const struct plan *plan, enum plan_collector_kind kind) {
	for (size_t i = 0; i < plan->collectors.count; i++)
		if (plan->collectors.items[i].kind == kind)
			return true;
	return false;
}

// Leaves out an element that would be empty: the schema requires content.
static void put_system_provider(const struct plan *plan, struct buffer *text) {
	bool any = false;
	if (!has_collector(plan, COLLECTOR_SYSTEM))
		return;
	buffer_printf(text, "    <SystemProvider Id=\"SystemProvider_Tracelet\">\n");
	for (int i = 0; i < KEYWORD_COUNT; i++)
		if (plan->keywords[i]) {
			buffer_printf(text, "%s        <Keyword Value=\"%s\"/>\n",
				      any ? "" : "      <Keywords>\n", system_keywords[i].name);
			any = true;
		}
	if (plan->custom_keywords)
		buffer_printf(text, "%s        <CustomKeyword Value=\"0x%" PRIx32 "\"/>\n",
			      any ? "" : "      <Keywords>\n", plan->custom_keywords);
	buffer_printf(text, "%s", any || plan->custom_keywords ? "      </Keywords>\n" : "");
	any = false;
	for (int i = 0; i < STACK_COUNT; i++)
		if (plan->stacks[i]) {
			buffer_printf(text, "%s        <Stack Value=\"%s\"/>\n",
				      any ? "" : "      <Stacks>\n", stack_names[i]);
			any = true;
		}
	buffer_printf(text, "%s    </SystemProvider>\n", any ? "      </Stacks>\n" : "");
}

static void put_event_provider(const struct plan_provider *provider, struct buffer *text) {
	buffer_printf(text, "    <EventProvider");
	put_attribute(text, "Id", provider->id);
	put_attribute(text, "Name", provider->name);
	if (provider->level)
		buffer_printf(text, " Level=\"%u\"", provider->level);
	if (provider->stack)
		buffer_printf(text, " Stack=\"true\"");
	if (provider->non_paged)
		buffer_printf(text, " NonPagedMemory=\"true\"");
	if (provider->has_keywords)
		buffer_printf(text,
			      ">\n      <Keywords>\n        <Keyword Value=\"0x%" PRIx64
			      "\"/>\n      </Keywords>\n    </EventProvider>\n",
			      provider->keywords);
	else
		buffer_printf(text, "/>\n");
}

static void put_profile_start(const struct plan *plan, enum plan_mode mode, const char *base,
			      struct buffer *text) {
	CLEANUP_FREE char *id = memory_format("%s.%s.%s", plan->name, plan_detail_names[plan->detail],
					      plan_mode_names[mode]);
	buffer_printf(text, "    <Profile");
	put_attribute(text, "Id", id);
	put_attribute(text, "Name", plan->name);
	put_attribute(text, "Description", plan->name);
	put_attribute(text, "DetailLevel", plan_detail_names[plan->detail]);
	put_attribute(text, "LoggingMode", plan_mode_names[mode]);
	if (base)
		put_attribute(text, "Base", base);
}

static void put_profile_collector(const struct plan *plan, const struct plan_collector *collector,
				  struct buffer *text) {
	buffer_printf(text, "        <%sId", plan_collector_names[collector->kind]);
	put_attribute(text, "Value", collector->id);
	buffer_printf(text, ">\n");
	if (collector->kind == COLLECTOR_SYSTEM)
		buffer_printf(text, "          <SystemProviderId Value=\"SystemProvider_Tracelet\"/>\n");
	bool any = false;
	for (size_t i = 0; i < plan->providers.count; i++) {
		const struct plan_provider *provider = &plan->providers.items[i];
		if (strcmp(provider->collector, collector->id) != 0)
			continue;
		buffer_printf(text, "%s            <EventProviderId",
			      any ? "" : "          <EventProviders>\n");
		put_attribute(text, "Value", provider->id);
		buffer_printf(text, "/>\n");
		any = true;
	}
	buffer_printf(text, "%s        </%sId>\n", any ? "          </EventProviders>\n" : "",
		      plan_collector_names[collector->kind]);
}

void plan_export(const struct plan *plan, struct buffer *text) {
	buffer_printf(text,
		      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
		      "<WindowsPerformanceRecorder Version=\"1.0\" Author=\"tracelet\">\n  <Profiles>\n");
	for (int kind = COLLECTOR_SYSTEM; kind <= COLLECTOR_HYPERVISOR; kind++)
		for (size_t i = 0; i < plan->collectors.count; i++)
			if ((int)plan->collectors.items[i].kind == kind)
				put_collector(&plan->collectors.items[i], text);
	put_system_provider(plan, text);
	for (size_t i = 0; i < plan->providers.count; i++)
		put_event_provider(&plan->providers.items[i], text);
	put_profile_start(plan, MODE_FILE, NULL, text);
	buffer_printf(text, ">\n      <Collectors>\n");
	for (int kind = COLLECTOR_SYSTEM; kind <= COLLECTOR_HYPERVISOR; kind++)
		for (size_t i = 0; i < plan->collectors.count; i++)
			if ((int)plan->collectors.items[i].kind == kind)
				put_profile_collector(plan, &plan->collectors.items[i], text);
	buffer_printf(text, "      </Collectors>\n    </Profile>\n");
	CLEANUP_FREE char *base = memory_format("%s.%s.File", plan->name, plan_detail_names[plan->detail]);
	put_profile_start(plan, MODE_MEMORY, base, text);
	buffer_printf(text, "/>\n  </Profiles>\n</WindowsPerformanceRecorder>\n");
}
