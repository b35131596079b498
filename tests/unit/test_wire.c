#include "aside.h"

#include "base/crc32c.h"
#include "format/clock.h"
#include "guest/wire/channel.h"
#include "guest/wire/message.h"

// ---- packets ----

static void feed(struct packet_decoder *decoder, const void *bytes, size_t size) {
	size_t room;
	memcpy(packet_decoder_room(decoder, size, &room), bytes, size);
	assert_true(room >= size);
	packet_decoder_added(decoder, size);
}

static void test_crc_is_castagnolis(void **state) {
	uint8_t zeros[32] = {0};
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c_by_table(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(0, zeros, 32), 0x8a9136aa);
	assert_int_equal(crc32c_by_table(0, zeros, 32), 0x8a9136aa);
	assert_int_equal(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

// Long data is computed differently from short data.
static void test_crc_of_much_is_that_of_its_pieces(void **state) {
	static const size_t sizes[] = {239, 240, 241, 247,  248,    319,   320,
				       321, 399, 400, 1000, 262144, 300001};
	static uint8_t bytes[300001];
	uint32_t random = 1;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (uint32_t begin = 0; begin < 0xf0000000u; begin += 0x77777777u) {
			uint32_t crc = begin;
			for (size_t at = 0; at < sizes[i]; at += 100)
				crc = crc32c_by_table(crc, bytes + at,
						      sizes[i] - at < 100 ? sizes[i] - at : 100);
			assert_int_equal(crc32c_by_table(begin, bytes, sizes[i]), crc);
			assert_int_equal(crc32c(begin, bytes, sizes[i]), crc);
		}
	}
}

static void test_a_packet_comes_back_whatever_pieces_it_comes_in(void **state) {
	struct buffer out = {0};
	struct packet_decoder decoder = {0};
	struct guest_packet packet;
	guest_packet_append(&out, GUEST_PACKET_DATA, STREAM_STDERR, 77, "payload", 7);
	for (size_t i = 0; i < out.size; i++) {
		assert_false(packet_decoder_next(&decoder, &packet));
		feed(&decoder, out.data + i, 1);
	}
	assert_true(packet_decoder_next(&decoder, &packet));
	assert_int_equal(packet.type, GUEST_PACKET_DATA);
	assert_int_equal(packet.stream, STREAM_STDERR);
	assert_int_equal(packet.sequence, 77);
	assert_int_equal(packet.size, 7);
	assert_memory_equal(packet.payload, "payload", 7);
	assert_false(packet_decoder_next(&decoder, &packet));
	assert_int_equal(decoder.skipped, 0);
	buffer_free(&out);
	packet_decoder_free(&decoder);
}

static void test_noise_between_packets_is_passed_over(void **state) {
	struct buffer out = {0};
	struct packet_decoder decoder = {0};
	struct guest_packet packet;
	buffer_append(&out, "TLFTTLF1 console output\n", 24);
	guest_packet_append(&out, GUEST_PACKET_PING, 0, 0, NULL, 0);
	buffer_append(&out, "TLF", 3);
	guest_packet_append(&out, GUEST_PACKET_PONG, 0, 0, "x", 1);
	feed(&decoder, out.data, out.size);
	assert_true(packet_decoder_next(&decoder, &packet));
	assert_int_equal(packet.type, GUEST_PACKET_PING);
	assert_true(packet_decoder_next(&decoder, &packet));
	assert_int_equal(packet.type, GUEST_PACKET_PONG);
	assert_int_equal(decoder.skipped, 27);
	buffer_free(&out);
	packet_decoder_free(&decoder);
}

static void test_each_changed_bit_is_noticed(void **state) {
	struct buffer out = {0};
	struct guest_packet packet;
	guest_packet_append(&out, GUEST_PACKET_DATA, 1, 2, "0123456789", 10);
	for (size_t bit = 0; bit < out.size * 8; bit++) {
		struct packet_decoder decoder = {0};
		out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		feed(&decoder, out.data, out.size);
		assert_false(packet_decoder_next(&decoder, &packet));
		out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		packet_decoder_free(&decoder);
	}
	buffer_free(&out);
}

static void test_a_packet_inside_a_cut_one_is_found(void **state) {
	struct buffer out = {0};
	struct packet_decoder decoder = {0};
	struct guest_packet packet;
	uint8_t payload[200] = {0};
	guest_packet_append(&out, GUEST_PACKET_DATA, 1, 0, payload, sizeof(payload));
	out.size -= 150; // lost with a connection
	guest_packet_append(&out, GUEST_PACKET_HELLO, 0, 0, "hello", 5);
	buffer_append(&out, payload, 150); // padding
	feed(&decoder, out.data, out.size);
	assert_true(packet_decoder_next(&decoder, &packet));
	assert_int_equal(packet.type, GUEST_PACKET_HELLO);
	assert_int_equal(decoder.damaged, 1);
	buffer_free(&out);
	packet_decoder_free(&decoder);
}

// A link that flips bits is not taken for something that sends no packets.
static void test_a_damaged_payload_is_no_noise(void **state) {
	struct buffer out = {0};
	struct packet_decoder decoder = {0};
	struct guest_packet packet;
	uint8_t payload[200] = {0};
	for (unsigned i = 0; i < 3; i++)
		guest_packet_append(&out, GUEST_PACKET_DATA, 1, i, payload, sizeof(payload));
	out.data[GUEST_PACKET_HEADER + 100] ^= 1;
	out.data[2 * GUEST_PACKET_HEADER + 300] ^= 1;
	feed(&decoder, out.data, out.size);
	assert_true(packet_decoder_next(&decoder, &packet));
	assert_int_equal(packet.sequence, 2);
	assert_int_equal(decoder.damaged, 2);
	assert_int_equal(decoder.skipped, 0);
	feed(&decoder, payload, sizeof(payload)); // noise
	assert_false(packet_decoder_next(&decoder, &packet));
	assert_int_equal(decoder.skipped, sizeof(payload));
	buffer_free(&out);
	packet_decoder_free(&decoder);
}

static void test_a_packet_of_another_version_is_known_as_that(void **state) {
	uint8_t header[GUEST_PACKET_HEADER];
	struct packet_decoder decoder = {0};
	struct guest_packet packet;
	guest_packet_header(header, GUEST_PACKET_HELLO, 0, 0, 0, NULL, 0);
	header[4] = 2;
	feed(&decoder, header, sizeof(header));
	assert_false(packet_decoder_next(&decoder, &packet));
	assert_int_equal(decoder.other_version, 0); // without a valid checksum there is no version
	uint32_t crc = crc32c(0, header, 28);
	memcpy(header + 28, &crc, 4);
	feed(&decoder, header, sizeof(header));
	assert_false(packet_decoder_next(&decoder, &packet));
	assert_int_equal(decoder.other_version, 2);
	packet_decoder_free(&decoder);
}

static void test_a_length_beyond_the_limit_is_no_packet(void **state) {
	uint8_t header[GUEST_PACKET_HEADER];
	struct packet_decoder decoder = {0};
	struct guest_packet packet;
	uint32_t huge = GUEST_PACKET_PAYLOAD_MOST + 1;
	guest_packet_header(header, GUEST_PACKET_DATA, 0, 0, 0, NULL, 0);
	memcpy(header + 12, &huge, 4);
	uint32_t crc = crc32c(0, header, 28);
	memcpy(header + 28, &crc, 4);
	feed(&decoder, header, sizeof(header));
	assert_false(packet_decoder_next(&decoder, &packet));
	assert_true(decoder.skipped > 0);
	assert_true(decoder.capacity < 4096);
	packet_decoder_free(&decoder);
}

// ---- channels ----

struct pair {
	struct channel one, two;
	struct packet_decoder to_one, to_two;
	struct buffer got; // received on streams by two
};

static void pair_begin(struct pair *pair) {
	*pair = (struct pair){0};
	channel_init(&pair->one, 1000);
	channel_init(&pair->two, 1000);
	pair->one.decoder = &pair->to_one;
	pair->two.decoder = &pair->to_two;
}

static void pair_end(struct pair *pair) {
	channel_free(&pair->one);
	channel_free(&pair->two);
	packet_decoder_free(&pair->to_one);
	packet_decoder_free(&pair->to_two);
	buffer_free(&pair->got);
}

// Moves at most `limit` bytes from one to the other.
static void move(struct channel *from, struct packet_decoder *to, size_t limit) {
	size_t size;
	const uint8_t *bytes;
	while (limit && (bytes = channel_output(from, &size))) {
		size = MIN(size, limit);
		feed(to, bytes, size);
		channel_wrote(from, size);
		limit -= size;
	}
}

static void take(struct pair *pair) {
	struct guest_packet packet;
	while (channel_next(&pair->two, &packet)) {
		assert_int_equal(packet.type, GUEST_PACKET_DATA);
		buffer_append(&pair->got, packet.payload, packet.size);
		channel_consumed(&pair->two, packet.stream, packet.size);
	}
}

static size_t put(struct channel *channel, enum channel_stream stream, const void *bytes, size_t size) {
	size_t room, done = 0;
	uint8_t *at;
	while (done < size && (at = channel_reserve(channel, stream, &room))) {
		room = MIN(room, size - done);
		memcpy(at, (const char *)bytes + done, room);
		channel_commit(channel, stream, room);
		done += room;
	}
	return done;
}

static void test_chunks_arrive_in_order_and_are_acknowledged(void **state) {
	struct pair pair;
	struct guest_packet packet;
	pair_begin(&pair);
	assert_int_equal(put(&pair.one, STREAM_STDOUT, "one ", 4), 4);
	assert_int_equal(put(&pair.one, STREAM_STDERR, "two ", 4), 4);
	assert_int_equal(put(&pair.one, STREAM_STDOUT, "three", 5), 5);
	move(&pair.one, &pair.to_two, SIZE_MAX);
	take(&pair);
	assert_int_equal(pair.got.size, 13);
	assert_memory_equal(pair.got.data, "one two three", 13);
	assert_false(channel_all_acked(&pair.one));
	channel_acknowledge(&pair.two);
	move(&pair.two, &pair.to_one, SIZE_MAX);
	assert_false(channel_next(&pair.one, &packet));
	assert_true(channel_all_acked(&pair.one));
	assert_int_equal(pair.one.unacked, 0);
	pair_end(&pair);
}

// However much got through, the next connection delivers the rest and nothing twice.
static void test_a_cut_connection_loses_nothing(void **state) {
	char text[5000];
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 23);
	for (size_t cut = 0; cut < 5200; cut += 37) {
		struct pair pair;
		pair_begin(&pair);
		assert_int_equal(put(&pair.one, STREAM_FILE, text, sizeof(text)), sizeof(text));
		move(&pair.one, &pair.to_two, cut);
		take(&pair);
		if (cut % 2)
			channel_acknowledge(&pair.two); // which is lost as well
		packet_decoder_forget(&pair.to_one);
		packet_decoder_forget(&pair.to_two);
		assert_true(channel_resume(&pair.two, pair.one.expected, NULL));
		assert_true(channel_resume(&pair.one, pair.two.expected, NULL));
		move(&pair.one, &pair.to_two, SIZE_MAX);
		take(&pair);
		assert_int_equal(pair.got.size, sizeof(text));
		assert_memory_equal(pair.got.data, text, sizeof(text));
		pair_end(&pair);
	}
}

// ---- random tests ----

static uint32_t dice_state;

// Random numbers below `limit`, the same in every run.
static size_t dice(size_t limit) {
	dice_state = dice_state * 1664525 + 1013904223;
	return (size_t)(dice_state >> 8) % limit;
}

// One end of a connection that is cut at random: what it sends, and what it received.
struct end {
	struct channel channel;
	struct packet_decoder decoder;
	struct buffer got[STREAM_COUNT];
};

// The bytes sent on a stream: some of them compress well.
static uint8_t sent_byte(enum channel_stream stream, size_t at) {
	return (uint8_t)(at / 2000 % 2 ? 'x' + stream : at * 2654435761u >> 13);
}

static void end_put(struct end *end, size_t total) {
	static const enum channel_stream streams[] = {STREAM_STDOUT, STREAM_FILE};
	for (size_t i = 0; i < 2; i++) {
		uint64_t *sent = &end->channel.streams[streams[i]].sent;
		size_t room;
		uint8_t *at = *sent < total ? channel_reserve(&end->channel, streams[i], &room) : NULL;
		if (!at)
			continue;
		room = 1 + dice(room);
		room = MIN(room, total - *sent);
		for (size_t k = 0; k < room; k++)
			at[k] = sent_byte(streams[i], *sent + k);
		channel_commit(&end->channel, streams[i], room);
	}
}

static void end_take(struct end *end) {
	struct guest_packet packet;
	while (channel_next(&end->channel, &packet)) {
		assert_int_equal(packet.type, GUEST_PACKET_DATA);
		buffer_append(&end->got[packet.stream], packet.payload, packet.size);
		if (dice(3))
			channel_consumed(&end->channel, packet.stream, packet.size);
	}
	assert_null(end->channel.broken);
	if (dice(2))
		channel_acknowledge(&end->channel);
}

static void end_check(struct end *end, size_t total) {
	static const enum channel_stream streams[] = {STREAM_STDOUT, STREAM_FILE};
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(end->got[streams[i]].size, total);
		for (size_t k = 0; k < total; k++)
			assert_true(end->got[streams[i]].data[k] == sent_byte(streams[i], k));
	}
}

static void lose_connection(struct end ends[2]) {
	for (int i = 0; i < 2; i++) {
		packet_decoder_forget(&ends[i].decoder);
		channel_pause(&ends[i].channel);
	}
	for (int i = 0; i < 2; i++)
		assert_true(channel_resume(&ends[i].channel, ends[1 - i].channel.expected, NULL));
}

static void test_whatever_is_cut_both_sides_get_all_of_it_once(void **state) {
	for (uint32_t seed = 0; seed < 60; seed++) {
		enum { TOTAL = 20000 };
		struct end ends[2] = {0};
		dice_state = seed;
		for (int i = 0; i < 2; i++) {
			channel_init(&ends[i].channel, 1 + dice(3000));
			ends[i].channel.decoder = &ends[i].decoder;
			ends[i].channel.compress = seed & 1u << i;
		}
		for (unsigned turn = 0; turn < 20000; turn++) {
			for (int i = 0; i < 2; i++) {
				end_put(&ends[i], TOTAL);
				move(&ends[i].channel, &ends[1 - i].decoder, dice(4000));
				end_take(&ends[1 - i]);
			}
			if (dice(4) == 0)
				lose_connection(ends);
			if (ends[0].got[STREAM_FILE].size + ends[0].got[STREAM_STDOUT].size == 2 * TOTAL &&
			    ends[1].got[STREAM_FILE].size + ends[1].got[STREAM_STDOUT].size == 2 * TOTAL)
				break;
		}
		for (int i = 0; i < 2; i++) {
			end_check(&ends[i], TOTAL);
			channel_free(&ends[i].channel);
			packet_decoder_free(&ends[i].decoder);
			for (int stream = 0; stream < STREAM_COUNT; stream++)
				buffer_free(&ends[i].got[stream]);
		}
	}
}

static void test_a_reader_that_stops_blocks_only_its_own_stream(void **state) {
	struct pair pair;
	struct guest_packet packet;
	char piece[1000] = "";
	size_t sent = 0, more;
	pair_begin(&pair);
	while ((more = put(&pair.one, STREAM_STDOUT, piece, sizeof(piece)))) {
		sent += more;
		move(&pair.one, &pair.to_two, SIZE_MAX);
		while (channel_next(&pair.two, &packet)) // and nothing is consumed
			;
		channel_acknowledge(&pair.two);
		move(&pair.two, &pair.to_one, SIZE_MAX);
		assert_false(channel_next(&pair.one, &packet));
	}
	assert_int_equal(sent, CHANNEL_WINDOW);
	assert_int_equal(put(&pair.one, STREAM_STDERR, piece, 10), 10);
	channel_consumed(&pair.two, STREAM_STDOUT, CHANNEL_WINDOW / 2);
	channel_acknowledge(&pair.two);
	move(&pair.two, &pair.to_one, SIZE_MAX);
	assert_false(channel_next(&pair.one, &packet));
	assert_true(channel_may_send(&pair.one, STREAM_STDOUT));
	pair_end(&pair);
}

static void test_more_than_allowed_is_refused(void **state) {
	struct pair pair;
	struct guest_packet packet;
	char piece[1000] = "";
	pair_begin(&pair);
	pair.one.streams[STREAM_STDOUT].sent_limit = UINT64_MAX;
	while (!pair.two.broken) {
		assert_int_equal(put(&pair.one, STREAM_STDOUT, piece, sizeof(piece)), sizeof(piece));
		move(&pair.one, &pair.to_two, SIZE_MAX);
		while (channel_next(&pair.two, &packet))
			;
		channel_acknowledge(&pair.two);
		move(&pair.two, &pair.to_one, SIZE_MAX);
		channel_next(&pair.one, &packet);
		assert_true(pair.two.streams[STREAM_STDOUT].received <= CHANNEL_WINDOW + sizeof(piece));
	}
	pair_end(&pair);
}

static void test_a_missing_chunk_asks_for_a_resync(void **state) {
	struct pair pair;
	struct guest_packet packet;
	pair_begin(&pair);
	put(&pair.one, STREAM_STDOUT, "lost", 4);
	struct packet_decoder nowhere = {0};
	move(&pair.one, &nowhere, SIZE_MAX);
	put(&pair.one, STREAM_STDOUT, "seen", 4);
	move(&pair.one, &pair.to_two, SIZE_MAX);
	assert_true(channel_next(&pair.two, &packet));
	assert_int_equal(packet.type, GUEST_PACKET_RESYNC);
	assert_true(channel_resume(&pair.one, pair.two.expected, NULL));
	move(&pair.one, &pair.to_two, SIZE_MAX);
	take(&pair);
	assert_memory_equal(pair.got.data, "lostseen", 8);
	packet_decoder_free(&nowhere);
	pair_end(&pair);
}

static void test_acknowledgements_that_cannot_be_are_refused(void **state) {
	struct pair pair;
	struct guest_packet packet;
	struct buffer out = {0};
	pair_begin(&pair);
	guest_packet_append(&out, GUEST_PACKET_ACK, 0, 5, NULL, 0);
	feed(&pair.to_one, out.data, out.size);
	assert_false(channel_next(&pair.one, &packet));
	assert_non_null(pair.one.broken);
	assert_false(channel_resume(&pair.one, 9, NULL));
	buffer_free(&out);
	pair_end(&pair);
}

static void test_compressed_chunks_come_back(void **state) {
	struct pair pair;
	char text[900];
	memset(text, 'x', sizeof(text));
	pair_begin(&pair);
	pair.one.compress = true;
	put(&pair.one, STREAM_FILE, text, sizeof(text));
	assert_true(pair.one.unacked < 200);
	move(&pair.one, &pair.to_two, SIZE_MAX);
	take(&pair);
	assert_int_equal(pair.got.size, sizeof(text));
	assert_memory_equal(pair.got.data, text, sizeof(text));
	pair_end(&pair);
}

// ---- messages ----

static void test_messages_come_back(void **state) {
	struct message message = {.type = MESSAGE_REQUEST, .numbers = {1, 2, 3, UINT64_MAX}}, back;
	struct buffer out = {0};
	array_push(&message.words, "run");
	array_push(&message.words, "");
	message_encode(&message, &out);
	assert_true(message_decode(out.data, out.size, &back));
	assert_int_equal(back.type, MESSAGE_REQUEST);
	assert_int_equal(back.numbers[3], UINT64_MAX);
	assert_int_equal(back.words.count, 2);
	assert_string_equal(back.words.items[0], "run");
	message_free(&back);
	for (size_t size = 0; size < out.size; size++) {
		assert_false(message_decode(out.data, size, &back));
		message_free(&back);
	}
	message_free(&message);
	buffer_free(&out);
}

// ---- clocks ----

static void test_the_shortest_round_trip_counts(void **state) {
	struct clock_offset offset = {0};
	clock_offset_take(&offset, 1000, 500, 500, 3000);
	assert_int_equal(offset.offset_ns, 1500);
	assert_int_equal(offset.bound_ns, 1000);
	clock_offset_take(&offset, 10000, 9000, 9050, 10150);
	assert_int_equal(offset.bound_ns, 50);
	assert_int_equal(offset.offset_ns, 10075 - 9025);
	clock_offset_take(&offset, 20000, 1, 1, 30000); // worse
	clock_offset_take(&offset, 30000, 9, 5, 30000); // impossible, as are the next two
	clock_offset_take(&offset, 30000, 0, 100, 30010);
	clock_offset_take(&offset, 30000, UINT64_MAX, UINT64_MAX, 30000);
	assert_int_equal(offset.bound_ns, 50);
}

static void test_between_two_measures_clocks_are_interpolated(void **state) {
	struct guest_clock clock = {.first = {.offset_ns = -100, .bound_ns = 5, .guest_ns = 1000},
				    .last = {.offset_ns = 100, .bound_ns = 7, .guest_ns = 3000}};
	assert_int_equal(guest_clock_to_host(&clock, 1000), 900);
	assert_int_equal(guest_clock_to_host(&clock, 2000), 2000);
	assert_int_equal(guest_clock_to_host(&clock, 3000), 3100);
	assert_int_equal(guest_clock_to_host(&clock, 500), 400);
	assert_int_equal(guest_clock_to_host(&clock, 5000), 5100);
	assert_int_equal(guest_clock_bound(&clock), 7);
}

static void test_clocks_come_back_from_text(void **state) {
	struct guest_clock clock = {.first = {.offset_ns = -100, .bound_ns = 5, .guest_ns = 1000},
				    .last = {.offset_ns = 100, .bound_ns = 7, .guest_ns = 3000}},
			   back;
	struct buffer text = {0};
	guest_clock_format(&clock, &text);
	buffer_append(&text, "", 1);
	assert_string_equal((char *)text.data, "1000 -100 5,3000 100 7");
	assert_true(guest_clock_parse((char *)text.data, &back));
	assert_memory_equal(&clock, &back, sizeof(clock));
	assert_false(guest_clock_parse("", &back));
	assert_false(guest_clock_parse("1000 -100", &back));
	assert_false(guest_clock_parse("1000 -100 5,x", &back));
	assert_false(guest_clock_parse("1000 -100 5 6", &back));
	buffer_free(&text);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc_is_castagnolis),
		cmocka_unit_test(test_crc_of_much_is_that_of_its_pieces),
		cmocka_unit_test(test_a_packet_comes_back_whatever_pieces_it_comes_in),
		cmocka_unit_test(test_noise_between_packets_is_passed_over),
		cmocka_unit_test(test_each_changed_bit_is_noticed),
		cmocka_unit_test(test_a_packet_inside_a_cut_one_is_found),
		cmocka_unit_test(test_a_damaged_payload_is_no_noise),
		cmocka_unit_test(test_a_packet_of_another_version_is_known_as_that),
		cmocka_unit_test(test_a_length_beyond_the_limit_is_no_packet),
		cmocka_unit_test(test_chunks_arrive_in_order_and_are_acknowledged),
		cmocka_unit_test(test_a_cut_connection_loses_nothing),
		cmocka_unit_test(test_whatever_is_cut_both_sides_get_all_of_it_once),
		cmocka_unit_test(test_a_reader_that_stops_blocks_only_its_own_stream),
		cmocka_unit_test(test_more_than_allowed_is_refused),
		cmocka_unit_test(test_a_missing_chunk_asks_for_a_resync),
		cmocka_unit_test(test_acknowledgements_that_cannot_be_are_refused),
		cmocka_unit_test(test_compressed_chunks_come_back),
		cmocka_unit_test(test_messages_come_back),
		cmocka_unit_test(test_the_shortest_round_trip_counts),
		cmocka_unit_test(test_between_two_measures_clocks_are_interpolated),
		cmocka_unit_test(test_clocks_come_back_from_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
