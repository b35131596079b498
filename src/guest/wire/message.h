// Messages on STREAM_CONTROL: a type, a few numbers, a few words, as listed here.
#pragma once

#include "base/array.h"
#include "base/buffer.h"

enum message_type {
	// from the host
	MESSAGE_REQUEST = 1, // numbers: kind, flags, rows, columns; words: the command, or a path
	MESSAGE_SIGNAL,    // its number, for the command; 1: for its whole process group, as from a terminal
	MESSAGE_WINDOW,    // rows and columns of the terminal
	MESSAGE_INPUT_END, // of the command's standard input
	// from the guest
	MESSAGE_STARTED,     // process id; word: the directory whose files will be sent
	MESSAGE_FILE_BEGIN,  // size as far as known; word: its name. Its bytes are on STREAM_FILE.
	MESSAGE_FILE_END,    // size; word: what went wrong, if anything
	MESSAGE_TRACE_BEGIN, // word: the recording's name. Its bytes are on STREAM_TRACE.
	MESSAGE_RESULT,      // status as from wait(); word: what went wrong, if anything
	MESSAGE_TYPE_COUNT,
};

enum request_kind {
	REQUEST_VERB = 1, // of tracelet; its artifacts are sent back
	REQUEST_COMMAND,  // any other; without words, a shell
	REQUEST_FILE,
	REQUEST_KMSG, // the kernel log
	REQUEST_POWER_OFF,
};

enum {
	REQUEST_TERMINAL = 1,   // the command gets one
	REQUEST_OPERATIONS = 2, // artifacts are in the directory that outlives requests
	REQUEST_LIVE = 4,       // send the recording while it is being made
};

enum { MESSAGE_NUMBERS = 4, MESSAGE_WORDS_MOST = 4096 };

struct message {
	enum message_type type;
	uint64_t numbers[MESSAGE_NUMBERS];
	ARRAY(const char *) words; // of a decoded message, inside the payload
};

void message_encode(const struct message *message, struct buffer *out);
bool message_decode(const void *payload, size_t size, struct message *message); // then message_free()
void message_free(struct message *message);

// The first word, or "".
const char *message_word(const struct message *message);

// The first word, safe to show: characters that a terminal might interpret become '?'.
void message_plain(const struct message *message, char *text, size_t size);
