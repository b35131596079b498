// `tracelet doctor`: the verb and its table.
#include "base/json.h"
#include "base/log.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/doctor/doctor.h"

#include <stdio.h>
#include <string.h>

void doctor_fix(struct finding *finding, enum verdict verdict, const char *fix) {
	finding->verdict = verdict;
	snprintf(finding->fix, sizeof(finding->fix), "%s", fix);
}

static const char *const verdict_words[] = {"works", "limited", "missing"};

static void print_table(const struct finding *findings) {
	static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};
	bool colour = system_is_terminal(STDOUT_FILENO) && log_colours();
	for (size_t i = 0; doctor_examinations[i].name; i++) {
		printf("%-12s %s%-8s%s %s\n", doctor_examinations[i].name,
		       colour ? colours[findings[i].verdict] : "", verdict_words[findings[i].verdict],
		       colour ? "\033[0m" : "", findings[i].found);
		if (*findings[i].fix)
			printf("%-12s %-8s fix: %s\n", "", "", findings[i].fix);
	}
}

// Paths among them may have any characters.
static void print_openings(const struct doctor_openings *openings) {
	if (openings->count)
		printf("\nOpen to other users of this machine:\n");
	for (size_t i = 0; i < openings->count; i++) {
		const struct opening *opening = &openings->items[i];
		text_line(stdout, "  %s %s; fix: %s", opening->name, opening->found, opening->fix);
	}
}

static void put_openings(struct json *json, const struct doctor_openings *openings) {
	json_array(json, "open");
	for (size_t i = 0; i < openings->count; i++) {
		json_object(json, NULL);
		json_string(json, "name", openings->items[i].name);
		json_string(json, "found", openings->items[i].found);
		json_string(json, "fix", openings->items[i].fix);
		json_close_object(json);
	}
	json_close_array(json);
}

static void print_json(const struct finding *findings, const struct doctor_openings *openings,
		       const char *recording) {
	struct buffer out = {0};
	struct json json = json_into(&out);
	json_object(&json, NULL);
	json_string(&json, "tracelet", TRACELET_VERSION);
	json_string(&json, "recording", recording);
	json_array(&json, "checks");
	for (size_t i = 0; doctor_examinations[i].name; i++) {
		json_object(&json, NULL);
		json_string(&json, "name", doctor_examinations[i].name);
		json_string(&json, "verdict", verdict_words[findings[i].verdict]);
		json_string(&json, "found", findings[i].found);
		json_string(&json, "fix", *findings[i].fix ? findings[i].fix : NULL);
		json_close_object(&json);
	}
	json_close_array(&json);
	put_openings(&json, openings);
	json_close_object(&json);
	printf("%.*s\n", (int)out.size, (char *)out.data);
	buffer_free(&out);
}

enum { OPTION_JSON = LETTERS + 1 };

static const struct verb_option own_options[] = {
	{"json", OPTION_JSON, NULL, "print JSON"},
	{"verbose", 'v', NULL,
	 BY_SYSTEM("also print the kernel's messages about BPF programs", "also print each wpr.exe command")},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	if (option == 'v')
		log_set_level(LOG_VERBOSE);
	else
		*(bool *)context = true;
	return true;
}

static int run(int argc, char **argv, const struct verb *verb) {
	bool json = false;
	int status = verb_take(argc, argv, verb, take_option, &json);
	if (status >= 0)
		return status;
	if (optind < argc) {
		log_error("doctor takes no argument '%s'", argv[optind]);
		return verb_bad_usage(verb);
	}
	struct finding findings[DOCTOR_MOST] = {0};
	for (size_t i = 0; doctor_examinations[i].name; i++)
		doctor_examinations[i].examine(&findings[i]);
	struct doctor_openings openings = {0};
	doctor_open(&openings);
	const struct doctor_recording *recording = doctor_recording(findings);
	if (json) {
		print_json(findings, &openings, recording->word);
	} else {
		print_table(findings);
		printf("\n%s\n", recording->sentence);
		print_openings(&openings);
	}
	return strcmp(recording->word, "none") == 0 ? EXIT_FOUND : 0;
}

const struct verb verb_doctor = {
	.name = "doctor",
	.family = FAMILY_SET_UP,
	.newcomer = true,
	.options = own_options,
	.summary = "show what works on this machine, and how to fix what does not",
	.usage = "tracelet doctor [OPTIONS]",
	.about = "Tests what tracelet needs on this machine and shows how to fix what is missing. Also warns "
		 "about "
		 "what other users of the machine could use against a traced test.",
	.notes = "Exit status: 0 if tests can be traced (perhaps in part), 1 if not.",
	.run = run,
};
