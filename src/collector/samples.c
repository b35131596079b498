#include "collector/samples.h"
#include "analyse/wait_reason.h"
#include "base/array.h"
#include "base/map.h"
#include "format/spool_format.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

// A kernel function.
struct function {
	char *name;
	size_t rank; // how much it says about a wait: the lower, the more
};

struct samples {
	pthread_mutex_t lock;
	samples_resolve *resolve;
	void *context;
	ARRAY(struct function) functions; // number 0 stands for those without a name
	struct map by_address, by_start;  // → number + 1
};

struct samples *samples_new(samples_resolve *resolve, void *context) {
	struct samples *samples = memory_alloc(sizeof(*samples));
	samples->resolve = resolve;
	samples->context = context;
	pthread_mutex_init(&samples->lock, NULL);
	array_push(&samples->functions, (struct function){.rank = SIZE_MAX});
	return samples;
}

void samples_free(struct samples *samples) {
	if (!samples)
		return;
	for (size_t i = 0; i < samples->functions.count; i++)
		free(samples->functions.items[i].name);
	array_free(&samples->functions);
	map_free(&samples->by_address);
	map_free(&samples->by_start);
	pthread_mutex_destroy(&samples->lock);
	free(samples);
}

// ---- kernel functions; with the lock ----

static uint32_t add_function(struct samples *samples, const char *name) {
	if (samples->functions.count >= SAMPLES_MOST_NAMES)
		return 0;
	array_push(&samples->functions,
		   (struct function){.name = memory_string(name), .rank = wait_reason_rank(name)});
	return (uint32_t)samples->functions.count - 1;
}

// There are as many addresses as calls in the kernel that can wait or take long.
static uint32_t function_at(struct samples *samples, uint64_t address) {
	enum { MOST_ADDRESSES = 1 << 16 };
	char name[COLLECTOR_NAME_SIZE] = "";
	uint64_t start = 0, *known = map_get(&samples->by_address, address);
	if (known)
		return (uint32_t)*known - 1;
	if (!samples->resolve(samples->context, address, name, &start))
		return 0;
	uint64_t *function = map_put(&samples->by_start, start);
	if (!*function)
		*function = add_function(samples, name) + 1ull;
	uint32_t number = (uint32_t)*function - 1;
	if (samples->by_address.count < MOST_ADDRESSES)
		*map_put(&samples->by_address, address) = number + 1ull;
	return number;
}

static uint64_t number_of(uint32_t function) {
	return HIDDEN_TEXT + (uint64_t)function * COLLECTOR_NAME_RANGE;
}

static bool tell_function(const struct samples *samples, uint32_t function, struct samples_told *told,
			  samples_tell *tell, void *context) {
	uint8_t *bits = &told->bits[function / 8], bit = (uint8_t)(1u << function % 8);
	struct collector_name name = {.address = number_of(function)};
	if (*bits & bit)
		return true;
	snprintf(name.name, sizeof(name.name), "%s", samples->functions.items[function].name);
	if (!tell(context, &name))
		return false;
	*bits |= bit;
	return true;
}

// ---- stacks ----

struct sent_stack {
	struct record_sample sample;
	uint32_t words;                                             // that are no addresses
	uint64_t addresses[SAMPLE_ADDRESSES];                       // of the kernel; the rest is 0
	uint32_t functions[SAMPLE_MOST_FRAMES + SAMPLE_WAIT_WORDS]; // instead of those after the words
	uint32_t count;                                             // of functions
	bool copied;
	struct sample_copied copy;
	const uint8_t *bytes;
};

static bool take_apart(struct sent_stack *stack, const struct batch *batch) {
	const uint8_t *at = (const uint8_t *)(batch + 1);
	size_t size = batch->size, addresses = sizeof(stack->addresses);
	if (size < sizeof(stack->sample))
		return false;
	memcpy(&stack->sample, at, sizeof(stack->sample));
	const struct record_sample *sample = &stack->sample;
	bool wait_ends = sample->head.flags & SAMPLE_BLOCKED && sample->period == SAMPLE_WAIT_ENDS;
	stack->words = wait_ends ? SAMPLE_WAIT_WORDS : 0;
	stack->copied = sample->head.flags & SAMPLE_STACK_COPIED;
	if (sample->kernel_frames > SAMPLE_MOST_FRAMES + stack->words ||
	    sample->kernel_frames < stack->words ||
	    size < sizeof(*sample) + sample->kernel_frames * sizeof(uint64_t))
		return false;
	memset(stack->addresses, 0, addresses);
	memcpy(stack->addresses, at + sizeof(*sample), sample->kernel_frames * sizeof(uint64_t));
	if (!stack->copied)
		return true;
	if (size < sizeof(*sample) + addresses + sizeof(stack->copy))
		return false;
	memcpy(&stack->copy, at + sizeof(*sample) + addresses, sizeof(stack->copy));
	stack->bytes = at + sizeof(*sample) + addresses + sizeof(stack->copy);
	return stack->copy.size <= size - (size_t)(stack->bytes - at) &&
	       stack->copy.size <= (COLLECTOR_COPY_PAGES + 1) * SAMPLE_COPY_PAGE;
}

static bool begins(const char *text, const char *with) {
	return text && strncmp(text, with, strlen(with)) == 0;
}

// Keeps the function that called the scheduler, and the one that says most about what the thread is there
// for.
static void keep_reason(const struct samples *samples, struct sent_stack *stack) {
	const struct function *functions = samples->functions.items;
	uint32_t best = 0, caller = 0;
	for (uint32_t i = 0; i < stack->count; i++) {
		uint32_t function = stack->functions[i];
		if (functions[function].rank < functions[best].rank)
			best = function;
		if (begins(functions[function].name, "schedule") && i + 1 < stack->count)
			caller = stack->functions[i + 1];
	}
	stack->count = 0;
	if (caller)
		stack->functions[stack->count++] = caller;
	if (best != caller && functions[best].rank < wait_reason_ranks)
		stack->functions[stack->count++] = best;
}

static bool name_functions(struct samples *samples, struct sent_stack *stack, bool whole,
			   struct samples_told *told, samples_tell *tell, void *context) {
	bool good = true;
	stack->count = 0;
	pthread_mutex_lock(&samples->lock);
	for (uint32_t i = stack->words; i < stack->sample.kernel_frames; i++) {
		uint32_t function = function_at(samples, stack->addresses[i]);
		if (function)
			stack->functions[stack->count++] = function;
	}
	if (!whole)
		keep_reason(samples, stack);
	for (uint32_t i = 0; i < stack->count && good; i++)
		good = tell_function(samples, stack->functions[i], told, tell, context);
	pthread_mutex_unlock(&samples->lock);
	return good;
}

// Numbers instead of addresses, and zeros where nothing is.
static void replace_addresses(struct sent_stack *stack) {
	for (uint32_t i = 0; i < stack->count; i++)
		stack->addresses[stack->words + i] = number_of(stack->functions[i]) +
						     COLLECTOR_NAME_RANGE / 2;
	for (uint32_t i = stack->words + stack->count; i < stack->sample.kernel_frames; i++)
		stack->addresses[i] = 0;
	stack->sample.kernel_frames = (uint16_t)(stack->words + stack->count);
}

static size_t put_together(struct sent_stack *stack, const struct batch *batch, uint8_t *out) {
	struct batch changed = *batch;
	size_t addresses = stack->copied ? sizeof(stack->addresses)
					 : stack->sample.kernel_frames * sizeof(uint64_t);
	size_t size = sizeof(stack->sample) + addresses;
	uint8_t *at = out + sizeof(changed) + size;
	if (stack->copied) {
		memcpy(at, &stack->copy, sizeof(stack->copy));
		memcpy(at + sizeof(stack->copy), stack->bytes, stack->copy.size);
		size += sizeof(stack->copy) + stack->copy.size;
		memset(out + sizeof(changed) + size, 0, 8);
		size = (size + 7) & ~(size_t)7;
	}
	stack->sample.head.size = (uint16_t)size;
	changed.size = (uint32_t)size;
	memcpy(out, &changed, sizeof(changed));
	memcpy(out + sizeof(changed), &stack->sample, sizeof(stack->sample));
	memcpy(out + sizeof(changed) + sizeof(stack->sample), stack->addresses, addresses);
	return sizeof(changed) + size;
}

bool samples_are_in(const struct batch *batch) {
	struct record head;
	if (batch->size < sizeof(head))
		return false;
	memcpy(&head, batch + 1, sizeof(head));
	return head.kind == RECORD_SAMPLE;
}

size_t samples_rewrite(struct samples *samples, const struct batch *batch, bool whole,
		       struct samples_told *told, samples_tell *tell, void *context, uint8_t *out) {
	struct sent_stack stack;
	_Static_assert(sizeof(struct batch) + sizeof(stack.sample) + sizeof(stack.addresses) +
				       sizeof(stack.copy) + (COLLECTOR_COPY_PAGES + 1) * SAMPLE_COPY_PAGE +
				       8 <=
			       SAMPLES_MOST_BATCH,
		       "room for every stack");
	if (!take_apart(&stack, batch)) { // cannot be: the programs made it
		struct batch nothing = *batch;
		nothing.size = 0;
		memcpy(out, &nothing, sizeof(nothing));
		return sizeof(nothing);
	}
	if (!name_functions(samples, &stack, whole, told, tell, context))
		return 0;
	replace_addresses(&stack);
	return put_together(&stack, batch, out);
}
