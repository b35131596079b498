// Arbitrary bytes from a peer: packets, their order, messages and hellos inside them. CRCs would
// stop a fuzzer, so each input is also used as the content of packets.
#include "fuzz.h"

#include "format/clock.h"
#include "guest/wire/channel.h"
#include "guest/wire/message.h"

static void take_packet(const struct guest_packet *packet) {
	struct message message;
	struct hello hello;
	char text[32];
	if (packet->type == GUEST_PACKET_HELLO)
		hello_decode(packet, &hello);
	if (message_decode(packet->payload, packet->size, &message))
		message_plain(&message, text, sizeof(text));
	message_free(&message);
}

static void feed(struct channel *channel, const uint8_t *bytes, size_t size) {
	struct guest_packet packet;
	size_t room, written;
	if (!size)
		return;
	memcpy(packet_decoder_room(channel->decoder, size, &room), bytes, size);
	packet_decoder_added(channel->decoder, size);
	while (channel_next(channel, &packet)) {
		if (packet.type == GUEST_PACKET_DATA && packet.stream >= STREAM_COUNT)
			abort();
		take_packet(&packet);
		if (packet.type == GUEST_PACKET_DATA && packet.stream)
			channel_consumed(channel, packet.stream, packet.size);
		channel_acknowledge(channel);
	}
	while (channel_output(channel, &written))
		channel_wrote(channel, written);
}

// Turns the input into packets with correct headers: type, flags, stream, length, payload.
static void wrap(const uint8_t *bytes, size_t size, struct buffer *out) {
	uint64_t sequence = 0;
	while (size >= 4) {
		size_t payload = MIN(bytes[3], size - 4);
		uint8_t *header = buffer_room(out, GUEST_PACKET_HEADER);
		enum guest_packet_type type = bytes[0] % 10;
		guest_packet_header(header, type, bytes[1], bytes[2] % 8, sequence, bytes + 4,
				    (uint32_t)payload);
		out->size += GUEST_PACKET_HEADER;
		buffer_append(out, bytes + 4, payload);
		sequence += type == GUEST_PACKET_DATA;
		bytes += 4 + payload;
		size -= 4 + payload;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct channel channel;
	struct packet_decoder decoder = {0};
	struct buffer wrapped = {0}, message = {0};
	struct guest_clock clock;
	size_t half = size ? bytes[0] * size / 256 : 0;
	wrap(bytes, size, &wrapped);
	channel_init(&channel, 1000);
	channel.decoder = &decoder;
	buffer_append(&message, "x", 1);
	channel_message(&channel, &message);
	feed(&channel, bytes, half);
	feed(&channel, bytes + half, size - half);
	channel.broken = NULL;
	packet_decoder_forget(&decoder);
	channel_resume(&channel, 0, NULL);
	feed(&channel, wrapped.data, wrapped.size);
	char *text = memory_format("%.*s", (int)MIN(size, 100), (const char *)bytes);
	guest_clock_parse(text, &clock);
	free(text);
	channel_free(&channel);
	packet_decoder_free(&decoder);
	buffer_free(&wrapped);
	buffer_free(&message);
	return 0;
}

void fuzz_seeds(void) {
	struct buffer seed = {0}, payload = {0};
	struct hello hello = {.session = 1, .text = "someone"};
	struct message message = {.type = MESSAGE_FILE_BEGIN, .numbers = {1000}};
	hello_encode(&hello, &payload);
	guest_packet_append(&seed, GUEST_PACKET_HELLO, 0, 0, payload.data, (uint32_t)payload.size);
	payload.size = 0;
	array_push(&message.words, "name.pb");
	message_encode(&message, &payload);
	guest_packet_append(&seed, GUEST_PACKET_DATA, STREAM_CONTROL, 0, payload.data,
			    (uint32_t)payload.size);
	guest_packet_append(&seed, GUEST_PACKET_DATA, STREAM_FILE, 1, "bytes of it", 11);
	guest_packet_append(&seed, GUEST_PACKET_ACK, 0, 1, "\1\0\0\0\0\0\0\0\0\0\0\0", 12);
	fuzz_seed("packets", &seed);
	for (int type = 0; type < 8; type++) {
		uint8_t head[4] = {(uint8_t)type, 0, 0, (uint8_t)payload.size};
		buffer_append(&seed, head, 4);
		buffer_append(&seed, payload.data, payload.size);
	}
	fuzz_seed("payloads", &seed);
	buffer_append(&seed, "1000 -100 5,3000 100 7", 22);
	fuzz_seed("clock", &seed);
	buffer_free(&payload);
	message_free(&message);
}
