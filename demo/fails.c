// Fails, and its output does not say why: a worker has 50 ms for each order, and
// the third takes over 100. The trace shows why: the worker is asleep for nearly
// all of that time, until the thread "backup" wakes it, which held the lock of the
// order book while it waited for a slow disk.
#include "demo.h"

#include <pthread.h>
#include <semaphore.h>

enum { ORDERS = 5, DEADLINE_MS = 50, SLOW_DISK_MS = 120, BACKUP_AT = 3 };

static pthread_mutex_t order_book = PTHREAD_MUTEX_INITIALIZER;
static sem_t backup_wanted, backup_runs;
static double took_ms[ORDERS + 1];

static void *back_up(void *unused) {
	sem_wait(&backup_wanted);
	pthread_mutex_lock(&order_book);
	sem_post(&backup_runs);
	sleep_ms(SLOW_DISK_MS); // the fault: this part does not need the lock
	pthread_mutex_unlock(&order_book);
	return unused;
}

static void *take_orders(void *unused) {
	for (int order = 1; order <= ORDERS; order++) {
		if (order == BACKUP_AT) {
			sem_post(&backup_wanted);
			sem_wait(&backup_runs);
		}
		double start = now_ms();
		work(2000);
		pthread_mutex_lock(&order_book);
		work(500);
		pthread_mutex_unlock(&order_book);
		took_ms[order] = now_ms() - start;
	}
	return unused;
}

int main(void) {
	pthread_t worker, backup;
	require(sem_init(&backup_wanted, 0, 0) == 0 && sem_init(&backup_runs, 0, 0) == 0, "sem_init");
	require(pthread_create(&backup, NULL, back_up, NULL) == 0, "pthread_create");
	pthread_setname_np(backup, "backup");
	require(pthread_create(&worker, NULL, take_orders, NULL) == 0, "pthread_create");
	pthread_setname_np(worker, "worker");
	pthread_join(worker, NULL);
	pthread_join(backup, NULL);
	for (int order = 1; order <= ORDERS; order++)
		if (took_ms[order] > DEADLINE_MS)
			return result(false, "order %d took %.0f ms, its deadline is %d ms", order,
				      took_ms[order], DEADLINE_MS);
	return result(true, "all %d orders in time", ORDERS);
}
