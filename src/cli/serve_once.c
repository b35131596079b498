// ui.perfetto.dev fetches a trace from the user's own machine, from the one port that its policy permits. The
// server listens on loopback, answers requests of that page only, and ends when the trace was fetched, or
// no request came for a while. The link has start-up commands that pin the track of the critical path.
#include "cli/serve_once.h"

#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "cli/verb.h"
#include "flow/convert.h"
#include "flow/explain.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PERFETTO "https://ui.perfetto.dev"

enum { PORT = 9001, WAIT_MS = 120 * 1000, REQUEST_MS = 5000 };

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

// Reads the head of a request, at most as long as the buffer. False if it does not come.
static bool read_request(int client, char *request, size_t room) {
	size_t size = 0;
	while (size + 1 < room) {
		struct pollfd ready = {.fd = client, .events = POLLIN};
		ssize_t got = poll(&ready, 1, REQUEST_MS) > 0
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
static bool serve(int client, const struct input *trace) {
	char request[8192];
	if (!read_request(client, request, sizeof(request)))
		return false;
	// Another page of the browser must not read the trace, nor one that has its own name for this
	// machine.
	const char *origin = strcasestr(request, "\r\nOrigin: ");
	bool ours = origin &&
		    strncmp(origin + strlen("\r\nOrigin: "), PERFETTO "\r\n", strlen(PERFETTO "\r\n")) == 0;
	bool named = strcasestr(request, "\r\nHost: 127.0.0.1:9001\r\n");
	bool wanted = strncmp(request, "GET /trace.pb ", strlen("GET /trace.pb ")) == 0;
	if (!ours || !named)
		answer(client, "403 Forbidden", "", 0);
	else if (strncmp(request, "OPTIONS ", strlen("OPTIONS ")) == 0)
		answer(client, "204 No Content", "", 0);
	else if (!wanted)
		answer(client, "404 Not Found", "", 0);
	else
		answer(client, "200 OK", trace->data, trace->size);
	return ours && named && wanted;
}

static int serve_file(const char *path) {
	struct input trace;
	if (input_open(&trace, path))
		return EXIT_USAGE;
	int fd = listen_here();
	bool sent = false;
	if (fd >= 0) {
		printf(PERFETTO "/#!/?url=http://127.0.0.1:%d/trace.pb&startupCommands="
				"%%5B%%7B%%22id%%22%%3A%%22dev.perfetto.PinTracksByRegex%%22%%2C%%22args%%22%"
				"%3A%%5B%%22critical%%20path%%22%%5D%%7D%%5D\n",
		       PORT);
		fflush(stdout);
	}
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	while (fd >= 0 && !sent && poll(&ready, 1, WAIT_MS) > 0) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0)
			continue;
		sent = serve(client, &trace);
		shutdown(client, SHUT_WR);
		close(client);
	}
	if (fd >= 0 && !sent)
		log_error("no browser fetched the trace; open the link above sooner");
	if (fd >= 0)
		close(fd);
	input_close(&trace);
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
