// Writes initramfs archives (cpio, "newc"). Written by hand because the format is one header, and
// libarchive would bring XML and half a dozen compressors into a program that must stay small and static.
#pragma once

#include "base/file.h"
#include "base/map.h"

struct cpio {
	struct output *output;
	struct map paths; // by hash: what the archive contains
	uint32_t inodes;
	int error; // the first error, -errno
};

// Paths are absolute. Existing entries stay; parent directories are added automatically.
void cpio_folder(struct cpio *cpio, const char *path, unsigned mode);
void cpio_bytes(struct cpio *cpio, const char *path, unsigned mode, const void *bytes, size_t size);
void cpio_link(struct cpio *cpio, const char *path, const char *target);
bool cpio_has(const struct cpio *cpio, const char *path);

// Adds a file of this machine, following links. False, with errno, if it cannot be read.
bool cpio_copy(struct cpio *cpio, const char *path, const char *source);

// Adds everything below a directory of this machine: directories, files, and links as links. `path` is its
// name in the archive; "" for the root.
void cpio_tree(struct cpio *cpio, const char *source, const char *path);

int cpio_end(struct cpio *cpio); // 0 or -errno
