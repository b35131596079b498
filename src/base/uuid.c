#include "base/uuid.h"
#include "base/system.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>

void uuid_new(char text[UUID_SIZE]) {
	uint8_t bytes[16] = {0};
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t milliseconds = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	system_random(bytes, sizeof(bytes));
	for (unsigned i = 0; i < 6; i++)
		bytes[i] = (uint8_t)(milliseconds >> (40 - 8 * i));
	bytes[6] = (uint8_t)(0x70 | (bytes[6] & 0x0f)); // version
	bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3f)); // variant
	for (size_t i = 0, at = 0; i < sizeof(bytes); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[at++] = '-';
		at += (size_t)snprintf(text + at, 3, "%02x", bytes[i]);
	}
}

bool uuid_is(const char *text) {
	for (size_t i = 0; i < UUID_SIZE - 1; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		bool digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
		if (dash ? text[i] != '-' : !digit)
			return false;
	}
	return !text[UUID_SIZE - 1];
}
