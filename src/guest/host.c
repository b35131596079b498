#include "guest/host.h"
#include "base/log.h"
#include "guest/host_command.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
	GARBAGE_MOST = 4 << 20, // bytes of no frame: whoever talks there is no agent
	RESYNCS_MOST = 16,      // without progress
	ROUND_TRIPS = 32,
	ACK_EVERY = 1 << 20, // bytes; less than the window, so that the guest never waits
};

static uint64_t time_of(clockid_t clock) {
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t now(void) {
	return time_of(CLOCK_MONOTONIC);
}

static uint64_t nanoseconds(double seconds) {
	return (uint64_t)(seconds * 1e9);
}

// ---- the connection ----

static void disconnect(struct host *host) {
	link_close(&host->link);
	frame_decoder_forget(&host->decoder);
	channel_pause(&host->channel);
}

static void send_hello(struct host *host, bool fresh, bool padded) {
	struct hello hello = {.features = FEATURE_ZSTD,
			      .flags = (fresh ? HELLO_FRESH : 0) | (padded ? HELLO_PADDED : 0) |
				       (host->options.compress ? HELLO_COMPRESS : 0),
			      .session = host->session,
			      .expected = host->channel.expected};
	struct buffer payload = {0}, out = {0};
	snprintf(hello.text, sizeof(hello.text), "tracelet %s", TRACELET_VERSION);
	hello_encode(&hello, &payload);
	if (padded) // whatever half of a frame the agent is waiting for ends in these
		memset(buffer_room(&out, CHANNEL_HOST_CHUNK), 0, CHANNEL_HOST_CHUNK);
	out.size = padded ? CHANNEL_HOST_CHUNK : 0;
	frame_append(&out, FRAME_HELLO, 0, 0, payload.data, (uint32_t)payload.size);
	buffer_append(&host->channel.urgent, out.data, out.size);
	buffer_free(&payload);
	buffer_free(&out);
}

static int host_write(struct host *host) {
	size_t size;
	const uint8_t *bytes;
	while ((bytes = channel_output(&host->channel, &size))) {
		ssize_t put = link_write(&host->link, bytes, size);
		if (put <= 0)
			return (int)put;
		channel_wrote(&host->channel, (size_t)put);
	}
	return 0;
}

static int host_read(struct host *host) {
	size_t room;
	uint8_t *at = frame_decoder_room(&host->decoder, 256 << 10, &room);
	ssize_t got = link_read(&host->link, at, room);
	if (got > 0)
		frame_decoder_added(&host->decoder, (size_t)got);
	return (int)MIN(got, 1);
}

// Waits for something to read, and writes meanwhile. 1: there is; 0: the time is over; or -errno, -EINTR if
// the user wants no more of it.
static int host_wait(struct host *host, uint64_t deadline) {
	for (;;) {
		size_t size;
		uint64_t time = now();
		int error = host_write(host);
		if (error < 0)
			return error;
		short events = channel_output(&host->channel, &size) ? POLLIN | POLLOUT : POLLIN;
		struct pollfd wait[] = {{.fd = host->link.in, .events = events},
					{.fd = host->interrupts, .events = POLLIN}};
		int left = time >= deadline ? 0 : (int)((deadline - time) / 1000000) + 1;
		int ready = poll(wait, 2, left);
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready > 0 && wait[0].revents & ~POLLOUT)
			return 1;
		if (ready > 0 && wait[1].revents)
			return -EINTR;
		if (ready == 0 && now() >= deadline)
			return 0;
	}
}

// Something has arrived that is no frame, over and over.
static bool is_garbage(const struct host *host) {
	return host->decoder.skipped > GARBAGE_MOST || host->decoder.damaged > FRAME_DAMAGED_MOST;
}

static int say_garbage(struct host *host) {
	log_error("%s: whatever answers there is no tracelet-agent (%" PRIu64 " bytes that are no frames)",
		  host->options.address, host->decoder.skipped);
	host->gone = true;
	return -EPROTO;
}

static int say_version(struct host *host) {
	log_error("%s: the agent there speaks version %u of the wire, this is version %u: "
		  "take the agent of this tracelet (%s) there, or its tracelet here",
		  host->options.address, host->decoder.other_version, FRAME_VERSION, TRACELET_VERSION);
	host->gone = true;
	return -EPROTONOSUPPORT;
}

static int take_refusal(struct host *host, const struct frame *frame) {
	char text[160];
	size_t size = MIN(frame->size, sizeof(text) - 1);
	for (size_t i = 0; i < size; i++)
		text[i] = frame->payload[i] < ' ' || frame->payload[i] > '~' ? '?' : (char)frame->payload[i];
	text[size] = 0;
	log_error("%s: the agent refuses: %s", host->options.address, text);
	host->gone = true;
	return -ECONNABORTED;
}

static int take_hello(struct host *host, const struct frame *frame, bool fresh) {
	struct hello hello;
	if (!hello_decode(frame, &hello) || hello.session != host->session)
		return -EAGAIN; // an answer to someone before us
	host->channel.decoder = &host->decoder;
	if (!channel_resume(&host->channel, hello.expected, NULL)) {
		log_error("%s: the agent has lost the session", host->options.address);
		host->gone = true;
		return -EPROTO;
	}
	host->guest = hello;
	host->greeted = true;
	host->heard = now();
	return 0;
}

// Says hello until the agent does. 0, -ETIMEDOUT (not said), -errno of a lost connection (not said), or
// another one with `gone` (said).
static int greet(struct host *host, bool fresh, uint64_t deadline) {
	double pause = 1; // longer each time: a guest that boots finds all of them
	uint64_t again = now() + nanoseconds(pause);
	struct frame frame;
	send_hello(host, fresh, false);
	while (now() < deadline) {
		int ready = host_wait(host, MIN(again, deadline));
		if (ready > 0)
			ready = host_read(host);
		if (ready < 0)
			return ready;
		while (frame_decoder_next(&host->decoder, &frame)) {
			int error = frame.type == FRAME_HELLO     ? take_hello(host, &frame, fresh)
				    : frame.type == FRAME_REFUSED ? take_refusal(host, &frame)
								  : -EAGAIN;
			if (error != -EAGAIN)
				return error;
		}
		if (host->decoder.other_version)
			return say_version(host);
		if (is_garbage(host))
			return say_garbage(host);
		if (now() >= again) {
			send_hello(host, fresh, true);
			pause *= 2;
			again = now() + nanoseconds(pause);
		}
	}
	return -ETIMEDOUT;
}

int host_open(struct host *host, const struct host_options *options) {
	char why[LINK_WHY] = "";
	*host = (struct host){.options = *options, .interrupts = -1};
	if (getrandom(&host->session, sizeof(host->session), 0) != sizeof(host->session) || !host->session)
		host->session = now() | 1;
	channel_init(&host->channel, CHANNEL_HOST_CHUNK);
	double seconds = options->connect > 0 ? options->connect : options->patience;
	uint64_t deadline = now() + nanoseconds(seconds);
	int error, tries = 10, pause = 5; // ms
	// One that is closed before a word was said may be an accident, ten are not.
	do {
		error = link_connect(&host->link, options->address, seconds, why);
		if (error) {
			log_error("no connection to the guest: %s", why);
			channel_free(&host->channel);
			return error;
		}
		error = greet(host, true, deadline);
		if (!error || error == -ETIMEDOUT || host->gone || host->link.helper || --tries == 0)
			break;
		disconnect(host);
		poll(NULL, 0, pause);
		pause = MIN(pause * 2, 100);
	} while (now() < deadline);
	if (error == -ETIMEDOUT)
		log_error("%s: the guest does not answer (%g s); %s", options->address, seconds,
			  host->decoder.skipped
				  ? "something else talks there"
				  : "does tracelet-agent run there, and is no other host connected?");
	else if (error && !host->gone)
		log_error("%s: the connection was closed: %s", options->address, strerror(-error));
	if (error) {
		host->gone = true;
		host_close(host);
		return error;
	}
	return 0;
}

void host_close(struct host *host) {
	if (!host->gone && host->link.in >= 0 && host->greeted) {
		channel_acknowledge(&host->channel);
		channel_urgent(&host->channel, FRAME_BYE, NULL, 0);
		host_write(host);
	}
	link_close(&host->link);
	frame_decoder_free(&host->decoder);
	channel_free(&host->channel);
}

// Connects anew and goes on where it was. Said when it fails.
static int reconnect(struct host *host, struct host_command *command) {
	uint64_t deadline = now() + nanoseconds(host->options.patience);
	bool possible = !host->link.helper, interrupted = false;
	int pause = 5; // ms
	bool nothing_said = !host->channel.acked && !host->channel.expected;
	char why[LINK_WHY] = "";
	int error = -ECONNRESET;
	progress_hide(&host->progress);
	disconnect(host);
	host->interrupts = command->signals;
	while (possible && now() < deadline && !(interrupted = host_command_interrupted(command)) &&
	       !(host->options.is_over && host->options.is_over(host->options.context))) {
		double left = host->options.is_over ? 0.2 : MIN((double)(deadline - now()) / 1e9, 1);
		error = link_connect(&host->link, host->options.address, left, why);
		if (!error)
			error = greet(host, nothing_said, deadline);
		if (!error) {
			host->interrupts = -1;
			host->resumed++;
			log_verbose("%s: the connection was lost and taken up again", host->options.address);
			return 0;
		}
		disconnect(host);
		if (host->gone)
			return error;
		poll(&(struct pollfd){.fd = host->interrupts, .events = POLLIN}, 1, pause);
		pause = MIN(pause * 2, 100);
	}
	host->gone = true;
	log_error("the connection to the guest is lost (%s)%s", host->options.address,
		  interrupted ? ", and is not waited for; the command there ends when its agent gives up, too"
		  : possible  ? ": the guest has ended, or its agent was killed"
			      : "");
	return error;
}

// ---- clocks ----

static void take_pong(struct host *host, const struct frame *frame, uint64_t arrived,
		      struct clock_offset *offset) {
	uint64_t times[3];
	if (frame->size != sizeof(times))
		return;
	memcpy(times, frame->payload, sizeof(times));
	if (offset)
		clock_offset_take(offset, times[0], times[1], times[2], arrived);
}

static void ping(struct host *host) {
	uint64_t time = time_of(CLOCK_BOOTTIME);
	channel_urgent(&host->channel, FRAME_PING, &time, sizeof(time));
	host->pinged = now();
}

void host_measure_clock(struct host *host, struct clock_offset *offset) {
	uint64_t deadline = now() + nanoseconds(1);
	struct frame frame;
	for (int i = 0; i < ROUND_TRIPS && now() < deadline; i++) {
		bool answered = false;
		ping(host);
		while (!answered) {
			int ready = host_wait(host, deadline);
			uint64_t arrived = time_of(CLOCK_BOOTTIME);
			if (ready <= 0 || host_read(host) < 0)
				return; // whoever reads next notices
			while (channel_next(&host->channel, &frame)) {
				if (frame.type == FRAME_PONG) {
					take_pong(host, &frame, arrived, offset);
					answered = true;
				}
			}
		}
	}
}

// ---- a request ----

static void send_request(struct host *host, const struct host_request *request) {
	struct message message = {.type = MESSAGE_REQUEST, .numbers = {request->kind, request->flags}};
	struct buffer out = {0};
	if (request->flags & REQUEST_TERMINAL)
		host_terminal_size(&message.numbers[2], &message.numbers[3]);
	for (size_t i = 0; i < request->word_count; i++)
		array_push(&message.words, request->words[i]);
	message_encode(&message, &out);
	channel_message(&host->channel, &out);
	buffer_free(&out);
	message_free(&message);
}

static void take_message(struct host *host, struct host_request *request, const struct frame *frame) {
	struct message message;
	char text[256];
	if (!message_decode(frame->payload, frame->size, &message)) {
		host->channel.broken = "a message that cannot be";
		return;
	}
	message_plain(&message, text, sizeof(text));
	if (message.type == MESSAGE_STARTED) {
		memcpy(request->folder, text, sizeof(text));
	} else if (message.type == MESSAGE_FILE_BEGIN && request->receiver) {
		receiver_begin(request->receiver, message_word(&message), message.numbers[0]);
	} else if (message.type == MESSAGE_FILE_END && request->receiver) {
		receiver_end(request->receiver, message.numbers[0], text);
	} else if (message.type == MESSAGE_TRACE_BEGIN && request->live) {
		receiver_begin(request->live, message_word(&message), 0);
	} else if (message.type == MESSAGE_RESULT) {
		request->status = (int)(message.numbers[0] & 0xffff);
		memcpy(request->why, text, sizeof(text));
		request->answered = true;
	}
	message_free(&message);
}

static void take_data(struct host *host, struct host_request *request, struct host_command *command,
		      const struct frame *frame) {
	host->resyncs = 0;
	host->decoder.skipped = host->decoder.damaged = 0;
	switch (frame->stream) {
	case STREAM_CONTROL:
		take_message(host, request, frame);
		break;
	case STREAM_STDOUT:
	case STREAM_STDERR:
		host_command_output(command, frame);
		break;
	case STREAM_FILE:
		if (request->receiver)
			receiver_bytes(request->receiver, frame->payload, frame->size);
		channel_consumed(&host->channel, STREAM_FILE, frame->size);
		break;
	case STREAM_TRACE:
		if (request->live)
			receiver_bytes(request->live, frame->payload, frame->size);
		channel_consumed(&host->channel, STREAM_TRACE, frame->size);
		break;
	default:
		channel_consumed(&host->channel, (enum channel_stream)frame->stream, frame->size);
	}
}

// 0, or -errno: the connection is no good.
static int take_frames(struct host *host, struct host_request *request, struct host_command *command) {
	struct frame frame;
	while (!request->answered && channel_next(&host->channel, &frame)) {
		if (frame.type == FRAME_DATA) {
			take_data(host, request, command, &frame);
		} else if (frame.type == FRAME_RESYNC) {
			if (host->resyncs++ > RESYNCS_MOST)
				return -EPROTO;
			channel_pause(&host->channel);
			int error = greet(host, false, now() + nanoseconds(host->options.patience));
			if (error)
				return error;
		} else if (frame.type == FRAME_REFUSED) {
			return take_refusal(host, &frame);
		}
		if ((request->receiver && request->receiver->refused) ||
		    (request->live && request->live->refused)) {
			host->gone = true;
			return -EFBIG;
		}
	}
	if (host->channel.broken) {
		log_error("%s: the guest sent %s", host->options.address, host->channel.broken);
		host->gone = true;
		return -EPROTO;
	}
	return is_garbage(host) ? say_garbage(host) : 0;
}

// Reads, pings where it is silent. 0, or -errno: the connection is no good.
static int attend_link(struct host *host, struct host_request *request, struct host_command *command,
		       bool readable) {
	uint64_t patience = nanoseconds(host->options.patience), time = now();
	if (readable) {
		int got = host_read(host);
		if (got < 0)
			return got;
		host->heard = got ? time : host->heard;
	}
	int error = take_frames(host, request, command);
	if (error)
		return error;
	if (host->channel.since_ack >= ACK_EVERY || host->channel.limits_due || !readable ||
	    request->answered)
		channel_acknowledge(&host->channel);
	if (time - host->heard > patience) {
		log_error("%s: the guest has been silent for %g s", host->options.address,
			  host->options.patience);
		host->gone = true;
		return -ETIMEDOUT;
	}
	if (time - host->heard > patience / 4 && time - host->pinged > patience / 4)
		ping(host);
	return host_write(host);
}

// One turn: waits for whatever comes first.
static int turn(struct host *host, struct host_request *request, struct host_command *command) {
	struct pollfd list[1 + HOST_COMMAND_POLLED];
	size_t size;
	list[0] = (struct pollfd){.fd = host->link.in,
				  .events = channel_output(&host->channel, &size) ? POLLIN | POLLOUT
										  : POLLIN};
	size_t count = 1 + host_command_poll(command, list + 1);
	// What has arrived is acknowledged some milliseconds later, many chunks at once.
	bool owed = host->channel.expected != host->channel.expected_told;
	int limit = owed ? 10 : (int)MAX(host->options.patience * 250, 1);
	int ready = poll(list, count, limit);
	if (ready < 0 && errno != EINTR)
		return -errno;
	host_command_attend(command, list + 1);
	return attend_link(host, request, command, ready > 0 && list[0].revents & ~POLLOUT);
}

int host_request(struct host *host, struct host_request *request) {
	struct host_command command;
	if (host->gone)
		return -ENOTCONN;
	host->heard = now(); // there may have been nothing to say for a while
	host_command_begin(&command, host, request);
	send_request(host, request);
	int error = 0;
	progress_begin(&host->progress, request->receiver);
	while (!error && !(request->answered && host_command_flushed(&command))) {
		error = turn(host, request, &command);
		// What was said is said; all else is tried again on another connection.
		if (error && !host->gone)
			error = reconnect(host, &command);
		if (request->receiver)
			progress_show(&host->progress, request->receiver, now());
	}
	progress_hide(&host->progress);
	if (error && request->receiver)
		receiver_cut(request->receiver);
	if (!error)
		channel_acknowledge(&host->channel);
	host_command_end(&command);
	host_write(host);
	return error;
}
