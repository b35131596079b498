// Exactly known allocations, one kind for each word of the command line.
#include "heap_ways.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

APART static void empty(void) {
	take(give(0));
}

// 77 bytes, resized to nothing.
APART static void to_nothing(void) {
	kept = realloc(give(77), 0);
}

// 50 bytes that cannot grow, and 32 blocks of 100 bytes, each after a size that no allocator
// accepts.
APART static void *one_too_large(int way, size_t size, void *old) {
	void *block = NULL;
	switch (way) {
	case 0:
		return malloc(size);
	case 1:
		return calloc(1, size);
	case 2:
		return reallocarray(NULL, size, 3);
	case 3:
		return realloc(old, size);
	case 4:
		return realloc(NULL, size);
	case 5:
		return memalign(64, size);
	case 6:
		return valloc(size);
	default:
		return posix_memalign(&block, 64, size) ? NULL : block;
	}
}

APART static void too_large(void) {
	static const size_t sizes[] = {(size_t)1 << 63, SIZE_MAX, SIZE_MAX / 2, ((size_t)1 << 63) + 4096};
	void *old = give(50);
	for (int way = 0; way < 8; way++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			if (one_too_large(way, sizes[i], old))
				exit(3);
			take(give(100));
		}
	take(old);
}

// 200,000 blocks that grow from 64 to 128 bytes and are freed.
APART static void grown(void) {
	static void *blocks[1000];
	for (int turn = 0; turn < 200; turn++) {
		for (int i = 0; i < 1000; i++)
			blocks[i] = give(64);
		for (int i = 0; i < 1000; i++)
			blocks[i] = realloc(blocks[i], 128);
		for (int i = 0; i < 1000; i++)
			take(blocks[i]);
	}
}

// Writes all of each block, including what malloc_usable_size() allows.
APART static void to_the_brim(void) {
	for (size_t size = 1; size < 300; size++) {
		char *block = give(size);
		memset(block, 1, malloc_usable_size(block));
		block = realloc(block, size + 100);
		memset(block, 2, malloc_usable_size(block));
		take(block);
	}
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

// 4 threads with 10,000 blocks of 48 bytes each, freed by the next thread.
static void *handed[4][10000];
static pthread_barrier_t together;

APART static void *in_thread(void *number) {
	size_t self = (size_t)number;
	for (int i = 0; i < 10000; i++)
		handed[self][i] = give(48);
	pthread_barrier_wait(&together);
	for (int i = 0; i < 10000; i++)
		take(handed[(self + 1) % 4][i]);
	return NULL;
}

APART static void threads(void) {
	pthread_t running[4];
	pthread_barrier_init(&together, NULL, 4);
	for (size_t i = 0; i < 4; i++)
		pthread_create(&running[i], NULL, in_thread, (void *)i);
	for (size_t i = 0; i < 4; i++)
		pthread_join(running[i], NULL);
}

// Children's allocations are their own: 5 blocks of 100 bytes are ours.
APART static void forks(void) {
	for (int i = 0; i < 5; i++) {
		void *block = give(100);
		pid_t child = i == 4 ? (pid_t)syscall(SYS_fork) : fork();
		if (child == 0) {
			take(block);
			for (int k = 0; k < 1000; k++)
				take(give(1 << 10));
			_exit(0);
		}
		waitpid(child, NULL, 0);
		take(block);
	}
}

// Interrupted anywhere: 100,000 blocks of 20 bytes.
static volatile sig_atomic_t interruptions;

APART static void on_alarm(int signal) {
	interruptions++;
}

APART static void signals(void) {
	struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 100000; i++)
		take(give(20));
	setitimer(ITIMER_REAL, &never, NULL);
}

// In a handler on its own stack: 300 bytes.
APART static void on_signal(int signal) {
	take(give(300));
}

APART static void other_stack(void) {
	static char stack[1 << 16];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
}

// 2000 deep: 50 bytes at the bottom, 100 times.
APART static void deeper(int depth) {
	if (depth)
		deeper(depth - 1);
	else
		take(give(50));
	kept = NULL; // no tail call
}

APART static void deep(void) {
	for (int i = 0; i < 100; i++)
		deeper(i % 2 ? 2000 : 100);
}

// In destructors of thread-local data, and before main: 111 and 222 bytes.
static pthread_key_t key;

static void at_thread_end(void *rounds) {
	take(give(111));
	if ((size_t)rounds > 1)
		pthread_setspecific(key, (void *)((size_t)rounds - 1));
}

static void *with_destructor(void *nothing) {
	pthread_setspecific(key, (void *)4);
	return nothing;
}

APART static void destructors(void) {
	pthread_t thread;
	pthread_key_create(&key, at_thread_end);
	for (int i = 0; i < 20; i++) {
		pthread_create(&thread, NULL, with_destructor, NULL);
		pthread_join(thread, NULL);
	}
}

__attribute__((constructor)) static void before_main(void) {
	if (getenv("HEAP_BEFORE_MAIN"))
		take(give(222));
}

APART static void killed(void) {
	kept = give(4321);
	raise(SIGKILL);
}

// A first peak of 1000 bytes from here, a larger one from elsewhere, and a last one from here.
APART static void peaks(void) {
	static const size_t sizes[] = {1000, 400, 1200};
	for (int step = 0; step < 3; step++) {
		void *others[3] = {NULL};
		for (int i = 0; i < 3 && step == 1; i++)
			others[i] = malloc(500);
		take(give(sizes[step]));
		for (int i = 0; i < 3; i++)
			take(others[i]);
	}
}

// 400,000 blocks of 80 bytes; every other one stays.
APART static void samples(void) {
	static void *blocks[400000];
	for (int i = 0; i < 400000; i++)
		blocks[i] = give(80);
	for (int i = 0; i < 400000; i += 2)
		take(blocks[i]);
}

// Two libraries, loaded in turn, most likely at the same address: 50 blocks of 64 bytes from one,
// of 65 from the other.
APART static void plugins(void) {
#ifndef HEAP_STATIC
	static const char *const names[] = {"give_first", "give_second"};
	const char *folder = getenv("HEAP_PLUGINS");
	for (int i = 0; i < 100; i++) {
		char path[4096];
		void *(*give_it)(size_t) = NULL;
		snprintf(path, sizeof(path), "%s/libheap_%s.so", folder ? folder : ".", names[i % 2]);
		void *library = dlopen(path, RTLD_NOW);
		if (!library)
			exit(3);
		*(void **)&give_it = dlsym(library, names[i % 2]);
		take(give_it(64 + (size_t)(i % 2)));
		dlclose(library);
	}
#endif
}

// Random operations in threads that count for themselves and print: total blocks and bytes, and
// what is left of them.
struct tally {
	uint64_t seed, blocks, bytes, left_blocks, left_bytes;
};

APART static void *one_of_all(struct tally *tally, void *old, size_t size, uint64_t way) {
	void *block = old;
	if (old && way % 4 == 0)
		return realloc(old, size);
	free(old);
	switch (way % 7) {
	case 0:
		return calloc(1, size);
	case 1:
		return aligned_alloc(64, size);
	case 2:
		return reallocarray(NULL, 1, size);
	case 3:
		return posix_memalign(&block, 32, size) ? NULL : block;
	case 4:
		return memalign(16, size);
	default:
		return malloc(size);
	}
}

APART static void *random_work(void *context) {
	enum { SLOTS = 500, TURNS = 20000 };
	struct tally *tally = context;
	void *blocks[SLOTS] = {NULL};
	size_t sizes[SLOTS] = {0};
	for (int i = 0; i < TURNS; i++) {
		tally->seed = tally->seed * 6364136223846793005u + 1442695040888963407u;
		uint64_t way = tally->seed >> 33, slot = way % SLOTS;
		sizes[slot] = 1 + (tally->seed >> 20) % 700;
		kept = blocks[slot] = one_of_all(tally, blocks[slot], sizes[slot], way / SLOTS);
		tally->blocks++;
		tally->bytes += sizes[slot];
	}
	for (int i = 0; i < SLOTS; i++)
		if (blocks[i] && i % 3 == 0)
			take(blocks[i]);
		else if (blocks[i]) {
			tally->left_blocks++;
			tally->left_bytes += sizes[i];
		}
	return NULL;
}

APART static void random_ways(void) {
	struct tally tallies[4] = {{.seed = 1}, {.seed = 2}, {.seed = 3}, {.seed = 4}}, sum = {0};
	pthread_t running[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&running[i], NULL, random_work, &tallies[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(running[i], NULL);
		sum.blocks += tallies[i].blocks;
		sum.bytes += tallies[i].bytes;
		sum.left_blocks += tallies[i].left_blocks;
		sum.left_bytes += tallies[i].left_bytes;
	}
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sum.blocks, sum.bytes, sum.left_blocks,
	       sum.left_bytes);
}

// A thread that continues after the first one has ended: 10 blocks of 41 bytes.
APART static void *outlives(void *unused) {
	char state = 0, text[256];
	while (state != 'Z') { // the first thread's
		FILE *file = fopen("/proc/self/stat", "r");
		if (file && fgets(text, sizeof(text), file) && strrchr(text, ')'))
			state = strrchr(text, ')')[2];
		if (file)
			fclose(file);
	}
	for (int i = 0; i < 10; i++)
		take(give(41));
	return unused;
}

APART static void outlived(void) {
	pthread_t thread;
	pthread_create(&thread, NULL, outlives, NULL);
	pthread_exit(NULL);
}

static void nothing(void) {
}

// What libc allocates for itself and keeps.
APART static void of_libc(void) {
	setlocale(LC_ALL, "");
	printf("a buffer\n");
	time_t now = time(NULL);
	localtime(&now);
	for (int i = 0; i < 100; i++)
		atexit(nothing);
	threads();
}

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {{"plain", plain},
		    {"resized", resized},
		    {"all-ways", all_ways},
		    {"threads", threads},
		    {"forks", forks},
		    {"signals", signals},
		    {"killed", killed},
		    {"other-stack", other_stack},
		    {"deep", deep},
		    {"peaks", peaks},
		    {"destructors", destructors},
		    {"empty", empty},
		    {"to-nothing", to_nothing},
		    {"too-large", too_large},
		    {"grown", grown},
		    {"to-the-brim", to_the_brim},
		    {"samples", samples},
		    {"plugins", plugins},
		    {"random", random_ways},
		    {"outlived", outlived},
		    {"of-libc", of_libc}};
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "exec") == 0) {
			take(give(999));
			execv("/proc/self/exe", argv + i);
		}
		for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++)
			if (strcmp(argv[i], ways[k].name) == 0)
				ways[k].run();
	}
	return 0;
}
