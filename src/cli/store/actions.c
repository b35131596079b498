#include "cli/store/actions.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/verb.h"
#include "process/user.h"
#include "store/check.h"
#include "store/export.h"
#include "store/push.h"
#include "store/questions.h"
#include "store/rebuild.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static unsigned patience_of(const struct store_request *request) {
	return (unsigned)(request->patience >= 1 ? request->patience : 1);
}

// A job of a fork has no passwords, and must not fail; an address that is none is another matter.
static bool are_places(const char *to, const char *objects) {
	struct store_place store;
	struct objects_place place = {0};
	if (!store_place_parse(&store, to))
		return false;
	store_place_free(&store);
	bool good = !objects || objects_place_parse(&place, objects);
	if (good)
		objects_place_free(&place);
	return good;
}

int act_push(struct store_request *request, int count, char **words) {
	struct settings settings;
	struct batch_counts counts;
	uint64_t left;
	char size[16];
	if (!are_places(request->to, request->objects) || !settings_load(&settings, true))
		return EXIT_USAGE;
	if (!user_choose_group(settings.artifact_group)) { // who may read objects in a folder
		settings_free(&settings);
		return EXIT_USAGE;
	}
	struct push push = {.folder = count ? words[0] : settings.output_dir,
			    .to = request->to,
			    .objects = request->objects,
			    .untrusted = request->untrusted,
			    .again = request->again,
			    .batch = request->batch,
			    .patience = patience_of(request)};
	int error = push_folder(&push, &counts, &left);
	text_line(stdout,
		  "pushed %" PRIu64 " session%s to %s (%" PRIu64 " were there already, %" PRIu64
		  " untrusted, %" PRIu64 " in conflict, %" PRIu64 " lines ignored, %" PRIu64 " broken)",
		  counts.sessions, plural(counts.sessions), push.to, counts.known, counts.untrusted,
		  counts.conflicts, counts.ignored, counts.broken);
	if (push.objects)
		text_line(stdout, "objects: %" PRIu64 " new, %s, in %s; %" PRIu64 " gone before",
			  counts.objects, file_size_words(counts.object_bytes, size), push.objects,
			  counts.missing);
	if (error)
		log_warning("%s: %" PRIu64 " bytes of its manifest are left for the next push", push.folder,
			    left);
	settings_free(&settings);
	return !error ? 0 : request->strict ? EXIT_FOUND : 0;
}

int act_init(struct store_request *request, int count, char **words) {
	struct clickhouse server;
	if (request->plan.cluster && !store_is_identifier(request->plan.cluster)) {
		log_error("--cluster: wanted: the name of a cluster, letters, digits and _");
		return EXIT_USAGE;
	}
	if (!clickhouse_open(&server, request->to, patience_of(request)))
		return EXIT_USAGE;
	int error = 0;
	if (request->gc.dry_run) {
		struct buffer sql = {0};
		schema_statements(&request->plan, server.place.database, &sql);
		printf("%s;\n", (char *)sql.data);
		buffer_free(&sql);
	} else {
		error = schema_make(&server, &request->plan);
	}
	clickhouse_close(&server);
	return error ? EXIT_USAGE : 0;
}

int act_check(struct store_request *request, int count, char **words) {
	struct store_check check = {.to = request->to,
				    .objects = request->objects,
				    .deep = request->deep,
				    .patience = patience_of(request)};
	int found = check_store(&check);
	return found < 0 ? EXIT_USAGE : found ? EXIT_FOUND : 0;
}

int act_gc(struct store_request *request, int count, char **words) {
	struct gc_counts counts;
	struct gc *gc = &request->gc;
	char size[16], left[16];
	if (gc->session_age <= 0 && gc->profile_age <= 0 && gc->object_age <= 0 && !gc->object_size) {
		log_error("gc needs a limit: --session-age, --profile-age, --object-age or --object-size");
		return EXIT_USAGE;
	}
	if ((gc->object_age > 0 || gc->object_size) && !request->objects) {
		log_error("gc needs --objects PLACE to delete objects");
		return EXIT_USAGE;
	}
	gc->to = request->to;
	gc->objects = request->objects;
	gc->here = request->plan.here;
	gc->now = time(NULL);
	gc->patience = patience_of(request);
	int error = gc_store(gc, &counts);
	const char *did = gc->dry_run ? "would delete" : "deleted";
	text_line(stdout, "%s %" PRIu64 " month%s of sessions, %" PRIu64 " of passed profiles", did,
		  counts.months, plural(counts.months), counts.profile_months);
	if (gc->objects)
		text_line(stdout,
			  "%s %" PRIu64 " object%s, %s, and %" PRIu64 " files of raw lines; left: %" PRIu64
			  " objects, %s",
			  did, counts.objects, plural(counts.objects),
			  file_size_words(counts.object_bytes, size), counts.pieces, counts.left,
			  file_size_words(counts.left_bytes, left));
	return error ? EXIT_USAGE : 0;
}

int act_rebuild(struct store_request *request, int count, char **words) {
	struct batch_counts counts;
	struct rebuild rebuild = {
		.to = request->to, .objects = request->objects, .patience = patience_of(request)};
	if (!rebuild.objects) {
		log_error("rebuild needs --objects PLACE, where the raw lines are");
		return EXIT_USAGE;
	}
	int error = rebuild_store(&rebuild, &counts);
	text_line(stdout,
		  "rebuilt %" PRIu64 " session%s in %s from %s (%" PRIu64 " were there already, %" PRIu64
		  " untrusted, %" PRIu64 " in conflict)",
		  counts.sessions, plural(counts.sessions), rebuild.to, rebuild.objects, counts.known,
		  counts.untrusted, counts.conflicts);
	return error ? EXIT_USAGE : 0;
}

// ---- output ----

// What stands in a store may be anything, and a terminal obeys escape sequences.
static bool write_plain(void *context, const void *bytes, size_t size) {
	struct output *output = context;
	bool terminal = system_is_terminal(STDOUT_FILENO);
	if (!terminal)
		return output_write(output, bytes, size) == 0;
	CLEANUP_FREE uint8_t *copy = memory_alloc(size + 1);
	memcpy(copy, bytes, size);
	for (size_t i = 0; i < size; i++) {
		bool c1 = i && copy[i - 1] == 0xc2 && copy[i] >= 0x80 && copy[i] < 0xa0;
		if ((copy[i] < ' ' && copy[i] != '\n' && copy[i] != '\t') || copy[i] == 0x7f || c1)
			copy[i] = c1 ? 0xbf : '?';
	}
	return output_write(output, copy, size) == 0;
}

int act_sql(struct store_request *request, int count, char **words) {
	struct clickhouse server;
	struct output output;
	struct input input = {0};
	bool terminal = system_is_terminal(STDOUT_FILENO);
	const char *format = request->format ? request->format
			     : terminal      ? "PrettyCompactNoEscapes"
					     : "TabSeparatedWithNames";
	bool from_input = strcmp(words[0], "-") == 0;
	if (from_input && input_open(&input, "-")) {
		log_error("standard input: cannot be read");
		return EXIT_USAGE;
	}
	CLEANUP_FREE char *sql = from_input ? memory_format("%.*s", (int)input.size, (const char *)input.data)
					    : memory_string(words[0]);
	if (from_input)
		input_close(&input);
	if (!clickhouse_open(&server, request->to, patience_of(request)))
		return EXIT_USAGE;
	int error = output_open(&output, "-", OUTPUT_REPLACE);
	if (!error) {
		error = clickhouse_stream(&server, sql, format, request->write, write_plain, &output);
		if (error)
			clickhouse_report(&server, "the statement failed");
		int written = output_commit(&output);
		error = error ? error : written;
	}
	clickhouse_close(&server);
	return error ? EXIT_USAGE : 0;
}

int act_export(struct store_request *request, int count, char **words) {
	struct history_store *store;
	struct output output;
	struct export export = {.metrics = request->metrics.items,
				.metric_count = request->metrics.count,
				.json = request->json};
	const char *path = request->output ? request->output : "-";
	history_open_fleet = store_open;
	if (history_open(request->to, &store)) // a folder has the same rows
		return EXIT_USAGE;
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (error) {
		log_error("%s: cannot be written: %s", path, strerror(-error));
	} else {
		error = export_sessions(store, &export, &output);
		if (!error && (error = output_commit(&output)))
			log_error("%s: cannot be written: %s", path, strerror(-error));
		output_abandon(&output);
	}
	store->operations->close(store);
	return error ? EXIT_USAGE : 0;
}
