// Combines several profiles: records what any of them wants.
#include "profile/plan.h"

#include <string.h>

static bool same_collector(const struct plan_collector *a, const struct plan_collector *b) {
	return a->kind == b->kind && strcmp(a->id, b->id) == 0 && a->buffer_size == b->buffer_size &&
	       a->buffers == b->buffers && a->buffers_percent == b->buffers_percent &&
	       a->file_limit == b->file_limit && a->circular == b->circular;
}

static bool same_provider(const struct plan_provider *a, const struct plan_provider *b) {
	return strcmp(a->name, b->name) == 0 && strcmp(a->collector, b->collector) == 0 &&
	       a->has_keywords == b->has_keywords && a->keywords == b->keywords && a->level == b->level &&
	       a->stack == b->stack && a->non_paged == b->non_paged;
}

static void add_collectors(struct plan *plan, struct plan *more) {
	size_t before = plan->collectors.count;
	for (size_t i = 0; i < more->collectors.count; i++) {
		struct plan_collector *collector = &more->collectors.items[i];
		bool known = false;
		for (size_t k = 0; k < before && !known; k++)
			known = same_collector(&plan->collectors.items[k], collector);
		if (known)
			continue;
		array_push(&plan->collectors, *collector);
		collector->id = collector->name = NULL;
	}
}

static void add_providers(struct plan *plan, struct plan *more) {
	// Hostile files may have many providers; a duplicate is better than a long wait.
	enum { MOST_COMPARED = 1000 };
	size_t before = MIN(plan->providers.count, (size_t)MOST_COMPARED);
	for (size_t i = 0; i < more->providers.count; i++) {
		struct plan_provider *provider = &more->providers.items[i];
		bool known = false;
		for (size_t k = 0; k < before && !known; k++)
			known = same_provider(&plan->providers.items[k], provider);
		if (known)
			continue;
		array_push(&plan->providers, *provider);
		provider->id = provider->name = provider->collector = NULL;
	}
}

static void add_names(struct plan *plan, const struct plan *more) {
	char *name = memory_format("%s+%s", plan->name, more->name);
	char *file = !plan->file && !more->file
			     ? NULL
			     : memory_format("%s, %s", plan->file ? plan->file : "built in",
					     more->file ? more->file : "built in");
	free(plan->name);
	free(plan->file);
	plan->name = name;
	plan->file = file;
}

void plan_add(struct plan *plan, struct plan *more) {
	for (int i = 0; i < KEYWORD_COUNT; i++)
		plan->keywords[i] |= more->keywords[i];
	for (int i = 0; i < STACK_COUNT; i++)
		plan->stacks[i] |= more->stacks[i];
	plan->custom_keywords |= more->custom_keywords;
	plan->detail = MAX(plan->detail, more->detail);
	// A built-in profile has no preference; of two files, the one that keeps everything wins.
	if (!plan->file)
		plan->mode = more->mode;
	else if (more->file)
		plan->mode = MIN(plan->mode, more->mode);
	add_collectors(plan, more);
	add_providers(plan, more);
	add_names(plan, more);
	plan_free(more);
}
