#include "guest/host/command.h"
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

void host_terminal_size(uint64_t *rows, uint64_t *columns) {
	struct winsize window = {0};
	ioctl(STDIN_FILENO, TIOCGWINSZ, &window);
	*rows = window.ws_row ? window.ws_row : 24;
	*columns = window.ws_col ? window.ws_col : 80;
}

static void send_numbers(struct host *host, enum message_type type, uint64_t first, uint64_t second) {
	struct message message = {.type = type, .numbers = {first, second}};
	struct buffer out = {0};
	message_encode(&message, &out);
	channel_message(&host->channel, &out);
	buffer_free(&out);
}

static void open_outlet(struct host_outlet *outlet, int fd, enum channel_stream stream) {
	struct stat status;
	*outlet = (struct host_outlet){.fd = fd, .stream = stream};
	outlet->in_pieces = fd >= 0 && fstat(fd, &status) == 0 && !S_ISREG(status.st_mode);
}

static void open_signals(struct host_command *command) {
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		sigaddset(&set, passed_on[i]);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, &command->mask_before);
	command->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void host_command_begin(struct host_command *command, struct host *host, struct host_request *request) {
	*command = (struct host_command){
		.host = host, .request = request, .input = request->input, .signals = -1};
	open_outlet(&command->outlets[0], request->output, STREAM_STDOUT);
	open_outlet(&command->outlets[1], request->errors, STREAM_STDERR);
	if (request->signals)
		open_signals(command);
	if (request->flags & REQUEST_TERMINAL && tcgetattr(STDIN_FILENO, &command->terminal_before) == 0) {
		struct termios raw = command->terminal_before;
		cfmakeraw(&raw);
		command->raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
	}
}

void host_command_end(struct host_command *command) {
	if (command->raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &command->terminal_before);
	if (command->signals >= 0) {
		struct signalfd_siginfo signal; // a SIGPIPE that we made ourselves must not end us now
		while (read(command->signals, &signal, sizeof(signal)) > 0)
			;
		close(command->signals);
		sigprocmask(SIG_SETMASK, &command->mask_before, NULL);
	}
	for (int i = 0; i < 2; i++)
		buffer_free(&command->outlets[i].pending);
}

// ---- output ----

static void outlet_write(struct host_command *command, struct host_outlet *outlet) {
	size_t left = outlet->pending.size - outlet->done;
	ssize_t put = outlet->fd < 0 ? (ssize_t)left
				     : write(outlet->fd, outlet->pending.data + outlet->done,
					     outlet->in_pieces ? MIN(left, PIPE_BUF) : left);
	if (put < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (put < 0) {
		// The reader is gone: the command gets a SIGPIPE, as it would here.
		if (errno == EPIPE)
			send_numbers(command->host, MESSAGE_SIGNAL, SIGPIPE, 0);
		else
			log_error("cannot write to standard output: %s", strerror(errno));
		outlet->fd = -1;
		put = (ssize_t)left;
	}
	outlet->done += (size_t)put;
	channel_consumed(&command->host->channel, outlet->stream, (size_t)put);
	if (outlet->done * 2 >= outlet->pending.size) { // rarely, for it moves the rest
		buffer_drop(&outlet->pending, outlet->done);
		outlet->done = 0;
	}
}

void host_command_output(struct host_command *command, const struct guest_packet *packet) {
	struct host_outlet *outlet = &command->outlets[packet->stream == STREAM_STDERR];
	buffer_append(&outlet->pending, packet->payload, packet->size);
	if (!outlet->in_pieces)
		outlet_write(command, outlet);
}

bool host_command_flushed(struct host_command *command) {
	return !command->outlets[0].pending.size && !command->outlets[1].pending.size;
}

// ---- input and signals ----

static void take_input(struct host_command *command) {
	size_t room;
	uint8_t *at = channel_reserve(&command->host->channel, STREAM_STDIN, &room);
	ssize_t got = at ? read(command->input, at, room) : -1;
	if (got > 0) {
		channel_commit(&command->host->channel, STREAM_STDIN, (size_t)got);
	} else if (at && (got == 0 || (errno != EAGAIN && errno != EINTR))) {
		send_numbers(command->host, MESSAGE_INPUT_END, 0, 0);
		command->input = -1;
	}
}

// Forwards signals. Returns true if one of them is meant to end the command.
static bool take_signals(struct host_command *command) {
	enum { ENOUGH = 4 };
	struct signalfd_siginfo signal;
	bool end = false;
	while (read(command->signals, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
		uint64_t rows, columns;
		if (signal.ssi_signo == SIGPIPE)
			continue;
		if (signal.ssi_signo == SIGWINCH) {
			host_terminal_size(&rows, &columns);
			send_numbers(command->host, MESSAGE_WINDOW, rows, columns);
			continue;
		}
		// From the kernel: typed on a terminal, for the whole foreground group.
		send_numbers(command->host, MESSAGE_SIGNAL, signal.ssi_signo, signal.ssi_code > 0);
		end |= signal.ssi_signo != SIGUSR1 && signal.ssi_signo != SIGUSR2;
		command->ended_at = host_now();
		command->ended_before = command->host->channel.next;
		// A second one is meant for us.
		if (++command->interrupts >= ENOUGH) {
			log_error("interrupted; the command in the guest may keep running for a while");
			_exit(128 + (int)signal.ssi_signo);
		}
	}
	return end;
}

bool host_command_interrupted(struct host_command *command) {
	return command->signals >= 0 && take_signals(command);
}

size_t host_command_poll(struct host_command *command, struct pollfd *list) {
	bool may = channel_may_send(&command->host->channel, STREAM_STDIN) && !command->request->answered;
	list[0] = (struct pollfd){.fd = may ? command->input : -1, .events = POLLIN};
	list[1] = (struct pollfd){.fd = command->signals, .events = POLLIN};
	for (int i = 0; i < 2; i++)
		list[2 + i] = (struct pollfd){.fd = command->outlets[i].pending.size ? command->outlets[i].fd
										     : -1,
					      .events = POLLOUT};
	return HOST_COMMAND_POLLED;
}

void host_command_attend(struct host_command *command, const struct pollfd *list) {
	if (list[0].revents)
		take_input(command);
	if (list[1].revents)
		take_signals(command);
	for (int i = 0; i < 2; i++)
		if (command->outlets[i].pending.size && (list[2 + i].revents || command->outlets[i].fd < 0))
			outlet_write(command, &command->outlets[i]);
}
