// The stream that a guest of ktstr sends through its bulk port, as far as it holds a trace:
// `tracelet guest import-ktstr`, so that whoever has such streams can move.
//
// A frame is four little-endian 32-bit numbers and a payload: type, length, CRC-32 (IEEE) of the
// payload, 0. A trace is any number of chunk frames and a last one; frames of other types may come
// in between and are passed over, whatever their checksum. There is no sequence number.
#pragma once

#include "base/file.h"
#include "base/stream.h"

enum {
	KTSTR_LAST = 0x57505246,           // "WPRF"
	KTSTR_PAYLOAD_MOST = 16 << 20,     // of a frame
	KTSTR_FAMILY = KTSTR_LAST & ~0xff, // "WPR?": every other type of these is a chunk
};

struct ktstr_options {
	uint32_t chunk_type; // 0: any of the family
	uint64_t most;       // bytes of the trace; 0: without limit
};

struct ktstr_result {
	uint64_t frames, chunks, others, size;
	char why[160]; // there is no trace, in words
};

// Writes the trace to the output, which stays open. ktstr's rules: there is a trace if there is a last
// frame, something in it, and no frame of it is damaged; what follows the first last frame is not
// looked at. 0; -ENODATA: there is none; -EBADMSG: it is damaged; -EFBIG: a frame or the trace is too large.
int ktstr_read(struct stream *input, const struct ktstr_options *options, struct output *output,
	       struct ktstr_result *result);

// The whole of it: from a file ("-": standard input) to a file, which is there only if the trace is a
// good one to its last byte. 0 or -errno, said in one line.
int ktstr_import(const char *input, const char *output, const struct ktstr_options *options,
		 struct ktstr_result *result);
