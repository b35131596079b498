// The host's end of a command in a guest: forwards our standard input and signals, writes its output to
// ours, and sets the terminal to raw mode while a shell runs.
#pragma once

#include "guest/host/host.h"

#include <signal.h>
#include <termios.h>

enum { HOST_COMMAND_POLLED = 4 };

struct host_outlet {
	int fd;
	enum channel_stream stream;
	struct buffer pending;
	size_t done;
	bool in_pieces; // it may block: write only what a pipe is sure to take
};

struct host_command {
	struct host *host;
	struct host_request *request;
	struct host_outlet outlets[2];
	int input, signals; // -1 if none
	sigset_t mask_before;
	struct termios terminal_before;
	bool raw;
	unsigned interrupts;
	uint64_t ended_at; // when the last signal to end the command was sent, by CLOCK_MONOTONIC; 0 if none
			   // was
	uint64_t ended_before; // the guest has it when it has acknowledged all chunks before this one
};

struct pollfd;

void host_command_begin(struct host_command *command, struct host *host, struct host_request *request);
void host_command_end(struct host_command *command);
size_t host_command_poll(struct host_command *command, struct pollfd *list); // HOST_COMMAND_POLLED of them
void host_command_attend(struct host_command *command, const struct pollfd *list);
void host_command_output(struct host_command *command, const struct guest_packet *packet);
bool host_command_interrupted(struct host_command *command); // by the user
bool host_command_flushed(struct host_command *command);
void host_terminal_size(uint64_t *rows, uint64_t *columns);
