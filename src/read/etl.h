// Inside the ETL reader: what its files share.
//
//   etl_file.c         the container: header, index of buffers, records of a buffer
//   etl_compress.c     the three compressions that a buffer may have
//   etl_walk.c         all records of all CPUs in the order of time
//   etl_kernel.c       the table of the kernel's layouts
//   etl_schema.c       schemas of events: where they are kept, how they are found
//   etl_tracelogging.c, etl_tdh.c, etl_manifest.c   where schemas come from
//   etl_decode.c       a payload and its schema become fields
//   etl_format.c       values as people expect them: GUIDs, SIDs, times, addresses
//   etl_state.c        processes, threads, images, methods, stacks
//   etl_info.c         what `tracelet info` tells
//   etl.c              the reader: records become events
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

enum { ETL_NONE = UINT32_MAX }; // a thread or process that the record does not name

struct etl_guid {
	uint8_t bytes[16];
};

// One record. Pointers lead into the buffer it came from and hold until the
// next one of its CPU is asked for.
struct etl_record {
	uint64_t time; // raw, in ticks of the file's clock
	const uint8_t *payload;
	uint32_t size;
	uint32_t cpu;
	uint32_t tid, pid;
	uint8_t kind;    // enum etl_kind
	uint8_t pointer; // bytes of a pointer in this record
	uint8_t group;   // of the kernel's kinds
	uint8_t opcode, level, channel;
	uint16_t id, version, task; // id: of an EVENT, or the number of a WPP message
	uint16_t flags;
	uint32_t instance, parent_instance; // of INSTANCE
	uint64_t keyword;
	const struct etl_guid *guid;     // provider (EVENT), event class (FULL), message GUID (WPP); or NULL
	const struct etl_guid *activity; // or NULL
	const uint8_t *items;            // extended items
	uint32_t items_size;
	uint32_t at;     // where it stands in its buffer
	uint64_t offset; // of its buffer in the file
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
	uint64_t epoch; // from where times of the system clock count, FILETIME
	char *session, *log_file;
};

struct etl_buffer {
	uint64_t offset;
	uint64_t time;   // of its header
	uint32_t stored; // bytes in the file, with the header
	uint32_t size;   // bytes with the header when decompressed, as far as they are filled
	uint32_t cpu;
	uint32_t next; // of the same CPU and session, by time; ETL_NONE at the end
	uint16_t flags, type, logger;
	uint32_t state;
};

// Their records come one after the other, in the order of time.
static inline bool etl_same_lane(const struct etl_buffer *a, const struct etl_buffer *b) {
	return a->cpu == b->cpu && a->logger == b->logger;
}

enum { ETL_BUFFER_HEADER = 0x48, ETL_FLAG_COMPRESSED = 0x40 };

enum etl_compression { ETL_XPRESS, ETL_LZNT1, ETL_XPRESS_HUFFMAN, ETL_COMPRESSION_COUNT };

struct etl_file {
	struct stream *input;
	const char *name;
	struct etl_header header;
	ARRAY(struct etl_buffer) buffers; // in the order of the file
	uint64_t damaged_bytes;           // of the file, in no buffer
	uint64_t damaged_places;
	uint64_t unused_bytes; // zeros where a buffer would begin
	bool cut_off;          // ends inside a buffer
	int compression;       // the one that the last compressed buffer had
};

// Reads the header and finds all buffers. A failure has been said in one line.
int etl_file_open(struct etl_file *file, struct stream *input, const char *name);
// The same, and nothing is said; -EILSEQ: it has no session header.
int etl_file_index(struct etl_file *file, struct stream *input, const char *name);
void etl_file_close(struct etl_file *file);
bool etl_file_probe(const uint8_t *head, size_t size);

// Nanoseconds since the machine was started, and FILETIME, of a raw time.
uint64_t etl_file_time(const struct etl_file *file, uint64_t ticks);
uint64_t etl_file_span(const struct etl_file *file, uint64_t from, uint64_t to); // nanoseconds
uint64_t etl_file_filetime(const struct etl_file *file, uint64_t ticks);

// The records of one buffer. `skipped` counts bytes that are no record.
struct etl_records {
	const uint8_t *bytes;
	uint32_t size, at;
	uint32_t cpu;
	uint64_t offset;    // of the buffer in the file
	uint64_t last_time; // of the record before, for those that have none
	uint64_t skipped;
};

// The content of a buffer into `memory`, which grows as needed; 0 or -errno. Where it
// cannot be decompressed as a whole, what was understood of it counts, and `lost` has the rest.
int etl_buffer_load(struct etl_file *file, const struct etl_buffer *buffer, struct buffer *memory,
		    struct etl_records *records, uint64_t *lost);
bool etl_records_next(struct etl_records *records, struct etl_record *record);

// The next extended item, or false: its type and data.
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

// ---- compression: 0 when exactly `out_size` bytes came out, and all input was used up ----

size_t etl_decompress(enum etl_compression scheme, const uint8_t *in, size_t in_size, uint8_t *out,
		      size_t out_size);

// ---- all records in the order of time ----

struct etl_lane; // of one CPU and session

struct etl_walk {
	struct etl_file *file;
	ARRAY(struct etl_lane *) lanes; // a heap: the one with the earliest record first
	bool first_taken;               // the record of the first lane has been given out
	uint64_t records, skipped,
		unreadable; // so far: skipped bytes in buffers, bytes that could not be decompressed
};

void etl_walk_begin(struct etl_walk *walk, struct etl_file *file);
const struct etl_record *etl_walk_next(struct etl_walk *walk); // NULL at the end
void etl_walk_end(struct etl_walk *walk);
