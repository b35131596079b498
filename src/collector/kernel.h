// The collector's side of the BPF programs (capture/bpf/many_sessions.h): loads them once, attaches them
// while there are sessions, and has the memory of each session, its *place*: a ring, and a lane for each CPU.
//
// To put maps into the maps of places makes the kernel wait for all CPUs, so places are made in batches, by
// the janitor, and kept. The ring of a place is never used for another user: parts of records keep the bytes
// that were in the ring before.
#pragma once

#include "capture/bpf/session_slot.h"
#include "collector/extras.h"
#include "collector/peer.h"
#include "collector/ring.h"
#include "collector/ticks.h"

struct place {
	struct ring_view ring;
	int lanes_fd;
	struct lane *lanes;  // one for each CPU
	uint32_t index;      // of its slot
	uint32_t generation; // of its latest session
	bool used;           // has had a session, of
	uid_t uid;
};

struct collector_programs;

struct kernel {
	struct collector_programs *programs;
	struct collector_programs *more; // those that only some sessions want; NULL before the first does
	int rings_fd, lanes_fd, tasks_fd;
	struct session_slot *slots; // shared with the programs
	size_t slot_bytes;
	uint32_t cpu_count, place_count, ring_bytes;
	size_t lane_bytes; // of one place
	bool attached;
	bool has_more; // as far as is known, this kernel takes the programs for stacks, system calls and so
		       // on
	struct ring_buffer *nudges; // capture/bpf/waits.h
	struct ticks *ticks;        // samples
	struct extras extras;       // what only some sessions want
	struct place places[SLOTS_MOST];
};

void kernel_init(struct kernel *kernel);
int kernel_open(struct kernel *kernel, uint32_t place_count, uint32_t ring_bytes); // 0 or -errno
void kernel_close(struct kernel *kernel);

int kernel_attach(struct kernel *kernel); // may wait for long
void kernel_detach(struct kernel *kernel);
void kernel_set_clock(struct kernel *kernel);
// Samples at this rate, and the programs of these sources (extras.h); may wait for long. 0 or -errno.
int kernel_set_extras(struct kernel *kernel, unsigned frequency, uint64_t sources);

// Makes the places [first, first + count). Returns how many it made. Both may wait for long.
uint32_t kernel_make_places(struct kernel *kernel, uint32_t first, uint32_t count);
// Gives a place a new, empty ring.
bool kernel_renew_place(struct kernel *kernel, struct place *place);

// What a session wants besides events.
struct wanted {
	uint64_t long_wait;        // nanoseconds; 0 for no stacks of waits
	uint32_t sample_frequency; // 0 for no samples
	uint64_t sources;          // a bit for each
	bool hard_faults;          // of page faults only the major ones
	bool off_cpu;              // a stack whenever a thread leaves its CPU to wait
};

// A session begins in a free place. Returns its handle.
uint32_t kernel_begin(struct kernel *kernel, struct place *place, const struct peer *peer,
		      const struct wanted *wanted);
// It records no more; what it recorded can be read.
void kernel_stop(struct kernel *kernel, struct place *place);
// It ends: its tasks belong to no session.
void kernel_end(struct kernel *kernel, struct place *place);
// Waits until no program can write into the places of ended sessions any more; then they can be emptied.
void kernel_settle(struct kernel *kernel);
void kernel_clear(struct kernel *kernel, struct place *place);

int kernel_follow(struct kernel *kernel, uint32_t handle,
		  int pidfd);                              // 0, or -errno: -EBUSY: in another session
bool kernel_is_followed(struct kernel *kernel, int pidfd); // by a session that has not ended

// The name of a kernel function (a samples_resolve); one thread at a time.
bool kernel_name(void *kernel, uint64_t address, char name[COLLECTOR_NAME_SIZE], uint64_t *start);

// Takes the notes that no one reads (capture/bpf/waits.h).
void kernel_take_nudges(struct kernel *kernel);

// Moves what is in the lanes to the ring.
void kernel_flush(struct kernel *kernel, struct place *place, uint32_t handle);

struct session_slot *kernel_slot(struct kernel *kernel, const struct place *place);
