#include "store/export.h"
#include "base/array.h"
#include "base/json.h"
#include "base/log.h"
#include "base/map.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

struct exporter {
	const struct export *export;
	struct output *output;
	ARRAY(struct history_test) tests; // their texts are the store's
	struct map by_key;                // key of a test to its number above
	ARRAY(const char *) metrics;
	struct buffer line;
};

static void take_test(void *context, const struct history_test *test) {
	struct exporter *exporter = context;
	*map_put(&exporter->by_key, test->key) = exporter->tests.count;
	array_push(&exporter->tests, *test);
}

static void id_text(const uint8_t id[HISTORY_ID], char text[40]) {
	char *out = text;
	for (size_t i = 0; i < HISTORY_ID; i++)
		out += sprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
}

static void time_text(int64_t ms, char text[40]) {
	struct tm utc = {0};
	time_t seconds = (time_t)(ms / 1000);
	char whole[32] = "";
	gmtime_r(&seconds, &utc);
	strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, 40, "%s.%03dZ", whole, (int)(ms % 1000));
}

// The columns before the metrics.
#define EXPORT_TEXTS(TEXT)                                                                                   \
	TEXT("project", test->project)                                                                       \
	TEXT("suite", test->suite)                                                                           \
	TEXT("name", test->name)                                                                             \
	TEXT("session", id)                                                                                  \
	TEXT("started", started)                                                                             \
	TEXT("status", manifest_status_names[row->status])                                                   \
	TEXT("machine_class", row->machine_class)                                                            \
	TEXT("branch", row->branch)                                                                          \
	TEXT("commit", row->commit)                                                                          \
	TEXT("run", row->run)

// ---- CSV ----

static void csv_text(struct buffer *line, const char *text) {
	if (!text[strcspn(text, ",\"\r\n")]) {
		buffer_text(line, text);
		return;
	}
	buffer_text(line, "\"");
	for (; *text; text++) {
		buffer_text(line, *text == '"' ? "\"" : "");
		buffer_append(line, text, 1);
	}
	buffer_text(line, "\"");
}

static void csv_header(struct exporter *exporter) {
#define CSV_NAME(name, value) buffer_text(&exporter->line, name ",");
	EXPORT_TEXTS(CSV_NAME)
	buffer_text(&exporter->line, "attempt,trusted");
	for (size_t i = 0; i < exporter->metrics.count; i++) {
		buffer_text(&exporter->line, ",");
		csv_text(&exporter->line, exporter->metrics.items[i]);
	}
	buffer_text(&exporter->line, "\r\n");
}

static void csv_row(struct exporter *exporter, const struct history_session *row,
		    const struct history_test *test, const char *id, const char *started) {
	struct buffer *line = &exporter->line;
#define CSV_VALUE(name, value)                                                                               \
	csv_text(line, value);                                                                               \
	buffer_text(line, ",");
	EXPORT_TEXTS(CSV_VALUE)
	buffer_printf(line, "%" PRIu32 ",%d", row->attempt, row->trusted);
	for (size_t i = 0; i < exporter->metrics.count; i++) {
		buffer_text(line, ",");
		if (row->values[i] != HISTORY_NONE)
			buffer_printf(line, "%" PRId64, row->values[i]);
	}
	buffer_text(line, "\r\n");
}

// ---- JSON ----

static void json_row(struct exporter *exporter, const struct history_session *row,
		     const struct history_test *test, const char *id, const char *started) {
	struct json json = json_into(&exporter->line);
	json_object(&json, NULL);
#define JSON_VALUE(name, value) json_string(&json, name, value);
	EXPORT_TEXTS(JSON_VALUE)
	json_uint(&json, "attempt", row->attempt);
	json_bool(&json, "trusted", row->trusted);
	json_object(&json, "metrics");
	for (size_t i = 0; i < exporter->metrics.count; i++)
		if (row->values[i] != HISTORY_NONE)
			json_int(&json, exporter->metrics.items[i], row->values[i]);
	json_close_object(&json);
	if (row->waits && *row->waits)
		json_raw(&json, "waited", row->waits);
	json_close_object(&json);
	buffer_text(&exporter->line, "\n");
}

// ---- rows ----

static void take_session(void *context, const struct history_session *row) {
	struct exporter *exporter = context;
	const uint64_t *number = map_get(&exporter->by_key, row->test);
	static const struct history_test unknown = {.project = "", .suite = "", .name = ""};
	const struct history_test *test = number ? &exporter->tests.items[*number] : &unknown;
	char id[40], started[40];
	id_text(row->id, id);
	time_text(row->started, started);
	exporter->line.size = 0;
	(exporter->export->json ? json_row : csv_row)(exporter, row, test, id, started);
	output_write(exporter->output, exporter->line.data, exporter->line.size);
}

int export_sessions(struct history_store *store, const struct export *export, struct output *output) {
	struct exporter exporter = {.export = export, .output = output};
	for (int i = 0; i < METRIC_COUNT_ALL; i++)
		array_push(&exporter.metrics, history_metric_name(i));
	for (size_t i = 0; i < export->metric_count; i++)
		array_push(&exporter.metrics, export->metrics[i]);
	struct history_wish wish = {.metrics = exporter.metrics.items,
				    .metric_count = exporter.metrics.count,
				    .waits = export->json};
	int error = store->operations->tests(store, &export->filter, take_test, &exporter);
	if (!error && !export->json) {
		csv_header(&exporter);
		output_write(output, exporter.line.data, exporter.line.size);
	}
	if (!error)
		error = store->operations->sessions(store, &export->filter, &wish, take_session, &exporter);
	if (!error && output->error) {
		error = output->error;
		log_error("cannot write sessions: %s", strerror(-error));
	}
	array_free(&exporter.tests);
	array_free(&exporter.metrics);
	map_free(&exporter.by_key);
	buffer_free(&exporter.line);
	return error;
}
