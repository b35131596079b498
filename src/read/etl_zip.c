// ETL in a zip file, as PerfView packs it: the first member whose name ends in
// .etl is unpacked by zlib into a temporary file, which is then read as if it
// had been given. Other members (symbols, logs) are not looked at.
#include "base/log.h"
#include "read/etl.h"
#include "read/reader.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#ifdef HAVE_ZLIB
#include <zlib.h>

enum {
	END_RECORD = 22, // of the directory, without its comment
	END_SEARCH = 65536 + END_RECORD,
	MEMBER_RECORD = 46,
	LOCAL_RECORD = 30,
	WIDE_LOCATOR = 20, // stands before the end of the directory where 32 bits are too few
	WIDE_END_RECORD = 56,
	WIDE_EXTRA = 1, // the field of a member that has its wide numbers
	STORED = 0,
	DEFLATED = 8,
	PIECE = 64 * 1024,
	LARGEST_RATIO = 1100, // of deflate: 1032, and a little
};

struct member {
	uint64_t offset, packed, size;
	uint32_t checksum;
	uint16_t method;
};

static uint32_t signature(const uint8_t *at) {
	struct cursor in = cursor_of(at, 4);
	return cursor_u32(&in);
}

// Where numbers of 32 bits are too few, they are all ones and others stand elsewhere.
static bool find_wide_directory(struct stream *input, uint64_t end, uint64_t *offset, uint64_t *count) {
	uint8_t locator[WIDE_LOCATOR], record[WIDE_END_RECORD];
	if (end < sizeof(locator) ||
	    !stream_read_at(input, end - sizeof(locator), locator, sizeof(locator)) ||
	    signature(locator) != 0x07064b50)
		return false;
	struct cursor in = cursor_of(locator + 8, 8);
	if (!stream_read_at(input, cursor_u64(&in), record, sizeof(record)) ||
	    signature(record) != 0x06064b50)
		return false;
	in = cursor_of(record + 32, sizeof(record) - 32);
	*count = cursor_u64(&in);
	cursor_u64(&in); // size of the directory
	*offset = cursor_u64(&in);
	return true;
}

// The end of the directory is the last thing in the file but for a comment.
static bool find_directory(struct stream *input, uint64_t *offset, uint64_t *count) {
	size_t tail = (size_t)MIN(input->total, (uint64_t)END_SEARCH);
	CLEANUP_FREE uint8_t *bytes = memory_alloc(tail + 1);
	if (tail < END_RECORD || !stream_read_at(input, input->total - tail, bytes, tail))
		return false;
	for (size_t at = tail - END_RECORD + 1; at-- > 0;) {
		if (signature(bytes + at) != 0x06054b50)
			continue;
		struct cursor in = cursor_of(bytes + at + 10, END_RECORD - 10);
		*count = cursor_u16(&in);
		cursor_u32(&in); // size of the directory
		*offset = cursor_u32(&in);
		bool wide = *count == UINT16_MAX || *offset == UINT32_MAX;
		return !wide || find_wide_directory(input, input->total - tail + at, offset, count);
	}
	return false;
}

static bool ends_in_etl(const char *name, size_t length) {
	return length >= 4 && name[length - 4] == '.' && (name[length - 3] | 0x20) == 'e' &&
	       (name[length - 2] | 0x20) == 't' && (name[length - 1] | 0x20) == 'l';
}

// Where the member's data begins: behind its own header, whose extra fields may differ.
static bool find_data(struct stream *input, struct member *member) {
	uint8_t local[LOCAL_RECORD];
	if (!stream_read_at(input, member->offset, local, sizeof(local)) || signature(local) != 0x04034b50)
		return false;
	struct cursor in = cursor_of(local + 26, 4);
	member->offset += LOCAL_RECORD + cursor_u16(&in);
	member->offset += cursor_u16(&in);
	return true;
}

// The numbers that did not fit, in this order; those that did are left out.
static void take_wide(struct stream *input, uint64_t offset, uint16_t size, struct member *member) {
	CLEANUP_FREE uint8_t *extra = memory_alloc((size_t)size + 1);
	uint64_t *const numbers[] = {&member->size, &member->packed, &member->offset};
	if (!stream_read_at(input, offset, extra, size))
		return;
	struct cursor in = cursor_of(extra, size);
	while (cursor_left(&in) >= 4) {
		uint16_t id = cursor_u16(&in), length = cursor_u16(&in);
		struct cursor field = in;
		if (!cursor_take(&in, length))
			return;
		field.end = in.at;
		for (size_t i = 0; id == WIDE_EXTRA && i < ARRAY_SIZE(numbers); i++)
			if (*numbers[i] == UINT32_MAX)
				*numbers[i] = cursor_u64(&field);
	}
}

static bool find_member(struct stream *input, struct member *member) {
	uint64_t offset, count;
	if (!find_directory(input, &offset, &count))
		return false;
	for (; count; count--) {
		uint8_t record[MEMBER_RECORD];
		char name[512];
		if (!stream_read_at(input, offset, record, sizeof(record)) || signature(record) != 0x02014b50)
			return false;
		struct cursor in = cursor_of(record + 10, sizeof(record) - 10);
		*member = (struct member){.method = cursor_u16(&in)};
		cursor_take(&in, 4); // time
		member->checksum = cursor_u32(&in);
		member->packed = cursor_u32(&in);
		member->size = cursor_u32(&in);
		uint16_t name_size = cursor_u16(&in), extra_size = cursor_u16(&in),
			 comment_size = cursor_u16(&in);
		cursor_take(&in, 8); // attributes
		member->offset = cursor_u32(&in);
		size_t shown = MIN((size_t)name_size, sizeof(name));
		size_t skipped = name_size - shown; // the end of the name is what tells
		if (stream_read_at(input, offset + MEMBER_RECORD + skipped, name, shown) &&
		    ends_in_etl(name, shown)) {
			take_wide(input, offset + MEMBER_RECORD + name_size, extra_size, member);
			return find_data(input, member);
		}
		offset += MEMBER_RECORD + (uint64_t)name_size + extra_size + comment_size;
	}
	return false;
}

// What comes out never exceeds what the directory says, nor what deflate can make of what went in.
static int unpack(struct stream *input, const struct member *member, FILE *out) {
	z_stream stream = {0};
	uint8_t in[PIECE], unpacked[PIECE];
	uint64_t left = member->packed, written = 0, at = member->offset;
	if (member->method != STORED && member->method != DEFLATED)
		return -ENOTSUP;
	if (member->size / LARGEST_RATIO > member->packed || inflateInit2(&stream, -MAX_WBITS) != Z_OK)
		return -EINVAL;
	int status = Z_OK;
	uLong checksum = crc32(0, NULL, 0);
	while (status == Z_OK && (left || stream.avail_in)) {
		if (!stream.avail_in) {
			size_t piece = (size_t)MIN(left, (uint64_t)PIECE);
			if (!stream_read_at(input, at, in, piece))
				break;
			at += piece;
			left -= piece;
			stream.next_in = in;
			stream.avail_in = (uInt)piece;
		}
		stream.next_out = unpacked;
		stream.avail_out = PIECE;
		status = member->method == DEFLATED ? inflate(&stream, Z_NO_FLUSH) : Z_OK;
		size_t got = PIECE - stream.avail_out;
		if (member->method == STORED) {
			got = stream.avail_in;
			memcpy(unpacked, in, got);
			stream.avail_in = 0;
		}
		written += got;
		checksum = crc32(checksum, unpacked, (uInt)got);
		if (written > member->size || fwrite(unpacked, 1, got, out) != got)
			break;
	}
	inflateEnd(&stream);
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return written == member->size && checksum == member->checksum ? 0 : -EINVAL;
}

static int open_member(struct stream *input, const char *name, FILE **file, struct stream *member_stream) {
	struct member member;
	int error = stream_make_random(input);
	if (error || !find_member(input, &member)) {
		log_error("%s: a zip file without an .etl in it", name);
		return -EINVAL;
	}
	*file = tmpfile();
	if (!*file) {
		error = -errno;
		log_error("%s: cannot be unpacked: no temporary file: %s", name, strerror(errno));
		return error;
	}
	error = unpack(input, &member, *file);
	if (error) {
		log_error("%s: the .etl in it cannot be unpacked: %s", name,
			  error == -EINVAL    ? "the zip file is damaged"
			  : error == -ENOTSUP ? "it is neither stored nor deflated"
					      : strerror(-error));
		fclose(*file);
		return error;
	}
	*member_stream = (struct stream){.fd = fileno(*file)};
	lseek(member_stream->fd, 0, SEEK_SET);
	const uint8_t *head = stream_need(member_stream, 4096);
	size_t size = head ? 4096 : stream_available(member_stream);
	if (size && etl_file_probe(member_stream->data, size))
		return 0;
	log_error("%s: the .etl in it is not an ETL file", name);
	member_stream->fd = -1;
	stream_close(member_stream);
	fclose(*file);
	return -EINVAL;
}

#else

static int open_member(struct stream *input, const char *name, FILE **file, struct stream *member_stream) {
	log_error("%s: this tracelet was built without zlib and unpacks no zip files", name);
	return -ENOTSUP;
}

#endif

static void close_member(FILE *file, struct stream *member_stream) {
	member_stream->fd = -1; // is the file's
	stream_close(member_stream);
	fclose(file);
}

static int read_with(struct stream *input, const char *name, const struct read_options *options,
		     struct tables *tables, struct sink *sink) {
	FILE *file;
	struct stream member;
	int error = open_member(input, name, &file, &member);
	if (error)
		return error;
	error = etl_reader.read_with(&member, name, options, tables, sink);
	close_member(file, &member);
	return error;
}

static int describe(struct stream *input, const char *name, const struct read_options *options,
		    struct buffer *out) {
	FILE *file;
	struct stream member;
	int error = open_member(input, name, &file, &member);
	if (error)
		return error;
	error = etl_reader.describe(&member, name, options, out);
	close_member(file, &member);
	return error;
}

static bool probe(const uint8_t *head, size_t size) {
	return size >= 30 && memcmp(head, "PK\3\4", 4) == 0;
}

const struct reader etl_zip_reader = {
	.name = "etl.zip",
	.extension = "zip",
	.description = "a trace of Windows in a zip file",
	.probe = probe,
	.read_with = read_with,
	.describe = describe,
	.ordered = true,
	.has_records = true,
};
