// What a fleet keeps besides rows: artifacts under their SHA-256 (objects/ab/<sha256>) and the raw lines of
// manifests (runs/2026/11/16/...), in a folder or in S3. The rows of any database can be made again from
// them.
//
// Keys are made here and nowhere else (objects_key.c): letters, digits, '-', '_', '.' and '/', so that they
// need no escape in a path, in a URL or in a signature.
#pragma once

#include "base/buffer.h"
#include "store/http.h"

#include <time.h>

enum {
	OBJECTS_LONGEST_KEY = 200,
	OBJECTS_DIGEST = 65,                       // of a SHA-256 in hexadecimal digits, with its end
	OBJECTS_LARGEST_PIECE = 256 * 1024 * 1024, // of raw lines
};
#define OBJECTS_LARGEST (5ull << 30) // bytes; what S3 takes in one piece

struct objects;

struct objects_entry {
	const char *key;
	uint64_t size;
	time_t changed;
};

struct objects_operations {
	// 1 and its size if it is there, 0 if not, or -errno.
	int (*has)(struct objects *objects, const char *key, uint64_t *size);
	// The body is `bytes` or, if that is NULL, the file `fd` from its beginning. An object that is there
	// is left alone or replaced by equal content. It is there as a whole or not at all.
	int (*put)(struct objects *objects, const char *key, const void *bytes, int fd, uint64_t size,
		   const char *sha256);
	int (*get)(struct objects *objects, const char *key, struct buffer *out, size_t most);
	// All keys that begin with `prefix`, which is "" or ends with a slash, in the order of bytes.
	int (*list)(struct objects *objects, const char *prefix,
		    void (*take)(void *context, const struct objects_entry *entry), void *context);
	int (*settle)(struct objects *objects);                  // what was put survives a power failure
	int (*remove)(struct objects *objects, const char *key); // 0 also if it is not there
	void (*close)(struct objects *objects);
};

// A place's own struct begins with this one.
struct objects {
	const struct objects_operations *operations;
	char *place;       // for messages
	char failure[256]; // of the last call that failed
};

// `http` is used for S3 only, and must outlive it. NULL, after an error message.
struct objects *objects_open(const char *place, struct http *http);
void objects_close(struct objects *objects);
// The same for each kind of place.
struct objects *objects_open_folder(const char *folder);
struct objects *objects_open_s3(const char *bucket, const char *prefix, struct http *http);

// ---- keys ----

bool objects_is_digest(const char *text); // 64 hexadecimal digits in lower case
void objects_digest(const void *bytes, size_t size, char digest[OBJECTS_DIGEST]);
// The digest of an open file of at most `most` bytes, and its size. 0, -EFBIG or another -errno.
int objects_file_digest(int fd, uint64_t most, uint64_t *size, char digest[OBJECTS_DIGEST]);
void objects_key(const char *sha256, char key[OBJECTS_LONGEST_KEY]);
// Of lines of a run that began on one day. Several machines and several pushes contribute to a run, so
// the digest of the lines is part of the name: none overwrites the lines of another.
void objects_piece_key(int64_t day, const char *run, bool trusted, const char *sha256,
		       char key[OBJECTS_LONGEST_KEY]);

enum objects_kind { OBJECTS_OTHER, OBJECTS_ARTIFACT, OBJECTS_PIECE };
// What a key that was listed is, and of a piece the month (202611) and whether its run is trusted.
enum objects_kind objects_kind_of(const char *key, unsigned *month, bool *trusted);
