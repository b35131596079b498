#include "guest/wire/message.h"
#include "base/cursor.h"

void message_encode(const struct message *message, struct buffer *out) {
	buffer_varint(out, message->type);
	for (int i = 0; i < MESSAGE_NUMBERS; i++)
		buffer_varint(out, message->numbers[i]);
	buffer_varint(out, message->words.count);
	for (size_t i = 0; i < message->words.count; i++)
		buffer_append(out, message->words.items[i], strlen(message->words.items[i]) + 1);
}

bool message_decode(const void *payload, size_t size, struct message *message) {
	struct cursor cursor = cursor_of(payload, size);
	*message = (struct message){0};
	uint64_t type = cursor_varint(&cursor);
	for (int i = 0; i < MESSAGE_NUMBERS; i++)
		message->numbers[i] = cursor_varint(&cursor);
	uint64_t words = cursor_varint(&cursor);
	bool good = !cursor.failed && type && type < MESSAGE_TYPE_COUNT && words <= MESSAGE_WORDS_MOST;
	for (uint64_t i = 0; good && i < words; i++) {
		const char *word = cursor_string(&cursor);
		good = word;
		if (good)
			array_push(&message->words, word);
	}
	good = good && !cursor_left(&cursor);
	message->type = good ? (enum message_type)type : 0;
	if (!good)
		message_free(message);
	return good;
}

void message_free(struct message *message) {
	array_free(&message->words);
}

const char *message_word(const struct message *message) {
	return message->words.count ? message->words.items[0] : "";
}

void message_plain(const struct message *message, char *text, size_t size) {
	const char *word = message_word(message);
	size_t length = MIN(strlen(word), size - 1);
	for (size_t i = 0; i < length; i++)
		text[i] = (unsigned char)word[i] < ' ' || word[i] == 0x7f ? '?' : word[i];
	text[length] = 0;
}
