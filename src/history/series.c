#include "history/series.h"
#include "base/map.h"
#include "history/statistics.h"

#include <math.h>

struct building {
	const struct history_wish *wish;
	void (*take)(void *context, const struct series *series);
	void *context;
	ARRAY(struct series_session) sessions; // of the current test
	ARRAY(const struct series_session *) order, by_point;
	ARRAY(struct series_point) points;
	ARRAY(uint32_t) point_of; // for each session in `order`
	ARRAY(double) values;
};

static int by_place(const void *a, const void *b) {
	const struct series_session *left = *(const struct series_session *const *)a;
	const struct series_session *right = *(const struct series_session *const *)b;
	const struct history_session *l = &left->session, *r = &right->session;
	int order = l->machine_class == r->machine_class ? 0 : strcmp(l->machine_class, r->machine_class);
	if (!order && l->branch != r->branch)
		order = strcmp(l->branch, r->branch);
	return order ? order : (left > right) - (left < right); // as they came: by time
}

static const char *point_key(const struct history_session *session) {
	return *session->commit ? session->commit : session->run;
}

static void count_session(struct series_point *point, const struct history_session *session) {
	point->count++;
	if (HISTORY_PASSED >> session->status & 1)
		point->passed++;
	else if (HISTORY_FAILED >> session->status & 1)
		point->failed++;
	else
		point->others++;
}

static void make_points(struct building *building, size_t from, size_t to) {
	struct map places = {0}; // address of the commit → point + 1
	building->points.count = building->point_of.count = 0;
	for (size_t i = from; i < to; i++) {
		const struct history_session *session = &building->order.items[i]->session;
		uint64_t *place = map_put(&places, (uint64_t)(uintptr_t)point_key(session));
		if (!*place) {
			array_push(&building->points, (struct series_point){.commit = session->commit,
									    .run = session->run,
									    .started = session->started});
			*place = building->points.count;
		}
		array_push(&building->point_of, (uint32_t)*place - 1);
		count_session(&building->points.items[*place - 1], session);
	}
	map_free(&places);
}

// Sessions of one point together.
static void sort_by_point(struct building *building, size_t from, size_t to) {
	uint32_t first = 0;
	for (size_t i = 0; i < building->points.count; i++) {
		building->points.items[i].first = first;
		first += building->points.items[i].count;
		building->points.items[i].count = 0;
	}
	building->by_point.count = 0;
	array_reserve(&building->by_point, to - from);
	building->by_point.count = to - from;
	for (size_t i = from; i < to; i++) {
		struct series_point *point = &building->points.items[building->point_of.items[i - from]];
		building->by_point.items[point->first + point->count++] = building->order.items[i];
	}
}

static double median_of_point(struct building *building, const struct series_point *point, size_t metric) {
	building->values.count = 0;
	for (uint32_t i = 0; i < point->count; i++) {
		const struct series_session *session = building->by_point.items[point->first + i];
		bool good = session->session.trusted && HISTORY_PASSED >> session->session.status & 1;
		if (good && session->values[metric] != HISTORY_NONE)
			array_push(&building->values, (double)session->values[metric]);
	}
	return building->values.count ? statistics_median(building->values.items, building->values.count)
				      : NAN;
}

static void finish_series(struct building *building, size_t from, size_t to) {
	make_points(building, from, to);
	sort_by_point(building, from, to);
	for (size_t i = 0; i < building->points.count; i++)
		for (size_t m = 0; m < building->wish->metric_count; m++)
			building->points.items[i].values[m] = median_of_point(building,
									      &building->points.items[i], m);
	const struct history_session *first = &building->order.items[from]->session;
	struct series series = {.test = first->test,
				.machine_class = first->machine_class,
				.branch = first->branch,
				.points = building->points.items,
				.count = building->points.count,
				.order = building->by_point.items,
				.session_count = to - from};
	building->take(building->context, &series);
}

static void finish_test(struct building *building) {
	size_t count = building->sessions.count;
	building->order.count = 0;
	for (size_t i = 0; i < count; i++)
		array_push(&building->order, &building->sessions.items[i]);
	if (count)
		qsort(building->order.items, count, sizeof(*building->order.items), by_place);
	for (size_t from = 0, to; from < count; from = to) {
		const struct history_session *first = &building->order.items[from]->session;
		for (to = from + 1; to < count; to++) {
			const struct history_session *next = &building->order.items[to]->session;
			if (next->machine_class != first->machine_class || next->branch != first->branch)
				break;
		}
		finish_series(building, from, to);
	}
	for (size_t i = 0; i < count; i++)
		free(building->sessions.items[i].waits);
	building->sessions.count = 0;
}

static void take_session(void *context, const struct history_session *row) {
	struct building *building = context;
	size_t count = building->sessions.count;
	if (count && building->sessions.items[count - 1].session.test != row->test)
		finish_test(building);
	struct series_session session = {.session = *row};
	memcpy(session.values, row->values, building->wish->metric_count * sizeof(*row->values));
	session.waits = row->waits ? memory_string(row->waits) : NULL;
	array_push(&building->sessions, session);
}

int series_read(struct history_store *store, const struct history_filter *filter,
		const struct history_wish *wish, void (*take)(void *context, const struct series *series),
		void *context) {
	struct building building = {.wish = wish, .take = take, .context = context};
	int error = store->operations->sessions(store, filter, wish, take_session, &building);
	if (!error)
		finish_test(&building);
	for (size_t i = 0; i < building.sessions.count; i++)
		free(building.sessions.items[i].waits);
	array_free(&building.sessions);
	array_free(&building.order);
	array_free(&building.by_point);
	array_free(&building.points);
	array_free(&building.point_of);
	array_free(&building.values);
	return error;
}

double *series_values(const struct series *series, size_t metric, size_t *places, size_t *count) {
	double *values = memory_alloc((series->count + 1) * sizeof(*values));
	*count = 0;
	for (size_t i = 0; i < series->count; i++) {
		if (isnan(series->points[i].values[metric]))
			continue;
		if (places)
			places[*count] = i;
		values[(*count)++] = series->points[i].values[metric];
	}
	return values;
}
