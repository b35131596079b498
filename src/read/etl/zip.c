// ETL in a zip file, as PerfView, Windows' recorders and Visual Studio (.diagsession) pack it: zlib unpacks
// every member whose name ends in .etl into a temporary file without a name; the members' names are only
// shown. Other members (symbols, logs) are ignored.
#include "base/log.h"
#include "base/unpack_limit.h"
#include "read/etl/etl.h"
#include "read/etl/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#ifdef HAVE_ZLIB
#include <zlib.h>

enum {
	END_RECORD = 22, // size of the directory's end record, without its comment
	END_SEARCH = 65536 + END_RECORD,
	MEMBER_RECORD = 46,
	LOCAL_RECORD = 30,
	WIDE_LOCATOR = 20, // size; precedes the directory's end record if 32 bits are not enough
	WIDE_END_RECORD = 56,
	WIDE_EXTRA = 1, // the extra field with a member's 64-bit numbers
	STORED = 0,
	DEFLATED = 8,
	PIECE = 64 * 1024,
	LARGEST_RATIO = 1100, // for deflate: 1032, plus some margin
	MOST_MEMBERS = 64,    // each is an open file; recordings have a handful
};

struct member {
	uint64_t offset, packed, size;
	uint32_t checksum;
	uint16_t method;
	bool is_etl;
	char name[256]; // its end, if it is longer
};

struct members {
	ARRAY(struct member) list;
};

static uint32_t signature(const uint8_t *at) {
	struct cursor in = cursor_of(at, 4);
	return cursor_u32(&in);
}

// If 32 bits are not enough, the fields are all ones and the real numbers are elsewhere.
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

// The directory's end record is the last thing in the file, except for a comment.
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

// Where the member's data begins: after its local header, whose extra fields may differ from the
// directory's.
static bool find_data(struct stream *input, struct member *member) {
	uint8_t local[LOCAL_RECORD];
	if (!stream_read_at(input, member->offset, local, sizeof(local)) || signature(local) != 0x04034b50)
		return false;
	struct cursor in = cursor_of(local + 26, 4);
	member->offset += LOCAL_RECORD + cursor_u16(&in);
	member->offset += cursor_u16(&in);
	return true;
}

// Reads the numbers that did not fit, in this order; those that fit are left out.
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

// Reads one entry of the directory and moves to the next. False if there is none.
static bool take_entry(struct stream *input, uint64_t *offset, struct member *member) {
	uint8_t record[MEMBER_RECORD];
	if (!stream_read_at(input, *offset, record, sizeof(record)) || signature(record) != 0x02014b50)
		return false;
	struct cursor in = cursor_of(record + 10, sizeof(record) - 10);
	*member = (struct member){.method = cursor_u16(&in)};
	cursor_take(&in, 4); // time
	member->checksum = cursor_u32(&in);
	member->packed = cursor_u32(&in);
	member->size = cursor_u32(&in);
	uint16_t name_size = cursor_u16(&in), extra_size = cursor_u16(&in), comment_size = cursor_u16(&in);
	cursor_take(&in, 8); // attributes
	member->offset = cursor_u32(&in);
	size_t shown = MIN((size_t)name_size, sizeof(member->name) - 1);
	size_t skipped = name_size - shown; // the end of the name decides
	if (!stream_read_at(input, *offset + MEMBER_RECORD + skipped, member->name, shown))
		return false;
	member->is_etl = ends_in_etl(member->name, shown);
	if (member->is_etl)
		take_wide(input, *offset + MEMBER_RECORD + name_size, extra_size, member);
	*offset += MEMBER_RECORD + (uint64_t)name_size + extra_size + comment_size;
	return true;
}

// All members that are ETL files by name; false if the directory cannot be read or there are too many.
static bool find_members(struct stream *input, struct members *members) {
	uint64_t offset, count;
	if (!find_directory(input, &offset, &count))
		return false;
	for (; count; count--) {
		struct member member;
		if (!take_entry(input, &offset, &member))
			return false;
		if (!member.is_etl)
			continue;
		if (members->list.count == MOST_MEMBERS || !find_data(input, &member))
			return false;
		array_push(&members->list, member);
	}
	return true;
}

// Never writes more than the directory says, nor more than deflate can produce from the input.
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

// Members may share their data, so all of them together are compared with what the archive can hold.
static int check_sizes(struct stream *input, const char *name, const struct members *members) {
	uint64_t packed = 0, size = 0;
	for (size_t i = 0; i < members->list.count; i++) {
		packed += MIN(members->list.items[i].packed, input->total);
		size += MIN(members->list.items[i].size, UINT64_MAX / MOST_MEMBERS);
	}
	packed = MIN(packed, input->total);
	return unpack_limit_exceeded(size, packed) ? unpack_limit_report(name, packed) : 0;
}

// One that cannot be read is left out if there are others.
static int member_failed(const char *name, int error, bool others) {
	const char *why = error == -EINVAL    ? "the zip file is damaged"
			  : error == -ENOTSUP ? "it is neither stored nor deflated"
					      : strerror(-error);
	if (others)
		log_warning("%s: left out, as it cannot be unpacked: %s", name, why);
	else
		log_error("%s: the .etl in it cannot be unpacked: %s", name, why);
	return others ? 0 : error;
}

static int add_member(struct etl_inputs *inputs, struct stream *input, const struct member *member,
		      const char *name, bool others) {
	FILE *file = tmpfile();
	int error = file ? 0 : -errno;
	if (error) {
		log_error("%s: cannot be unpacked: cannot create a temporary file: %s", name,
			  strerror(-error));
		return error;
	}
	error = unpack(input, member, file);
	if (error) {
		fclose(file);
		return member_failed(name, error, others);
	}
	error = etl_inputs_add_file(inputs, file, name);
	if (error && others)
		log_warning("%s: left out, as it is not an ETL file", name);
	else if (error)
		log_error("%s: the .etl in it is not an ETL file", name);
	return others ? 0 : error;
}

static int add_members(struct etl_inputs *inputs, struct stream *input, const char *name,
		       const struct members *members) {
	bool several = members->list.count > 1;
	size_t before = inputs->items.count;
	int error = check_sizes(input, name, members);
	for (size_t i = 0; !error && i < members->list.count; i++) {
		const struct member *member = &members->list.items[i];
		CLEANUP_FREE char *shown = several ? memory_format("%s: %s", name, member->name)
						   : memory_string(name);
		error = add_member(inputs, input, member, shown, several);
	}
	if (error || inputs->items.count > before)
		return error;
	log_error("%s: none of the ETL files in it can be read", name);
	return -EINVAL;
}

int etl_unpack_zip(struct etl_inputs *inputs, struct stream *input, const char *name) {
	struct members members = {0};
	int error = stream_make_random(input);
	if (error || !find_members(input, &members) || !members.list.count) {
		if (members.list.count == MOST_MEMBERS)
			log_error("%s: a zip file with more than %u ETL files", name, MOST_MEMBERS);
		else
			log_error("%s: a zip file without an .etl in it", name);
		error = -EINVAL;
	}
	if (!error)
		error = add_members(inputs, input, name, &members);
	array_free(&members.list);
	return error;
}

#else

int etl_unpack_zip(struct etl_inputs *inputs, struct stream *input, const char *name) {
	log_error("%s: this tracelet was built without zlib and cannot unpack zip files", name);
	return -ENOTSUP;
}

#endif

bool etl_zip_probe(const uint8_t *head, size_t size) {
	return size >= 30 && memcmp(head, "PK\3\4", 4) == 0;
}
