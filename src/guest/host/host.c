#include "guest/host/host.h"
#include "base/log.h"
#include "guest/host/command.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
	GARBAGE_MOST = 4 << 20, // bytes outside of packets: the peer is not an agent
	RESYNCS_MOST = 16,      // without progress
	ROUND_TRIPS = 32,
	ACK_EVERY = 1 << 20, // bytes; less than the window, so that the guest never waits
};

static uint64_t time_of(clockid_t clock) {
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t host_now(void) {
	return time_of(CLOCK_MONOTONIC);
}

static uint64_t nanoseconds(double seconds) {
	return (uint64_t)(seconds * 1e9);
}

// ---- the connection ----

static void disconnect(struct host *host) {
	link_close(&host->link);
	packet_decoder_forget(&host->decoder);
	channel_pause(&host->channel);
	host->challenged = host->proven = false;
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
	if (padded) // completes a packet of which the agent has only a part
		memset(buffer_room(&out, CHANNEL_HOST_CHUNK), 0, CHANNEL_HOST_CHUNK);
	out.size = padded ? CHANNEL_HOST_CHUNK : 0;
	guest_packet_append(&out, GUEST_PACKET_HELLO, 0, 0, payload.data, (uint32_t)payload.size);
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
	uint8_t *at = packet_decoder_room(&host->decoder, 256 << 10, &room);
	ssize_t got = link_read(&host->link, at, room);
	if (got > 0)
		packet_decoder_added(&host->decoder, (size_t)got);
	return (int)MIN(got, 1);
}

// Waits for something to read, and writes meanwhile. Returns 1 if there is, 0 at the deadline, or -errno,
// which is -EINTR if the user interrupted it.
static int host_wait(struct host *host, uint64_t deadline) {
	for (;;) {
		size_t size;
		uint64_t time = host_now();
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
		if (ready == 0 && host_now() >= deadline)
			return 0;
	}
}

// Too much has arrived that is not a packet.
static bool is_garbage(const struct host *host) {
	return host->decoder.skipped > GARBAGE_MOST || host->decoder.damaged > GUEST_PACKET_DAMAGED_MOST;
}

static int say_garbage(struct host *host) {
	log_error("%s: not a tracelet-agent (it sent %" PRIu64 " bytes that are not packets)",
		  host->options.address, host->decoder.skipped);
	host->gone = true;
	return -EPROTO;
}

static int say_version(struct host *host) {
	log_error("%s: the agent speaks version %u of the protocol, this tracelet version %u; use the agent "
		  "from tracelet %s in the guest, or the agent's tracelet here",
		  host->options.address, host->decoder.other_version, GUEST_PACKET_VERSION, TRACELET_VERSION);
	host->gone = true;
	return -EPROTONOSUPPORT;
}

static int take_refusal(struct host *host, const struct guest_packet *packet) {
	char text[160];
	size_t size = MIN(packet->size, sizeof(text) - 1);
	for (size_t i = 0; i < size; i++)
		text[i] = packet->payload[i] < ' ' || packet->payload[i] > '~' ? '?'
									       : (char)packet->payload[i];
	text[size] = 0;
	log_error("%s: the agent refused: %s", host->options.address, text);
	host->gone = true;
	return -ECONNABORTED;
}

static int say_token(struct host *host, const char *why) {
	log_error("%s: %s", host->options.address, why);
	host->gone = true;
	return -EPERM;
}

static bool wants_proof(const struct host *host) {
	const char *address = host->options.address;
	return host->options.token && !host->proven &&
	       (strncmp(address, "tcp:", 4) == 0 || strncmp(address, "vsock:", 6) == 0);
}

// Answers, with a challenge of ours, and says hello again.
static int take_challenge(struct host *host, const struct guest_packet *packet, bool fresh) {
	struct buffer out = {0};
	uint8_t proof[TOKEN_PROOF];
	if (packet->size != TOKEN_CHALLENGE || host->challenged)
		return -EAGAIN; // each hello is answered by the same one
	host->challenged = true;
	if (!host->options.token)
		return say_token(host, "the agent wants a token (--token-file)");
	if (!token_challenge(host->talk.host))
		return say_token(host, "the system provides no random numbers");
	memcpy(host->talk.agent, packet->payload, TOKEN_CHALLENGE);
	token_prove(host->options.token, TOKEN_OF_HOST, &host->talk, host->session, proof);
	buffer_append(&out, &host->session, sizeof(host->session));
	buffer_append(&out, host->talk.host, TOKEN_CHALLENGE);
	buffer_append(&out, proof, sizeof(proof));
	channel_urgent(&host->channel, GUEST_PACKET_PROOF, out.data, out.size);
	buffer_free(&out);
	send_hello(host, fresh, false);
	return -EAGAIN;
}

static int take_proof(struct host *host, const struct guest_packet *packet) {
	host->proven = packet->size == TOKEN_PROOF && host->options.token &&
		       token_check(host->options.token, TOKEN_OF_AGENT, &host->talk, host->session,
				   packet->payload);
	return host->proven ? -EAGAIN : say_token(host, "the agent does not know the token");
}

static int take_hello(struct host *host, const struct guest_packet *packet, bool fresh) {
	struct hello hello;
	if (!hello_decode(packet, &hello) || hello.session != host->session)
		return -EAGAIN; // an answer to an earlier host
	if (wants_proof(host))
		return say_token(host, "the agent did not ask for the token; is it the right one?");
	host->channel.decoder = &host->decoder;
	if (!channel_resume(&host->channel, hello.expected, NULL)) {
		log_error("%s: the agent lost the session", host->options.address);
		host->gone = true;
		return -EPROTO;
	}
	host->guest = hello;
	host->greeted = true;
	host->heard = host->attended = host_now();
	return 0;
}

// Sends HELLO until the agent answers. Returns 0, -ETIMEDOUT or -errno of a lost connection (neither is
// logged), or another error with `gone` set (logged).
static int greet(struct host *host, bool fresh, uint64_t deadline) {
	double pause = 1; // doubles each time: a booting guest will receive all of them
	uint64_t again = host_now() + nanoseconds(pause);
	struct guest_packet packet;
	send_hello(host, fresh, false);
	while (host_now() < deadline) {
		int ready = host_wait(host, MIN(again, deadline));
		if (ready > 0)
			ready = host_read(host);
		if (ready < 0)
			return ready;
		while (packet_decoder_next(&host->decoder, &packet)) {
			int error = packet.type == GUEST_PACKET_HELLO     ? take_hello(host, &packet, fresh)
				    : packet.type == GUEST_PACKET_REFUSED ? take_refusal(host, &packet)
				    : packet.type == GUEST_PACKET_CHALLENGE
					    ? take_challenge(host, &packet, fresh)
				    : packet.type == GUEST_PACKET_PROOF ? take_proof(host, &packet)
									: -EAGAIN;
			if (error != -EAGAIN)
				return error;
		}
		if (host->decoder.other_version)
			return say_version(host);
		if (is_garbage(host))
			return say_garbage(host);
		if (host_now() >= again) {
			send_hello(host, fresh, true);
			pause *= 2;
			again = host_now() + nanoseconds(pause);
		}
	}
	return -ETIMEDOUT;
}

int host_open(struct host *host, const struct host_options *options) {
	char why[LINK_WHY] = "";
	*host = (struct host){.options = *options, .interrupts = -1};
	if (getrandom(&host->session, sizeof(host->session), 0) != sizeof(host->session) || !host->session)
		host->session = host_now() | 1;
	channel_init(&host->channel, CHANNEL_HOST_CHUNK);
	double seconds = options->connect > 0 ? options->connect : options->patience;
	uint64_t deadline = host_now() + nanoseconds(seconds);
	int error, tries = 10, pause = 5; // ms
	// A connection that closes before HELLO may be an accident, ten are not.
	do {
		error = link_connect(&host->link, options->address, seconds, why);
		if (error) {
			log_error("cannot connect to the guest: %s", why);
			channel_free(&host->channel);
			return error;
		}
		error = greet(host, true, deadline);
		if (!error || error == -ETIMEDOUT || host->gone || host->link.helper || --tries == 0)
			break;
		disconnect(host);
		poll(NULL, 0, pause);
		pause = MIN(pause * 2, 100);
	} while (host_now() < deadline);
	if (error == -ETIMEDOUT)
		log_error("%s: no answer from the guest within %g s; %s", options->address, seconds,
			  host->decoder.skipped
				  ? "something other than an agent is sending there"
				  : "is tracelet-agent running there, and is no other host connected?");
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
		channel_urgent(&host->channel, GUEST_PACKET_BYE, NULL, 0);
		host_write(host);
	}
	link_close(&host->link);
	packet_decoder_free(&host->decoder);
	channel_free(&host->channel);
}

// Reconnects and resumes the session. A failure is logged.
static int reconnect(struct host *host, struct host_command *command) {
	uint64_t deadline = host_now() + nanoseconds(host->options.patience);
	bool possible = !host->link.helper, interrupted = false;
	int pause = 5; // ms
	bool nothing_said = !host->channel.acked && !host->channel.expected;
	char why[LINK_WHY] = "";
	int error = -ECONNRESET;
	progress_hide(&host->progress);
	disconnect(host);
	host->interrupts = command->signals;
	while (possible && host_now() < deadline && !(interrupted = host_command_interrupted(command)) &&
	       !(host->options.is_over && host->options.is_over(host->options.context))) {
		double left = host->options.is_over ? 0.2 : MIN((double)(deadline - host_now()) / 1e9, 1);
		error = link_connect(&host->link, host->options.address, left, why);
		if (!error)
			error = greet(host, nothing_said, deadline);
		if (!error) {
			host->interrupts = -1;
			host->resumed++;
			log_verbose("%s: resumed a lost connection", host->options.address);
			return 0;
		}
		disconnect(host);
		if (host->gone)
			return error;
		poll(&(struct pollfd){.fd = host->interrupts, .events = POLLIN}, 1, pause);
		pause = MIN(pause * 2, 100);
	}
	host->gone = true;
	log_error("lost the connection to the guest (%s)%s", host->options.address,
		  interrupted ? "; interrupted while reconnecting; the command there ends when its agent "
				"gives up, too"
		  : possible  ? ": the guest ended, or its agent was killed"
			      : "");
	return error;
}

// ---- clocks ----

static void take_pong(struct host *host, const struct guest_packet *packet, uint64_t arrived,
		      struct clock_offset *offset) {
	uint64_t times[3];
	if (packet->size != sizeof(times))
		return;
	memcpy(times, packet->payload, sizeof(times));
	if (offset)
		clock_offset_take(offset, times[0], times[1], times[2], arrived);
}

static void ping(struct host *host) {
	uint64_t time = time_of(CLOCK_BOOTTIME);
	channel_urgent(&host->channel, GUEST_PACKET_PING, &time, sizeof(time));
	host->pinged = host_now();
}

void host_measure_clock(struct host *host, struct clock_offset *offset) {
	uint64_t deadline = host_now() + nanoseconds(1);
	struct guest_packet packet;
	for (int i = 0; i < ROUND_TRIPS && host_now() < deadline; i++) {
		bool answered = false;
		ping(host);
		while (!answered) {
			int ready = host_wait(host, deadline);
			uint64_t arrived = time_of(CLOCK_BOOTTIME);
			if (ready <= 0 || host_read(host) < 0)
				return; // the next read reports it
			while (channel_next(&host->channel, &packet)) {
				if (packet.type == GUEST_PACKET_PONG) {
					take_pong(host, &packet, arrived, offset);
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

static void take_message(struct host *host, struct host_request *request, const struct guest_packet *packet) {
	struct message message;
	char text[256];
	if (!message_decode(packet->payload, packet->size, &message)) {
		host->channel.broken = "an invalid message";
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
		      const struct guest_packet *packet) {
	host->resyncs = 0;
	host->decoder.skipped = host->decoder.damaged = 0;
	switch (packet->stream) {
	case STREAM_CONTROL:
		take_message(host, request, packet);
		break;
	case STREAM_STDOUT:
	case STREAM_STDERR:
		host_command_output(command, packet);
		break;
	case STREAM_FILE:
		if (request->receiver)
			receiver_bytes(request->receiver, packet->payload, packet->size);
		channel_consumed(&host->channel, STREAM_FILE, packet->size);
		break;
	case STREAM_TRACE:
		if (request->live)
			receiver_bytes(request->live, packet->payload, packet->size);
		channel_consumed(&host->channel, STREAM_TRACE, packet->size);
		break;
	default:
		channel_consumed(&host->channel, (enum channel_stream)packet->stream, packet->size);
	}
}

// Both sides say again what they have. A signal ends the wait.
static int greet_again(struct host *host, const struct host_command *command, uint64_t deadline) {
	channel_pause(&host->channel);
	host->interrupts = command->signals;
	int error = greet(host, false, deadline);
	host->interrupts = -1;
	return error;
}

// Returns 0, or -errno if the connection is unusable.
static int take_packets(struct host *host, struct host_request *request, struct host_command *command) {
	struct guest_packet packet;
	while (!request->answered && channel_next(&host->channel, &packet)) {
		if (packet.type == GUEST_PACKET_DATA) {
			take_data(host, request, command, &packet);
		} else if (packet.type == GUEST_PACKET_RESYNC) {
			if (host->resyncs++ > RESYNCS_MOST)
				return -EPROTO;
			int error = greet_again(host, command,
						host_now() + nanoseconds(host->options.patience));
			if (error)
				return error;
		} else if (packet.type == GUEST_PACKET_REFUSED) {
			return take_refusal(host, &packet);
		}
		if ((request->receiver && request->receiver->refused) ||
		    (request->live && request->live->refused)) {
			host->gone = true;
			return -EFBIG;
		}
	}
	if (host->channel.broken) {
		log_error("%s: protocol violation by the guest (%s)", host->options.address,
			  host->channel.broken);
		host->gone = true;
		return -EPROTO;
	}
	return is_garbage(host) ? say_garbage(host) : 0;
}

static int give_up(struct host *host, const char *why, double seconds) {
	log_error("%s: %s for %g s", host->options.address, why, seconds);
	host->gone = true;
	return -ETIMEDOUT;
}

// An agent that was restarted, or has lost the session, still answers pings. It is asked for the session
// before the patience with it is over.
static int ask_for_session(struct host *host, const struct host_command *command, uint64_t patience) {
	bool pinged = host->heard > host->attended;
	int error = greet_again(host, command, host->attended + patience);
	return error != -ETIMEDOUT
		       ? error
		       : give_up(host,
				 pinged ? "the agent answers pings, but has not answered this session"
					: "the guest has been silent",
				 host->options.patience);
}

// A guest that does not answer cannot be passed a signal, so the signal is for us.
static bool is_unheard(const struct host *host, const struct host_command *command) {
	enum { SOON = 2 };
	return command->ended_at && host->channel.acked < command->ended_before &&
	       host_now() - command->ended_at > nanoseconds(MIN(SOON, host->options.patience));
}

// Reads, and pings a silent guest. Returns 0, or -errno if the connection is unusable.
static int attend_link(struct host *host, struct host_request *request, struct host_command *command,
		       bool readable) {
	if (readable) {
		int got = host_read(host);
		if (got < 0)
			return got;
		host->heard = got ? host_now() : host->heard;
	}
	uint64_t acked = host->channel.acked, expected = host->channel.expected;
	int error = take_packets(host, request, command);
	if (error)
		return error;
	if (acked != host->channel.acked || expected != host->channel.expected)
		host->attended = host_now();
	// Not before: a resynchronisation in take_packets() hears from the guest, too.
	uint64_t patience = nanoseconds(host->options.patience), time = host_now();
	if (host->channel.since_ack >= ACK_EVERY || host->channel.limits_due || !readable ||
	    request->answered)
		channel_acknowledge(&host->channel);
	if (time - host->heard > patience)
		return give_up(host, "the guest has been silent", host->options.patience);
	if (is_unheard(host, command)) {
		log_error("%s: interrupted; the guest does not answer", host->options.address);
		host->gone = true;
		return -EINTR;
	}
	if (time - host->attended > patience / 2 && !request->answered) {
		error = ask_for_session(host, command, patience);
		if (error)
			return error;
	}
	if (time - host->heard > patience / 4 && time - host->pinged > patience / 4)
		ping(host);
	return host_write(host);
}

// One turn of the loop: waits for the first event.
static int turn(struct host *host, struct host_request *request, struct host_command *command) {
	struct pollfd list[1 + HOST_COMMAND_POLLED];
	size_t size;
	list[0] = (struct pollfd){.fd = host->link.in,
				  .events = channel_output(&host->channel, &size) ? POLLIN | POLLOUT
										  : POLLIN};
	size_t count = 1 + host_command_poll(command, list + 1);
	// What has arrived is acknowledged some milliseconds later, many chunks at once.
	bool owed = host->channel.expected != host->channel.expected_acknowledged;
	int limit = owed ? 10 : (int)MAX(MIN(host->options.patience * 250, command->ended_at ? 500 : 1e6), 1);
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
	host->heard = host->attended = host_now(); // it may have been idle since the last request
	host_command_begin(&command, host, request);
	send_request(host, request);
	int error = 0;
	progress_begin(&host->progress, request->receiver);
	while (!error && !(request->answered && host_command_flushed(&command))) {
		error = turn(host, request, &command);
		// If `gone`, the error is final and logged; everything else is retried on another connection.
		if (error && !host->gone)
			error = reconnect(host, &command);
		if (request->receiver)
			progress_show(&host->progress, request->receiver, host_now());
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
