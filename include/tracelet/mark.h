// Marks: a test puts its own phases into its trace. One header, nothing to link:
//
//     #include <tracelet/mark.h>
//
//     tl_slice_begin("load");        // begins a bar on this thread's track
//     tl_slice_end();                // ends the innermost open bar
//     tl_mark("cache is cold");      // a point in time
//     tl_counter("queue", depth);    // a curve of this process
//     tl_test_begin("parser/deep");  // a case of a test program with many
//     tl_test_end(TL_PASSED);
//
// Under `tracelet run` a call takes about 50 ns; otherwise it is one branch. The
// functions may be called from any thread, from signal handlers and after
// fork(). They never block, never fail and leave errno alone. Texts are copied;
// TL_MARK_LONGEST bytes of a long one are kept. Needs C99 or C++11. On systems
// other than Linux, or with TL_MARK_DISABLED defined, the calls are empty.
//
// How it works: the tracer shares an area of memory whose name is in the
// environment (TRACELET_MARKS). It is a memfd that can neither shrink nor grow,
// and its pages are allocated before they are touched, by calls that may fail.
// So there can be no SIGBUS, even after the tracer has died. The area consists
// of chunks. A thread owns one chunk at a time, reserves space in it with one
// atomic addition, which a signal handler may interrupt, and marks the record as
// done when it is written. The tracer takes the records that are done and frees
// chunks that are full or whose owner has died. If no chunk is free, the record
// is dropped and counted. After fork(), a page that the kernel wipes in the
// child shows that the chunk belongs to the parent.
#ifndef TRACELET_MARK_H
#define TRACELET_MARK_H

enum { TL_PASSED = 0, TL_FAILED = 1, TL_SKIPPED = 77 }; // for tl_test_end(); other values are failures

enum { TL_MARK_LONGEST = 1000 };

// Up to "the client" follows the layout of the area, for both sides.

#ifdef __linux__

#include <stddef.h>
#include <stdint.h>

enum tl_mark_type {
	TL_MARK_SKIPPED, // space that was reserved by mistake
	TL_MARK_INSTANT,
	TL_MARK_SLICE_BEGIN,
	TL_MARK_SLICE_END,
	TL_MARK_COUNTER,
	TL_MARK_TEST_BEGIN,
	TL_MARK_TEST_END,
	TL_MARK_CHUNK_END, // nothing follows in this chunk
	TL_MARK_TYPE_COUNT
};

// The parts of a record's state: size, type and flags. 0 if not begun yet.
#define TL_MARK_SIZE(state) ((state)&0xffffu)
#define TL_MARK_TYPE(state) ((state) >> 16 & 0xffu)
#define TL_MARK_CUT         (1u << 24) // the text was longer
#define TL_MARK_ABOUT_ALL   (1u << 25) // about the whole test, not the thread
#define TL_MARK_DONE        (1u << 31)

struct tl_mark_record {
	uint32_t state;
	uint32_t text_size; // of the text after the record, without NUL
	uint64_t time;      // nanoseconds of CLOCK_BOOTTIME
	double value;       // of a counter, or the result of a test
};

enum {
	TL_MARK_CHUNK_SIZE = 8192,
	TL_MARK_CHUNK_ROOM = TL_MARK_CHUNK_SIZE - 16,
	TL_MARK_MOST_CHUNKS = 2048,
	TL_MARK_FIRST_CHUNK = 20480, // its offset in the area
};

struct tl_mark_chunk {
	uint64_t reserved; // low half: bytes of `records`; high half: a number that is new for each use
	uint64_t unused;
	unsigned char records[TL_MARK_CHUNK_ROOM];
};

#define TL_MARK_MAGIC "tracelet marks\n" // and its NUL: 16 bytes
enum { TL_MARK_VERSION = 1 };

// An owner is process << 32 | thread, as numbered in its own PID namespace.
#define TL_MARK_FOREIGN (1ull << 63) // flag: a PID namespace other than the tracer's
// Chunks without an owner; 0 is a free one.
#define TL_MARK_NEW      (1ull << 62) // without memory yet
#define TL_MARK_UNUSABLE (TL_MARK_NEW | 1)

struct tl_mark_area {
	char magic[16];
	uint64_t id; // also after the name in TRACELET_MARKS
	uint32_t version;
	uint32_t chunk_count; // fixed
	char pid_namespace[32];

	uint32_t recording; // 0 if not yet, or no longer
	uint32_t freed;     // incremented when the tracer frees chunks
	uint32_t unused[14];

	uint64_t lost;  // records dropped for lack of space
	uint32_t used;  // chunks in use, approximately
	uint32_t epoch; // uses of chunks so far
	uint32_t wake;  // a futex, incremented to wake the tracer
	uint32_t padding[11];

	uint64_t owners[TL_MARK_MOST_CHUNKS]; // new chunks come last
};

#endif // __linux__

// ---- the client ----

#if defined(__linux__) && !defined(TL_MARK_DISABLED) && !defined(TL_MARK_LAYOUT_ONLY)

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#ifdef O_CLOEXEC
#define TL_MARK_CLOEXEC O_CLOEXEC
#else
#define TL_MARK_CLOEXEC 02000000 // not defined in strict C99
#endif

#ifdef __cplusplus
extern "C" {
#endif

// One copy for all files of a program or library that include this header.
#define TL_MARK_SHARED __attribute__((weak, visibility("hidden")))

// So that a library that is loaded late does not allocate its variables in a signal handler.
#ifdef __GLIBC__
#define TL_MARK_THREAD __attribute__((weak, visibility("hidden"), tls_model("initial-exec"))) __thread
#else
#define TL_MARK_THREAD __attribute__((weak, visibility("hidden"))) __thread
#endif

// C library functions under other names, because strict C99 does not declare them.
struct tl_mark_timespec {
	long seconds, nanoseconds;
};
extern long tl_mark_syscall(long number, ...) __asm__("syscall");
extern unsigned long tl_mark_auxiliary(unsigned long type) __asm__("getauxval");
extern int tl_mark_clock(int clock, struct tl_mark_timespec *time) __asm__("clock_gettime");

// In a page that the kernel wipes in a child after fork().
struct tl_mark_life {
	uint64_t generation; // 0 before the first mark
	uint64_t process;    // its part of an owner
};

struct tl_mark_process {
	struct tl_mark_area *area; // NULL if not traced
	struct tl_mark_life *life;
	uint32_t chunk_count;
	int tried;
	int wipes; // the kernel supports wiping on fork
};

struct tl_mark_thread {
	struct tl_mark_chunk *chunk; // NULL if none
	uint64_t generation;         // of the process this thread belongs to
	uint64_t owner;
	uint32_t epoch;     // the chunk's number for this use
	uint32_t failed_at; // `freed` when no chunk was available, plus 1
};

TL_MARK_SHARED int tl_mark_off; // not traced
TL_MARK_SHARED struct tl_mark_process tl_mark_process;
TL_MARK_THREAD struct tl_mark_thread tl_mark_thread;

void tl_mark_attach(void) __attribute__((constructor(200)));
size_t tl_mark_name_length(const char *name);
void tl_mark_write(unsigned type, const char *text, double value);
int tl_mark_map(int fd, uint64_t id);
void tl_mark_enter(struct tl_mark_thread *thread);
struct tl_mark_chunk *tl_mark_find(struct tl_mark_thread *thread, struct tl_mark_area *area);
int tl_mark_claim(struct tl_mark_thread *thread, struct tl_mark_area *area);
struct tl_mark_record *tl_mark_reserve(struct tl_mark_thread *thread, struct tl_mark_area *area,
				       uint32_t size);

// Maps the area of an open descriptor. Returns 0 if it is not one.
TL_MARK_SHARED int tl_mark_map(int fd, uint64_t id) {
	enum {
		GET_SEALS = 1034,
		SEALED_SIZE = 2 | 4,
		END = 2,
		READ_WRITE = 1 | 2,
		SHARED = 1,
		PRIVATE_ANONYMOUS = 2 | 0x20,
		WIPE_ON_FORK = 18,
		DONT_DUMP = 16
	};
#ifdef SYS_mmap2
	const long map = SYS_mmap2;
#else
	const long map = SYS_mmap;
#endif
	struct tl_mark_process *process = &tl_mark_process;
	long seals = tl_mark_syscall(SYS_fcntl, fd, GET_SEALS, 0);
	long size = tl_mark_syscall(SYS_lseek, fd, 0, END);
	if (seals < 0 || (seals & SEALED_SIZE) != SEALED_SIZE || size < (long)TL_MARK_FIRST_CHUNK)
		return 0;
	long place = tl_mark_syscall(map, (long)0, size, (long)READ_WRITE, (long)SHARED, (long)fd, (long)0);
	if (place < 0 && place > -4096)
		return 0;
	struct tl_mark_area *area = (struct tl_mark_area *)(uintptr_t)place;
	uint32_t count = area->chunk_count;
	long life = tl_mark_syscall(map, (long)0, (long)4096, (long)READ_WRITE, (long)PRIVATE_ANONYMOUS,
				    (long)-1, (long)0);
	if (memcmp(area->magic, TL_MARK_MAGIC, sizeof(area->magic)) != 0 ||
	    area->version != TL_MARK_VERSION || area->id != id || count > TL_MARK_MOST_CHUNKS ||
	    size < (long)TL_MARK_FIRST_CHUNK + (long)count * (long)TL_MARK_CHUNK_SIZE ||
	    (life < 0 && life > -4096)) {
		tl_mark_syscall(SYS_munmap, place, size);
		return 0;
	}
	tl_mark_syscall(SYS_madvise, place, size, (long)DONT_DUMP);
	process->wipes = tl_mark_syscall(SYS_madvise, life, (long)4096, (long)WIPE_ON_FORK) == 0;
	process->life = (struct tl_mark_life *)(uintptr_t)life;
	process->chunk_count = count;
	__atomic_store_n(&process->area, area, __ATOMIC_RELEASE);
	return 1;
}

// The length of "/proc/PID/fd/NUMBER" before a colon; 0 if the name is another one: a descriptor of the
// tracer's or of its helper, and nothing else, is opened.
TL_MARK_SHARED size_t tl_mark_name_length(const char *name) {
	static const char *const parts[] = {"/proc/", "/fd/"};
	const char *at = name;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t digits;
		if (strncmp(at, parts[i], strlen(parts[i])) != 0)
			return 0;
		at += strlen(parts[i]);
		digits = strspn(at, "0123456789");
		if (!digits)
			return 0;
		at += digits;
	}
	return *at == ':' ? (size_t)(at - name) : 0;
}

// Runs before main(), while descriptors, namespaces and rights are still the initial ones.
TL_MARK_SHARED void tl_mark_attach(void) {
	enum { SECURE = 23, HERE = -100, MODE = O_RDWR | O_NOCTTY | O_NONBLOCK | TL_MARK_CLOEXEC };
	if (__atomic_exchange_n(&tl_mark_process.tried, 1, __ATOMIC_ACQ_REL))
		return;
	int error = errno, attached = 0;
	// With more rights than its caller, a program must not open what the caller names.
	const char *name = tl_mark_auxiliary(SECURE) ? NULL : getenv("TRACELET_MARKS");
	size_t length = name ? tl_mark_name_length(name) : 0;
	char path[64];
	if (length && length < sizeof(path)) {
		memcpy(path, name, length);
		path[length] = 0;
		long fd = tl_mark_syscall(SYS_openat, (long)HERE, path, (long)MODE, (long)0);
		if (fd >= 0) {
			attached = tl_mark_map((int)fd, strtoull(name + length + 1, NULL, 16));
			tl_mark_syscall(SYS_close, fd);
		}
	}
	tl_mark_off = !attached;
	errno = error;
}

// For the first mark of a thread, or of a child after fork().
TL_MARK_SHARED void tl_mark_enter(struct tl_mark_thread *thread) {
	enum { HERE = -100, BOOTTIME = 7 };
	struct tl_mark_life *life = tl_mark_process.life;
	uint64_t generation = __atomic_load_n(&life->generation, __ATOMIC_ACQUIRE);
	int error = errno;
	if (!generation) {
		char space[sizeof(tl_mark_process.area->pid_namespace)];
		memset(space, 0, sizeof(space));
		long size = tl_mark_syscall(SYS_readlinkat, (long)HERE, "/proc/self/ns/pid", space,
					    (long)sizeof(space) - 1);
		int ours = size > 0 && memcmp(space, tl_mark_process.area->pid_namespace, sizeof(space)) == 0;
		uint64_t process = (uint64_t)tl_mark_syscall(SYS_getpid) << 32 | (ours ? 0 : TL_MARK_FOREIGN);
		struct tl_mark_timespec now = {0, 0};
		tl_mark_clock(BOOTTIME, &now);
		generation = ((uint64_t)now.seconds * 1000000000u + (uint64_t)now.nanoseconds) | 1;
		// Threads that get here at the same time store the same value.
		__atomic_store_n(&life->process, process, __ATOMIC_RELAXED);
		uint64_t none = 0;
		if (tl_mark_process.wipes &&
		    !__atomic_compare_exchange_n(&life->generation, &none, generation, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			generation = none;
	}
	uint64_t owner = __atomic_load_n(&life->process, __ATOMIC_RELAXED) |
			 (uint64_t)tl_mark_syscall(SYS_gettid);
	if (tl_mark_process.wipes || owner != thread->owner) {
		thread->chunk = NULL;
		thread->failed_at = 0;
	}
	thread->owner = owner;
	thread->generation = generation;
	errno = error;
}

// Gives the thread a chunk: a free one, or else one that has never been used. The latter gets its memory
// here, by a call that fails where touching the memory would kill. Returns NULL if there is none.
TL_MARK_SHARED struct tl_mark_chunk *tl_mark_find(struct tl_mark_thread *thread, struct tl_mark_area *area) {
	enum { POPULATE_WRITE = 23 };
	unsigned char *first = (unsigned char *)area + TL_MARK_FIRST_CHUNK;
	for (uint32_t i = 0; i < tl_mark_process.chunk_count; i++) {
		uint64_t owner = __atomic_load_n(&area->owners[i], __ATOMIC_RELAXED);
		int is_new = owner == TL_MARK_NEW;
		if ((owner && !is_new) ||
		    !__atomic_compare_exchange_n(&area->owners[i], &owner, thread->owner, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		struct tl_mark_chunk *chunk =
			(struct tl_mark_chunk *)(void *)(first + (size_t)i * TL_MARK_CHUNK_SIZE);
		if (!is_new)
			return chunk;
		if (tl_mark_syscall(SYS_madvise, chunk, (long)TL_MARK_CHUNK_SIZE, (long)POPULATE_WRITE)) {
			__atomic_store_n(&area->owners[i], TL_MARK_UNUSABLE, __ATOMIC_RELEASE);
			return NULL;
		}
		uint64_t epoch = __atomic_add_fetch(&area->epoch, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&chunk->reserved, epoch << 32, __ATOMIC_RELEASE);
		return chunk;
	}
	return NULL;
}

// Returns 0 if there is no chunk.
TL_MARK_SHARED int tl_mark_claim(struct tl_mark_thread *thread, struct tl_mark_area *area) {
	enum { FUTEX_WAKE_SHARED = 1, MANY = 128, SOME = 16 };
	uint32_t freed = __atomic_load_n(&area->freed, __ATOMIC_ACQUIRE) + 1;
	if (thread->failed_at == freed)
		return 0; // nothing has changed since
	int error = errno;
	struct tl_mark_chunk *chunk = tl_mark_find(thread, area);
	uint32_t used = chunk ? __atomic_add_fetch(&area->used, 1, __ATOMIC_RELAXED) : (uint32_t)MANY;
	if (used >= MANY && used % SOME == 0) {
		__atomic_add_fetch(&area->wake, 1, __ATOMIC_RELEASE);
		tl_mark_syscall(SYS_futex, &area->wake, (long)FUTEX_WAKE_SHARED, (long)1, NULL, NULL,
				(long)0);
	}
	errno = error;
	thread->failed_at = chunk ? 0 : freed;
	if (!chunk)
		return 0;
	thread->epoch = (uint32_t)(__atomic_load_n(&chunk->reserved, __ATOMIC_ACQUIRE) >> 32);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->chunk = chunk;
	return 1;
}

// Space for a record of the thread, or NULL. The record's time is read after this, so a
// tracer that does not see the reservation has read an earlier time.
TL_MARK_SHARED struct tl_mark_record *tl_mark_reserve(struct tl_mark_thread *thread,
						      struct tl_mark_area *area, uint32_t size) {
	for (;;) {
		struct tl_mark_chunk *chunk = thread->chunk;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		uint32_t epoch = thread->epoch;
		if (!chunk) {
			if (!tl_mark_claim(thread, area))
				return NULL;
			continue;
		}
		uint64_t reserved = __atomic_fetch_add(&chunk->reserved, size, __ATOMIC_SEQ_CST);
		uint32_t offset = (uint32_t)reserved;
		uint32_t left = offset < TL_MARK_CHUNK_ROOM ? TL_MARK_CHUNK_ROOM - offset : 0;
		struct tl_mark_record *record = (struct tl_mark_record *)(void *)(chunk->records +
										  (left ? offset : 0));
		if (left >= size && reserved >> 32 == epoch)
			return record;
		// Full; or a signal handler came in between and filled it, and it has another owner by now.
		if (left >= size)
			__atomic_store_n(&record->state,
					 TL_MARK_DONE | (uint32_t)TL_MARK_SKIPPED << 16 | size,
					 __ATOMIC_RELEASE);
		else if (left)
			__atomic_store_n(&record->state,
					 TL_MARK_DONE | (uint32_t)TL_MARK_CHUNK_END << 16 | left,
					 __ATOMIC_RELEASE);
		if (thread->chunk == chunk)
			thread->chunk = NULL;
	}
}

TL_MARK_SHARED void tl_mark_write(unsigned type, const char *text, double value) {
	enum { BOOTTIME = 7 };
	struct tl_mark_area *area = __atomic_load_n(&tl_mark_process.area, __ATOMIC_ACQUIRE);
	if (!area) {
		tl_mark_attach(); // called by a constructor that runs before ours
		area = __atomic_load_n(&tl_mark_process.area, __ATOMIC_ACQUIRE);
	}
	if (!area || !__atomic_load_n(&area->recording, __ATOMIC_RELAXED))
		return;
	struct tl_mark_thread *thread = &tl_mark_thread;
	uint64_t generation = __atomic_load_n(&tl_mark_process.life->generation, __ATOMIC_RELAXED);
	if (!generation || thread->generation != generation)
		tl_mark_enter(thread);
	size_t length = text ? strlen(text) : 0;
	uint32_t flags = type << 16;
	if (length > TL_MARK_LONGEST) {
		flags |= TL_MARK_CUT;
		for (length = TL_MARK_LONGEST; length && ((unsigned char)text[length] & 0xc0) == 0x80;
		     length--)
			; // do not cut inside a character
	}
	uint32_t size = (uint32_t)(sizeof(struct tl_mark_record) + length + 7) & ~7u;
	struct tl_mark_record *record = tl_mark_reserve(thread, area, size);
	if (!record) {
		__atomic_add_fetch(&area->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_store_n(&record->state, flags | size,
			 __ATOMIC_RELAXED); // so that it can be skipped if we die here
	struct tl_mark_timespec now = {0, 0};
	tl_mark_clock(BOOTTIME, &now);
	record->time = (uint64_t)now.seconds * 1000000000u + (uint64_t)now.nanoseconds;
	record->text_size = (uint32_t)length;
	record->value = value;
	if (length)
		memcpy(record + 1, text, length);
	__atomic_store_n(&record->state, TL_MARK_DONE | flags | size, __ATOMIC_RELEASE);
}

#define TL_MARK_CALL(type, text, value)                                                                      \
	do {                                                                                                 \
		if (__builtin_expect(!tl_mark_off, 0))                                                       \
			tl_mark_write(type, text, value);                                                    \
	} while (0)

#ifdef __cplusplus
}
#endif

#else // not Linux, or disabled

#define TL_MARK_CALL(type, text, value)                                                                      \
	do {                                                                                                 \
		(void)(text);                                                                                \
		(void)(value);                                                                               \
	} while (0)

#endif

#ifndef TL_MARK_LAYOUT_ONLY

// A point in time on this thread's track.
static inline void tl_mark(const char *text) {
	TL_MARK_CALL(TL_MARK_INSTANT, text, 0);
}

// A bar on this thread's track. Bars nest.
static inline void tl_slice_begin(const char *name) {
	TL_MARK_CALL(TL_MARK_SLICE_BEGIN, name, 0);
}

static inline void tl_slice_end(void) {
	TL_MARK_CALL(TL_MARK_SLICE_END, (const char *)0, 0);
}

// Sets the value of `name` in this process from now on.
static inline void tl_counter(const char *name, double value) {
	TL_MARK_CALL(TL_MARK_COUNTER, name, value);
}

// Begins and ends a test case on this thread. The end also ends slices that a failed
// case left open.
static inline void tl_test_begin(const char *name) {
	TL_MARK_CALL(TL_MARK_TEST_BEGIN, name, 0);
}

static inline void tl_test_end(int result) {
	TL_MARK_CALL(TL_MARK_TEST_END, (const char *)0, result);
}

#endif // TL_MARK_LAYOUT_ONLY

#endif // TRACELET_MARK_H
