// Puts maps into a map of maps. That is done at once, but the kernel lets us wait for an
// RCU grace period afterwards, 5 to 20 ms for each call: a thread of its own waits, and
// takes along all maps that have come meanwhile.
#pragma once

#include "base/array.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct placer {
	pthread_t thread;
	bool running, ending, working;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	ARRAY(uint32_t) keys; // under the lock, as all that follows
	ARRAY(int) maps;      // closed when they have been placed
	int into;
};

int placer_start(struct placer *placer, int into);             // 0 or -errno
void placer_put(struct placer *placer, uint32_t key, int map); // which is the placer's from now on
bool placer_is_idle(struct placer *placer);                    // all are in their places
void placer_stop(struct placer *placer);                       // also of one that was not started
