// Small programs that take 300 ms for one known reason each; test_why_locks.sh and test_why_causes.sh know
// the answers. The functions that are to be named call the C library themselves.
#include "known_cause.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct timespec a_while = {.tv_nsec = 300 * 1000 * 1000};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t started;
static sem_t semaphore;
static bool done;
static int ends[2];

// ---- locks ----

FUNCTION void hold_mutex(void) {
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&started);
	nanosleep(&a_while, NULL);
	pthread_mutex_unlock(&mutex);
}

FUNCTION void take_mutex(void) {
	pthread_barrier_wait(&started);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

FUNCTION void hold_rwlock(void) {
	pthread_rwlock_wrlock(&rwlock);
	pthread_barrier_wait(&started);
	nanosleep(&a_while, NULL);
	pthread_rwlock_unlock(&rwlock);
}

FUNCTION void take_rwlock(void) {
	pthread_barrier_wait(&started);
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

FUNCTION void signal_condition(void) {
	pthread_barrier_wait(&started);
	nanosleep(&a_while, NULL);
	pthread_mutex_lock(&mutex);
	done = true;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
}

FUNCTION void await_condition(void) {
	pthread_barrier_wait(&started);
	pthread_mutex_lock(&mutex);
	while (!done)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
}

FUNCTION void post(void) {
	pthread_barrier_wait(&started);
	nanosleep(&a_while, NULL);
	sem_post(&semaphore);
}

FUNCTION void take_semaphore(void) {
	pthread_barrier_wait(&started);
	while (sem_wait(&semaphore))
		;
}

FUNCTION void finish_late(void) {
	pthread_barrier_wait(&started);
	nanosleep(&a_while, NULL);
}

static void (*holder_does)(void);

static void *holder(void *unused) {
	named("holder");
	holder_does();
	return NULL;
}

static void with_holder(void (*holds)(void), void (*takes)(void)) {
	holder_does = holds;
	pthread_barrier_init(&started, NULL, 2);
	pthread_t thread = start(holder);
	takes();
	pthread_join(thread, NULL);
}

static void cause_mutex(void) {
	with_holder(hold_mutex, take_mutex);
}

static void cause_rwlock(void) {
	with_holder(hold_rwlock, take_rwlock);
}

static void cause_condition(void) {
	with_holder(signal_condition, await_condition);
}

static void cause_semaphore(void) {
	sem_init(&semaphore, 0, 0);
	with_holder(post, take_semaphore);
}

FUNCTION void join_it(void) {
	holder_does = finish_late;
	pthread_barrier_init(&started, NULL, 2);
	pthread_t thread = start(holder);
	pthread_barrier_wait(&started);
	pthread_join(thread, NULL);
}

static void cause_join(void) {
	join_it();
}

// The thread that holds the lock has the lowest priority and works.
FUNCTION void hold_and_work(void) {
	setpriority(PRIO_PROCESS, (id_t)gettid(), 19);
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&started);
	WORK(a_while.tv_nsec);
	pthread_mutex_unlock(&mutex);
}

static void cause_inversion(void) {
	with_holder(hold_and_work, take_mutex);
}

// ---- processes ----

FUNCTION void reap(pid_t child) {
	int status;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
}

FUNCTION void take_long(void) {
	nanosleep(&a_while, NULL);
}

static void cause_child(void) {
	pid_t child = fork();
	if (!child) {
		named("child");
		take_long();
		_exit(0);
	}
	reap(child);
}

FUNCTION void spawn(void) {
	pid_t child = vfork();
	if (!child) {
		syscall(SYS_nanosleep, &a_while, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void cause_vfork(void) {
	spawn();
}

FUNCTION void read_answer(int fd) {
	char byte;
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
}

FUNCTION void answer_late(int fd) {
	nanosleep(&a_while, NULL);
	must(write(fd, "x", 1) == 1);
}

static void with_peer_by(void (*wait_for)(int fd), int mine, int theirs) {
	pid_t child = fork();
	if (!child) {
		named("peer");
		answer_late(theirs);
		_exit(0);
	}
	wait_for(mine);
	waitpid(child, NULL, 0);
}

static void with_peer(int mine, int theirs) {
	with_peer_by(read_answer, mine, theirs);
}

static void cause_pipe(void) {
	must(!pipe(ends));
	with_peer(ends[0], ends[1]);
}

static void cause_unix(void) {
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	with_peer(ends[0], ends[1]);
}

static int bound(int type, struct sockaddr_in *address) {
	int fd = socket(AF_INET, type, 0);
	socklen_t size = sizeof(*address);
	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	must(fd >= 0 && !bind(fd, (struct sockaddr *)address, size) &&
	     !getsockname(fd, (struct sockaddr *)address, &size));
	return fd;
}

static void cause_tcp(void) {
	struct sockaddr_in address;
	int listener = bound(SOCK_STREAM, &address), peer = socket(AF_INET, SOCK_STREAM, 0);
	must(!listen(listener, 1) && !connect(peer, (struct sockaddr *)&address, sizeof(address)));
	with_peer(accept(listener, NULL, NULL), peer);
}

static void cause_udp(void) {
	struct sockaddr_in address;
	int mine = bound(SOCK_DGRAM, &address), peer = socket(AF_INET, SOCK_DGRAM, 0);
	must(!connect(peer, (struct sockaddr *)&address, sizeof(address)));
	with_peer(mine, peer);
}

FUNCTION void await_event(int epoll) {
	struct epoll_event event;
	while (epoll_wait(epoll, &event, 1, -1) < 0 && errno == EINTR)
		;
}

FUNCTION void await_answer(int fd) {
	int epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};
	must(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	while (epoll_wait(epoll, &event, 1, -1) < 0 && errno == EINTR)
		;
}

FUNCTION void select_answer(int fd) {
	fd_set set;
	do {
		FD_ZERO(&set);
		FD_SET(fd, &set);
	} while (select(fd + 1, &set, NULL, NULL, NULL) < 0 && errno == EINTR);
}

static void cause_epoll_pipe(void) {
	must(!pipe(ends));
	with_peer_by(await_answer, ends[0], ends[1]);
}

static void cause_select_unix(void) {
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	with_peer_by(select_answer, ends[0], ends[1]);
}

FUNCTION void raise_event(void) {
	pthread_barrier_wait(&started);
	nanosleep(&a_while, NULL);
	must(eventfd_write(ends[0], 1) == 0);
}

static void cause_epoll(void) {
	int epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};
	ends[0] = eventfd(0, 0);
	must(!epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event));
	holder_does = raise_event;
	pthread_barrier_init(&started, NULL, 2);
	pthread_t thread = start(holder);
	pthread_barrier_wait(&started);
	await_event(epoll);
	pthread_join(thread, NULL);
}

FUNCTION void read_event(void) {
	eventfd_t value;
	pthread_barrier_wait(&started);
	must(eventfd_read(ends[0], &value) == 0);
}

static void cause_eventfd(void) {
	ends[0] = eventfd(0, 0);
	with_holder(raise_event, read_event);
}

FUNCTION void send_signal(void) {
	pthread_barrier_wait(&started);
	nanosleep(&a_while, NULL);
	kill(getpid(), SIGUSR1);
}

FUNCTION void await_signal(void) {
	sigset_t set;
	int number;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_barrier_wait(&started);
	sigwait(&set, &number);
}

static void cause_signal(void) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	with_holder(send_signal, await_signal);
}

// ---- time ----

FUNCTION void pause_a_while(void) {
	nanosleep(&a_while, NULL);
}

static void cause_sleep(void) {
	pause_a_while();
}

FUNCTION void poll_in_vain(void) {
	must(!pipe(ends));
	struct pollfd fd = {.fd = ends[0], .events = POLLIN};
	poll(&fd, 1, 300);
}

static void cause_timeout(void) {
	poll_in_vain();
}

FUNCTION void receive_in_vain(void) {
	struct sockaddr_in address;
	struct timeval limit = {.tv_usec = 300 * 1000};
	char byte;
	int fd = bound(SOCK_DGRAM, &address);
	must(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	recv(fd, &byte, 1, 0);
}

static void cause_socket_timeout(void) {
	receive_in_vain();
}

// ---- the disk ----

static char block[1 << 20];

FUNCTION void sync_file(int fd) {
	must(write(fd, block, sizeof(block)) == sizeof(block));
	must(!fsync(fd));
}

static void cause_fsync(void) {
	int fd = open("synced", O_CREAT | O_WRONLY, 0600);
	for (int i = 0; i < 60; i++)
		sync_file(fd);
}

FUNCTION void read_file(int fd) {
	void *page = NULL;
	must(!posix_memalign(&page, 4096, 4096));
	for (int i = 0; i < 3000; i++)
		must(pread(fd, page, 4096, (i * 7919 % 4096) * 4096ll) == 4096);
}

static void cause_disk(void) {
	int fd = open("large", O_RDONLY | O_DIRECT);
	must(fd >= 0);
	read_file(fd);
}

// ---- the CPU ----

FUNCTION void spin(void) {
	WORK(a_while.tv_nsec);
}

static void cause_spin(void) {
	spin();
}

FUNCTION void touch_pages(void) {
	enum { SIZE = 16 << 20 };
	for (int round = 0; round < 40; round++) {
		char *area = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		must(area != MAP_FAILED);
		madvise(area, SIZE, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < SIZE; i += 4096)
			area[i] = 1;
		munmap(area, SIZE);
	}
}

static void cause_faults(void) {
	touch_pages();
}

// On one CPU with another process that has priority over it.
FUNCTION void compete(void) {
	WORK(50 * 1000 * 1000);
}

static void cause_hog(void) {
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	must(!sched_setaffinity(0, sizeof(set), &set));
	setpriority(PRIO_PROCESS, 0, 10);
	compete();
}

// ---- io_uring ----

FUNCTION void await_ring(int ring) {
	while (syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0 && errno == EINTR)
		;
}

// One request to read a pipe, which a child writes late.
static void cause_io_uring(void) {
	struct io_uring_params params = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (ring < 0)
		exit(77);
	uint8_t *queue = mmap(NULL, params.sq_off.array + params.sq_entries * 4, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *entries = mmap(NULL, params.sq_entries * sizeof(*entries),
					    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
					    IORING_OFF_SQES);
	must(!pipe(ends));
	pid_t child = fork();
	if (!child) {
		named("peer");
		answer_late(ends[1]);
		_exit(0);
	}
	entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
					   .fd = ends[0],
					   .addr = (uint64_t)(uintptr_t)block,
					   .len = 1,
					   .off = (uint64_t)-1};
	((uint32_t *)(queue + params.sq_off.array))[0] = 0;
	__atomic_store_n((uint32_t *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
	syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0);
	await_ring(ring);
	reap(child);
}

// ---- less common ones ----

static pthread_barrier_t meeting;

FUNCTION void come_late(void) {
	pthread_barrier_wait(&started);
	nanosleep(&a_while, NULL);
	pthread_barrier_wait(&meeting);
}

FUNCTION void meet(void) {
	pthread_barrier_wait(&started);
	pthread_barrier_wait(&meeting);
}

static void cause_barrier(void) {
	pthread_barrier_init(&meeting, NULL, 2);
	with_holder(come_late, meet);
}

FUNCTION void hold_file(void) {
	int fd = open("locked", O_CREAT | O_RDWR, 0600);
	must(!flock(fd, LOCK_EX));
	pthread_barrier_wait(&started);
	nanosleep(&a_while, NULL);
	flock(fd, LOCK_UN);
}

FUNCTION void lock_file(void) {
	int fd = open("locked", O_CREAT | O_RDWR, 0600);
	pthread_barrier_wait(&started);
	must(!flock(fd, LOCK_EX));
}

static void cause_flock(void) {
	with_holder(hold_file, lock_file);
}

FUNCTION void create_file(void) {
	pthread_barrier_wait(&started);
	nanosleep(&a_while, NULL);
	close(open("watched/new", O_CREAT | O_WRONLY, 0600));
}

FUNCTION void await_file(void) {
	char events[4096];
	pthread_barrier_wait(&started);
	must(read(ends[0], events, sizeof(events)) > 0);
}

static void cause_inotify(void) {
	mkdir("watched", 0700);
	unlink("watched/new");
	ends[0] = inotify_init1(0);
	must(inotify_add_watch(ends[0], "watched", IN_CREATE) >= 0);
	with_holder(create_file, await_file);
}

static const struct sockaddr_un meeting_point = {.sun_family = AF_UNIX, .sun_path = "meeting"};

FUNCTION void connect_late(void) {
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	pthread_barrier_wait(&started);
	nanosleep(&a_while, NULL);
	must(!connect(fd, (const struct sockaddr *)&meeting_point, sizeof(meeting_point)));
}

FUNCTION void accept_client(void) {
	pthread_barrier_wait(&started);
	must(accept(ends[0], NULL, NULL) >= 0);
}

static void cause_accept(void) {
	unlink(meeting_point.sun_path);
	ends[0] = socket(AF_UNIX, SOCK_STREAM, 0);
	must(!bind(ends[0], (const struct sockaddr *)&meeting_point, sizeof(meeting_point)));
	must(!listen(ends[0], 1));
	with_holder(connect_late, accept_client);
}

FUNCTION void take_in_vain(void) {
	struct timespec limit;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_nsec += a_while.tv_nsec;
	limit.tv_sec += limit.tv_nsec / 1000000000;
	limit.tv_nsec %= 1000000000;
	while (sem_timedwait(&semaphore, &limit) && errno == EINTR)
		;
}

static void cause_semaphore_timeout(void) {
	sem_init(&semaphore, 0, 0);
	take_in_vain();
}

FUNCTION void thaw(pid_t frozen) {
	nanosleep(&a_while, NULL);
	kill(frozen, SIGCONT);
}

FUNCTION void freeze(void) {
	raise(SIGSTOP);
}

// A child ends the stop of its parent.
static void cause_stopped(void) {
	pid_t parent = getpid(), child = fork();
	if (!child) {
		named("child");
		thaw(parent);
		_exit(0);
	}
	freeze();
	reap(child);
}

struct text_message {
	long type;
	char text[8];
};

FUNCTION void send_late(void) {
	pthread_barrier_wait(&started);
	nanosleep(&a_while, NULL);
	must(!msgsnd(ends[0], &(struct text_message){1, "text"}, 8, 0));
}

FUNCTION void receive(void) {
	struct text_message message;
	pthread_barrier_wait(&started);
	must(msgrcv(ends[0], &message, 8, 0, 0) == 8);
}

static void cause_message(void) {
	ends[0] = msgget(IPC_PRIVATE, 0600);
	must(ends[0] >= 0);
	with_holder(send_late, receive);
	msgctl(ends[0], IPC_RMID, NULL);
}

FUNCTION void await_tick(void) {
	uint64_t ticks;
	struct itimerspec time = {.it_value = a_while};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	must(!timerfd_settime(fd, 0, &time, NULL));
	must(read(fd, &ticks, sizeof(ticks)) == sizeof(ticks));
}

static void cause_timerfd(void) {
	await_tick();
}

extern char **environ;

// Runs this program as another process.
FUNCTION void run_tool(void) {
	char path[4096], tool[] = "sleep", *command[] = {path, tool, NULL};
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	pid_t child;
	must(size > 0);
	path[size] = 0;
	must(!posix_spawn(&child, path, NULL, NULL, command, environ));
	waitpid(child, NULL, 0);
}

static void cause_spawn(void) {
	run_tool();
}

// Three of a pool's threads have nothing to do; the first thread waits for the job of the fourth.
FUNCTION void do_job(void) {
	WORK(a_while.tv_nsec);
}

static void *pool(void *number) {
	named("pool");
	pthread_mutex_lock(&mutex);
	while (!done && number)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	if (!number)
		do_job();
	pthread_mutex_lock(&mutex);
	done = true;
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void cause_pool(void) {
	pthread_t threads[4];
	for (uintptr_t i = 0; i < 4; i++)
		must(!pthread_create(&threads[i], NULL, pool, (void *)i));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

// ---- deadlock ----

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, audit = PTHREAD_MUTEX_INITIALIZER;

FUNCTION void transfer(void) {
	pthread_mutex_lock(&accounts);
	pthread_barrier_wait(&started);
	pthread_mutex_lock(&audit);
}

FUNCTION void report(void) {
	pthread_mutex_lock(&audit);
	pthread_barrier_wait(&started);
	pthread_mutex_lock(&accounts);
}

static void cause_deadlock(void) {
	with_holder(report, transfer);
}

// ---- the table ----

static const struct {
	const char *name;
	void (*happen)(void);
} causes[] = {
	{"mutex", cause_mutex},
	{"rwlock", cause_rwlock},
	{"condition", cause_condition},
	{"semaphore", cause_semaphore},
	{"join", cause_join},
	{"inversion", cause_inversion},
	{"child", cause_child},
	{"vfork", cause_vfork},
	{"pipe", cause_pipe},
	{"unix", cause_unix},
	{"tcp", cause_tcp},
	{"udp", cause_udp},
	{"epoll", cause_epoll},
	{"epoll_pipe", cause_epoll_pipe},
	{"select_unix", cause_select_unix},
	{"eventfd", cause_eventfd},
	{"signal", cause_signal},
	{"sleep", cause_sleep},
	{"timeout", cause_timeout},
	{"socket_timeout", cause_socket_timeout},
	{"fsync", cause_fsync},
	{"disk", cause_disk},
	{"spin", cause_spin},
	{"faults", cause_faults},
	{"hog", cause_hog},
	{"io_uring", cause_io_uring},
	{"deadlock", cause_deadlock},
	{"barrier", cause_barrier},
	{"flock", cause_flock},
	{"inotify", cause_inotify},
	{"accept", cause_accept},
	{"semaphore_timeout", cause_semaphore_timeout},
	{"stopped", cause_stopped},
	{"message", cause_message},
	{"timerfd", cause_timerfd},
	{"spawn", cause_spawn},
	{"pool", cause_pool},
};

int main(int argc, char **argv) {
	for (size_t i = 0; argc == 2 && i < sizeof(causes) / sizeof(causes[0]); i++)
		if (strcmp(argv[1], causes[i].name) == 0) {
			causes[i].happen();
			return 0;
		}
	fprintf(stderr, "usage: causes CAUSE\n");
	return 2;
}
