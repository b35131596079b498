#include "guest/host/settle.h"
#include "base/file.h"
#include "base/log.h"
#include "flow/convert.h"
#include "guest/host/settle_line.h"
#include "tracelet/tracelet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end) {
	size_t length = strlen(text), tail = strlen(end);
	return length > tail && strcmp(text + length - tail, end) == 0;
}

// ---- facts in traces ----

// A trace is a sequence of packets, so a packet can simply be appended.
static int append_facts(const struct settlement *settlement, const char *path, const char *partial) {
	struct buffer clock = {0}, packet = {0};
	const char *pairs[6];
	size_t count = 0;
	guest_clock_format(settlement->clock, &clock);
	buffer_append(&clock, "", 1);
	if (clock.size > 1) {
		pairs[2 * count] = GUEST_CLOCK_KEY;
		pairs[2 * count++ + 1] = (const char *)clock.data;
	}
	pairs[2 * count] = GUEST_ADDRESS_KEY;
	pairs[2 * count++ + 1] = settlement->address;
	if (partial) {
		pairs[2 * count] = PARTIAL_KEY;
		pairs[2 * count++ + 1] = partial;
	}
	clock_facts_packet(&packet, pairs, count);
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW), error = fd < 0 ? -errno : 0;
	struct stat before;
	if (!error && fstat(fd, &before))
		error = -errno;
	if (!error)
		error = file_write_all(fd, packet.data, packet.size);
	if (error && fd >= 0 && ftruncate(fd, before.st_size))
		log_warning("%s: ends inside a packet", path);
	if (fd >= 0)
		close(fd);
	buffer_free(&clock);
	buffer_free(&packet);
	return error;
}

// X.pb.partial becomes X.partial.pb, as far as it can be read; what arrived stays next to it.
static void convert_partial(const struct settlement *settlement, const struct received *file) {
	size_t stem = strlen(file->path) -
		      strlen(ends_with(file->path, ".pb.partial") ? ".pb.partial" : ".spool.partial");
	CLEANUP_FREE char *output = memory_format("%.*s.partial.pb", (int)stem, file->path);
	CLEANUP_FREE char *partial = memory_format("%" PRIu64 " bytes arrived", file->size);
	struct conversion conversion = {.input = file->path,
					.output = output,
					.writer = writer_by_name("perfetto"),
					.mode = OUTPUT_CREATE};
	struct conversion_result result;
	struct stat status;
	// The live recording has already become one, which has more.
	if (lstat(output, &status) == 0)
		return;
	if (!file->size || convert(&conversion, &result) || append_facts(settlement, output, partial))
		return;
	log_warning("only part of the trace arrived: %s", output);
}

// A guest may send anything and call it a trace. It is kept, but not for a trace.
static bool is_sound(const char *path) {
	char message[1024];
	int error = tl_trace_landed(path, 1, message, sizeof(message));
	if (error)
		log_warning("the guest sent a damaged trace: %s", message);
	return !error;
}

static void settle_files(const struct settlement *settlement) {
	struct receiver *receiver = settlement->receiver;
	for (size_t i = 0; i < receiver->files.count; i++) {
		struct received *file = &receiver->files.items[i];
		struct stat status;
		if (file->partial &&
		    (ends_with(file->path, ".pb.partial") || ends_with(file->path, ".spool.partial")))
			convert_partial(settlement, file);
		if (file->partial)
			log_warning("%s: incomplete", file->path);
		if (file->partial || !ends_with(file->path, ".pb"))
			continue;
		file->unsound = !is_sound(file->path);
		int error = file->unsound ? 0 : append_facts(settlement, file->path, NULL);
		if (error)
			log_warning("%s: cannot add the guest's clock: %s", file->path, strerror(-error));
		if (stat(file->path, &status) == 0)
			file->size = (uint64_t)status.st_size;
	}
}

const char *settle(const struct settlement *settlement) {
	struct receiver *receiver = settlement->receiver;
	const char *trace = NULL;
	settle_files(settlement);
	settle_lines(settlement);
	for (size_t i = 0; i < receiver->files.count && !trace; i++)
		if (!receiver->files.items[i].partial && !receiver->files.items[i].unsound &&
		    ends_with(receiver->files.items[i].path, ".pb"))
			trace = receiver->files.items[i].path;
	return trace;
}
