// Causes a known number of kernel events of one kind: `sources KIND COUNT`. Prints what a test
// needs to tell them from events of the program's own start and end.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, CANNOT = 77 };

static void need(int good, const char *what) {
	if (good)
		return;
	perror(what);
	exit(CANNOT);
}

static volatile char sink;

// Each page of fresh memory is one minor fault.
static void faults(int count) {
	size_t size = (size_t)count * PAGE;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(memory != MAP_FAILED, "mmap");
	madvise(memory, size, MADV_NOHUGEPAGE);
	for (int i = 0; i < count; i++)
		memory[(size_t)i * PAGE] = 1;
	printf("%p %p\n", (void *)memory, (void *)(memory + size));
}

// Each page of an uncached file is one major fault, unless the file system keeps it in memory.
static void major(int count) {
	size_t size = (size_t)count * PAGE;
	char *bytes = calloc(1, size), name[] = "faults.XXXXXX";
	int fd = mkstemp(name);
	need(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && fsync(fd) == 0, name);
	unlink(name);
	need(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0, "fadvise");
	char *memory = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	need(memory != MAP_FAILED, "mmap");
	madvise(memory, size, MADV_RANDOM);
	struct rusage before, after;
	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < count; i++)
		sink = memory[(size_t)i * PAGE];
	getrusage(RUSAGE_SELF, &after);
	printf("%p %p %ld\n", (void *)memory, (void *)(memory + size), after.ru_majflt - before.ru_majflt);
	free(bytes);
}

// With a size that no other code uses.
static void memory_calls(int count) {
	size_t size = (size_t)123 * PAGE;
	for (int i = 0; i < count; i++) {
		void *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		need(memory != MAP_FAILED, "mmap");
		need(mprotect(memory, size, PROT_READ) == 0 && munmap(memory, size) == 0, "mprotect");
	}
	printf("%zu\n", size);
}

static void calls(int count) {
	for (int i = 0; i < count; i++)
		syscall(SYS_getppid);
}

// Direct writes to the file "disk", in place: each is one disk request.
static void writes(int count) {
	char *bytes = NULL;
	need(posix_memalign((void **)&bytes, PAGE, PAGE) == 0, "memory");
	memset(bytes, 1, PAGE);
	int fd = open("disk", O_WRONLY | O_DIRECT);
	need(fd >= 0, "O_DIRECT");
	for (int i = 0; i < count; i++)
		need(pwrite(fd, bytes, PAGE, (off_t)i * PAGE) == PAGE, "pwrite");
}

static atomic_int spinning;
static atomic_ulong rounds; // of the spinning thread
static pid_t spinner;

static void pin(int cpu) {
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void be_urgent(int priority) {
	need(pthread_setschedparam(pthread_self(), SCHED_FIFO, &(struct sched_param){priority}) == 0,
	     "SCHED_FIFO");
}

// With priority over others, so that it is on its CPU at any time.
static void *spin(void *unused) {
	pin(1);
	be_urgent(1);
	spinner = gettid();
	spinning = 1;
	while (spinning)
		rounds++;
	return unused;
}

static pthread_t begin_to_spin(void) {
	pthread_t thread;
	need(sysconf(_SC_NPROCESSORS_ONLN) > 1, "one CPU only");
	need(pthread_create(&thread, NULL, spin, NULL) == 0, "thread");
	while (!spinning)
		;
	return thread;
}

static void end_spinning(pthread_t thread) {
	spinning = 0;
	pthread_join(thread, NULL);
}

// The timers fire while a thread of this program is on the CPU: some kernels hide events from
// programs like ours while certain other processes run.
static void timers(int count) {
	pthread_t thread = begin_to_spin();
	be_urgent(2); // before moving to the CPU where another thread spins
	pin(1);
	for (int i = 0; i < count; i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){0, 1000000}, NULL);
	end_spinning(thread);
}

// The file "spins": shared by `sources spin`, a separate process that is not traced, and
// distant_timers().
static atomic_int *shared_word(void) {
	int fd = open("spins", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	need(fd >= 0 && ftruncate(fd, PAGE) == 0, "spins");
	atomic_int *word = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(word != MAP_FAILED, "mmap");
	return word;
}

enum { ASKED = 1, SPINNING, DONE };

// For less than a second: after that the kernel would let others run, too.
static void spin_for_others(int unused) {
	atomic_int *word = shared_word();
	struct timespec begin, now;
	pin(1);
	be_urgent(1);
	while (*word != ASKED)
		usleep(1000);
	*word = SPINNING;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (*word == SPINNING &&
	       (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 800);
}

// From now on that process has the CPU whenever this one does not need it.
static atomic_int *begin_beside(void) {
	atomic_int *word = shared_word();
	need(sysconf(_SC_NPROCESSORS_ONLN) > 1, "one CPU only");
	*word = ASKED;
	while (*word != SPINNING)
		sched_yield();
	be_urgent(2); // before moving there
	pin(1);
	return word;
}

// The timers fire while a process outside this test is on the CPU.
static void distant_timers(int count) {
	atomic_int *word = begin_beside();
	for (int i = 0; i < count; i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){0, 1000000}, NULL);
	*word = DONE;
}

// A kernel worker moves what is written to a terminal to its other side. Polling an empty side
// waits for the worker, so each byte is one work item that begins and ends before the next.
static void work(int count) {
	int master, slave;
	char byte;
	need(openpty(&master, &slave, NULL, NULL, NULL) == 0, "openpty");
	for (int i = 0; i < count; i++) {
		need(write(master, "\n", 1) == 1 && read(slave, &byte, 1) == 1, "terminal");
		need(poll(&(struct pollfd){.fd = slave, .events = POLLIN}, 1, 0) == 0, "poll");
	}
}

// How often the spinning thread has switched to a CPU, read while it is on one.
static unsigned long spinner_arrivals(void) {
	char path[64];
	unsigned long long ran, waited;
	unsigned long arrivals = 0, begun = rounds;
	while (rounds == begun)
		;
	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)spinner);
	FILE *file = fopen(path, "re");
	need(file && fscanf(file, "%llu %llu %lu", &ran, &waited, &arrivals) == 3, path);
	fclose(file);
	return arrivals;
}

// A barrier interrupts the other CPU that runs this program: certainly if its thread did not leave
// that CPU in between. Prints the total number of barriers until `count` of them were certain.
static void interrupts(int count) {
	int barriers = 0;
	pin(0);
	need(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0, "membarrier");
	pthread_t thread = begin_to_spin();
	for (int certain = 0; certain < count; barriers++) {
		unsigned long before = spinner_arrivals();
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
		certain += spinner_arrivals() == before;
	}
	end_spinning(thread);
	printf("%d\n", barriers);
}

static void *move(void *number) {
	printf("%ld\n", syscall(SYS_gettid));
	for (int i = 0; i < *(int *)number; i++)
		pin(1 - i % 2);
	return NULL;
}

// Moves a thread that starts on the first CPU to the other one, and back.
static void migrations(int count) {
	pthread_t thread;
	need(sysconf(_SC_NPROCESSORS_ONLN) > 1, "one CPU only");
	pin(0);
	need(pthread_create(&thread, NULL, move, &count) == 0, "thread");
	pthread_join(thread, NULL);
}

static pthread_mutex_t inherited;
static pthread_barrier_t met;

static void *hold(void *number) {
	pin(0);
	be_urgent(1);
	for (int i = 0; i < *(int *)number; i++) {
		pthread_mutex_lock(&inherited);
		pthread_barrier_wait(&met);
		// Until the other thread waits: from then on this thread has its priority.
		while ((__atomic_load_n(&inherited.__data.__lock, __ATOMIC_SEQ_CST) & FUTEX_WAITERS) == 0)
			;
		pthread_mutex_unlock(&inherited);
		pthread_barrier_wait(&met);
	}
	return NULL;
}

// Each time a thread waits for a priority-inheriting lock, the holder gets its priority, and loses
// it again.
static void priorities(int count) {
	pthread_t thread;
	pthread_mutexattr_t attributes;
	need(sysconf(_SC_NPROCESSORS_ONLN) > 1, "one CPU only");
	pthread_mutexattr_init(&attributes);
	need(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) == 0, "PRIO_INHERIT");
	pthread_mutex_init(&inherited, &attributes);
	pthread_barrier_init(&met, NULL, 2);
	pin(1);
	be_urgent(2);
	pthread_create(&thread, NULL, hold, &count);
	for (int i = 0; i < count; i++) {
		pthread_barrier_wait(&met);
		pthread_mutex_lock(&inherited);
		pthread_mutex_unlock(&inherited);
		pthread_barrier_wait(&met);
	}
	pthread_join(thread, NULL);
}

static void wakes(int count) {
	static int nobody;
	for (int i = 0; i < count; i++)
		syscall(SYS_futex, &nobody, FUTEX_WAKE, 4711 + i, NULL, NULL, 0);
}

// Each allocates a block of the kernel's heap, from the same line of the kernel.
static void blocks(int count) {
	for (int i = 0; i < count; i++) {
		int fd = eventfd(0, 0);
		need(fd >= 0, "eventfd");
		close(fd);
	}
}

static void packets(int count) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(address);
	char bytes[1000] = {0};
	int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);
	need(bind(receiver, (void *)&address, size) == 0 &&
		     getsockname(receiver, (void *)&address, &size) == 0,
	     "bind");
	for (int i = 0; i < count; i++)
		need(sendto(sender, bytes, sizeof(bytes), 0, (void *)&address, size) == sizeof(bytes) &&
			     read(receiver, bytes, sizeof(bytes)) == sizeof(bytes),
		     "sendto");
}

static void connections(int count) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	need(bind(listener, (void *)&address, size) == 0 && listen(listener, 8) == 0 &&
		     getsockname(listener, (void *)&address, &size) == 0,
	     "listen");
	for (int i = 0; i < count; i++) {
		int client = socket(AF_INET, SOCK_STREAM, 0);
		need(connect(client, (void *)&address, size) == 0, "connect");
		int server = accept(listener, NULL, NULL);
		close(client);
		close(server);
	}
	printf("%d\n", ntohs(address.sin_port));
}

static volatile sig_atomic_t received;

static void receive(int number) {
	received++;
}

// A signal to itself is delivered before kill() returns.
static void signals(int count) {
	signal(SIGUSR1, receive);
	for (int i = 0; i < count; i++)
		kill(getpid(), SIGUSR1);
	need(received == count, "signals");
	printf("%d\n", (int)getpid());
}

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		void (*cause)(int count);
	} kinds[] = {{"faults", faults},           {"major", major},
		     {"memory", memory_calls},     {"calls", calls},
		     {"writes", writes},           {"timers", timers},
		     {"distant", distant_timers},  {"migrations", migrations},
		     {"priorities", priorities},   {"wakes", wakes},
		     {"blocks", blocks},           {"work", work},
		     {"ipis", interrupts},         {"packets", packets},
		     {"connections", connections}, {"signals", signals},
		     {"spin", spin_for_others}};
	if (argc >= 3 && strcmp(argv[1], "beside") == 0) { // `sources beside PROGRAM ...`
		begin_beside();
		execv(argv[2], argv + 2);
	}
	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, argv[1]) == 0) {
			kinds[i].cause(atoi(argv[2]));
			return 0;
		}
	return 2;
}
