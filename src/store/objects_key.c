// The names of objects.
#include "base/sha256.h"
#include "base/uuid.h"
#include "store/objects.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static const char hexadecimal[] = "0123456789abcdef";

static void write_digest(struct sha256 *sum, char digest[OBJECTS_DIGEST]) {
	uint8_t bytes[32];
	sha256_finish(sum, bytes);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		digest[2 * i] = hexadecimal[bytes[i] >> 4];
		digest[2 * i + 1] = hexadecimal[bytes[i] & 15];
	}
	digest[OBJECTS_DIGEST - 1] = 0;
}

void objects_digest(const void *bytes, size_t size, char digest[OBJECTS_DIGEST]) {
	struct sha256 *sum = sha256_new();
	sha256_add(sum, bytes, size);
	write_digest(sum, digest);
}

int objects_file_digest(int fd, uint64_t most, uint64_t *size, char digest[OBJECTS_DIGEST]) {
	enum { PIECE = 1 << 18 };
	CLEANUP_FREE uint8_t *piece = memory_alloc(PIECE);
	struct sha256 *sum = sha256_new();
	ssize_t got = 0;
	*size = 0;
	while (*size <= most && (got = pread(fd, piece, PIECE, (off_t)*size)) > 0) {
		sha256_add(sum, piece, (size_t)got);
		*size += (uint64_t)got;
	}
	int error = got < 0 ? -errno : *size > most ? -EFBIG : 0;
	write_digest(sum, digest);
	return error;
}

static bool are_digits(const char *text, size_t count, size_t base) {
	for (size_t i = 0; i < count; i++)
		if (!text[i] || !memchr(hexadecimal, text[i], base))
			return false;
	return true;
}

bool objects_is_digest(const char *text) {
	return text && are_digits(text, OBJECTS_DIGEST - 1, 16) && !text[OBJECTS_DIGEST - 1];
}

void objects_key(const char *sha256, char key[OBJECTS_LONGEST_KEY]) {
	snprintf(key, OBJECTS_LONGEST_KEY, "objects/%.2s/%.64s", sha256, sha256);
}

// A run may have any name; only a UUID is used as it is.
void objects_piece_key(int64_t day, const char *run, bool trusted, const char *sha256,
		       char key[OBJECTS_LONGEST_KEY]) {
	struct tm date = {0};
	time_t time = (time_t)(day * 86400);
	char other[OBJECTS_DIGEST];
	gmtime_r(&time, &date);
	if (!uuid_is(run)) {
		objects_digest(run, strlen(run), other);
		other[32] = 0;
		run = other;
	}
	snprintf(key, OBJECTS_LONGEST_KEY, "runs/%04d/%02d/%02d/%s-%.16s%s.jsonl",
		 (date.tm_year + 1900) % 10000, date.tm_mon + 1, date.tm_mday, run, sha256,
		 trusted ? "" : ".untrusted");
}

static bool is_piece(const char *key, unsigned *month, bool *trusted) {
	// runs/YYYY/MM/DD/NAME.jsonl
	static const char shape[] = "runs/0000/00/00/", end[] = ".jsonl", untrusted[] = ".untrusted.jsonl";
	size_t length = strlen(key), begin = strlen(shape);
	if (length < begin + strlen(end) + 1 || length >= OBJECTS_LONGEST_KEY)
		return false;
	for (size_t i = 0; i < begin; i++)
		if (shape[i] == '0' ? !are_digits(key + i, 1, 10) : key[i] != shape[i])
			return false;
	if (strchr(key + begin, '/') || strcmp(key + length - strlen(end), end) != 0)
		return false;
	*month = (unsigned)(strtoul(key + 5, NULL, 10) * 100 + strtoul(key + 10, NULL, 10));
	*trusted = length < begin + strlen(untrusted) ||
		   strcmp(key + length - strlen(untrusted), untrusted) != 0;
	return true;
}

enum objects_kind objects_kind_of(const char *key, unsigned *month, bool *trusted) {
	static const char artifact[] = "objects/";
	*month = 0;
	*trusted = false;
	if (is_piece(key, month, trusted))
		return OBJECTS_PIECE;
	const char *folder = key + strlen(artifact);
	bool good = strncmp(key, artifact, strlen(artifact)) == 0 && are_digits(folder, 2, 16) &&
		    folder[2] == '/' && objects_is_digest(folder + 3) && memcmp(folder, folder + 3, 2) == 0;
	return good ? OBJECTS_ARTIFACT : OBJECTS_OTHER;
}
