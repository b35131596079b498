#include "store/check.h"
#include "base/array.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "store/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { LARGEST_READ = 1 << 30 };

// ---- rows ----

static const struct number {
	const char *what, *sql;
} numbers[] = {
	{"sessions", "SELECT count() FROM sessions FINAL"},
	{"tests", "SELECT uniqExact(test) FROM sessions"},
	{"runs", "SELECT uniqExact(project, run) FROM sessions"},
	{"untrusted", "SELECT count() FROM sessions FINAL WHERE NOT trusted"},
	{"profiles", "SELECT count() FROM profiles FINAL"},
	{"artifacts", "SELECT count() FROM artifacts FINAL"},
	{"repeated", "SELECT (SELECT count() FROM sessions) - (SELECT count() FROM sessions FINAL)"},
	{"conflicts", "SELECT count() FROM odd_lines FINAL WHERE kind = 'conflict'"},
	{"ignored", "SELECT count() FROM odd_lines FINAL WHERE kind = 'ignored'"},
	{"broken", "SELECT count() FROM odd_lines FINAL WHERE kind = 'broken'"},
};

// Sessions without an id, or with two places: an interrupted push leaves neither.
static const struct number defects[] = {
	{"sessions whose id is missing", "SELECT count() FROM (SELECT DISTINCT session FROM sessions) WHERE "
					 "session GLOBAL NOT IN (SELECT session "
					 "FROM ids)"},
	{"sessions that are there twice",
	 "SELECT count() FROM (SELECT session FROM sessions FINAL GROUP BY session HAVING count() > 1)"},
};

static int check_rows(struct clickhouse *server) {
	uint64_t value;
	int error = 0, found = 0;
	for (size_t i = 0; i < ARRAY_SIZE(numbers) && !error; i++) {
		error = clickhouse_number(server, numbers[i].sql, &value);
		if (!error)
			printf("%-10s %" PRIu64 "\n", numbers[i].what, value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(defects) && !error; i++) {
		error = clickhouse_number(server, defects[i].sql, &value);
		if (!error && value) {
			printf("DEFECT     %" PRIu64 " %s\n", value, defects[i].what);
			found++;
		}
	}
	if (error)
		clickhouse_report(server, "cannot count rows");
	return error ? error : found;
}

// ---- objects ----

struct known_object {
	char digest[OBJECTS_DIGEST];
	uint64_t size;
};

struct object_check {
	struct objects *objects;
	ARRAY(struct known_object) there;
	struct map by_digest; // its hash to the number above, plus one
	uint64_t bytes, others, pieces;
	uint64_t missing, wrong_size, wrong_content;
};

static void take_object(void *context, const struct objects_entry *entry) {
	struct object_check *check = context;
	struct known_object object = {.size = entry->size};
	unsigned month;
	bool trusted;
	enum objects_kind kind = objects_kind_of(entry->key, &month, &trusted);
	check->others += kind == OBJECTS_OTHER;
	check->pieces += kind == OBJECTS_PIECE;
	if (kind != OBJECTS_ARTIFACT)
		return;
	snprintf(object.digest, sizeof(object.digest), "%s", strrchr(entry->key, '/') + 1);
	array_push(&check->there, object);
	*map_put(&check->by_digest, hash_bytes(object.digest, OBJECTS_DIGEST - 1)) = check->there.count;
	check->bytes += entry->size;
}

static void take_artifact(void *context, const struct cell *cells) {
	struct object_check *check = context;
	if (!objects_is_digest(cells[0].text))
		return;
	const uint64_t *number = map_get(&check->by_digest, hash_bytes(cells[0].text, OBJECTS_DIGEST - 1));
	if (!number)
		check->missing++;
	else
		check->wrong_size += check->there.items[*number - 1].size != cell_uint(&cells[1]);
}

static int check_content(struct object_check *check) {
	const struct objects_operations *operations = check->objects->operations;
	int error = 0;
	for (size_t i = 0; i < check->there.count && !error; i++) {
		char key[OBJECTS_LONGEST_KEY], digest[OBJECTS_DIGEST];
		struct buffer bytes = {0};
		objects_key(check->there.items[i].digest, key);
		error = operations->get(check->objects, key, &bytes, LARGEST_READ);
		if (error == -EFBIG || error == -EMSGSIZE) {
			log_warning("%s: too large to be read here", key);
			error = 0;
		} else if (!error) {
			objects_digest(bytes.data, bytes.size, digest);
			if (strcmp(digest, check->there.items[i].digest) != 0) {
				log_error("%s: its content is not what its name says", key);
				check->wrong_content++;
			}
		}
		buffer_free(&bytes);
	}
	return error;
}

static int count_defects(const struct object_check *check) {
	char size[16];
	printf("objects    %zu, %s\nraw lines  %" PRIu64 " files\n", check->there.count,
	       file_size_words(check->bytes, size), check->pieces);
	if (check->missing)
		printf("gone       %" PRIu64
		       " artifact%s without an object (deleted here or before the push)\n",
		       check->missing, plural(check->missing));
	if (check->others)
		printf("others     %" PRIu64 " file%s that are not ours\n", check->others,
		       plural(check->others));
	if (check->wrong_size)
		printf("DEFECT     %" PRIu64 " object%s with another size than the artifact\n",
		       check->wrong_size, plural(check->wrong_size));
	if (check->wrong_content)
		printf("DEFECT     %" PRIu64 " object%s with another content\n", check->wrong_content,
		       plural(check->wrong_content));
	return (check->wrong_size > 0) + (check->wrong_content > 0);
}

static int check_objects(const struct store_check *options, struct clickhouse *server) {
	struct object_check check = {.objects = objects_open(options->objects, server->http)};
	if (!check.objects)
		return -EINVAL;
	struct clickhouse_question question = {.sql = "SELECT DISTINCT sha256, size FROM artifacts",
					       .columns = 2,
					       .take = take_artifact,
					       .context = &check};
	int error = check.objects->operations->list(check.objects, "", take_object, &check);
	if (!error && options->deep)
		error = check_content(&check);
	if (error)
		log_error("%s: cannot read objects: %s", check.objects->place, check.objects->failure);
	if (!error && (error = clickhouse_ask(server, &question)))
		clickhouse_report(server, "cannot ask for artifacts");
	if (!error)
		error = count_defects(&check);
	objects_close(check.objects);
	array_free(&check.there);
	map_free(&check.by_digest);
	return error;
}

static void print_version(void *context, const struct cell *cells) {
	text_line(stdout, "%-10s %s", "ClickHouse", cells[0].text ? cells[0].text : "?");
}

int check_store(const struct store_check *check) {
	struct clickhouse server;
	struct clickhouse_question version = {.sql = "SELECT version()", .columns = 1, .take = print_version};
	if (!clickhouse_open(&server, check->to, check->patience))
		return -EINVAL;
	int found = clickhouse_ask(&server, &version);
	if (found)
		clickhouse_report(&server, "cannot ask for its version");
	if (!found)
		found = schema_check(&server);
	if (!found)
		found = check_rows(&server);
	if (found >= 0 && check->objects) {
		int more = check_objects(check, &server);
		found = more < 0 ? more : found + more;
	}
	clickhouse_close(&server);
	return found;
}
