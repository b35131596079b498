#include "artifact/artifact.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/system.h"
#include "base/utf8.h"
#include "settings/variant.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool fit_for_a_name(unsigned char byte) {
	return isalnum(byte) || (byte && strchr("-_.+=@,%~", byte));
}

void artifact_safe_name(const char *wanted, char name[ARTIFACT_NAME_SIZE]) {
	enum { LONGEST = 120 }; // leaves room for the time, a number and an extension in 255 bytes
	size_t length = 0, left = strlen(wanted);
	while (left) {
		size_t size = utf8_length((const uint8_t *)wanted, left);
		bool fit = size > 1 || (size == 1 && fit_for_a_name((unsigned char)*wanted));
		size = MAX(size, 1);
		if (length + size > LONGEST)
			break;
		if (fit)
			memcpy(name + length, wanted, size);
		else
			name[length] = '_';
		length += size;
		wanted += size;
		left -= size;
	}
	name[length] = 0;
	// Not hidden, not "..", not taken for an option.
	for (size_t i = 0; name[i] == '.' || name[i] == '-'; i++)
		name[i] = '_';
	if (!length)
		strcpy(name, "test");
}

int artifact_make_dir(const char *path) {
	CLEANUP_FREE char *copy = memory_string(path);
	for (char *slash = copy + 1; *copy && (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		if (system_make_dir(copy) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	if (file_make_private_dir(copy) && errno != EEXIST)
		return -errno;
	struct stat status;
	if (system_stat(path, &status))
		return -errno;
	return S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
}

static bool name_is_free(const char *stem, const char *extension) {
	CLEANUP_FREE char *path = memory_format("%s%s", stem, extension);
	struct stat status;
	return system_link_stat(path, &status) !=
	       0; // if it is for another reason, creating the file will tell
}

static bool names_are_free(const char *stem) {
	static const char *const extensions[] = {".pb", ".svg", ".stacks.txt", ".dhat.json", ".etl", ".dmp"};
	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++)
		if (!name_is_free(stem, extensions[i]))
			return false;
	return true;
}

int artifact_reserve_stem(const char *base, const char *ending, char **stem) {
	for (unsigned number = 0; number < 100000; number++) {
		char suffix[16] = "";
		if (number)
			snprintf(suffix, sizeof(suffix), "_%u", number);
		*stem = memory_format("%s%s%s", base, suffix, ending);
		CLEANUP_FREE char *spool = memory_format("%s.spool", *stem);
		if (names_are_free(*stem)) {
			int fd = file_create_private(spool, O_WRONLY | O_EXCL | O_CLOEXEC | O_NOFOLLOW);
			if (fd >= 0) {
				// Another run may have finished with this very stem in between.
				if (names_are_free(*stem)) {
					system_try_lock(fd); // readers see that it is in use
					return fd;
				}
				close(fd);
				system_unlink(spool);
			} else if (errno != EEXIST && errno != ELOOP) {
				int error = -errno;
				free(*stem);
				*stem = NULL;
				return error;
			}
		}
		free(*stem);
		*stem = NULL;
	}
	return -EEXIST;
}

char *artifact_base(const char *dir, const char *name) {
	char when[32];
	time_t now = time(NULL);
	struct tm local;
	strftime(when, sizeof(when), "%Y%m%d_%H%M%S", localtime_r(&now, &local));
	return memory_format("%s/%s_%s", dir, name, when);
}

int artifact_reserve(const char *dir, const char *name, char **stem) {
	CLEANUP_FREE char *base = artifact_base(dir, name);
	return artifact_reserve_stem(base, "", stem);
}

void artifact_variant_name(const char *safe_name, const char *variant, char name[ARTIFACT_NAME_SIZE]) {
	char digits[VARIANT_HASH_SIZE] = "";
	if (variant)
		variant_hash(variant, digits);
	snprintf(name, ARTIFACT_NAME_SIZE, "%s%s%s", safe_name, variant ? "-" : "", digits);
}

void artifact_sum_digits(struct sha256 *sum, char digits[65]) {
	uint8_t digest[32];
	sha256_finish(sum, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(digits + 2 * i, 3, "%02x", digest[i]);
}

int artifact_sha256(const char *path, char digits[65]) {
	int fd = system_open(path, O_RDONLY | O_BINARY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	CLEANUP_FREE uint8_t *piece = memory_alloc(1 << 18);
	struct sha256 *sum = sha256_new();
	ssize_t size;
	while ((size = read(fd, piece, 1 << 18)) > 0)
		sha256_add(sum, piece, (size_t)size);
	int error = size < 0 ? -errno : 0;
	close(fd);
	artifact_sum_digits(sum, digits);
	return error;
}
