// Resolves a profile of a .wprp file: first its bases, then what it sets, adds or removes itself.
// Bases form chains, never trees, so the length of a chain bounds the work; the number of steps per
// file is limited as well.
#include "base/near.h"
#include "profile/wprp.h"

#include <stdlib.h>
#include <strings.h>

enum { LONGEST_CHAIN = 32, MOST_STEPS = 1 << 22 };

enum operation { OPERATION_SET, OPERATION_ADD, OPERATION_REMOVE };

struct making {
	struct wprp *file;
	struct plan *plan;
	struct findings *findings;
	struct map providers; // hash of an Id → index in the plan + 1
	bool failed;
};

static const char *value_of(const struct making *making, uint32_t node, const char *name) {
	return xml_value(&making->file->xml, node, name);
}

static bool is(const struct making *making, uint32_t node, const char *name) {
	return xml_is(&making->file->xml, node, name);
}

#define FIND(making, node, ...) findings_add((making)->findings, AT((making)->file, node), __VA_ARGS__)

static enum operation operation_of(struct making *making, uint32_t node) {
	static const char *const names[] = {"Set", "Add", "Remove"};
	const char *text = value_of(making, node, "Operation");
	for (int i = 0; text && i < 3; i++)
		if (strcasecmp(text, names[i]) == 0)
			return (enum operation)i;
	if (text)
		FIND(making, node, "Operation '%.32s' is not Set, Add or Remove", text);
	return OPERATION_SET;
}

// ---- values ----

static bool is_true(const char *text) {
	return text && (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0);
}

// Decimal, or hexadecimal with 0x.
static uint64_t number_of(struct making *making, uint32_t node, const char *name, uint64_t most) {
	const char *text = value_of(making, node, name);
	bool hexadecimal = text && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = text && hexadecimal ? text + 2 : text;
	size_t length = digits ? strspn(digits, hexadecimal ? "0123456789abcdefABCDEF" : "0123456789") : 0;
	if (!length || digits[length] || length > (hexadecimal ? 16 : 19)) {
		FIND(making, node, "%s of <%.64s>: '%.32s' is not a number", name,
		     xml_node(&making->file->xml, node)->name, text ? text : "");
		return 0;
	}
	uint64_t number = strtoull(digits, NULL, hexadecimal ? 16 : 10);
	if (number > most) {
		FIND(making, node, "%s of <%.64s>: %.32s is too large", name,
		     xml_node(&making->file->xml, node)->name, text);
		return 0;
	}
	return number;
}

// Maps all spellings of a GUID to one; other names stay unchanged.
static char *provider_name(const char *text) {
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t length = strlen(text);
	bool braces = length == sizeof(form) + 1 && text[0] == '{' && text[length - 1] == '}';
	char *name = braces ? memory_format("%.*s", (int)length - 2, text + 1) : memory_string(text);
	if (strlen(name) != sizeof(form) - 1)
		return name;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == '-' ? name[i] != '-' : !strchr("0123456789abcdefABCDEF", name[i]))
			return name;
	for (size_t i = 0; form[i]; i++)
		if (name[i] >= 'A' && name[i] <= 'F')
			name[i] = (char)(name[i] - 'A' + 'a');
	return name;
}

// ---- chains ----

// The element and its bases, the last base first. 0 after adding a finding.
static size_t chain_of(struct making *making, uint32_t node, uint32_t chain[LONGEST_CHAIN]) {
	const char *element = xml_node(&making->file->xml, node)->name;
	uint32_t up[LONGEST_CHAIN];
	size_t count = 0;
	for (uint32_t at = node; at;) {
		if (count == LONGEST_CHAIN) {
			FIND(making, node, "the Base of <%.64s> is circular, or nested too deeply", element);
			making->failed = true;
			return 0;
		}
		up[count++] = at;
		const char *base = value_of(making, at, "Base");
		if (!base || !*base)
			break;
		uint32_t next = wprp_find(making->file, element, base);
		if (!next) {
			FIND(making, at, "Base '%.64s': there is no <%.64s> with that Id", base, element);
			making->failed = true;
			return 0;
		}
		at = next;
	}
	for (size_t i = 0; i < count; i++)
		chain[i] = up[count - 1 - i];
	making->file->steps += count;
	return count;
}

// The element that <SomethingId Value="..."> refers to; 0 after adding a finding.
static uint32_t referred(struct making *making, uint32_t node, const char *element) {
	const char *id = value_of(making, node, "Value");
	uint32_t found = id ? wprp_find(making->file, element, id) : 0;
	if (!found) {
		FIND(making, node, "there is no <%s> with the Id '%.64s'", element, id ? id : "");
		making->failed = true;
	}
	return found;
}

// ---- the system provider ----

struct words {
	const char *element; // Keyword, Stack
	int (*find)(const char *name);
	const char *(*name)(int place);
	size_t count;
};

static const char *keyword_name(int place) {
	return system_keywords[place].name;
}

static const char *stack_name(int place) {
	return stack_names[place];
}

static const struct words keyword_words = {"Keyword", keyword_find, keyword_name, KEYWORD_COUNT};
static const struct words stack_words = {"Stack", stack_find, stack_name, STACK_COUNT};

static void name_nearest(const struct words *words, const char *text, char *near, size_t size) {
	struct near_name nearest = {.wanted = text};
	for (int i = 0; i < (int)words->count; i++)
		near_offer(&nearest, words->name(i));
	near_words(&nearest, near, size);
}

static void take_word(struct making *making, uint32_t node, const struct words *words, bool *taken,
		      bool value) {
	const char *text = value_of(making, node, "Value");
	int place = text ? words->find(text) : -1;
	if (place < 0) {
		char near[NEAR_LONGEST + 32] = "";
		if (!making->findings->more) // otherwise the text would not be shown
			name_nearest(words, text ? text : "", near, sizeof(near));
		FIND(making, node, "WPR has no %s '%.64s'%s", words->element, text ? text : "", near);
		return;
	}
	if (strcmp(text, words->name(place)) != 0)
		FIND(making, node, "%s '%.64s' is spelled '%s'", words->element, text, words->name(place));
	taken[place] = value;
}

// <Keywords> or <Stacks>.
static void take_words(struct making *making, uint32_t list, const struct words *words, bool *taken,
		       uint32_t *custom) {
	enum operation operation = operation_of(making, list);
	if (operation == OPERATION_SET) {
		memset(taken, 0, words->count * sizeof(*taken));
		if (custom)
			*custom = 0;
	}
	XML_EACH_CHILD(child, &making->file->xml, list) {
		making->file->steps++;
		if (is(making, child, words->element)) {
			take_word(making, child, words, taken, operation != OPERATION_REMOVE);
		} else if (custom && is(making, child, "CustomKeyword")) {
			uint32_t mask = (uint32_t)number_of(making, child, "Value", UINT32_MAX);
			*custom = operation == OPERATION_REMOVE ? *custom & ~mask : *custom | mask;
		}
	}
}

static void take_system_provider(struct making *making, uint32_t provider) {
	uint32_t chain[LONGEST_CHAIN];
	size_t count = chain_of(making, provider, chain);
	// Resolved separately, then added to what other providers want.
	bool keywords[KEYWORD_COUNT] = {0}, stacks[STACK_COUNT] = {0};
	uint32_t custom = 0;
	for (size_t i = 0; i < count; i++)
		XML_EACH_CHILD(child, &making->file->xml, chain[i]) {
			if (is(making, child, "Keywords"))
				take_words(making, child, &keyword_words, keywords, &custom);
			else if (is(making, child, "Stacks"))
				take_words(making, child, &stack_words, stacks, NULL);
		}
	for (size_t i = 0; i < KEYWORD_COUNT; i++)
		making->plan->keywords[i] |= keywords[i];
	for (size_t i = 0; i < STACK_COUNT; i++)
		making->plan->stacks[i] |= stacks[i];
	making->plan->custom_keywords |= custom;
}

static void forget_system_provider(struct plan *plan) {
	memset(plan->keywords, 0, sizeof(plan->keywords));
	memset(plan->stacks, 0, sizeof(plan->stacks));
	plan->custom_keywords = 0;
}

// ---- event providers ----

static void take_event_keywords(struct making *making, uint32_t list, struct plan_provider *provider) {
	enum operation operation = operation_of(making, list);
	uint64_t mask = 0;
	XML_EACH_CHILD(child, &making->file->xml, list)
	if (is(making, child, "Keyword"))
		mask |= number_of(making, child, "Value", UINT64_MAX);
	provider->keywords = operation == OPERATION_SET   ? mask
			     : operation == OPERATION_ADD ? provider->keywords | mask
							  : provider->keywords & ~mask;
	provider->has_keywords = true;
}

static struct plan_provider event_provider(struct making *making, uint32_t node) {
	uint32_t chain[LONGEST_CHAIN];
	size_t count = chain_of(making, node, chain);
	const char *name = NULL;
	struct plan_provider provider = {0};
	for (size_t i = 0; i < count; i++) {
		const char *text = value_of(making, chain[i], "Name"),
			   *stack = value_of(making, chain[i], "Stack"),
			   *non_paged = value_of(making, chain[i], "NonPagedMemory");
		name = text ? text : name;
		provider.stack = stack ? is_true(stack) : provider.stack;
		provider.non_paged = non_paged ? is_true(non_paged) : provider.non_paged;
		if (value_of(making, chain[i], "Level"))
			provider.level = (unsigned)number_of(making, chain[i], "Level", 255);
		XML_EACH_CHILD(child, &making->file->xml, chain[i])
		if (is(making, child, "Keywords"))
			take_event_keywords(making, child, &provider);
	}
	if (!name)
		FIND(making, node, "<EventProvider> has no Name");
	provider.name = provider_name(name ? name : "");
	return provider;
}

static void free_provider(struct plan_provider *provider) {
	free(provider->id);
	free(provider->name);
	free(provider->collector);
	*provider = (struct plan_provider){0};
}

static uint64_t *provider_place(struct making *making, const char *id) {
	return map_put(&making->providers, hash_bytes(id, strlen(id)));
}

// A removed provider leaves an empty slot until the end.
static void remove_provider(struct making *making, const char *id) {
	uint64_t *place = provider_place(making, id);
	if (*place)
		free_provider(&making->plan->providers.items[*place - 1]);
	*place = 0;
}

static void add_provider(struct making *making, uint32_t node, const char *collector) {
	const char *id = value_of(making, node, "Id");
	id = id ? id : "";
	remove_provider(making, id);
	struct plan_provider provider = event_provider(making, node);
	provider.id = memory_string(id);
	// Copying counts as work, too.
	making->file->steps += (strlen(provider.name) + strlen(id) + strlen(collector)) / 16;
	provider.collector = memory_string(collector);
	array_push(&making->plan->providers, provider);
	*provider_place(making, id) = making->plan->providers.count;
}

static void remove_providers_of(struct making *making, const char *collector) {
	for (size_t i = 0; i < making->plan->providers.count && making->file->steps < MOST_STEPS; i++) {
		const struct plan_provider *provider = &making->plan->providers.items[i];
		making->file->steps++;
		if (provider->id && strcmp(provider->collector, collector) == 0)
			remove_provider(making, provider->id);
	}
}

static void take_event_providers(struct making *making, uint32_t list, const char *collector,
				 enum operation above) {
	enum operation operation = operation_of(making, list);
	if (above == OPERATION_REMOVE && !value_of(making, list, "Operation"))
		operation = OPERATION_REMOVE;
	if (operation == OPERATION_SET)
		remove_providers_of(making, collector);
	XML_EACH_CHILD(child, &making->file->xml, list) {
		bool inline_one = is(making, child, "EventProvider");
		if (++making->file->steps > MOST_STEPS ||
		    (!inline_one && !is(making, child, "EventProviderId")))
			continue;
		const char *id = value_of(making, child, inline_one ? "Id" : "Value");
		uint32_t provider = inline_one || operation == OPERATION_REMOVE
					    ? child
					    : referred(making, child, "EventProvider");
		if (operation == OPERATION_REMOVE)
			remove_provider(making, id ? id : "");
		else if (provider)
			add_provider(making, provider, collector);
	}
}

// ---- collectors ----

static struct plan_collector *find_collector(struct plan *plan, const char *id) {
	for (size_t i = 0; i < plan->collectors.count; i++)
		if (strcmp(plan->collectors.items[i].id, id) == 0)
			return &plan->collectors.items[i];
	return NULL;
}

static void remove_collector(struct making *making, const char *id) {
	struct plan *plan = making->plan;
	struct plan_collector *collector = find_collector(plan, id);
	if (!collector)
		return;
	if (collector->kind == COLLECTOR_SYSTEM)
		forget_system_provider(plan);
	remove_providers_of(making, id);
	free(collector->id);
	free(collector->name);
	size_t behind = (size_t)(plan->collectors.items + plan->collectors.count - (collector + 1));
	memmove(collector, collector + 1, behind * sizeof(*collector));
	plan->collectors.count--;
}

// Reads the sizes in a collector, or in a profile's reference to it.
static void take_sizes(struct making *making, uint32_t node, struct plan_collector *collector) {
	XML_EACH_CHILD(child, &making->file->xml, node) {
		if (is(making, child, "BufferSize")) {
			collector->sized = true;
			collector->buffer_size = (unsigned)number_of(making, child, "Value", UINT32_MAX);
		} else if (is(making, child, "Buffers")) {
			collector->sized = true;
			collector->buffers = (unsigned)number_of(making, child, "Value", UINT32_MAX);
			collector->buffers_percent = is_true(
				value_of(making, child, "PercentageOfTotalMemory"));
		} else if (is(making, child, "MaximumFileSize")) {
			const char *mode = value_of(making, child, "FileMode");
			collector->file_limit = (unsigned)number_of(making, child, "Value", UINT32_MAX);
			collector->circular = mode && strcasecmp(mode, "Circular") == 0;
		}
	}
}

static bool make_collector(struct making *making, uint32_t node, enum plan_collector_kind kind) {
	uint32_t chain[LONGEST_CHAIN];
	size_t count = chain_of(making, node, chain);
	const char *id = value_of(making, node, "Id"), *name = NULL;
	struct plan_collector collector = {.kind = kind, .buffer_size = 128, .buffers = 64};
	for (size_t i = 0; i < count; i++) {
		const char *text = value_of(making, chain[i], "Name");
		name = text ? text : name;
		take_sizes(making, chain[i], &collector);
	}
	collector.id = memory_string(id ? id : "");
	collector.name = memory_string(name ? name : "");
	array_push(&making->plan->collectors, collector);
	return count;
}

// <SystemCollectorId Value="..."> and the like: the kind + 1, or 0.
static int collector_kind(const struct making *making, uint32_t node) {
	static const char *const elements[] = {"SystemCollectorId", "EventCollectorId",
					       "HeapEventCollectorId", "HypervisorEventCollectorId"};
	for (int i = 0; i < (int)ARRAY_SIZE(elements); i++)
		if (is(making, node, elements[i]))
			return i + 1;
	return 0;
}

static bool names_providers(const struct making *making, uint32_t node) {
	XML_EACH_CHILD(child, &making->file->xml, node)
	if (is(making, child, "EventProviders"))
		return true;
	return false;
}

static void take_collector(struct making *making, uint32_t node, enum operation operation) {
	enum { MOST_COLLECTORS = 1024 };
	enum plan_collector_kind kind = (enum plan_collector_kind)(collector_kind(making, node) - 1);
	const char *id = value_of(making, node, "Value");
	id = id ? id : "";
	making->file->steps += making->plan->collectors.count;
	if (operation == OPERATION_REMOVE && !names_providers(making, node)) {
		remove_collector(making, id);
		return;
	}
	if (!find_collector(making->plan, id) && operation != OPERATION_REMOVE) {
		uint32_t definition = referred(making, node, plan_collector_names[kind]);
		if (making->plan->collectors.count == MOST_COLLECTORS)
			making->file->steps = MOST_STEPS;
		if (!definition || making->file->steps >= MOST_STEPS ||
		    !make_collector(making, definition, kind))
			return;
	}
	struct plan_collector *collector = find_collector(making->plan, id);
	if (collector)
		take_sizes(making, node, collector);
	XML_EACH_CHILD(child, &making->file->xml, node) {
		if (is(making, child, "EventProviders"))
			take_event_providers(making, child, id, operation);
		else if (is(making, child, "SystemProvider"))
			take_system_provider(making, child);
		else if (is(making, child, "SystemProviderId")) {
			uint32_t provider = referred(making, child, "SystemProvider");
			if (provider)
				take_system_provider(making, provider);
		}
	}
}

static void take_collectors(struct making *making, uint32_t list) {
	enum operation operation = operation_of(making, list);
	while (operation == OPERATION_SET && making->plan->collectors.count)
		remove_collector(making, making->plan->collectors.items[0].id);
	XML_EACH_CHILD(child, &making->file->xml, list)
	if (++making->file->steps < MOST_STEPS && collector_kind(making, child))
		take_collector(making, child, operation);
}

// ---- profiles ----

static void drop_removed(struct plan *plan) {
	size_t kept = 0;
	for (size_t i = 0; i < plan->providers.count; i++)
		if (plan->providers.items[i].id)
			plan->providers.items[kept++] = plan->providers.items[i];
	plan->providers.count = kept;
}

bool wprp_plan(struct wprp *file, uint32_t profile, struct plan *plan, struct findings *findings) {
	struct making making = {.file = file, .plan = plan, .findings = findings};
	struct wprp_id id;
	uint32_t chain[LONGEST_CHAIN];
	*plan = (struct plan){0};
	size_t count = chain_of(&making, profile, chain);
	for (size_t i = 0; i < count; i++)
		XML_EACH_CHILD(child, &file->xml, chain[i])
	if (is(&making, child, "Collectors"))
		take_collectors(&making, child);
	map_free(&making.providers);
	drop_removed(plan);
	if (file->steps >= MOST_STEPS) {
		FIND(&making, profile, "it inherits too much");
		making.failed = true;
	}
	if (making.failed || !wprp_profile_id(file, profile, &id)) {
		plan_free(plan);
		return false;
	}
	plan->name = memory_string(id.name);
	plan->detail = id.detail;
	plan->mode = id.mode;
	return true;
}
