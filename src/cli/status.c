#include "base/json.h"
#include "base/log.h"
#include "cli/verb.h"
#include "session/operation.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void show_table(const state_array *sessions) {
	for (size_t i = 0; i < sessions->count; i++) {
		const struct state *session = &sessions->items[i];
		printf("%-24s %-9s %8d  %6llds  %s\n", session->name,
		       session->operation ? "operation" : "test", (int)session->pid,
		       (long long)time(NULL) - session->since, session->artifact);
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

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	bool json = false;
	for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		json = true;
	}
	if (optind != argc) {
		log_error("status takes no '%s'", argv[optind]);
		return verb_bad_usage(verb);
	}
	state_array sessions = {0};
	int error = list(&sessions);
	if (error)
		log_error("the state of sessions cannot be read: %s", strerror(-error));
	else
		(json ? show_json : show_table)(&sessions);
	int status = error ? EXIT_USAGE : sessions.count ? 0 : EXIT_FOUND;
	array_free(&sessions);
	return status;
}

const struct verb verb_status = {
	.name = "status",
	.summary = "list the sessions that are recording",
	.help = "Usage: tracelet status [--json]\n\n"
		"Lists your sessions that are recording now: name, kind (operation or test), number of\n"
		"the tracer's process, age, and the file that is being made.\n\n"
		"  --json  as JSON\n"
		"  --help  this text\n\n"
		"Exit status: 0 there are some, 1 there are none.\n",
	.run = run,
};
