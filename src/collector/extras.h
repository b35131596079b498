// What only some sessions want: system calls, page faults, disks, timers and so on. Each costs every task of
// the machine something, so its programs are attached only while a session wants them.
#pragma once

#include "capture/bpf/points.h"

#include <stdint.h>

struct bpf_object;

enum { EXTRAS_MOST_PROGRAMS = 40 };

struct extras {
	struct bpf_object *object;
	uint64_t sources; // whose programs are attached
	struct bpf_link *links[EXTRAS_MOST_PROGRAMS];
	struct point_links faults;
};

#define EXTRA_OFF_CPU (1ull << 63) // is no source, but is wanted by some, too

uint64_t extras_all(void); // all that there are, a bit for each source

// Before loading: the programs are loaded, and attached by extras_set() only; or not even loaded.
void extras_choose(struct bpf_object *object, bool wanted);

// Attaches the programs of these sources and detaches the others. 0 or -errno. May wait for long.
int extras_set(struct extras *extras, uint64_t sources);
