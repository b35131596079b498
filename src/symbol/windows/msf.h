// The container of PDB files: a file system of its own, with streams that consist of blocks anywhere in the
// file. https://llvm.org/docs/PDB/MsfFile.html describes it.
#pragma once

#include "base/array.h"

struct msf_stream {
	uint32_t size;
	uint32_t first; // of its block numbers in the directory
};

struct msf {
	const uint8_t *bytes;
	size_t size;
	uint32_t block_size;
	ARRAY(uint32_t) directory; // its content
	ARRAY(struct msf_stream) streams;
};

enum { MSF_NONE = 0xffff }; // the number of a stream that does not exist

// False if this is no such file. The bytes stay the caller's.
bool msf_open(struct msf *msf, const uint8_t *bytes, size_t size);
void msf_close(struct msf *msf);

// A copy of a stream's content, to be freed; empty if there is no such stream or it is damaged.
uint8_t *msf_read(const struct msf *msf, uint32_t stream, size_t *size);
