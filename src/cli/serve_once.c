// ui.perfetto.dev fetches a trace from the user's own machine, from the one port that its policy permits. The
// server listens on loopback, answers requests of that page only, and ends when the trace was fetched, or
// two minutes have passed. Other users of the machine can connect too, and say that they are that page:
// the trace has a path that cannot be guessed, and only the link has it. The link has start-up commands that
// pin the track of the critical path.
#include "cli/serve_once.h"

#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "cli/verb.h"
#include "flow/convert.h"
#include "flow/explain.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PERFETTO "https://ui.perfetto.dev"

enum { PORT = 9001, WAIT_MS = 120 * 1000, REQUEST_MS = 5000 };

struct served {
	struct input trace;
	char path[48]; // "/SECRET/trace.pb"
};

static bool choose_path(struct served *served) {
	uint64_t secret[2] = {0};
	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret)) {
		log_error("the system has no random numbers for the link: %s", strerror(errno));
		return false;
	}
	snprintf(served->path, sizeof(served->path), "/%016" PRIx64 "%016" PRIx64 "/trace.pb", secret[0],
		 secret[1]);
	return true;
}

static int listen_here(void) {
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
	struct sockaddr_in here = {
		.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (fd >= 0 && bind(fd, (struct sockaddr *)&here, sizeof(here)) == 0 && listen(fd, 8) == 0)
		return fd;
	log_error("cannot listen on 127.0.0.1:%d: %s", PORT, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static int64_t milliseconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Reads the head of a request, at most as long as the buffer. False if it does not come in time: while one
// client has its turn, the browser waits.
static bool read_request(int client, char *request, size_t room) {
	size_t size = 0;
	int64_t end = milliseconds() + REQUEST_MS;
	while (size + 1 < room) {
		struct pollfd ready = {.fd = client, .events = POLLIN};
		ssize_t got = poll(&ready, 1, (int)MAX(end - milliseconds(), 0)) > 0
				      ? recv(client, request + size, room - 1 - size, 0)
				      : 0;
		if (got <= 0)
			return false;
		size += (size_t)got;
		request[size] = 0;
		if (strstr(request, "\r\n\r\n"))
			return true;
	}
	return false;
}

static void answer(int client, const char *status, const void *body, size_t size) {
	CLEANUP_FREE char *head = memory_format(
		"HTTP/1.1 %s\r\nAccess-Control-Allow-Origin: " PERFETTO
		"\r\nAccess-Control-Allow-Private-Network: true\r\nCache-Control: no-store\r\nContent-Type: "
		"application/octet-stream\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
		status, size);
	if (!file_write_all(client, head, strlen(head)))
		file_write_all(client, body, size);
}

// True if the trace was sent.
static bool serve(int client, const struct served *served) {
	char request[8192];
	size_t length = strlen(served->path);
	if (!read_request(client, request, sizeof(request)))
		return false;
	// Another page of the browser must not read the trace, nor one that has its own name for this
	// machine.
	const char *origin = strcasestr(request, "\r\nOrigin: ");
	bool ours = origin &&
		    strncmp(origin + strlen("\r\nOrigin: "), PERFETTO "\r\n", strlen(PERFETTO "\r\n")) == 0;
	bool named = strcasestr(request, "\r\nHost: 127.0.0.1:9001\r\n");
	const char *path = strchr(request, ' ');
	bool known = path && strncmp(path + 1, served->path, length) == 0 && path[1 + length] == ' ';
	bool wanted = known && strncmp(request, "GET ", 4) == 0;
	if (!ours || !named)
		answer(client, "403 Forbidden", "", 0);
	else if (strncmp(request, "OPTIONS ", strlen("OPTIONS ")) == 0)
		answer(client, "204 No Content", "", 0);
	else if (!wanted)
		answer(client, "404 Not Found", "", 0);
	else
		answer(client, "200 OK", served->trace.data, served->trace.size);
	return ours && named && wanted;
}

static int serve_file(const char *path) {
	struct served served;
	if (input_open(&served.trace, path))
		return EXIT_USAGE;
	int fd = choose_path(&served) ? listen_here() : -1;
	bool sent = false;
	if (fd >= 0) {
		printf(PERFETTO "/#!/?url=http://127.0.0.1:%d%s&startupCommands="
				"%%5B%%7B%%22id%%22%%3A%%22dev.perfetto.PinTracksByRegex%%22%%2C%%22args%%22%"
				"%3A%%5B%%22critical%%20path%%22%%5D%%7D%%5D\n",
		       PORT, served.path);
		fflush(stdout);
	}
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	int64_t end = milliseconds() + WAIT_MS;
	while (fd >= 0 && !sent && poll(&ready, 1, (int)MAX(end - milliseconds(), 0)) > 0) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0)
			continue;
		sent = serve(client, &served);
		shutdown(client, SHUT_WR);
		close(client);
	}
	if (fd >= 0 && !sent)
		log_error("no browser fetched the trace; open the link above sooner");
	if (fd >= 0)
		close(fd);
	input_close(&served.trace);
	return sent ? 0 : EXIT_USAGE;
}

int serve_to_perfetto(const char *path) {
	CLEANUP_FREE char *folder = system_make_temporary_dir("tracelet-view");
	CLEANUP_FREE char *trace = folder ? memory_format("%s/trace.pb", folder) : NULL;
	struct conversion conversion = {.input = path,
					.output = trace,
					.writer = &perfetto_writer,
					.mode = OUTPUT_CREATE,
					.progress = true};
	struct conversion_result result;
	int status = EXIT_USAGE;
	if (!folder) {
		log_error("cannot create a temporary directory (" SYSTEM_TEMPORARY " chooses where)");
		return EXIT_USAGE;
	}
	conversion_tap(&conversion, explain_tap(NULL));
	if (!convert(&conversion, &result))
		status = serve_file(trace);
	system_unlink(trace);
	system_remove_dir(folder);
	return status;
}
