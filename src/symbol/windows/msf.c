#include "symbol/windows/msf.h"

#include "base/cursor.h"

static const char magic[32] = "Microsoft C/C++ MSF 7.00\r\n\032DS\0\0";

enum { LARGEST_BLOCK = 1 << 16, ABSENT = UINT32_MAX };

static uint32_t blocks_of(const struct msf *msf, uint32_t size) {
	return (uint32_t)(((uint64_t)size + msf->block_size - 1) / msf->block_size);
}

// NULL if the block is not in the file. The last block of a file may be cut.
static const uint8_t *block_at(const struct msf *msf, uint32_t block, size_t wanted) {
	uint64_t at = (uint64_t)block * msf->block_size;
	return at <= msf->size && msf->size - at >= wanted ? msf->bytes + at : NULL;
}

// Copies the blocks that are listed. False if one is missing.
static bool gather(const struct msf *msf, const uint32_t *list, uint32_t size, uint8_t *out) {
	for (uint32_t done = 0; done < size;) {
		uint32_t part = MIN(size - done, msf->block_size);
		const uint8_t *block = block_at(msf, *list++, part);
		if (!block)
			return false;
		memcpy(out + done, block, part);
		done += part;
	}
	return true;
}

static bool read_directory(struct msf *msf, uint32_t size, uint32_t map_block) {
	uint32_t count = blocks_of(msf, size);
	const uint8_t *map = block_at(msf, map_block, (size_t)count * sizeof(uint32_t));
	if (!map || size > msf->size || size % sizeof(uint32_t))
		return false;
	CLEANUP_FREE uint32_t *list = memory_alloc((size_t)count * sizeof(*list) + 1);
	memcpy(list, map, (size_t)count * sizeof(*list));
	array_reserve(&msf->directory, size / sizeof(uint32_t) + 1);
	msf->directory.count = size / sizeof(uint32_t);
	return gather(msf, list, size, (uint8_t *)msf->directory.items);
}

// How many streams, their sizes, and then the block numbers of all of them.
static bool list_streams(struct msf *msf) {
	const uint32_t *words = msf->directory.items;
	size_t left = msf->directory.count, at;
	uint32_t count = left ? words[0] : 0;
	if (!left || count > left - 1)
		return false;
	at = 1 + (size_t)count;
	for (uint32_t i = 0; i < count; i++) {
		struct msf_stream stream = {words[1 + i] == ABSENT ? 0 : words[1 + i], (uint32_t)at};
		size_t blocks = blocks_of(msf, stream.size);
		if (blocks > left - at || stream.size > msf->size)
			return false;
		at += blocks;
		array_push(&msf->streams, stream);
	}
	return true;
}

bool msf_open(struct msf *msf, const uint8_t *bytes, size_t size) {
	struct cursor in = cursor_of(bytes, size);
	const uint8_t *head = cursor_take(&in, sizeof(magic));
	*msf = (struct msf){.bytes = bytes, .size = size, .block_size = cursor_u32(&in)};
	cursor_take(&in, 8); // where the free blocks are listed; how many blocks there are
	uint32_t directory_size = cursor_u32(&in);
	cursor_u32(&in);
	uint32_t map_block = cursor_u32(&in);
	bool proper = !in.failed && memcmp(head, magic, sizeof(magic)) == 0 && msf->block_size >= 512 &&
		      msf->block_size <= LARGEST_BLOCK && !(msf->block_size & (msf->block_size - 1));
	if (proper && read_directory(msf, directory_size, map_block) && list_streams(msf))
		return true;
	msf_close(msf);
	return false;
}

void msf_close(struct msf *msf) {
	array_free(&msf->directory);
	array_free(&msf->streams);
}

uint8_t *msf_read(const struct msf *msf, uint32_t number, size_t *size) {
	const struct msf_stream *stream = number < msf->streams.count ? &msf->streams.items[number] : NULL;
	uint8_t *content = memory_alloc((stream ? (size_t)stream->size : 0) + 1);
	bool whole = stream && gather(msf, msf->directory.items + stream->first, stream->size, content);
	*size = whole ? stream->size : 0;
	return content;
}
