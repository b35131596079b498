// Internal to the ETL reader: what its files share.
//
//   file.c         the container: header, index of buffers, records of a buffer
//   compress.c     the three compressions that a buffer may have
//   walk.c         all records of all CPUs in time order
//   kernel.c       the table of the kernel's layouts
//   schema.c       schemas of events: storage and lookup
//   tracelogging.c, tdh.c, manifest.c   where schemas come from
//   decode.c       turns a payload and its schema into fields
//   message.c      the text of an event, from its manifest
//   format.c       readable values: GUIDs, SIDs, times, addresses
//   state.c        processes, threads, images, methods, stacks
//   stacks.c       finds the stack of each event
//   info.c         `tracelet info`
//   events.c       turns records into events
//   scheduling.c   the same for switches and wakeups
//   together.c     several files on one time axis
//   inputs.c       the files to read: plain ones, or unpacked ones
//   zip.c, gzip.c  ETL files in archives
//   etl.c          the reader's interface
#pragma once

#include "base/array.h"
#include "base/buffer.h"
#include "base/cursor.h"
#include "base/map.h"
#include "base/stream.h"
#include "event/event.h"

// ---- the container ----

enum etl_kind {
	ETL_SYSTEM32,
	ETL_SYSTEM64,
	ETL_COMPACT32,
	ETL_COMPACT64,
	ETL_PERFINFO32,
	ETL_PERFINFO64,
	ETL_FULL32,
	ETL_FULL64,
	ETL_INSTANCE32,
	ETL_INSTANCE64,
	ETL_EVENT32,
	ETL_EVENT64,
	ETL_WPP,
	ETL_KIND_COUNT
};
extern const char *const etl_kind_names[ETL_KIND_COUNT];

enum { ETL_NONE = UINT32_MAX }; // the record does not name its thread or process

struct etl_guid {
	uint8_t bytes[16];
};

// One record. Pointers point into the record's buffer and are valid until the
// next record of the same CPU is requested.
struct etl_record {
	uint64_t time; // raw: in ticks of the file's clock
	const uint8_t *payload;
	uint32_t size;
	uint32_t cpu;
	uint32_t tid, pid;
	uint8_t kind;    // enum etl_kind
	uint8_t pointer; // size of a pointer in this record, in bytes
	uint8_t group;   // for kernel records
	uint8_t opcode, level, channel;
	uint16_t id, version, task; // id: of an EVENT, or the message number for WPP
	uint16_t flags;
	uint32_t instance, parent_instance; // for INSTANCE
	uint64_t keyword;
	const struct etl_guid *guid;     // provider (EVENT), event class (FULL), message GUID (WPP); or NULL
	const struct etl_guid *activity; // or NULL
	const uint8_t *counters;         // CPU counters at a kernel event, eight bytes each
	uint8_t counter_count;
	const uint8_t *items; // extended items
	uint32_t items_size;
	uint32_t at;     // offset in its buffer
	uint64_t offset; // offset of its buffer in the file
};

static inline bool etl_is_kernel(const struct etl_record *record) {
	return record->kind <= ETL_PERFINFO64;
}

enum etl_clock { ETL_CLOCK_QPC = 1, ETL_CLOCK_SYSTEM = 2, ETL_CLOCK_CYCLES = 3 };

struct etl_header {
	uint32_t buffer_size, version, build, processors;
	uint64_t start_time, end_time, boot_time; // FILETIME
	uint64_t frequency;
	uint32_t clock; // enum etl_clock
	uint32_t timer_resolution, maximum_file_size, mode, buffers_written, pointer_size;
	uint32_t events_lost, buffers_lost, cpu_mhz;
	int32_t utc_bias;
	uint64_t time;  // the header record's own
	uint64_t epoch; // origin of system clock times, FILETIME
	char *session, *log_file;
};

struct etl_buffer {
	uint64_t offset;
	uint64_t time;   // from its header
	uint32_t stored; // bytes in the file, including the header
	uint32_t size;   // bytes in use after decompression, including the header
	uint32_t cpu;
	uint32_t next; // next buffer of the same CPU and session, by time; ETL_NONE at the end
	uint16_t flags, type, logger;
	uint32_t state;
};

// Records in one lane are consecutive and in time order.
static inline bool etl_same_lane(const struct etl_buffer *a, const struct etl_buffer *b) {
	return a->cpu == b->cpu && a->logger == b->logger;
}

enum { ETL_BUFFER_HEADER = 0x48, ETL_FLAG_COMPRESSED = 0x40 };

enum etl_compression { ETL_XPRESS, ETL_LZNT1, ETL_XPRESS_HUFFMAN, ETL_COMPRESSION_COUNT };

struct etl_file {
	struct etl_file *next; // another file of the same recording; or NULL
	const struct etl_file
		*base; // the file whose clock times are converted to; NULL if it is the same clock
	struct stream *input;
	const char *name;
	struct etl_header header;
	ARRAY(struct etl_buffer) buffers; // in file order
	uint64_t damaged_bytes;           // bytes that are in no buffer
	uint64_t damaged_places;
	uint64_t unused_bytes; // zeros where a buffer could begin
	bool cut_off;          // the file ends inside a buffer
	int compression;       // the scheme of the last compressed buffer
};

// Reads the header and finds all buffers. Logs failures.
int etl_file_open(struct etl_file *file, struct stream *input, const char *name);
// The same without logging; -EILSEQ if there is no session header.
int etl_file_index(struct etl_file *file, struct stream *input, const char *name);
void etl_file_close(struct etl_file *file); // and those that follow
bool etl_file_probe(const uint8_t *head, size_t size);

// Converts a raw time to nanoseconds since boot, and to FILETIME.
uint64_t etl_file_time(const struct etl_file *file, uint64_t ticks);
uint64_t etl_file_span(const struct etl_file *file, uint64_t from, uint64_t to); // nanoseconds
uint64_t etl_file_filetime(const struct etl_file *file, uint64_t ticks);

// Opens several files as one recording: `first` is the one whose clock counts, the others follow it.
struct etl_inputs;
int etl_files_open(struct etl_file *first, const struct etl_inputs *inputs);
uint64_t etl_file_on_base(const struct etl_file *file, uint64_t ticks); // a raw time on that clock
uint64_t etl_files_begin(const struct etl_file *first); // when the first session began, on that clock
int etl_files_error(const struct etl_file *first);      // 0, or -errno of a failed read, logged

// The records of one buffer. `skipped` counts bytes that are not part of a record.
struct etl_records {
	const uint8_t *bytes;
	uint32_t size, at;
	uint32_t cpu;
	uint64_t offset;    // offset of the buffer in the file
	uint64_t last_time; // time of the previous record, for records without one
	uint64_t skipped;
};

// Loads a buffer's content into `memory`, which grows as needed; returns 0 or -errno. If only part
// of it can be decompressed, that part counts, and `lost` is the size of the rest.
int etl_buffer_load(struct etl_file *file, const struct etl_buffer *buffer, struct buffer *memory,
		    struct etl_records *records, uint64_t *lost);
bool etl_records_next(struct etl_records *records, struct etl_record *record);

// Takes the next extended item, its type and data; false if there is none.
struct etl_item {
	uint16_t type;
	const uint8_t *data;
	size_t size;
};
bool etl_item_next(struct cursor *items, struct etl_item *item);
bool etl_item_find(const struct etl_record *record, uint16_t type, struct etl_item *item);

enum {
	ETL_ITEM_RELATED_ACTIVITY = 1,
	ETL_ITEM_STACK32 = 5,
	ETL_ITEM_STACK64 = 6,
	ETL_ITEM_TRACELOGGING = 11,
	ETL_ITEM_TRAITS = 12,
};

// ---- compression: returns 0 if exactly `out_size` bytes came out and all input was used ----

size_t etl_decompress(enum etl_compression scheme, const uint8_t *in, size_t in_size, uint8_t *out,
		      size_t out_size);

// ---- all records in time order ----

struct etl_lane; // records of one CPU and session

struct etl_walk {
	ARRAY(struct etl_lane *) lanes; // a heap: the lane with the earliest record first
	bool first_taken;               // the first lane's record has been returned
	uint64_t records, skipped,
		unreadable; // so far: bytes skipped in buffers, bytes that could not be decompressed
};

void etl_walk_begin(struct etl_walk *walk, struct etl_file *file);
const struct etl_record *etl_walk_next(struct etl_walk *walk); // NULL at the end
void etl_walk_end(struct etl_walk *walk);
