#include "collector/janitor.h"
#include "base/log.h"
#include "capture/spool.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STAY_ATTACHED_SECONDS = 10, FIRST_PLACES = 16, SPARE_PLACES = 4, RENEW_AT_ONCE = 16 };

enum place_state { PLACE_NONE, PLACE_FREE, PLACE_USED, PLACE_RESTING };

struct janitor {
	struct kernel *kernel;
	int done;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stopping, started;
	uint32_t expected;                 // sessions that are open or want to begin
	bool attach_wanted;                // by a session that waits
	int attach_error;                  // of the latest attempt
	struct janitor_extras now, wanted; // besides what every session gets
	bool extras_failed;
	struct timespec leave_at;
	uint32_t made, used, resting, fresh; // fresh: free and never used
	bool short_of_places;                // a session waits for one
	bool emptied;                        // those of ended sessions, since more were made
	bool cannot_make;                    // the kernel refused to
	enum place_state states[SLOTS_MOST];
};

static void report(struct janitor *janitor) {
	uint64_t one = 1;
	if (write(janitor->done, &one, sizeof(one)) < 0)
		return; // it is readable already
}

// ---- the thread; with the lock, except where it waits ----

static void attach(struct janitor *janitor) {
	pthread_mutex_unlock(&janitor->lock);
	int error = kernel_attach(janitor->kernel);
	pthread_mutex_lock(&janitor->lock);
	janitor->attach_error = error;
	janitor->attach_wanted = false;
	if (error)
		log_warning("cannot attach the BPF programs: %s", strerror(-error));
	report(janitor);
}

static void detach(struct janitor *janitor) {
	janitor->kernel->attached = false;
	pthread_mutex_unlock(&janitor->lock);
	kernel_detach(janitor->kernel);
	pthread_mutex_lock(&janitor->lock);
	janitor->now = (struct janitor_extras){0};
}

static bool extras_differ(const struct janitor *janitor) {
	return janitor->now.frequency != janitor->wanted.frequency ||
	       janitor->now.sources != janitor->wanted.sources;
}

static void set_extras(struct janitor *janitor) {
	struct janitor_extras wanted = janitor->wanted;
	pthread_mutex_unlock(&janitor->lock);
	int error = kernel_set_extras(janitor->kernel, wanted.frequency, wanted.sources);
	pthread_mutex_lock(&janitor->lock);
	janitor->now = wanted;
	janitor->extras_failed = error;
	if (error)
		log_warning("cannot record all that is wanted: %s", strerror(-error));
	report(janitor);
}

static void make_places(struct janitor *janitor) {
	uint32_t first = janitor->made;
	uint32_t count = MIN(MAX((uint32_t)FIRST_PLACES, first), janitor->kernel->place_count - first);
	pthread_mutex_unlock(&janitor->lock);
	uint32_t made = kernel_make_places(janitor->kernel, first, count);
	pthread_mutex_lock(&janitor->lock);
	for (uint32_t i = 0; i < made; i++)
		janitor->states[first + i] = PLACE_FREE;
	janitor->made += made;
	janitor->fresh += made;
	janitor->short_of_places = janitor->emptied = false;
	janitor->cannot_make |= made < count;
	report(janitor);
}

// Places that other users had get new rings.
static void renew_places(struct janitor *janitor) {
	uint32_t renewed = 0;
	for (uint32_t i = 0; i < janitor->made && renewed < RENEW_AT_ONCE; i++) {
		if (janitor->states[i] != PLACE_FREE || !janitor->kernel->places[i].used)
			continue;
		janitor->states[i] = PLACE_RESTING;
		pthread_mutex_unlock(&janitor->lock);
		bool fresh = kernel_renew_place(janitor->kernel, &janitor->kernel->places[i]);
		pthread_mutex_lock(&janitor->lock);
		janitor->states[i] = PLACE_FREE;
		janitor->fresh += fresh;
		renewed++;
	}
	janitor->short_of_places = janitor->emptied = false;
	report(janitor);
}

static void empty_places(struct janitor *janitor) {
	bool ended[SLOTS_MOST];
	for (uint32_t i = 0; i < janitor->made; i++)
		ended[i] = janitor->states[i] == PLACE_RESTING;
	pthread_mutex_unlock(&janitor->lock);
	kernel_settle(janitor->kernel);
	for (uint32_t i = 0; i < janitor->made; i++)
		if (ended[i])
			kernel_clear(janitor->kernel, &janitor->kernel->places[i]);
	pthread_mutex_lock(&janitor->lock);
	for (uint32_t i = 0; i < janitor->made; i++) {
		janitor->resting -= ended[i];
		if (ended[i])
			janitor->states[i] = PLACE_FREE;
	}
	janitor->short_of_places = false; // those who still wait will ask again
	janitor->emptied = true;
	report(janitor);
}

static bool has_time_come(const struct timespec *time) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > time->tv_sec || (now.tv_sec == time->tv_sec && now.tv_nsec >= time->tv_nsec);
}

static bool can_make(const struct janitor *janitor) {
	return janitor->made < janitor->kernel->place_count && !janitor->cannot_make;
}

// Does the most urgent thing; false if there is nothing to do.
static bool work(struct janitor *janitor) {
	bool attached = janitor->kernel->attached;
	if (janitor->attach_wanted && !attached)
		attach(janitor);
	else if (attached && extras_differ(janitor))
		set_extras(janitor);
	else if (janitor->resting && !(janitor->short_of_places && janitor->emptied))
		empty_places(janitor); // before more memory is taken
	else if (can_make(janitor) && (janitor->short_of_places || janitor->fresh < SPARE_PLACES))
		make_places(janitor);
	else if (janitor->short_of_places)
		renew_places(janitor);
	else if (attached && !janitor->expected && has_time_come(&janitor->leave_at))
		detach(janitor);
	else
		return false;
	return true;
}

static void *work_always(void *context) {
	struct janitor *janitor = context;
	pthread_mutex_lock(&janitor->lock);
	while (!janitor->stopping) {
		if (work(janitor))
			continue;
		if (janitor->kernel->attached && !janitor->expected)
			pthread_cond_timedwait(&janitor->wake, &janitor->lock, &janitor->leave_at);
		else
			pthread_cond_wait(&janitor->wake, &janitor->lock);
	}
	pthread_mutex_unlock(&janitor->lock);
	return NULL;
}

// ---- the other threads ----

int janitor_start(struct janitor **result, struct kernel *kernel, int done) {
	struct janitor *janitor = memory_alloc(sizeof(*janitor));
	pthread_condattr_t monotonic;
	*result = janitor;
	janitor->kernel = kernel;
	janitor->done = done;
	pthread_mutex_init(&janitor->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&janitor->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int error = -pthread_create(&janitor->thread, NULL, work_always, janitor);
	janitor->started = !error;
	return error;
}

void janitor_stop(struct janitor *janitor) {
	if (!janitor)
		return;
	pthread_mutex_lock(&janitor->lock);
	janitor->stopping = true;
	pthread_cond_signal(&janitor->wake);
	pthread_mutex_unlock(&janitor->lock);
	if (janitor->started)
		pthread_join(janitor->thread, NULL);
	pthread_cond_destroy(&janitor->wake);
	pthread_mutex_destroy(&janitor->lock);
	free(janitor);
}

void janitor_expect(struct janitor *janitor) {
	pthread_mutex_lock(&janitor->lock);
	janitor->expected++;
	janitor->attach_error = 0;
	pthread_mutex_unlock(&janitor->lock);
}

void janitor_expect_no_more(struct janitor *janitor) {
	pthread_mutex_lock(&janitor->lock);
	if (!--janitor->expected) {
		clock_gettime(CLOCK_MONOTONIC, &janitor->leave_at);
		janitor->leave_at.tv_sec += STAY_ATTACHED_SECONDS;
		pthread_cond_signal(&janitor->wake);
	}
	pthread_mutex_unlock(&janitor->lock);
}

void janitor_want(struct janitor *janitor, struct janitor_extras extras) {
	pthread_mutex_lock(&janitor->lock);
	janitor->wanted = extras;
	if (extras_differ(janitor))
		pthread_cond_signal(&janitor->wake);
	pthread_mutex_unlock(&janitor->lock);
}

// A place that this user had before, else an unused one; NULL if there is neither.
static struct place *find_place(struct janitor *janitor, uid_t uid) {
	struct place *fresh = NULL;
	for (uint32_t i = 0; i < janitor->made; i++) {
		struct place *place = &janitor->kernel->places[i];
		if (janitor->states[i] != PLACE_FREE || (place->used && place->uid != uid))
			continue;
		if (place->used)
			return place;
		if (!fresh)
			fresh = place;
	}
	return fresh;
}

static enum janitor_answer take(struct janitor *janitor, uid_t uid, struct janitor_extras extras,
				struct place **place) {
	if (janitor->attach_error)
		return JANITOR_FAILED;
	if (!janitor->kernel->attached) {
		janitor->attach_wanted = true;
		return JANITOR_WAIT;
	}
	if (extras.frequency > janitor->now.frequency || extras.sources & ~janitor->now.sources)
		return JANITOR_WAIT;
	if ((extras.frequency || extras.sources) && janitor->extras_failed)
		return JANITOR_FAILED;
	*place = find_place(janitor, uid);
	if (!*place) {
		janitor->short_of_places = true;
		return janitor->used >= janitor->made && !can_make(janitor) ? JANITOR_FULL : JANITOR_WAIT;
	}
	janitor->fresh -= !(*place)->used;
	janitor->used++;
	janitor->states[(*place)->index] = PLACE_USED;
	return JANITOR_READY;
}

enum janitor_answer janitor_take(struct janitor *janitor, uid_t uid, struct janitor_extras extras,
				 struct place **place) {
	pthread_mutex_lock(&janitor->lock);
	enum janitor_answer answer = take(janitor, uid, extras, place);
	if (answer == JANITOR_WAIT || janitor->fresh < SPARE_PLACES)
		pthread_cond_signal(&janitor->wake);
	pthread_mutex_unlock(&janitor->lock);
	return answer;
}

void janitor_give_back(struct janitor *janitor, struct place *place) {
	pthread_mutex_lock(&janitor->lock);
	janitor->states[place->index] = PLACE_RESTING;
	janitor->used--;
	janitor->resting++;
	pthread_cond_signal(&janitor->wake);
	pthread_mutex_unlock(&janitor->lock);
}

uint64_t janitor_memory(struct janitor *janitor) {
	pthread_mutex_lock(&janitor->lock);
	uint64_t each = janitor->kernel->ring_bytes + janitor->kernel->lane_bytes;
	uint64_t memory = janitor->made * each;
	pthread_mutex_unlock(&janitor->lock);
	return memory;
}
