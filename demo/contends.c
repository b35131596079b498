// Four threads count together under one mutex and spend more time inside it than
// outside. In the trace: threads that mostly wait for each other, and which thread
// wakes which.
#include "demo.h"

#include <pthread.h>

enum { THREADS = 4, TURNS = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *count_together(void *unused) {
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&lock);
		int before = count;
		work(300);
		count = before + 1;
		pthread_mutex_unlock(&lock);
		work(50);
	}
	return unused;
}

int main(void) {
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) {
		char name[24];
		snprintf(name, sizeof name, "counter-%d", i);
		require(pthread_create(&threads[i], NULL, count_together, NULL) == 0, "pthread_create");
		pthread_setname_np(threads[i], name);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return result(count == THREADS * TURNS, "%d threads counted to %d", THREADS, count);
}
