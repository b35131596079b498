#include "flow/follow.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

enum { WORTH_A_LOOK = 128 * 1024 }; // bytes; smaller pieces wait

struct follower {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t written;  // size of the spool
	uint64_t wanted;   // wake the thread once this much is written
	uint64_t ended_at; // offset read when the end became known
	bool ended, cancelled, finished;
	struct conversion conversion;
	struct growing growing;
	char *output;
	struct conversion_result result;
	int error;
};

// ---- in the thread ----

static int wait_for_more(void *context, uint64_t offset) {
	struct follower *follower = context;
	pthread_mutex_lock(&follower->lock);
	follower->wanted = offset + WORTH_A_LOOK;
	while (!follower->ended && !follower->cancelled && follower->written < follower->wanted)
		pthread_cond_wait(&follower->changed, &follower->lock);
	// Written data may not be readable yet: the read that returns nothing is the last.
	int more = follower->cancelled ? -ECANCELED : !follower->ended || offset != follower->ended_at;
	if (follower->ended)
		follower->ended_at = offset;
	pthread_mutex_unlock(&follower->lock);
	return more;
}

static void wait_for_end(void *context) {
	struct follower *follower = context;
	pthread_mutex_lock(&follower->lock);
	while (!follower->ended && !follower->cancelled)
		pthread_cond_wait(&follower->changed, &follower->lock);
	pthread_mutex_unlock(&follower->lock);
}

// Lowers the thread's priority below everything else. Raising it again at the end needs a
// permission that not every user has; without it the end would wait for all other processes, so
// then do not follow at all.
static bool stand_back(void) {
	struct sched_param none = {0};
	return pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) == 0 &&
	       pthread_setschedparam(pthread_self(), SCHED_OTHER, &none) == 0 &&
	       pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) == 0;
}

static void finish(void *context, int error) {
	struct follower *follower = context;
	pthread_mutex_lock(&follower->lock);
	if (!follower->finished)
		follower->error = error;
	follower->finished = true;
	pthread_cond_broadcast(&follower->changed);
	pthread_mutex_unlock(&follower->lock);
}

static void *run(void *context) {
	struct follower *follower = context;
	pthread_mutex_lock(&follower->lock);
	// If the session already waits for us, it has set our priority.
	bool ready = follower->ended || follower->cancelled || stand_back();
	pthread_mutex_unlock(&follower->lock);
	finish(follower, ready ? convert(&follower->conversion, &follower->result) : -EPERM);
	return NULL;
}

// ---- called from other threads ----

static void discard(struct follower *follower) {
	pthread_cond_destroy(&follower->changed);
	pthread_mutex_destroy(&follower->lock);
	free(follower->output);
	free(follower);
}

struct follower *follow(const struct conversion *conversion) {
	struct follower *follower = memory_alloc(sizeof(*follower));
	follower->ended_at = UINT64_MAX;
	follower->growing = (struct growing){wait_for_more, wait_for_end, finish, follower};
	follower->conversion = *conversion;
	follower->conversion.growing = &follower->growing;
	follower->conversion.output = follower->output = memory_string(conversion->output);
	// The thread has the lowest priority: a thread that waits for the lock lends it its own.
	pthread_mutexattr_t inherits;
	pthread_mutexattr_init(&inherits);
	pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&follower->lock, &inherits);
	pthread_mutexattr_destroy(&inherits);
	pthread_cond_init(&follower->changed, NULL);
	if (pthread_create(&follower->thread, NULL, run, follower) == 0)
		return follower;
	discard(follower);
	return NULL;
}

void follow_written(struct follower *follower, uint64_t size) {
	pthread_mutex_lock(&follower->lock);
	follower->written = size;
	if (size >= follower->wanted)
		pthread_cond_broadcast(&follower->changed);
	pthread_mutex_unlock(&follower->lock);
}

// Waits until the conversion has ended, for whatever reason.
static void wait_for_result(struct follower *follower, bool *why) {
	pthread_mutex_lock(&follower->lock);
	*why = true;
	pthread_cond_broadcast(&follower->changed);
	pthread_setschedparam(follower->thread, SCHED_OTHER, &(struct sched_param){0});
	while (!follower->finished)
		pthread_cond_wait(&follower->changed, &follower->lock);
	pthread_mutex_unlock(&follower->lock);
}

int follow_end(struct follower *follower, struct conversion_result *result) {
	wait_for_result(follower, &follower->ended);
	*result = follower->result;
	return follower->error;
}

void follow_free(struct follower *follower) {
	if (!follower)
		return;
	pthread_join(follower->thread, NULL);
	discard(follower);
}

void follow_cancel(struct follower *follower) {
	if (follower)
		wait_for_result(follower, &follower->cancelled);
	follow_free(follower);
}
