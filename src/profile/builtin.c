#include "profile/builtin.h"

#include <string.h>
#include <strings.h>

#define LIGHT    "ProcessThread CSwitch ReadyThread"
#define USUAL    LIGHT " Loader Interrupt DPC"
#define MEMORY   " HardFaults AllFaults VirtualAllocation VAMap"
#define EMBEDDED USUAL " HardFaults AllFaults VirtualAllocation HvHypercalls SampledProfile"
#define BLOCK_IO " DiskIO DiskIOInit FileIO FileIOInit Filename"
#define THE_OTHER                                                                                            \
	" SystemCall Timer KernelQueue InterProcessorInterrupt NetworkTrace Power IdleStates CpuConfig"      \
	" ThreadPriority IdealProcessor ClockInterrupt DPCQueue MemoryInfo SynchronizationObjects SplitIO"

const struct builtin builtins[BUILTIN_COUNT] = {
	[BUILTIN_DEFAULT] = {"default", "processes, scheduling, interrupts", USUAL, "", DETAIL_LIGHT},
	[BUILTIN_EMBEDDED] = {"embedded", "as default, and memory, page faults, KVM, CPU samples with stacks",
			      EMBEDDED, "SampledProfile", DETAIL_VERBOSE, .providers = true},
	{"light", "processes and scheduling only", LIGHT, "", DETAIL_LIGHT},
	{"cpu", "scheduling, interrupts and CPU samples with stacks", USUAL " SampledProfile",
	 "SampledProfile", DETAIL_VERBOSE},
	{"memory", "scheduling, page faults and virtual memory", LIGHT " Loader" MEMORY, "", DETAIL_VERBOSE},
	{"io", "scheduling, block devices and files", LIGHT BLOCK_IO, "", DETAIL_VERBOSE},
	{"system-calls", "scheduling and every system call", LIGHT " SystemCall", "", DETAIL_VERBOSE},
	{"verbose", "all of these, timers, work queues, IPIs, network, power",
	 EMBEDDED MEMORY BLOCK_IO THE_OTHER, "SampledProfile", DETAIL_VERBOSE, .providers = true},
};

// By GUID: WPR finds a provider by name only if it is installed.
static const struct {
	const char *id, *name;
	bool in_kernel;
} providers[] = {
	{"EventProvider_OpenVMM", "22bc55fe-2116-5adc-12fb-3fadfd7e360c"},
	{"EventProvider_OpenHCL", "aa5de534-d149-487a-9053-05972ba20a7c"},
	{"EventProvider_HyperV_Hypervisor", "52fc89f8-995e-434c-a91e-199986449890", true},
	{"EventProvider_HyperV_Worker", "51ddfa29-d5c8-4803-be4b-2ecb715570fe"},
};

const struct builtin *builtin_find(const char *name) {
	for (size_t i = 0; i < BUILTIN_COUNT; i++)
		if (strcasecmp(builtins[i].name, name) == 0)
			return &builtins[i];
	return NULL;
}

static void take_words(const char *words, int (*find)(const char *), bool *taken) {
	while (*words) {
		size_t length = strcspn(words, " ");
		CLEANUP_FREE char *word = memory_format("%.*s", (int)length, words);
		int place = find(word);
		if (place >= 0)
			taken[place] = true;
		words += length + strspn(words + length, " ");
	}
}

enum { BUFFER_SIZE = 1024, BUFFERS = 100 };
#define SYSTEM_COLLECTOR "SystemCollector_Tracelet"

bool builtin_collector(const struct plan_collector *collector) {
	return strcmp(collector->id, SYSTEM_COLLECTOR) == 0 && collector->buffer_size == BUFFER_SIZE &&
	       collector->buffers == BUFFERS && !collector->buffers_percent;
}

static void add_collector(struct plan *plan, enum plan_collector_kind kind, const char *id,
			  const char *name) {
	array_push(&plan->collectors, (struct plan_collector){.id = memory_string(id),
							      .name = memory_string(name),
							      .kind = kind,
							      .buffer_size = BUFFER_SIZE,
							      .buffers = BUFFERS});
}

void builtin_plan(const struct builtin *builtin, enum plan_mode mode, struct plan *plan) {
	*plan = (struct plan){.name = memory_string(builtin->name), .detail = builtin->detail, .mode = mode};
	take_words(builtin->keywords, keyword_find, plan->keywords);
	take_words(builtin->stacks, stack_find, plan->stacks);
	add_collector(plan, COLLECTOR_SYSTEM, SYSTEM_COLLECTOR, "NT Kernel Logger");
	if (!builtin->providers)
		return;
	add_collector(plan, COLLECTOR_EVENT, "EventCollector_Tracelet", "Tracelet Event Collector");
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		array_push(&plan->providers,
			   (struct plan_provider){.id = memory_string(providers[i].id),
						  .name = memory_string(providers[i].name),
						  .collector = memory_string("EventCollector_Tracelet"),
						  .level = 5,
						  .non_paged = providers[i].in_kernel});
}
