// `tracelet store`: the history of a fleet. The verb and its options; actions.c has what each word does.
#include "base/log.h"
#include "base/system.h"
#include "cli/store/actions.h"
#include "cli/verb.h"

#include <string.h>

enum {
	OPTION_TO = LETTERS + 1,
	OPTION_OBJECTS,
	OPTION_STRICT,
	OPTION_UNTRUSTED,
	OPTION_AGAIN,
	OPTION_BATCH,
	OPTION_PATIENCE,
	OPTION_CLUSTER,
	OPTION_HERE,
	OPTION_REPLICATED,
	OPTION_DRY_RUN,
	OPTION_DEEP,
	OPTION_SESSION_AGE,
	OPTION_PROFILE_AGE,
	OPTION_OBJECT_AGE,
	OPTION_OBJECT_SIZE,
	OPTION_FORMAT,
	OPTION_WRITE,
	OPTION_CSV,
	OPTION_JSON,
	OPTION_METRIC,
};

static const struct verb_option own_options[] = {
	{"to", OPTION_TO, "URL",
	 "the store: clickhouse+http://[USER@]HOST[:PORT]/DATABASE or clickhouse+https://... "
	 "(default: $TRACELET_STORE)"},
	{"store", OPTION_TO, "URL", "the same"},
	{"objects", OPTION_OBJECTS, "PLACE",
	 "where artifacts and raw lines are: s3://BUCKET/PREFIX or a folder (default: $TRACELET_OBJECTS)"},
	{"patience", OPTION_PATIENCE, "SECONDS",
	 "how long a request that fails is tried again, at most 5 times (default: 60)"},
	{"strict", OPTION_STRICT, NULL, "push: exit with 1 if anything could not be pushed"},
	{"untrusted", OPTION_UNTRUSTED, NULL,
	 "push: these sessions never become part of a baseline; for pull requests of forks"},
	{"again", OPTION_AGAIN, NULL, "push: from the beginning of the manifest"},
	{"batch", OPTION_BATCH, "NUMBER", "push: send so many sessions at a time (default: 50000)"},
	{"cluster", OPTION_CLUSTER, "NAME",
	 "init: make tables on all servers of this cluster, and Distributed tables"},
	{"replicated", OPTION_REPLICATED, NULL, "init: tables that ClickHouse copies between replicas"},
	{"here", OPTION_HERE, NULL,
	 "init, gc: on this server only; for clusters without ZooKeeper, once for each server"},
	{"dry-run", OPTION_DRY_RUN, NULL, "init, gc: print what would be done"},
	{"deep", OPTION_DEEP, NULL, "check: read every object and compare its SHA-256"},
	{"session-age", OPTION_SESSION_AGE, "AGE",
	 "gc: delete months of sessions that are older, such as 400d"},
	{"profile-age", OPTION_PROFILE_AGE, "AGE", "gc: the same for the functions of passed sessions"},
	{"object-age", OPTION_OBJECT_AGE, "AGE", "gc: delete artifacts that are older"},
	{"object-size", OPTION_OBJECT_SIZE, "SIZE",
	 "gc: delete the oldest artifacts until the rest fits, such as 100G"},
	{"format", OPTION_FORMAT, "NAME", "sql: one of ClickHouse's formats (default: a table)"},
	{"write", OPTION_WRITE, NULL, "sql: allow statements that change something"},
	{"csv", OPTION_CSV, NULL, "export: CSV with a header (default)"},
	{"json", OPTION_JSON, NULL, "export: a JSON object on each line"},
	{"metric", OPTION_METRIC, "NAME", "export: also this metric of your own; may be repeated"},
	{"output", 'o', "FILE", "export: write there (default: standard output)"},
	{"verbose", 'v', NULL, "print more details"},
	{0},
};

// ---- options ----

static bool take_flag(int option, struct store_request *request) {
	const struct {
		int option;
		bool *flag;
	} flags[] = {
		{OPTION_STRICT, &request->strict},  {OPTION_UNTRUSTED, &request->untrusted},
		{OPTION_AGAIN, &request->again},    {OPTION_REPLICATED, &request->plan.replicated},
		{OPTION_HERE, &request->plan.here}, {OPTION_DRY_RUN, &request->gc.dry_run},
		{OPTION_DEEP, &request->deep},      {OPTION_WRITE, &request->write},
		{OPTION_JSON, &request->json},
	};
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (flags[i].option == option) {
			*flags[i].flag = true;
			return true;
		}
	return false;
}

static bool take_text(int option, const char *value, struct store_request *request) {
	const struct {
		int option;
		const char **text;
	} texts[] = {
		{OPTION_TO, &request->to},         {OPTION_OBJECTS, &request->objects},
		{OPTION_FORMAT, &request->format}, {OPTION_CLUSTER, &request->plan.cluster},
		{'o', &request->output},
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].option == option) {
			*texts[i].text = value;
			return true;
		}
	return false;
}

static bool take_time(int option, const char *value, struct store_request *request, bool *good) {
	const struct {
		int option;
		const char *name;
		double *seconds;
	} times[] = {
		{OPTION_PATIENCE, "patience", &request->patience},
		{OPTION_SESSION_AGE, "session-age", &request->gc.session_age},
		{OPTION_PROFILE_AGE, "profile-age", &request->gc.profile_age},
		{OPTION_OBJECT_AGE, "object-age", &request->gc.object_age},
	};
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (times[i].option == option) {
			*good = settings_parse_seconds(value, times[i].seconds) && *times[i].seconds > 0 &&
				*times[i].seconds < 4e9;
			if (!*good)
				log_error("--%s: wanted: a time, such as 30s or 90d", times[i].name);
			return true;
		}
	return false;
}

static bool take_option(int option, const char *value, void *context) {
	struct store_request *request = context;
	bool good = true;
	size_t size;
	if (take_flag(option, request) || take_text(option, value, request) ||
	    take_time(option, value, request, &good) || option == OPTION_CSV)
		return good;
	switch (option) {
	case 'v':
		log_set_level(LOG_VERBOSE);
		return true;
	case OPTION_METRIC:
		array_push(&request->metrics, value);
		return true;
	case OPTION_BATCH:
		good = settings_parse_size(value, &request->batch) && request->batch > 0;
		if (!good)
			log_error("--batch: wanted: a number");
		return good;
	default:
		good = settings_parse_size(value, &size) && size > 0;
		request->gc.object_size = good ? size : 0;
		if (!good)
			log_error("--object-size: wanted: a size, such as 100G");
		return good;
	}
}

// ---- the verb ----

static const struct action {
	const char *name;
	int least, most; // number of words after it
	store_action *run;
} actions[] = {
	{"push", 0, 1, act_push},     {"init", 0, 0, act_init},       {"check", 0, 0, act_check},
	{"gc", 0, 0, act_gc},         {"rebuild", 0, 0, act_rebuild}, {"sql", 1, 1, act_sql},
	{"export", 0, 0, act_export},
};

static int act(const struct verb *verb, struct store_request *request, int count, char **words) {
	const struct action *action = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(actions) && count; i++)
		if (strcmp(actions[i].name, words[0]) == 0)
			action = &actions[i];
	if (!action || count - 1 < action->least || count - 1 > action->most) {
		log_error(action ? "wrong number of words after '%s'"
				 : "store needs one of: push, init, check, gc, rebuild, sql, export",
			  count ? words[0] : "");
		return verb_bad_usage(verb);
	}
	if (!request->to && action->run != act_gc) {
		log_error("which store? Name it with --to URL, or in TRACELET_STORE");
		return EXIT_USAGE;
	}
	return action->run(request, count - 1, words + 1);
}

static const char *from_environment(const char *name) {
	const char *value = system_variable(name);
	return value && *value ? value : NULL;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct store_request request = {.to = from_environment("TRACELET_STORE"),
					.objects = from_environment("TRACELET_OBJECTS"),
					.patience = HTTP_PATIENCE};
	int status = verb_take(argc, argv, verb, take_option, &request);
	if (status < 0)
		status = act(verb, &request, argc - optind, argv + optind);
	array_free(&request.metrics);
	return status;
}

const struct verb verb_store = {
	.name = "store",
	.family = FAMILY_RESULTS,
	.options = own_options,
	.summary = "keep the history of a fleet in ClickHouse",
	.usage = "tracelet store push [OPTIONS] [DIR]\n"
		 "tracelet store init | check | gc | rebuild | export [OPTIONS]\n"
		 "tracelet store sql [OPTIONS] QUERY",
	.about =
		"push sends the sessions in DIR/manifest.jsonl that the store does not have yet, and their "
		"artifacts (default: the output directory). What cannot be sent is left for the next push; "
		"that is a warning and no failure unless --strict is given.\n\n"
		"init makes the tables. check looks whether they and the objects are whole. gc deletes what "
		"is "
		"too old or too much. rebuild makes the rows again from the raw lines among the objects. sql "
		"sends a query ('-': standard input). export writes all sessions as a table.\n\n"
		"Names and passwords come from TRACELET_STORE_USER and TRACELET_STORE_PASSWORD, or from the "
		"file "
		"TRACELET_STORE_CREDENTIALS; for S3 from the variables and files of Amazon's tools.",
	.notes = "Exit status: 0; 1 check found defects, or push --strict could not send everything; 2 bad "
		 "options, or the store cannot be used.\n\n"
		 "Example: tracelet store push --to clickhouse+https://history.example:8443/ci "
		 "--objects s3://traces/ci",
	.run = run,
};
