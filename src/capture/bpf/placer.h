// Puts maps into a map of maps. The update takes effect at once, but afterwards the kernel makes
// the caller wait for an RCU grace period, 5 to 20 ms per call. So a separate thread waits, and
// each time places all maps that have arrived meanwhile.
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
	ARRAY(uint32_t) keys; // under the lock, like all below
	ARRAY(int) maps;      // closed once placed
	int into;
};

int placer_start(struct placer *placer, int into);             // 0 or -errno
void placer_put(struct placer *placer, uint32_t key, int map); // takes over `map`
bool placer_is_idle(struct placer *placer);                    // all are placed
void placer_stop(struct placer *placer);                       // also if not started
