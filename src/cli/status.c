#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/show_collector.h"
#include "cli/verb.h"
#include "format/collector_wire.h"
#include "session/operation.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void show_table(const state_array *sessions) {
	for (size_t i = 0; i < sessions->count; i++) {
		const struct state *session = &sessions->items[i];
		text_line(stdout, "%-24s %-9s %8d  %6llds  %s", session->name,
			  session->operation ? "operation" : "test", (int)session->pid,
			  (long long)time(NULL) - session->since, session->artifact);
		if (*session->ended)
			log_warning("%s: %s", session->name, session->ended);
	}
}

static void show_json(const state_array *sessions) {
	struct buffer out = {0};
	struct json json = json_into(&out);
	json_array(&json, NULL);
	for (size_t i = 0; i < sessions->count; i++) {
		const struct state *session = &sessions->items[i];
		json_object(&json, NULL);
		json_string(&json, "name", session->name);
		json_string(&json, "kind", session->operation ? "operation" : "test");
		json_int(&json, "pid", session->pid);
		json_int(&json, "since", session->since);
		json_string(&json, "artifact", session->artifact);
		if (session->follows)
			json_int(&json, "follows", session->follows);
		if (*session->ended)
			json_string(&json, "ended", session->ended);
		json_close_object(&json);
	}
	json_close_array(&json);
	printf("%.*s\n", (int)out.size, (char *)out.data);
	buffer_free(&out);
}

static int list(state_array *sessions) {
	state_array all = {0};
	int error = operation_list(&all);
	for (size_t i = 0; i < all.count; i++)
		if (operation_is_there(&all.items[i]))
			array_push(sessions, all.items[i]);
	array_free(&all);
	return error;
}

enum { OPTION_JSON = LETTERS + 1, OPTION_COLLECTOR, OPTION_SOCKET };

static const struct verb_option own_options[] = {
	{"json", OPTION_JSON, NULL, "print JSON"},
#ifndef _WIN32
	{"collector", OPTION_COLLECTOR, NULL,
	 "print the counters, users and sessions of the resident collector instead"},
	{"collector-socket", OPTION_SOCKET, "PATH",
	 "where it listens (default: $TRACELET_COLLECTOR_SOCKET, or " COLLECTOR_SOCKET ")"},
#endif
	{0},
};

struct request {
	bool json, collector;
	const char *socket;
};

static bool take_option(int option, const char *value, void *context) {
	struct request *request = context;
	request->json |= option == OPTION_JSON;
	request->collector |= option != OPTION_JSON;
	if (option == OPTION_SOCKET)
		request->socket = value;
	return true;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct request request = {.socket = getenv("TRACELET_COLLECTOR_SOCKET")};
	int status = verb_take(argc, argv, verb, take_option, &request);
	bool json = request.json;
	if (status >= 0)
		return status;
	if (optind != argc) {
		log_error("status takes no argument '%s'", argv[optind]);
		return verb_bad_usage(verb);
	}
#ifndef _WIN32
	if (request.collector)
		return show_collector(request.socket ? request.socket : COLLECTOR_SOCKET, json);
#endif
	state_array sessions = {0};
	int error = list(&sessions);
	if (error)
		log_error("cannot read the state of sessions: %s", strerror(-error));
	else
		(json ? show_json : show_table)(&sessions);
	status = error ? EXIT_USAGE : sessions.count ? 0 : EXIT_FOUND;
	array_free(&sessions);
	return status;
}

const struct verb verb_status = {
	.name = "status",
	.family = FAMILY_RECORD,
	.options = own_options,
	.summary = "list the sessions that are recording",
	.usage = BY_SYSTEM("tracelet status [--json] [--collector]", "tracelet status [--json]"),
	.about = "Lists your sessions that are recording now: name, kind (operation or test), process id of "
		 "the tracer, age, and the file that it is writing.",
	.notes = BY_SYSTEM("Exit status: 0 if a session is recording, or the collector answers; 1 if not.",
			   "Exit status: 0 if a session is recording, 1 if none is."),
	.run = run,
};
