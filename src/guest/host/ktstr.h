// The stream that a guest of ktstr sends through its bulk port, as far as it holds a trace:
// `tracelet guest import-ktstr`, to help users of ktstr migrate.
//
// A packet is four little-endian 32-bit numbers and a payload: type, length, CRC-32 (IEEE) of the
// payload, 0. A trace is any number of chunk packets and a last one; packets of other types may come
// in between and are skipped, whatever their checksum. There is no sequence number.
#pragma once

#include "base/file.h"
#include "base/stream.h"

enum {
	KTSTR_LAST = 0x57505246,           // "WPRF"
	KTSTR_PAYLOAD_MOST = 16 << 20,     // of a packet
	KTSTR_FAMILY = KTSTR_LAST & ~0xff, // "WPR?": every other type like this is a chunk
};

struct ktstr_options {
	uint32_t chunk_type; // 0 for any of the family
	uint64_t most;       // bytes of the trace; 0 for no limit
};

struct ktstr_result {
	uint64_t packets, chunks, others, size;
	char why[160]; // why there is no trace
};

// Writes the trace to the output, which stays open. ktstr's rules: there is a trace if there is a last
// packet, the trace is not empty, and none of its packets is damaged; everything after the first last
// packet is ignored. Returns 0, -ENODATA if there is no trace, -EBADMSG if it is damaged, -EFBIG if a
// packet or the trace is too large.
int ktstr_read(struct stream *input, const struct ktstr_options *options, struct output *output,
	       struct ktstr_result *result);

// From a file ("-" is standard input) to a file, which is created only if the trace is good to its last
// byte. Returns 0 or -errno; failures are logged.
int ktstr_import(const char *input, const char *output, const struct ktstr_options *options,
		 struct ktstr_result *result);
