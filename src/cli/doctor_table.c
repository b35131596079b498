// `tracelet doctor`: the verb and its table.
#include "base/json.h"
#include "base/log.h"
#include "base/system.h"
#include "cli/doctor.h"

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

static void print_json(const struct finding *findings, const char *recording) {
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
	json_close_object(&json);
	printf("%.*s\n", (int)out.size, (char *)out.data);
	buffer_free(&out);
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {{"json", no_argument, NULL, 'j'},
						{"verbose", no_argument, NULL, 'v'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	bool json = false;
	for (int option; (option = getopt_long(argc, argv, "vh", options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		json |= option == 'j';
		if (option == 'v')
			log_set_level(LOG_VERBOSE);
	}
	if (optind < argc) {
		log_error("doctor takes no '%s'", argv[optind]);
		return verb_bad_usage(verb);
	}
	struct finding findings[DOCTOR_MOST] = {0};
	for (size_t i = 0; doctor_examinations[i].name; i++)
		doctor_examinations[i].examine(&findings[i]);
	const struct doctor_recording *recording = doctor_recording(findings);
	if (json)
		print_json(findings, recording->word);
	else
		print_table(findings);
	if (!json)
		printf("\n%s\n", recording->sentence);
	return strcmp(recording->word, "none") == 0 ? EXIT_FOUND : 0;
}

#ifdef _WIN32
#define WHO_SPEAKS "each command that wpr.exe is given"
#else
#define WHO_SPEAKS "what the kernel says to our programs"
#endif

const struct verb verb_doctor = {
	.name = "doctor",
	.summary = "what works on this machine, and the fix for what does not",
	.help = "Usage: tracelet doctor [--json] [--verbose]\n\n"
		"Tries what tracelet needs on this machine and shows the fix for what is missing.\n\n"
		"  --json     the same as JSON\n"
		"  --verbose  " WHO_SPEAKS "\n"
		"  --help     this text\n\n"
		"Exit status: 0 when tests can be traced (perhaps in part), 1 when not.\n",
	.run = run,
};
