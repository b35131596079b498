#include "capture/bpf/placer.h"

#include <bpf/bpf.h>
#include <string.h>
#include <unistd.h>

static void place(int into, uint32_t *keys, int *maps, uint32_t count) {
	uint32_t placed = count;
	if (bpf_map_update_batch(into, keys, maps, &placed, NULL)) // since 5.17
		for (uint32_t i = 0; i < count; i++)
			bpf_map_update_elem(into, &keys[i], &maps[i], BPF_ANY);
	for (uint32_t i = 0; i < count; i++)
		close(maps[i]);
}

static void *place_all(void *context) {
	struct placer *placer = context;
	pthread_mutex_lock(&placer->lock);
	while (!placer->ending) {
		if (!placer->keys.count) {
			pthread_cond_wait(&placer->wake, &placer->lock);
			continue;
		}
		size_t count = placer->keys.count;
		CLEANUP_FREE uint32_t *keys = placer->keys.items;
		CLEANUP_FREE int *maps = placer->maps.items;
		placer->working = true;
		memset(&placer->keys, 0, sizeof(placer->keys));
		memset(&placer->maps, 0, sizeof(placer->maps));
		pthread_mutex_unlock(&placer->lock);
		place(placer->into, keys, maps, (uint32_t)count);
		pthread_mutex_lock(&placer->lock);
		placer->working = false;
	}
	pthread_mutex_unlock(&placer->lock);
	return NULL;
}

int placer_start(struct placer *placer, int into) {
	placer->into = into;
	pthread_mutex_init(&placer->lock, NULL);
	pthread_cond_init(&placer->wake, NULL);
	int error = pthread_create(&placer->thread, NULL, place_all, placer);
	placer->running = !error;
	return -error;
}

void placer_put(struct placer *placer, uint32_t key, int map) {
	pthread_mutex_lock(&placer->lock);
	array_push(&placer->keys, key);
	array_push(&placer->maps, map);
	pthread_cond_signal(&placer->wake);
	pthread_mutex_unlock(&placer->lock);
}

bool placer_is_idle(struct placer *placer) {
	pthread_mutex_lock(&placer->lock);
	bool idle = !placer->working && !placer->keys.count;
	pthread_mutex_unlock(&placer->lock);
	return idle;
}

void placer_stop(struct placer *placer) {
	if (!placer->running)
		return;
	pthread_mutex_lock(&placer->lock);
	placer->ending = true;
	pthread_cond_signal(&placer->wake);
	pthread_mutex_unlock(&placer->lock);
	pthread_join(placer->thread, NULL);
	for (size_t i = 0; i < placer->maps.count; i++)
		close(placer->maps.items[i]);
	array_free(&placer->keys);
	array_free(&placer->maps);
	pthread_cond_destroy(&placer->wake);
	pthread_mutex_destroy(&placer->lock);
}
