#include "vm/console.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void keep_newest(struct console *console, const char *bytes, size_t size) {
	for (size_t i = 0; i < size; i++)
		console->tail[console->beyond++ % CONSOLE_TAIL] = bytes[i];
}

// A disk that is full must not stop the guest: what cannot be written is dropped.
static void take(struct console *console, const char *bytes, size_t size) {
	uint64_t room = console->most - CONSOLE_TAIL - console->written;
	size_t now = (size_t)MIN((uint64_t)size, room);
	file_write_all(console->file, bytes, now);
	console->written += now;
	keep_newest(console, bytes + now, size - now);
}

static void *copy(void *context) {
	struct console *console = context;
	struct pollfd waits[] = {{.fd = console->input, .events = POLLIN},
				 {.fd = console->stop, .events = POLLIN}};
	char bytes[16 * 1024];
	for (;;) {
		if (poll(waits, 2, -1) < 0 && errno != EINTR)
			return NULL;
		ssize_t got = read(console->input, bytes, sizeof(bytes));
		if (got > 0)
			take(console, bytes, (size_t)got);
		else if (got == 0 || (errno == EAGAIN && waits[1].revents))
			return NULL;
	}
}

// Signals are for the thread that runs the test.
static int start_thread(struct console *console) {
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(&console->thread, NULL, copy, console);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	console->running = !error;
	return -error;
}

static void release(struct console *console) {
	close(console->file);
	close(console->input);
	close(console->stop);
	free(console->tail);
	console->tail = NULL;
}

int console_start(struct console *console, const char *path, uint64_t most, int *writer) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*console = (struct console){.input = ends[0], .most = most, .tail = memory_alloc(CONSOLE_TAIL)};
	console->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error = console->file < 0 ? -errno : 0;
	console->stop = eventfd(0, EFD_CLOEXEC);
	if (!error && (console->stop < 0 || fcntl(console->input, F_SETFL, O_NONBLOCK)))
		error = -errno;
	if (!error)
		error = start_thread(console);
	*writer = error ? -1 : ends[1];
	if (error) {
		close(ends[1]);
		release(console);
	}
	return error;
}

static void write_tail(struct console *console) {
	size_t size = (size_t)MIN(console->beyond, (uint64_t)CONSOLE_TAIL);
	console->omitted = console->beyond - size;
	if (console->omitted) {
		char line[100];
		int length = snprintf(line, sizeof(line), "\n[tracelet: %" PRIu64 " bytes omitted]\n",
				      console->omitted);
		file_write_all(console->file, line, (size_t)length);
	}
	size_t begin = (size_t)((console->beyond - size) % CONSOLE_TAIL);
	size_t first = MIN(size, (size_t)CONSOLE_TAIL - begin);
	file_write_all(console->file, console->tail + begin, first);
	file_write_all(console->file, console->tail, size - first);
}

void console_end(struct console *console) {
	if (!console->running)
		return;
	uint64_t one = 1;
	ssize_t sent = write(console->stop, &one, sizeof(one));
	(void)sent; // an eventfd has room for it
	pthread_join(console->thread, NULL);
	console->running = false;
	write_tail(console);
	release(console);
}
