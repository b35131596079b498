// Everything at once, for a while: threads that resize and free each other's blocks, libraries that
// are loaded and unloaded, signals, children that continue with what they inherit, and programs
// that they exec. Each process counts what work() has allocated, and writes it to FOLDER/PID: total
// blocks and bytes, and what is left of them.
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

enum { THREADS = 4, SLOTS = 2000, TURNS = 30000, CHILDREN = 24, CHILD_TURNS = 3000 };

struct block {
	uint64_t size;
	uint32_t owner; // the process: inherited blocks are not counted
};

static _Atomic(struct block *) slots[SLOTS];
static atomic_uint_fast64_t blocks, bytes, left_blocks, left_bytes;
static atomic_bool over;
static uint32_t self;
static const char *folder, *plugins;

static uint64_t next_number(uint64_t *seed) {
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 24;
}

static void count(struct block *block, uint64_t size) {
	*block = (struct block){size, self};
	blocks++;
	bytes += size;
	left_blocks++;
	left_bytes += size;
}

static void count_off(const struct block *block) {
	if (!block || block->owner != self)
		return;
	left_blocks--;
	left_bytes -= block->size;
}

APART static struct block *work(struct block *old, uint64_t size, uint64_t way) {
	void *block = NULL;
	count_off(old);
	if (old && way % 2)
		return realloc(old, size);
	free(old);
	switch (way / 2 % 6) {
	case 0:
		return calloc(1, size);
	case 1:
		return aligned_alloc(64, size);
	case 2:
		return reallocarray(NULL, 1, size);
	case 3:
		return posix_memalign(&block, 32, size) ? NULL : block;
	default:
		return malloc(size);
	}
}

static void turns(uint64_t seed, int times) {
	for (int i = 0; i < times; i++) {
		uint64_t number = next_number(&seed), size = sizeof(struct block) + number / SLOTS % 900;
		size = number % 1000 == 7 ? size << 10 : size; // some get their own mappings
		_Atomic(struct block *) *slot = &slots[number % SLOTS];
		struct block *block = work(atomic_exchange(slot, NULL), size, next_number(&seed));
		if (!block)
			_exit(3);
		count(block, size);
		block = atomic_exchange(slot, block);
		count_off(block);
		free(block); // another thread's, stored in between
	}
}

static void report(void) {
	char path[4096];
	snprintf(path, sizeof(path), "%s/%d", folder, (int)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || dprintf(fd, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", blocks, bytes,
			      left_blocks, left_bytes) < 0)
		_exit(4);
	close(fd);
}

static void *in_thread(void *number) {
	turns((uint64_t)number, TURNS);
	return NULL;
}

static void *with_libraries(void *unused) {
	static const char *const names[] = {"give_first", "give_second"};
	for (int i = 0; !over; i++) {
		char path[4096];
		void *(*give)(size_t) = NULL;
		snprintf(path, sizeof(path), "%s/libheap_%s.so", plugins, names[i % 2]);
		void *library = dlopen(path, RTLD_NOW);
		if (!library)
			_exit(5);
		*(void **)&give = dlsym(library, names[i % 2]);
		free(give(64));
		dlclose(library);
	}
	return unused;
}

static void on_alarm(int signal) {
	(void)signal;
}

static void in_child(int number) {
	self = (uint32_t)getpid();
	blocks = bytes = left_blocks = left_bytes = 0;
	turns((uint64_t)number << 32, CHILD_TURNS);
	if (number % 2)
		execl("/proc/self/exe", "heap_stress", folder, plugins, "again", NULL);
	report();
	_exit(0);
}

int main(int argc, char **argv) {
	struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	pthread_t threads[THREADS], loader;
	int failed = 0, status;
	if (argc < 3)
		return 2;
	folder = argv[1];
	plugins = argv[2];
	self = (uint32_t)getpid();
	if (argc > 3) {
		turns(self, CHILD_TURNS);
		report();
		return 0;
	}
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm, .sa_flags = SA_RESTART}, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	pthread_create(&loader, NULL, with_libraries, NULL);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, in_thread, (void *)(i + 1));
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();
		if (child == 0)
			in_child(i + 1);
		failed |= child < 0 || waitpid(child, &status, 0) != child || status;
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	over = true;
	pthread_join(loader, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	report();
	return failed;
}
