#include "guest/host/ktstr.h"
#include "base/cursor.h"
#include "base/log.h"
#include "tracelet/tracelet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

enum { HEADER_SIZE = 16 };

struct header {
	uint32_t type, length, checksum;
};

static struct header header_of(const uint8_t *bytes) {
	struct cursor cursor = cursor_of(bytes, HEADER_SIZE);
	struct header header = {.type = cursor_u32(&cursor)};
	header.length = cursor_u32(&cursor);
	header.checksum = cursor_u32(&cursor);
	return header; // the fourth number is unused
}

static bool is_of_trace(uint32_t type, const struct ktstr_options *options) {
	if (type == KTSTR_LAST)
		return true;
	return options->chunk_type ? type == options->chunk_type
				   : (type & ~(uint32_t)0xff) == (uint32_t)KTSTR_FAMILY;
}

// One packet of the trace.
static int take_packet(const struct header *header, const uint8_t *payload,
		       const struct ktstr_options *options, struct output *output,
		       struct ktstr_result *result) {
	if (crc32(0, payload, header->length) != header->checksum) {
		snprintf(result->why, sizeof(result->why), "packet %" PRIu64 " of the trace is damaged",
			 result->chunks + 1);
		return -EBADMSG;
	}
	result->chunks++;
	result->size += header->length;
	if (options->most && result->size > options->most) {
		snprintf(result->why, sizeof(result->why), "the trace is larger than %" PRIu64 " bytes",
			 options->most);
		return -EFBIG;
	}
	return output_write(output, payload, header->length);
}

static int say_none(const struct stream *input, struct ktstr_result *result) {
	if (input->error)
		return input->error;
	snprintf(result->why, sizeof(result->why),
		 stream_available(input) ? "it ends inside a packet" : "it has no final trace packet");
	return -ENODATA;
}

int ktstr_read(struct stream *input, const struct ktstr_options *options, struct output *output,
	       struct ktstr_result *result) {
	*result = (struct ktstr_result){0};
	for (const uint8_t *bytes; (bytes = stream_need(input, HEADER_SIZE)); result->packets++) {
		struct header header = header_of(bytes);
		if (header.length > KTSTR_PAYLOAD_MOST) {
			snprintf(result->why, sizeof(result->why),
				 "byte %" PRIu64 ": a packet of %" PRIu32 " bytes; the limit is 16 MiB",
				 input->offset, header.length);
			return -EFBIG;
		}
		bytes = stream_need(input, HEADER_SIZE + (size_t)header.length);
		if (!bytes)
			return say_none(input, result);
		bool wanted = is_of_trace(header.type, options);
		int error = wanted ? take_packet(&header, bytes + HEADER_SIZE, options, output, result) : 0;
		if (error)
			return error;
		result->others += !wanted;
		stream_consume(input, HEADER_SIZE + (size_t)header.length);
		if (header.type != KTSTR_LAST)
			continue;
		if (result->size)
			return 0;
		snprintf(result->why, sizeof(result->why), "its trace is empty");
		return -ENODATA;
	}
	return say_none(input, result);
}

// Checks the whole trace, not only its beginning as ktstr does, before it gets its final name.
static int import_into(struct stream *input, const char *name, const struct ktstr_options *options,
		       struct output *output, struct ktstr_result *result) {
	int error = ktstr_read(input, options, output, result);
	if (error && error != output->error) {
		log_error("%s: no trace: %s", name, *result->why ? result->why : strerror(-error));
		return error;
	}
	error = error ? error : output_commit(output);
	if (error)
		log_error("%s: cannot be written: %s", output->path ? output->path : "standard output",
			  strerror(-error));
	return error;
}

int ktstr_import(const char *input, const char *output, const struct ktstr_options *options,
		 struct ktstr_result *result) {
	struct stream stream;
	struct output file;
	char message[1024];
	CLEANUP_FREE char *incoming = memory_format("%s.incoming", output);
	int error = stream_open(&stream, input);
	if (error) {
		log_error("%s: cannot be read: %s", input, strerror(-error));
		return error;
	}
	error = output_open(&file, incoming, OUTPUT_REPLACE);
	if (error) {
		log_error("%s: cannot be written: %s", output, strerror(-error));
	} else {
		error = import_into(&stream, input, options, &file, result);
		output_abandon(&file);
		if (!error && (error = tl_trace_landed(incoming, 1, message, sizeof(message))))
			log_error("%s: contains a damaged trace: %s", input, message);
		if (!error && rename(incoming, output)) {
			error = -errno;
			log_error("%s: cannot be written: %s", output, strerror(-error));
		}
		if (error)
			unlink(incoming);
	}
	stream_close(&stream);
	return error;
}
