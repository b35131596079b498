#include "collector/collector.h"
#include "base/log.h"
#include "capture/spool.h"
#include "collector/listen.h"
#include "collector/server.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { EVENTS_AT_ONCE = 64, DESCRIPTORS_OF_PLACE = 2, DESCRIPTORS_BESIDES = 256 };

// What the descriptors in the control thread's epoll are; sessions are numbers below these.
enum { EVENT_LISTENER = CONNECTIONS_MOST, EVENT_DONE, EVENT_SIGNAL };

// As many sessions as we can have descriptors for.
static uint32_t places_possible(void) {
	struct rlimit limit = {.rlim_cur = 1024};
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	uint64_t most = (MAX(limit.rlim_cur, (rlim_t)DESCRIPTORS_BESIDES + 16) - DESCRIPTORS_BESIDES) /
			(DESCRIPTORS_OF_PLACE + 1);
	return (uint32_t)MIN(most, (uint64_t)SLOTS_MOST);
}

static int watch(struct server *server, int fd, uint64_t what) {
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = what};
	return fd < 0 || epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int watch_all(struct server *server) {
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	server->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	server->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	int error = watch(server, server->done, EVENT_DONE);
	if (!error)
		error = watch(server, server->signals, EVENT_SIGNAL);
	return error ? error : watch(server, server->listener, EVENT_LISTENER);
}

// False: it is time to end.
static bool take_event(struct server *server, uint64_t what) {
	uint64_t news;
	if (what < CONNECTIONS_MOST && server->sessions[what].fd >= 0)
		clients_serve(server, &server->sessions[what]);
	else if (what == EVENT_LISTENER)
		clients_accept(server);
	else if (what == EVENT_DONE && read(server->done, &news, sizeof(news)) > 0)
		clients_serve_waiting(server);
	return what != EVENT_SIGNAL;
}

// Milliseconds until it has been idle for long enough; -1 for never.
static int time_left(const struct server *server) {
	if (server->options.idle_exit <= 0 || server->connected)
		return -1;
	double idle = (double)(clock_boot_now() - server->idle_since) / 1e9;
	return (int)(MAX(server->options.idle_exit - idle, 0) * 1000) + 1;
}

static void serve(struct server *server) {
	struct epoll_event events[EVENTS_AT_ONCE];
	for (;;) {
		int count = epoll_wait(server->epoll, events, EVENTS_AT_ONCE, time_left(server));
		for (int i = 0; i < count; i++)
			if (!take_event(server, events[i].data.u64))
				return;
		if (!count && !server->connected)
			return; // idle for long enough
	}
}

static void server_free(struct server *server) {
	clients_say_going(server);
	drain_stop(server);
	janitor_stop(server->janitor);
	kernel_close(&server->kernel);
	samples_free(server->samples);
	users_free(server->users);
	int fds[] = {server->epoll, server->done, server->signals};
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(server);
}

static struct server *server_new(const struct collector_options *options, int listener) {
	struct server *server = memory_alloc(sizeof(*server));
	server->options = *options;
	server->listener = listener;
	server->users = users_new(&options->limits);
	kernel_init(&server->kernel);
	server->samples = samples_new(kernel_name, &server->kernel);
	server->epoll = server->done = server->signals = server->drain_epoll = server->drain_wake = -1;
	server->started = server->idle_since = clock_boot_now();
	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		server->sessions[i].fd = -1;
		pthread_mutex_init(&server->sessions[i].lock, NULL);
	}
	return server;
}

// The socket comes first: clients may connect, and wait, while the programs are loaded.
int collector_main(const struct collector_options *options) {
	bool made;
	gid_t admins;
	int listener = listen_find_admins(options, &admins) ? listen_open(options, &made) : -1;
	if (listener < 0)
		return 2;
	struct server *server = server_new(options, listener);
	server->admins = admins;
	int error = watch_all(server);
	if (!error)
		error = kernel_open(&server->kernel, places_possible(), options->ring_bytes);
	if (!error)
		error = janitor_start(&server->janitor, &server->kernel, server->done);
	if (!error)
		error = drain_start(server);
	if (error)
		log_error("the collector cannot start: %s%s", strerror(-error),
			  error == -EPERM ? " (it needs root, or CAP_BPF and CAP_PERFMON)" : "");
	else
		serve(server);
	if (made)
		unlink(options->socket);
	close(listener);
	server_free(server);
	return error ? 2 : 0;
}
