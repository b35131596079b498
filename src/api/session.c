// The calls about sessions and their artifacts: each is a verb of the program, asked for JSON.
#include "api/program.h"
#include "base/json_read.h"
#include "tracelet/tracelet.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 16, STATUS_NOTHING = 1 };

// The program's exit status as an error: `nothing` if there is not what was asked for.
static int error_of(int status, int nothing) {
	return status <= 0 ? status : status == STATUS_NOTHING ? nothing : -EINVAL;
}

// ---- the answer ----

struct answer {
	struct buffer json, path;
	bool found;
};

static void read_answer(void *context) {
	struct answer *answer = context;
	struct json_reader reader = json_from(answer->json.data, answer->json.size);
	struct json_piece key;
	json_enter(&reader, '{');
	while (json_member(&reader, &key)) {
		if (json_is(&key, "path") && json_peek(&reader) == '"') {
			answer->path.size = 0;
			json_read_text(&reader, &answer->path);
			answer->found = true;
		} else {
			json_skip(&reader);
		}
	}
	answer->found &= !reader.failed;
}

static int copy_path(const struct buffer *found, char *path, size_t size) {
	if (!path)
		return 0;
	if (found->size >= size)
		return -ENAMETOOLONG;
	if (found->size)
		memcpy(path, found->data, found->size);
	path[found->size] = 0;
	return 0;
}

static int ask_for_path(char *const *arguments, char *path, size_t size) {
	struct answer answer = {0};
	int error = error_of(program_ask(arguments, &answer.json), -ENOENT);
	if (!error || (error == -ECHILD && answer.json.size)) {
		error = memory_try(read_answer, &answer);
		if (!error)
			error = answer.found ? copy_path(&answer.path, path, size) : -EPROTO;
	}
	buffer_free(&answer.json);
	buffer_free(&answer.path);
	return error;
}

// ---- the calls ----

int tl_session_start(const char *name, const struct tl_session_opts *opts) {
	struct tl_session_opts known = {0};
	char pid[32], *arguments[MOST_ARGUMENTS] = {(char *)"tracelet", (char *)"start", (char *)"--quiet"};
	if (!name || !*name || (opts && opts->size < sizeof(opts->size)))
		return -EINVAL;
	if (opts)
		memcpy(&known, opts, MIN(opts->size, sizeof(known)));
	snprintf(pid, sizeof(pid), "--pid=%d", (int)getpid());
	const char *options[][2] = {
		{"--output-dir", known.output_dir}, {"--scope", known.scope}, {"--type", known.type}};
	size_t count = 3;
	arguments[count++] = pid;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i][1]) {
			arguments[count++] = (char *)options[i][0];
			arguments[count++] = (char *)options[i][1];
		}
	arguments[count++] = (char *)"--";
	arguments[count++] = (char *)name;
	struct buffer output = {0};
	int error = error_of(program_ask(arguments, &output), -ENODATA);
	buffer_free(&output);
	return error;
}

int tl_session_stop(const char *name, char *path, size_t size) {
	return ask_for_path((char *[]){(char *)"tracelet", (char *)"stop", (char *)"--json", (char *)"--",
				       (char *)name, NULL},
			    path, size);
}

int tl_session_stop_all(void) {
	struct buffer output = {0};
	int status = program_ask(
		(char *[]){(char *)"tracelet", (char *)"stop", (char *)"--json", (char *)"--all", NULL},
		&output);
	buffer_free(&output);
	return error_of(status, -ENOENT);
}

int tl_session_current_file(const char *name, char *path, size_t size) {
	return ask_for_path((char *[]){(char *)"tracelet", (char *)"current", (char *)"--json", (char *)"--",
				       (char *)name, NULL},
			    path, size);
}

bool tl_session_active(const char *name) {
	int error = tl_session_current_file(name, NULL, 0);
	return error == 0 || error == -EINVAL; // there may be several
}

int tl_artifact_path(const char *session, const char *kind, char *path, size_t size) {
	if (!session || !*session || !kind || !*kind)
		return -EINVAL;
	return ask_for_path((char *[]){(char *)"tracelet", (char *)"artifact", (char *)"--json", (char *)"--",
				       (char *)session, (char *)kind, NULL},
			    path, size);
}
