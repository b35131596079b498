#include "store/gc.h"
#include "base/array.h"
#include "base/log.h"
#include "store/schema.h"

#include <errno.h>

// ---- rows ----

typedef ARRAY(unsigned) month_array;

static void take_month(void *context, const struct cell *cells) {
	array_push((month_array *)context, (unsigned)cell_uint(&cells[0]));
}

// The month of the first day that is young enough: all before it are too old.
static unsigned first_month(time_t now, double age) {
	double cut = (double)now - age;
	time_t time = cut > 0 ? (time_t)cut : 0;
	struct tm date = {0};
	gmtime_r(&time, &date);
	return (unsigned)((date.tm_year + 1900) * 100 + date.tm_mon + 1);
}

struct sweep {
	const struct gc *gc;
	struct clickhouse server;
	char *cluster; // NULL if there is none
};

// `part` is what follows the month in the partition's name, if anything does.
static int drop(struct sweep *sweep, enum schema_id table, unsigned month, const char *part) {
	struct buffer sql = {0};
	buffer_printf(&sql, "ALTER TABLE %s.%s%s", sweep->server.place.database, schema_tables[table].name,
		      sweep->cluster ? "_local" : "");
	if (sweep->cluster && !sweep->gc->here)
		buffer_printf(&sql, " ON CLUSTER %s", sweep->cluster);
	buffer_text(&sql, " DROP PARTITION ");
	if (*part)
		buffer_printf(&sql, "(%u, %s)", month, part);
	else
		buffer_printf(&sql, "%u", month);
	buffer_append(&sql, "", 1);
	int error = clickhouse_do(&sweep->server, (char *)sql.data, false);
	if (error)
		clickhouse_report(
			&sweep->server,
			sweep->cluster && !sweep->gc->here
				? "cannot drop a month on the cluster (--here does it on one server)"
				: "cannot drop a month");
	buffer_free(&sql);
	return error;
}

static int find_months(struct sweep *sweep, enum schema_id table, const char *condition, double age,
		       month_array *months) {
	const char *local = sweep->cluster && sweep->gc->here ? "_local" : "";
	CLEANUP_FREE char *sql = memory_format(
		"SELECT DISTINCT toYYYYMM(day) AS month FROM %s%s WHERE %s AND "
		"month < %u ORDER BY month",
		schema_tables[table].name, local, condition, first_month(sweep->gc->now, age));
	struct clickhouse_question question = {
		.sql = sql, .columns = 1, .take = take_month, .context = months};
	int error = clickhouse_ask(&sweep->server, &question);
	if (error)
		clickhouse_report(&sweep->server, "cannot look for old sessions");
	return error;
}

static int sweep_sessions(struct sweep *sweep, struct gc_counts *counts) {
	// A month's sessions go last: until then the next gc finds the month again.
	static const struct {
		enum schema_id table;
		const char *part;
	} parts[] = {
		{SCHEMA_PROFILES, "0"}, {SCHEMA_PROFILES, "1"}, {SCHEMA_ARTIFACTS, ""},
		{SCHEMA_IDS, ""},       {SCHEMA_SESSIONS, ""},
	};
	month_array months = {0};
	int error = find_months(sweep, SCHEMA_SESSIONS, "1", sweep->gc->session_age, &months);
	for (size_t i = 0; i < months.count && !error; i++) {
		counts->months++;
		for (size_t p = 0; p < ARRAY_SIZE(parts) && !error && !sweep->gc->dry_run; p++)
			error = drop(sweep, parts[p].table, months.items[i], parts[p].part);
	}
	array_free(&months);
	return error;
}

static int sweep_profiles(struct sweep *sweep, struct gc_counts *counts) {
	month_array months = {0};
	int error = find_months(sweep, SCHEMA_PROFILES, "passed", sweep->gc->profile_age, &months);
	for (size_t i = 0; i < months.count && !error; i++) {
		counts->profile_months++;
		if (!sweep->gc->dry_run)
			error = drop(sweep, SCHEMA_PROFILES, months.items[i], "1");
	}
	array_free(&months);
	return error;
}

static int sweep_rows(struct sweep *sweep, struct gc_counts *counts) {
	int error = 0;
	sweep->cluster = schema_cluster(&sweep->server);
	if (sweep->cluster && !*sweep->cluster)
		error = -EIO;
	if (!error && sweep->gc->session_age > 0)
		error = sweep_sessions(sweep, counts);
	if (!error && sweep->gc->profile_age > 0)
		error = sweep_profiles(sweep, counts);
	free(sweep->cluster);
	return error;
}

// ---- objects ----

struct old_object {
	char *key;
	uint64_t size;
	time_t changed;
};

struct object_list {
	ARRAY(struct old_object) artifacts, pieces;
	unsigned month; // pieces of earlier ones are deleted; 0 to keep them
};

static void take_object(void *context, const struct objects_entry *entry) {
	struct object_list *list = context;
	unsigned month;
	bool trusted;
	enum objects_kind kind = objects_kind_of(entry->key, &month, &trusted);
	bool old = kind == OBJECTS_PIECE && month < list->month;
	if (kind == OBJECTS_ARTIFACT || old) {
		struct old_object object = {memory_string(entry->key), entry->size, entry->changed};
		if (old)
			array_push(&list->pieces, object);
		else
			array_push(&list->artifacts, object);
	}
}

static int by_age(const void *a, const void *b) {
	const struct old_object *x = a, *y = b;
	return x->changed != y->changed ? (x->changed > y->changed) - (x->changed < y->changed)
					: strcmp(x->key, y->key);
}

static int sweep_artifacts(const struct gc *gc, struct objects *objects, struct object_list *list,
			   struct gc_counts *counts) {
	int error = 0;
	uint64_t total = 0;
	for (size_t i = 0; i < list->artifacts.count; i++)
		total += list->artifacts.items[i].size;
	if (list->artifacts.count)
		qsort(list->artifacts.items, list->artifacts.count, sizeof(*list->artifacts.items), by_age);
	for (size_t i = 0; i < list->artifacts.count && !error; i++) {
		const struct old_object *object = &list->artifacts.items[i];
		bool old = gc->object_age > 0 && difftime(gc->now, object->changed) > gc->object_age;
		if (!old && (!gc->object_size || total <= gc->object_size)) {
			counts->left++;
			continue;
		}
		if (!gc->dry_run)
			error = objects->operations->remove(objects, object->key);
		total -= object->size;
		counts->objects++;
		counts->object_bytes += object->size;
	}
	counts->left_bytes = total;
	return error;
}

static int sweep_objects(const struct gc *gc, struct objects *objects, struct gc_counts *counts) {
	struct object_list list = {.month = gc->session_age > 0 ? first_month(gc->now, gc->session_age) : 0};
	int error = objects->operations->list(objects, "objects/", take_object, &list);
	if (!error && list.month)
		error = objects->operations->list(objects, "runs/", take_object, &list);
	if (!error)
		error = sweep_artifacts(gc, objects, &list, counts);
	for (size_t i = 0; i < list.pieces.count && !error; i++) {
		counts->pieces++;
		if (!gc->dry_run)
			error = objects->operations->remove(objects, list.pieces.items[i].key);
	}
	if (error)
		log_error("%s: cannot delete objects: %s", objects->place, objects->failure);
	for (size_t i = 0; i < list.artifacts.count; i++)
		free(list.artifacts.items[i].key);
	for (size_t i = 0; i < list.pieces.count; i++)
		free(list.pieces.items[i].key);
	array_free(&list.artifacts);
	array_free(&list.pieces);
	return error;
}

int gc_store(const struct gc *gc, struct gc_counts *counts) {
	struct sweep sweep = {.gc = gc};
	int error = 0;
	*counts = (struct gc_counts){0};
	if (gc->to && (gc->session_age > 0 || gc->profile_age > 0)) {
		if (!clickhouse_open(&sweep.server, gc->to, gc->patience))
			return -EINVAL;
		error = sweep_rows(&sweep, counts);
		clickhouse_close(&sweep.server);
	}
	if (error || !gc->objects)
		return error;
	struct http *http = http_open(gc->patience);
	struct objects *objects = http ? objects_open(gc->objects, http) : NULL;
	error = objects ? sweep_objects(gc, objects, counts) : -EINVAL;
	objects_close(objects);
	http_close(http);
	return error;
}
