// Writes a few files, drops them from the page cache, reads them back and
// compares. In the trace: the waits for the disk, and its interrupts.
#include "demo.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 8, BLOCK = 64 * 1024, BLOCKS = 16 };

// Every block of every file is different, so that a mix-up shows.
static void fill(unsigned char *block, int file, int index) {
	memset(block, file * BLOCKS + index, BLOCK);
}

static int write_file(int file) {
	static unsigned char block[BLOCK];
	const char *folder = getenv("TMPDIR");
	char path[4096];
	snprintf(path, sizeof path, "%s/tracelet-demo.XXXXXX", folder ? folder : "/tmp");
	int fd = mkstemp(path);
	require(fd >= 0, path);
	unlink(path);
	for (int i = 0; i < BLOCKS; i++) {
		fill(block, file, i);
		require(write(fd, block, BLOCK) == BLOCK, "write");
	}
	// Data that is not on the disk yet would stay in the cache.
	require(fdatasync(fd) == 0, "fdatasync");
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return fd;
}

static int count_wrong_blocks(int fd, int file) {
	static unsigned char expected[BLOCK], block[BLOCK];
	int wrong = 0;
	for (int i = 0; i < BLOCKS; i++) {
		fill(expected, file, i);
		ssize_t got = pread(fd, block, BLOCK, (off_t)i * BLOCK);
		wrong += got != BLOCK || memcmp(block, expected, BLOCK) != 0;
	}
	return wrong;
}

int main(void) {
	int fds[FILES], wrong = 0;
	for (int i = 0; i < FILES; i++)
		fds[i] = write_file(i);
	for (int i = 0; i < FILES; i++) {
		wrong += count_wrong_blocks(fds[i], i);
		close(fds[i]);
	}
	return result(wrong == 0, "%d of %d blocks read back as written", FILES * BLOCKS - wrong,
		      FILES * BLOCKS);
}
