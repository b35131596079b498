// Names of the CPU's own events (INST_RETIRED:ANY_P, RETIRED_INSTRUCTIONS) from libpfm4. Its tables are 3.5
// MB, more than half of our own size, and most runs need none of them. So it is loaded, if installed, only
// for a name that is unknown otherwise, and is not needed to build.
#include "capture/pmu/events.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>

// The parts of its interface that are used here, version 4.
enum { PFM_SUCCESS = 0, PFM_OS_PERF_EVENT = 1, PFM_KERNEL_AND_USER = 0x1 | 0x8 };

struct pfm_encoding {
	struct perf_event_attr *attribute;
	char **full_name;
	size_t size;
	int index, cpu, flags, padding;
};

int pmu_pfm_event(struct pmu_event *event, const char *name) {
	void *library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
	int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "pfm_initialize") : NULL;
	void (*terminate)(void) = library ? (void (*)(void))dlsym(library, "pfm_terminate") : NULL;
	int (*encode)(const char *, int, int,
		      void *) = library ? (int (*)(const char *, int, int,
						   void *))dlsym(library, "pfm_get_os_event_encoding")
					: NULL;
	int error = -ENOENT;
	if (initialize && terminate && encode && initialize() == PFM_SUCCESS) {
		struct perf_event_attr attribute = {.size = sizeof(attribute)};
		struct pfm_encoding encoding = {.attribute = &attribute, .size = sizeof(encoding)};
		if (encode(name, PFM_KERNEL_AND_USER, PFM_OS_PERF_EVENT, &encoding) == PFM_SUCCESS) {
			event->type = attribute.type;
			event->config[0] = attribute.config;
			event->config[1] = attribute.config1;
			event->config[2] = attribute.config2;
			error = 0;
		}
		terminate();
	}
	if (library)
		dlclose(library);
	return error;
}
