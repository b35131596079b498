// The container of an ETL file: a sequence of buffers, each a header and records.
//
// The first buffer begins with a record about the session. The index of all
// buffers is built from their headers alone; a buffer's content is read (and
// decompressed) when its turn comes. Invalid buffer headers are skipped in
// strides of the session's buffer size, and the skipped bytes are counted:
// everything readable in a truncated or damaged file is read, and everything else
// is reported.
#include "read/etl/etl.h"
#include "base/buffer.h"
#include "base/log.h"
#include "base/unpack_limit.h"
#include "read/etl/format.h"

#include <errno.h>
#include <inttypes.h>

enum {
	LARGEST_BUFFER = 64 << 20,
	SEARCH = 128 * 1024,  // bytes to search after damage in a compressed file
	LARGEST_RATIO = 4096, // compression ratio beyond which it cannot be event data
	HEADER_RECORD = 32,   // size of the session's own record
	LARGEST_TYPE = 31,    // buffer type; far larger than any seen
	LARGEST_FLAGS = 0x3ff,
	TYPE_HEADER = 4,
	FLAG_WIDE_PROCESSOR = 0x20,
	MODE_COMPRESSED = 0x04000000,
	USUAL_FREQUENCY = 10000000, // of the performance counter, if the file does not give it
};

const char *const etl_kind_names[ETL_KIND_COUNT] = {
	[ETL_SYSTEM32] = "SYSTEM32",
	[ETL_SYSTEM64] = "SYSTEM64",
	[ETL_COMPACT32] = "COMPACT32",
	[ETL_COMPACT64] = "COMPACT64",
	[ETL_PERFINFO32] = "PERFINFO32",
	[ETL_PERFINFO64] = "PERFINFO64",
	[ETL_FULL32] = "FULL32",
	[ETL_FULL64] = "FULL64",
	[ETL_INSTANCE32] = "INSTANCE32",
	[ETL_INSTANCE64] = "INSTANCE64",
	[ETL_EVENT32] = "EVENT32",
	[ETL_EVENT64] = "EVENT64",
	[ETL_WPP] = "WPP",
};

// ---- records ----

// By the type in byte 2 of the marker: the kind, and the number of bytes before the payload.
static const struct layout {
	uint8_t kind, pointer, header;
	bool size_first; // the size is in the first two bytes, not after the marker
} layouts[] = {
	[1] = {ETL_SYSTEM32, 4, 32, false},    [2] = {ETL_SYSTEM64, 8, 32, false},
	[3] = {ETL_COMPACT32, 4, 24, false},   [4] = {ETL_COMPACT64, 8, 24, false},
	[10] = {ETL_FULL32, 4, 48, true},      [11] = {ETL_INSTANCE32, 4, 72, true},
	[16] = {ETL_PERFINFO32, 4, 16, false}, [17] = {ETL_PERFINFO64, 8, 16, false},
	[18] = {ETL_EVENT32, 4, 80, true},     [19] = {ETL_EVENT64, 8, 80, true},
	[20] = {ETL_FULL64, 8, 48, true},      [21] = {ETL_INSTANCE64, 8, 72, true},
};

enum { MARKER_RECORD = 0xc0, MARKER_MESSAGE = 0x90, EVENT_HAS_ITEMS = 1 };
enum {
	WPP_SEQUENCE = 1,
	WPP_GUID = 2,
	WPP_COMPONENT = 4,
	WPP_TIME = 8,
	WPP_TASK = 0x20,
	WPP_POINTER32 = 0x40
};

// Reads header bytes whose number has been checked.
static uint16_t get16(const uint8_t *at) {
	uint16_t value;
	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t get32(const uint8_t *at) {
	uint32_t value;
	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t get64(const uint8_t *at) {
	uint64_t value;
	memcpy(&value, at, sizeof(value));
	return value;
}

bool etl_item_next(struct cursor *items, struct etl_item *item) {
	const uint8_t *begin = items->at;
	uint16_t size = cursor_u16(items);
	item->type = cursor_u16(items);
	uint16_t linkage = cursor_u16(items);
	item->size = cursor_u16(items);
	item->data = cursor_take(items, item->size);
	if (items->failed || !item->data)
		return false;
	size_t whole = MAX((size_t)size, (size_t)(items->at - begin));
	whole = (whole + 7) & ~(size_t)7;
	size_t taken = (size_t)(items->at - begin);
	cursor_take(items, MIN(whole - taken, cursor_left(items)));
	if (!(linkage & 1))
		items->end = items->at; // the last item: the payload follows
	return true;
}

bool etl_item_find(const struct etl_record *record, uint16_t type, struct etl_item *item) {
	if (!record->items_size)
		return false;
	struct cursor items = cursor_of(record->items, record->items_size);
	while (cursor_left(&items) && etl_item_next(&items, item))
		if (item->type == type)
			return true;
	return false;
}

// Extended items come between header and payload.
static void take_items(struct etl_record *record) {
	struct cursor items = cursor_of(record->payload, record->size);
	struct etl_item item;
	const uint8_t *begin = record->payload, *end = begin;
	while (cursor_left(&items) && etl_item_next(&items, &item))
		end = items.at;
	record->items = begin;
	record->items_size = (uint32_t)(end - begin);
	record->payload = end;
	record->size -= record->items_size;
}

// The upper byte of a kernel record's version gives the number of CPU counters
// (and whether there is a PEBS index) before the payload.
static void take_version(struct etl_record *record, uint16_t version) {
	uint32_t extra = 8u * ((version >> 8 & 7) + (version >> 15));
	record->version = version & 0xff;
	if (extra && extra <= record->size) {
		record->counter_count = version >> 8 & 7;
		record->counters = record->payload + 8u * (version >> 15);
		record->payload += extra;
		record->size -= extra;
	}
}

static void take_header(struct etl_record *record, const uint8_t *at) {
	switch (record->kind) {
	case ETL_SYSTEM32 ... ETL_COMPACT64:
		take_version(record, get16(at));
		record->opcode = at[6];
		record->group = at[7];
		record->tid = get32(at + 8);
		record->pid = get32(at + 12);
		record->time = get64(at + 16);
		break;
	case ETL_PERFINFO32 ... ETL_PERFINFO64:
		take_version(record, get16(at));
		record->opcode = at[6];
		record->group = at[7];
		record->tid = record->pid = ETL_NONE;
		record->time = get64(at + 8);
		break;
	case ETL_FULL32 ... ETL_INSTANCE64:
		record->opcode = at[4];
		record->level = at[5];
		record->version = get16(at + 6);
		record->tid = get32(at + 8);
		record->pid = get32(at + 12);
		record->time = get64(at + 16);
		record->guid = (const struct etl_guid *)(at + 24);
		if (record->kind >= ETL_INSTANCE32) {
			record->instance = get32(at + 48);
			record->parent_instance = get32(at + 52);
		}
		break;
	case ETL_EVENT32 ... ETL_EVENT64:
		record->flags = get16(at + 4);
		record->tid = get32(at + 8);
		record->pid = get32(at + 12);
		record->time = get64(at + 16);
		record->guid = (const struct etl_guid *)(at + 24);
		record->id = get16(at + 40);
		record->version = at[42];
		record->channel = at[43];
		record->level = at[44];
		record->opcode = at[45];
		record->task = get16(at + 46);
		record->keyword = get64(at + 48);
		record->activity = (const struct etl_guid *)(at + 64);
		if (record->flags & EVENT_HAS_ITEMS)
			take_items(record);
		break;
	}
}

// The flags of a WPP message say which parts its header has.
static void take_message(struct etl_record *record, const uint8_t *at, uint32_t size, uint64_t last_time) {
	struct cursor in = cursor_of(at, size);
	cursor_take(&in, 4);
	record->kind = ETL_WPP;
	record->id = cursor_u16(&in);
	record->flags = cursor_u16(&in);
	record->pointer = record->flags & WPP_POINTER32 ? 4 : 8;
	record->tid = record->pid = ETL_NONE;
	record->time = last_time;
	if (record->flags & WPP_SEQUENCE)
		cursor_u32(&in);
	if (record->flags & WPP_GUID)
		record->guid = (const struct etl_guid *)cursor_take(&in, sizeof(struct etl_guid));
	else if (record->flags & WPP_COMPONENT)
		record->task = (uint16_t)cursor_u32(&in);
	if (record->flags & WPP_TIME)
		record->time = cursor_u64(&in);
	if (record->flags & WPP_TASK) {
		record->tid = cursor_u32(&in);
		record->pid = cursor_u32(&in);
	}
	record->payload = in.at;
	record->size = (uint32_t)cursor_left(&in);
}

// An invalid record ends its buffer, because the start of the next one is unknown.
static bool no_record(struct etl_records *records) {
	records->skipped += records->size - records->at;
	records->at = records->size;
	return false;
}

bool etl_records_next(struct etl_records *records, struct etl_record *record) {
	uint32_t left = records->size - records->at;
	if (left < 8) {
		records->at = records->size; // less than the smallest header: the last record's padding
		return false;
	}
	const uint8_t *at = records->bytes + records->at;
	uint32_t marker = get32(at);
	if (marker == 0 || marker == UINT32_MAX) {
		records->at = records->size;
		return false;
	}
	uint8_t type = (uint8_t)(marker >> 16);
	bool message = marker >> 24 == MARKER_MESSAGE;
	const struct layout *layout = type < ARRAY_SIZE(layouts) ? &layouts[type] : NULL;
	if (!message && (marker >> 24 != MARKER_RECORD || !layout || !layout->header))
		return no_record(records);
	uint32_t size = message || layout->size_first ? (uint16_t)marker : get16(at + 4);
	uint32_t header = message ? 8 : layout->header;
	if (size < header || size > left)
		return no_record(records);
	*record = (struct etl_record){.cpu = records->cpu, .offset = records->offset, .at = records->at};
	if (message) {
		take_message(record, at, size, records->last_time);
	} else {
		record->kind = layout->kind;
		record->pointer = layout->pointer;
		record->payload = at + header;
		record->size = size - header;
		take_header(record, at);
	}
	records->last_time = record->time;
	records->at += MIN((size + 7) & ~7u, left);
	return true;
}

// ---- buffers ----

// Uncompressed content may end early (in a truncated file); what is there counts.
int etl_buffer_load(struct etl_file *file, const struct etl_buffer *buffer, struct buffer *memory,
		    struct etl_records *records, uint64_t *lost) {
	uint32_t stored = buffer->stored - ETL_BUFFER_HEADER;
	uint32_t size = buffer->size - ETL_BUFFER_HEADER;
	bool compressed = buffer->flags & ETL_FLAG_COMPRESSED;
	memory->size = 0;
	uint8_t *out = buffer_room(memory, (size_t)size + (compressed ? stored : 0) + 1);
	uint8_t *in = compressed ? out + size : out;
	*records = (struct etl_records){
		.bytes = out, .cpu = buffer->cpu, .offset = buffer->offset, .last_time = buffer->time};
	if (!stream_read_at(file->input, buffer->offset + ETL_BUFFER_HEADER, in,
			    compressed ? stored : size)) {
		*lost += size;
		return file->input->error;
	}
	file->input->offset = MAX(file->input->offset, buffer->offset);
	if (!compressed) {
		records->size = size;
		return 0;
	}
	// The file does not name the scheme: try the last one first; the exact length decides.
	size_t best = 0;
	int first = file->compression;
	for (int i = 0; i < ETL_COMPRESSION_COUNT; i++) {
		int scheme = (first + i) % ETL_COMPRESSION_COUNT;
		size_t got = etl_decompress((enum etl_compression)scheme, in, stored, out, size);
		if (got == size) {
			file->compression = scheme;
			records->size = size;
			return 0;
		}
		best = MAX(best, got);
	}
	if (best)
		records->size = (uint32_t)etl_decompress((enum etl_compression)first, in, stored, out, size);
	*lost += size - records->size;
	return 0;
}

// The session declares its buffers compressed: all except the first.
static bool is_compressed(const struct etl_file *file) {
	return file->header.mode & MODE_COMPRESSED;
}

static bool header_plausible(const struct etl_file *file, const struct etl_buffer *buffer, uint64_t left) {
	uint32_t largest = MAX(file->header.buffer_size, 1u << 20);
	bool compressed = buffer->flags & ETL_FLAG_COMPRESSED;
	if (buffer->stored < ETL_BUFFER_HEADER || buffer->stored > LARGEST_BUFFER || buffer->stored > left ||
	    buffer->size < ETL_BUFFER_HEADER)
		return false;
	if (compressed)
		return buffer->size <= largest &&
		       buffer->size / LARGEST_RATIO <= buffer->stored - ETL_BUFFER_HEADER + 1;
	// Buffers all have the same size, unless several sessions were merged.
	return buffer->size <= buffer->stored && buffer->stored % 8 == 0 && buffer->type <= LARGEST_TYPE &&
	       buffer->flags <= LARGEST_FLAGS;
}

static bool read_buffer_header(struct etl_file *file, uint64_t offset, struct etl_buffer *buffer) {
	uint8_t bytes[ETL_BUFFER_HEADER];
	uint64_t left = file->input->total - offset;
	if (left < sizeof(bytes) || !stream_read_at(file->input, offset, bytes, sizeof(bytes)))
		return false;
	*buffer = (struct etl_buffer){.offset = offset,
				      .stored = get32(bytes),
				      .time = get64(bytes + 0x10),
				      .state = get32(bytes + 0x2c),
				      .size = get32(bytes + 0x30),
				      .next = ETL_NONE,
				      .flags = get16(bytes + 0x34),
				      .type = get16(bytes + 0x36)};
	buffer->cpu = buffer->flags & FLAG_WIDE_PROCESSOR ? get16(bytes + 0x28) : bytes[0x28];
	buffer->logger = get16(bytes + 0x2a);
	// A buffer that was still being filled has no length yet: its records mark their own end.
	bool filled = buffer->size >= ETL_BUFFER_HEADER && buffer->size <= buffer->stored;
	if (!(buffer->flags & ETL_FLAG_COMPRESSED) && !filled)
		buffer->size = buffer->stored;
	if (buffer->stored > left && !(buffer->flags & ETL_FLAG_COMPRESSED) && left > ETL_BUFFER_HEADER &&
	    buffer->stored == file->header.buffer_size) {
		file->cut_off = true;
		buffer->stored = (uint32_t)left;
		buffer->size = MIN(buffer->size, buffer->stored);
		return true;
	}
	return header_plausible(file, buffer, left);
}

// Where the next buffer may begin, after an offset where none does.
static uint64_t step_over(struct etl_file *file, uint64_t offset) {
	uint64_t stride = file->header.buffer_size;
	// A compressed file has no stride: search for the next header nearby.
	uint64_t step = stride && !is_compressed(file) ? stride : 1, next = offset + step;
	struct etl_buffer buffer;
	while (next < file->input->total && next - offset < SEARCH &&
	       !read_buffer_header(file, next, &buffer))
		next += step;
	return next - offset >= SEARCH && step == 1 ? file->input->total : MIN(next, file->input->total);
}

// A session that preallocates its file leaves zeros after its last buffer.
static bool is_blank(struct etl_file *file, uint64_t offset, uint64_t end) {
	enum { PIECE = 64 * 1024 };
	CLEANUP_FREE uint8_t *bytes = memory_alloc(
		(size_t)MIN(end - offset, (uint64_t)PIECE)); // most are short
	while (offset < end) {
		size_t piece = (size_t)MIN(end - offset, (uint64_t)PIECE);
		if (!stream_read_at(file->input, offset, bytes, piece) || bytes[0] ||
		    memcmp(bytes, bytes + 1, piece - 1) != 0)
			return false;
		offset += piece;
	}
	return true;
}

static void index_buffers(struct etl_file *file) {
	uint64_t offset = 0, damage_end = 0;
	struct etl_buffer buffer;
	while (offset < file->input->total && !file->input->error) {
		if (read_buffer_header(file, offset, &buffer)) {
			array_push(&file->buffers, buffer);
			offset += buffer.stored;
			continue;
		}
		uint64_t next = step_over(file, offset);
		if (is_blank(file, offset, next)) {
			file->unused_bytes += next - offset;
		} else {
			file->cut_off |= next >= file->input->total;
			file->damaged_bytes += next - offset;
			file->damaged_places += offset != damage_end || !offset;
			damage_end = next;
		}
		offset = next;
	}
}

// ---- the session's own record ----

static char *take_text(struct cursor *in) {
	struct buffer text = {0};
	format_utf16_terminated(&text, in);
	buffer_append(&text, "", 1);
	return (char *)text.data;
}

// Old sessions do not name their clock: then a time that, taken as FILETIME, is close to their
// start is a FILETIME. System times count from boot if that is known, else from shortly before the
// session.
static void choose_clock(struct etl_header *header) {
	const uint64_t second = 10000000, day = 86400 * second;
	uint64_t begin = header->start_time;
	bool near = header->time + day > begin && header->time < begin + day;
	if (header->clock < ETL_CLOCK_QPC || header->clock > ETL_CLOCK_CYCLES)
		header->clock = near && begin > day ? ETL_CLOCK_SYSTEM : ETL_CLOCK_QPC;
	bool boot_known = header->boot_time && header->boot_time <= begin;
	header->epoch = boot_known ? header->boot_time : begin > second ? begin - second : 0;
}

static void decode_session(struct etl_header *header, const struct etl_record *record) {
	enum { TIME_ZONE = 172 };
	struct cursor in = cursor_of(record->payload, record->size);
	header->time = record->time;
	header->buffer_size = cursor_u32(&in);
	header->version = cursor_u32(&in);
	header->build = cursor_u32(&in);
	header->processors = cursor_u32(&in);
	header->end_time = cursor_u64(&in);
	header->timer_resolution = cursor_u32(&in);
	header->maximum_file_size = cursor_u32(&in);
	header->mode = cursor_u32(&in);
	header->buffers_written = cursor_u32(&in);
	cursor_u32(&in); // number of buffers at the start
	header->pointer_size = cursor_u32(&in);
	header->events_lost = cursor_u32(&in);
	header->cpu_mhz = cursor_u32(&in);
	cursor_take(&in, 2u * record->pointer); // addresses of the two names
	header->utc_bias = (int32_t)cursor_u32(&in);
	cursor_take(&in, TIME_ZONE - 4 + 4); // and padding to the next multiple of 8
	header->boot_time = cursor_u64(&in);
	header->frequency = cursor_u64(&in);
	header->start_time = cursor_u64(&in);
	header->clock = cursor_u32(&in);
	header->buffers_lost = cursor_u32(&in);
	header->session = take_text(&in);
	header->log_file = take_text(&in);
	choose_clock(header);
}

static int read_session(struct etl_file *file) {
	struct etl_buffer first;
	struct buffer memory = {0};
	struct etl_records records;
	struct etl_record record;
	uint64_t lost = 0;
	uint8_t bytes[4];
	if (stream_read_at(file->input, 0, bytes,
			   4)) // the stride of the first buffer, which may be truncated
		file->header.buffer_size = get32(bytes);
	bool found = read_buffer_header(file, 0, &first) &&
		     !etl_buffer_load(file, &first, &memory, &records, &lost) &&
		     etl_records_next(&records, &record) && record.kind <= ETL_SYSTEM64 && record.group == 0;
	file->header.buffer_size = 0;
	file->cut_off = false;
	if (found)
		decode_session(&file->header, &record);
	// The header buffer can differ in size from the rest only in a compressed file.
	if (found && !is_compressed(file))
		file->header.buffer_size = get32(bytes);
	buffer_free(&memory);
	return found ? 0 : -EILSEQ;
}

bool etl_file_probe(const uint8_t *head, size_t size) {
	if (size < ETL_BUFFER_HEADER + HEADER_RECORD)
		return false;
	uint32_t stored = get32(head), filled = get32(head + 0x30);
	const uint8_t *record = head + ETL_BUFFER_HEADER;
	return stored >= ETL_BUFFER_HEADER && stored <= LARGEST_BUFFER && get16(head + 0x36) == TYPE_HEADER &&
	       (filled <= stored || filled == UINT32_MAX) && record[3] == MARKER_RECORD &&
	       (record[2] == 1 || record[2] == 2) && record[6] == 0 && record[7] == 0;
}

// ---- the file ----

// Circular files begin anywhere: sort the buffers of each CPU by time. In merged files, each
// session has its own buffers for the same time.
static int compare_buffers(const void *a, const void *b) {
	const struct etl_buffer *left = a, *right = b;
	if (left->cpu != right->cpu)
		return left->cpu < right->cpu ? -1 : 1;
	if (left->logger != right->logger)
		return left->logger < right->logger ? -1 : 1;
	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

int etl_file_index(struct etl_file *file, struct stream *input, const char *name) {
	*file = (struct etl_file){.input = input, .name = name};
	int error = stream_make_random(input);
	if (!error)
		error = read_session(file);
	if (error)
		return error;
	index_buffers(file);
	if (input->error)
		return input->error;
	if (file->buffers.count)
		qsort(file->buffers.items, file->buffers.count, sizeof(struct etl_buffer), compare_buffers);
	for (size_t i = 0; i + 1 < file->buffers.count; i++)
		if (etl_same_lane(&file->buffers.items[i], &file->buffers.items[i + 1]))
			file->buffers.items[i].next = (uint32_t)i + 1;
	return 0;
}

// 0, or -EFBIG, logged: 70 bytes of a compressed buffer may be a megabyte.
static int check_unpacked_size(const struct etl_file *file) {
	uint64_t packed = 0, unpacked = 0;
	for (size_t i = 0; i < file->buffers.count; i++) {
		const struct etl_buffer *buffer = &file->buffers.items[i];
		packed += buffer->flags & ETL_FLAG_COMPRESSED ? buffer->stored : 0;
		unpacked += buffer->flags & ETL_FLAG_COMPRESSED ? buffer->size : 0;
	}
	return unpack_limit_exceeded(unpacked, packed) ? unpack_limit_report(file->name, packed) : 0;
}

int etl_file_open(struct etl_file *file, struct stream *input, const char *name) {
	int error = etl_file_index(file, input, name);
	if (error == -EILSEQ) {
		log_error("%s: not an ETL file: its first buffer has no session header", name);
		return -EINVAL;
	}
	if (error)
		log_error("%s: cannot be read: %s", name, strerror(-error));
	return error ? error : check_unpacked_size(file);
}

void etl_file_close(struct etl_file *file) {
	while (file->next) {
		struct etl_file *next = file->next;
		file->next = next->next;
		next->next = NULL;
		etl_file_close(next);
		free(next);
	}
	array_free(&file->buffers);
	free(file->header.session);
	free(file->header.log_file);
	*file = (struct etl_file){0};
}

// a * b / c without overflow: ticks may use all 64 bits.
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c) {
	return (uint64_t)((unsigned __int128)a * b / c);
}

static uint64_t ticks_to(const struct etl_header *header, uint64_t ticks, uint64_t per_second) {
	if (header->clock == ETL_CLOCK_CYCLES)
		return scale(ticks, per_second, (uint64_t)MAX(header->cpu_mhz, 1u) * 1000000);
	return scale(ticks, per_second, header->frequency ? header->frequency : USUAL_FREQUENCY);
}

uint64_t etl_file_filetime(const struct etl_file *file, uint64_t ticks) {
	const struct etl_header *header = &file->header;
	if (header->clock == ETL_CLOCK_SYSTEM)
		return ticks;
	if (ticks < header->time)
		return header->start_time - ticks_to(header, header->time - ticks, 10000000);
	return header->start_time + ticks_to(header, ticks - header->time, 10000000);
}

uint64_t etl_file_time(const struct etl_file *file, uint64_t ticks) {
	const struct etl_header *header = &file->header;
	uint64_t time = header->clock != ETL_CLOCK_SYSTEM ? ticks_to(header, ticks, 1000000000)
			: ticks > header->epoch           ? (ticks - header->epoch) * 100
							  : 0;
	return MIN(time, UINT64_MAX / 4); // keep damaged times in range
}

uint64_t etl_file_span(const struct etl_file *file, uint64_t from, uint64_t to) {
	if (from >= to)
		return 0;
	return file->header.clock == ETL_CLOCK_SYSTEM ? (to - from) * 100
						      : ticks_to(&file->header, to - from, 1000000000);
}
