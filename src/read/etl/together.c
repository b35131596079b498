// Several ETL files of one recording on one time axis: a kernel session and others beside it, as WPR, Visual
// Studio and PerfView leave them.
//
// The performance counter has one value for the whole machine, so files that use it and come from the same
// boot need no conversion: their raw times, also those inside payloads, can be compared. Other files (system
// time, CPU cycles, another boot) are placed by wall clock.
#include "base/log.h"
#include "read/etl/etl.h"
#include "read/etl/inputs.h"

#include <string.h>

enum {
	MODE_SYSTEM_LOGGER = 0x02000000, // the session records kernel events
	WALL_TICKS = 10000000,           // of FILETIME, in a second
	BOOT_TOLERANCE = 60,             // seconds by which a clock may have been set while Windows ran
};

static bool is_kernel_session(const struct etl_header *header) {
	return header->mode & MODE_SYSTEM_LOGGER || strcmp(header->session, "NT Kernel Logger") == 0;
}

// How good a file's clock is for all: that of the kernel's events is in their payloads, too.
static int rank(const struct etl_file *file) {
	return (file->header.clock == ETL_CLOCK_QPC ? 2 : 0) + is_kernel_session(&file->header);
}

static uint64_t distance(uint64_t a, uint64_t b) {
	return a > b ? a - b : b - a;
}

// Whether raw times of the two mean the same.
static bool same_clock(const struct etl_file *a, const struct etl_file *b) {
	if (a->header.clock != b->header.clock)
		return false;
	if (a->header.clock == ETL_CLOCK_SYSTEM)
		return true;
	return a->header.clock == ETL_CLOCK_QPC && a->header.frequency == b->header.frequency &&
	       distance(etl_file_filetime(a, 0), etl_file_filetime(b, 0)) <=
		       (uint64_t)BOOT_TOLERANCE * WALL_TICKS;
}

static uint64_t ticks_in(const struct etl_header *header, uint64_t wall) {
	uint64_t per_second = header->clock == ETL_CLOCK_CYCLES ? MAX(header->cpu_mhz, 1u) * 1000000ull
			      : header->frequency               ? header->frequency
								: WALL_TICKS;
	return (uint64_t)((unsigned __int128)wall * per_second / WALL_TICKS);
}

uint64_t etl_file_on_base(const struct etl_file *file, uint64_t ticks) {
	if (!file->base)
		return ticks;
	const struct etl_header *base = &file->base->header;
	uint64_t wall = etl_file_filetime(file, ticks);
	if (base->clock == ETL_CLOCK_SYSTEM)
		return wall;
	if (wall >= base->start_time)
		return base->time + ticks_in(base, wall - base->start_time);
	uint64_t before = ticks_in(base, base->start_time - wall);
	return before < base->time ? base->time - before : 0;
}

uint64_t etl_files_begin(const struct etl_file *first) {
	uint64_t begin = first->header.time;
	for (const struct etl_file *file = first->next; file; file = file->next)
		begin = MIN(begin, etl_file_on_base(file, file->header.time));
	return begin;
}

int etl_files_error(const struct etl_file *first) {
	for (const struct etl_file *file = first; file; file = file->next)
		if (file->input->error) {
			log_error("%s: cannot be read: %s", file->name, strerror(-file->input->error));
			return file->input->error;
		}
	return 0;
}

static void place(struct etl_file *file, const struct etl_file *first) {
	if (same_clock(first, file))
		return;
	file->base = first;
	if (file->header.clock == first->header.clock)
		log_warning("%s: not from the same boot of Windows as %s; placed by the wall clock",
			    file->name, first->name);
}

// The one with the best clock goes first, and the first one takes its place.
static void choose_first(struct etl_file *first) {
	struct etl_file *best = first;
	for (struct etl_file *file = first->next; file; file = file->next)
		if (rank(file) > rank(best))
			best = file;
	struct etl_file was_first = *first, was_best = *best;
	*first = was_best;
	first->next = was_first.next;
	if (best != first) {
		*best = was_first;
		best->next = was_best.next;
	}
}

int etl_files_open(struct etl_file *first, const struct etl_inputs *inputs) {
	struct etl_file **end = &first;
	int error = 0;
	for (size_t i = 0; !error && i < inputs->items.count; i++) {
		const struct etl_input *input = inputs->items.items[i];
		if (i)
			*end = memory_alloc(sizeof(**end));
		error = etl_file_open(*end, input->stream, input->name);
		end = &(*end)->next;
	}
	if (error)
		return error;
	choose_first(first);
	for (struct etl_file *file = first->next; file; file = file->next)
		place(file, first);
	return 0;
}
