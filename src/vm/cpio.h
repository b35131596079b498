// A writer of initramfs archives (cpio, "newc"). Of our own because the format is one header, and
// libarchive would bring XML and half a dozen packers into a program that has to stay small and static.
#pragma once

#include "base/file.h"
#include "base/map.h"

struct cpio {
	struct output *output;
	struct map paths; // by hash: what is in it already
	uint32_t inodes;
	int error; // the first one, -errno
};

// Paths are absolute. What is there already stays, and folders above come first by themselves.
void cpio_folder(struct cpio *cpio, const char *path, unsigned mode);
void cpio_bytes(struct cpio *cpio, const char *path, unsigned mode, const void *bytes, size_t size);
void cpio_link(struct cpio *cpio, const char *path, const char *target);
bool cpio_has(const struct cpio *cpio, const char *path);

// A file of this machine, whatever links lead to it; false: it cannot be read, and `errno` says why.
bool cpio_copy(struct cpio *cpio, const char *path, const char *source);

// All below a folder of this machine, links as links, nothing but folders, files and links. `path` is what
// the folder is called there; "": it is the root.
void cpio_tree(struct cpio *cpio, const char *source, const char *path);

int cpio_end(struct cpio *cpio); // 0 or -errno
