#include "symbol/kept.h"

#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// Global: a process makes one recording, and files are identified by their content.
static struct {
	pthread_mutex_t lock;
	struct map by_key; // to descriptor + 1
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock(void) {
	pthread_mutex_lock(&kept.lock);
}

static void unlock(void) {
	pthread_mutex_unlock(&kept.lock);
}

// Another thread may hold the lock when a child is forked.
__attribute__((constructor)) static void keep_lock_whole(void) {
	pthread_atfork(lock, unlock, unlock);
}

// A build id identifies a file wherever it is.
static uint64_t key_of(const char *path, const char *build_id) {
	return *build_id ? hash_bytes(build_id, strlen(build_id)) : hash_bytes(path, strlen(path));
}

// Leaves descriptors for other uses.
static bool has_room(int file) {
	struct rlimit limit;
	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)file < limit.rlim_cur / 2;
}

bool kept_files_add(const char *path, const char *build_id, int file) {
	lock();
	uint64_t *known = map_put(&kept.by_key, key_of(path, build_id));
	bool taken = !*known && has_room(file);
	if (taken)
		*known = (uint64_t)file + 1;
	else
		close(file);
	unlock();
	return taken;
}

int kept_files_find(const char *path, const char *build_id) {
	lock();
	uint64_t *known = map_get(&kept.by_key, key_of(path, build_id));
	int file = known && *known ? (int)*known - 1 : -1;
	unlock();
	return file;
}
