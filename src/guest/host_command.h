// The near end of a command that runs in a guest: our standard input goes there, its output comes out of
// ours, signals are passed on, and a terminal is made raw for a shell's time.
#pragma once

#include "guest/host.h"

#include <signal.h>
#include <termios.h>

enum { HOST_COMMAND_POLLED = 4 };

struct host_outlet {
	int fd;
	enum channel_stream stream;
	struct buffer pending;
	size_t done;
	bool in_pieces; // it may block: only what a pipe surely takes
};

struct host_command {
	struct host *host;
	struct host_request *request;
	struct host_outlet outlets[2];
	int input, signals; // -1: none
	sigset_t mask_before;
	struct termios terminal_before;
	bool raw;
	unsigned interrupts;
};

struct pollfd;

void host_command_begin(struct host_command *command, struct host *host, struct host_request *request);
void host_command_end(struct host_command *command);
size_t host_command_poll(struct host_command *command, struct pollfd *list); // HOST_COMMAND_POLLED of them
void host_command_attend(struct host_command *command, const struct pollfd *list);
void host_command_output(struct host_command *command, const struct frame *frame);
bool host_command_interrupted(struct host_command *command); // by one who wants it to end
bool host_command_flushed(struct host_command *command);
void host_terminal_size(uint64_t *rows, uint64_t *columns);
