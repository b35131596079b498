// Checks a Windows recording. Separate from landed.c, so that libtracelet does not need the ETL reader and
// its libraries.
#include "check/landed.h"
#include "read/etl/etl.h"

#include <errno.h>
#include <inttypes.h>

// This does not look at the records in the buffers; only a checksum would find a changed byte in one.
static int check_etl(const char *path, char *message, size_t size) {
	struct stream input;
	struct etl_file file = {0};
	int error = stream_open(&input, path);
	if (error)
		return landed_unreadable(error, path, message, size);
	error = etl_file_index(&file, &input, path);
	bool whole = !file.cut_off && !file.damaged_bytes;
	uint64_t damaged = file.damaged_bytes;
	etl_file_close(&file);
	stream_close(&input);
	if (error == -EILSEQ)
		return landed_say(
			error, message, size,
			"%s: expected a Windows recording, which begins with a session header, found "
			"something else; look at what wrote this file: it is not from wpr.exe",
			path);
	if (error)
		return landed_unreadable(error, path, message, size);
	if (whole)
		return 0;
	return landed_say(
		-EBADMSG, message, size,
		"%s: expected whole buffers up to the last byte, found %" PRIu64
		" bytes that belong to no buffer, or a truncated last one; look at the transfer of the "
		"file, or at the disk that wpr.exe wrote to ('tracelet info')",
		path, damaged);
}

int etl_landed(const char *path, uint64_t min_size, char *message, size_t size) {
	int error = landed_file(path, min_size, message, size);
	return error ? error : check_etl(path, message, size);
}
