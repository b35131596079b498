// Programs as people write them, each with one known cause, which the analysis was not made for:
// test_why_strangers.sh knows the answers.
#include "known_cause.h"

#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000 * 1000, WAITERS = 4, ROUNDS = 20 };

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t ready;
static bool open_for_all;

static void nap(long ms) {
	nanosleep(&(struct timespec){.tv_nsec = ms * MS}, NULL);
}

// ---- one thread opens the gate for several ----

FUNCTION void await_gate(void) {
	pthread_mutex_lock(&first);
	while (!open_for_all)
		pthread_cond_wait(&condition, &first);
	pthread_mutex_unlock(&first);
}

static void *waiter(void *unused) {
	named("waiter");
	await_gate();
	return unused;
}

FUNCTION void warm_up(void) {
	nap(200);
	__asm__ volatile("");
}

static void *opener(void *unused) {
	named("opener");
	warm_up();
	pthread_mutex_lock(&first);
	open_for_all = true;
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&first);
	return unused;
}

static void several_waiters(void) {
	pthread_t threads[WAITERS], other = start(opener);
	for (int i = 0; i < WAITERS; i++)
		threads[i] = start(waiter);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(other, NULL);
}

// ---- a lock is held while memory is touched for the first time ----

FUNCTION void build_table(void) {
	for (int i = 0; i < 12; i++) {
		enum { SIZE = 16 << 20 };
		char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		must(memory != MAP_FAILED);
		for (size_t at = 0; at < SIZE; at += 4096)
			memory[at] = 1;
		munmap(memory, SIZE);
	}
}

static void *builder(void *unused) {
	named("builder");
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&ready);
	build_table();
	pthread_mutex_unlock(&first);
	return unused;
}

FUNCTION void look_up(void) {
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
}

static void fault_lock(void) {
	pthread_barrier_init(&ready, NULL, 2);
	pthread_t thread = start(builder);
	pthread_barrier_wait(&ready);
	look_up();
	pthread_join(thread, NULL);
}

// ---- a fork server: a child of a child does the work ----

FUNCTION void run_job(void) {
	nap(200);
	__asm__ volatile("");
}

static void serve(int requests, int answers) {
	char byte;
	named("server");
	while (read(requests, &byte, 1) == 1) {
		pid_t job = fork();
		if (!job) {
			named("job");
			run_job();
			_exit(3);
		}
		int status;
		waitpid(job, &status, 0);
		byte = (char)WEXITSTATUS(status);
		must(write(answers, &byte, 1) == 1);
	}
	_exit(0);
}

FUNCTION void ask_server(int requests, int answers) {
	char byte = 1;
	must(write(requests, &byte, 1) == 1 && read(answers, &byte, 1) == 1);
}

static void fork_server(void) {
	int requests[2], answers[2];
	must(!pipe(requests) && !pipe(answers));
	pid_t server = fork();
	if (!server) {
		close(requests[1]);
		serve(requests[0], answers[1]);
	}
	close(requests[0]);
	ask_server(requests[1], answers[0]);
	close(requests[1]);
	waitpid(server, NULL, 0);
}

// ---- a lock of a part of a file ----

FUNCTION void write_part(void) {
	nap(200);
	__asm__ volatile("");
}

FUNCTION void lock_part(int file) {
	struct flock part = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};
	must(!fcntl(file, F_SETLKW, &part));
}

static void record_lock(void) {
	int locked[2], file = open("part.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char byte = 0;
	must(file >= 0 && !pipe(locked));
	pid_t child = fork();
	if (!child) {
		named("writer");
		lock_part(file);
		must(write(locked[1], &byte, 1) == 1);
		write_part();
		_exit(0);
	}
	must(read(locked[0], &byte, 1) == 1);
	lock_part(file);
	waitpid(child, NULL, 0);
}

// ---- semaphores of System V ----

FUNCTION void take_unit(int set) {
	struct sembuf take = {.sem_op = -1};
	must(!semop(set, &take, 1));
}

FUNCTION void make_unit(void) {
	nap(200);
	__asm__ volatile("");
}

static void sysv_semaphore(void) {
	int set = semget(IPC_PRIVATE, 1, 0600 | IPC_CREAT);
	must(set >= 0);
	pid_t child = fork();
	if (!child) {
		struct sembuf give = {.sem_op = 1};
		named("maker");
		make_unit();
		semop(set, &give, 1);
		_exit(0);
	}
	take_unit(set);
	waitpid(child, NULL, 0);
	semctl(set, 0, IPC_RMID);
}

// ---- a message queue that is full ----

FUNCTION void digest_message(mqd_t queue) {
	char text[64];
	nap(100);
	must(mq_receive(queue, text, sizeof(text), NULL) >= 0);
}

FUNCTION void post_message(mqd_t queue) {
	must(!mq_send(queue, "x", 1, 0));
}

static void full_queue(void) {
	struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 64};
	char name[40];
	snprintf(name, sizeof(name), "/strangers-%d", (int)getpid());
	mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
	if (queue == (mqd_t)-1)
		exit(77);
	mq_unlink(name);
	pid_t child = fork();
	if (!child) {
		named("consumer");
		for (int i = 0; i < 3; i++)
			digest_message(queue);
		_exit(0);
	}
	for (int i = 0; i < 3; i++)
		post_message(queue);
	waitpid(child, NULL, 0);
}

// ---- waitid, without reaping ----

FUNCTION void compute(void) {
	struct timespec begun, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begun.tv_sec) * 1000000000ll + now.tv_nsec - begun.tv_nsec < 150 * MS);
}

FUNCTION void watch(pid_t child) {
	siginfo_t ended;
	must(!waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT));
}

static void wait_id(void) {
	pid_t child = fork();
	if (!child) {
		named("worker");
		compute();
		_exit(0);
	}
	watch(child);
	waitpid(child, NULL, 0);
}

// ---- nested locks: the first waits for the second, that for the third ----

FUNCTION void save_all(void) {
	nap(200);
	__asm__ volatile("");
}

static void *inner(void *unused) {
	named("inner");
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&ready);
	save_all();
	pthread_mutex_unlock(&second);
	return unused;
}

FUNCTION void take_second(void) {
	pthread_mutex_lock(&second);
	pthread_mutex_unlock(&second);
}

static void *middle(void *unused) {
	named("middle");
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&ready);
	take_second();
	pthread_mutex_unlock(&first);
	return unused;
}

FUNCTION void take_first(void) {
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
}

static void nested_locks(void) {
	pthread_barrier_init(&ready, NULL, 3);
	pthread_t threads[] = {start(inner), start(middle)};
	pthread_barrier_wait(&ready);
	take_first();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

// ---- many short rounds with a peer that is a bit slow each time ----

FUNCTION void think(void) {
	nap(10);
	__asm__ volatile("");
}

FUNCTION void ping(int socket) {
	char byte = 1;
	must(write(socket, &byte, 1) == 1 && read(socket, &byte, 1) == 1);
}

static void ping_pong(void) {
	int pair[2];
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid_t child = fork();
	if (!child) {
		char byte;
		named("peer");
		close(pair[0]);
		while (read(pair[1], &byte, 1) == 1) {
			think();
			must(write(pair[1], &byte, 1) == 1);
		}
		_exit(0);
	}
	close(pair[1]);
	for (int i = 0; i < ROUNDS; i++)
		ping(pair[0]);
	close(pair[0]);
	waitpid(child, NULL, 0);
}

// ---- a write that waits for a reader: a named pipe ----

FUNCTION void come_to_read(void) {
	nap(200);
	__asm__ volatile("");
}

FUNCTION int open_pipe(void) {
	return open("fifo", O_WRONLY | O_CLOEXEC);
}

static void named_pipe(void) {
	unlink("fifo");
	must(!mkfifo("fifo", 0600));
	pid_t child = fork();
	if (!child) {
		named("reader");
		come_to_read();
		_exit(open("fifo", O_RDONLY | O_CLOEXEC) < 0);
	}
	must(open_pipe() >= 0);
	waitpid(child, NULL, 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} programs[] = {
	{"several_waiters", several_waiters},
	{"fault_lock", fault_lock},
	{"fork_server", fork_server},
	{"record_lock", record_lock},
	{"full_queue", full_queue},
	{"sysv_semaphore", sysv_semaphore},
	{"wait_id", wait_id},
	{"nested_locks", nested_locks},
	{"ping_pong", ping_pong},
	{"named_pipe", named_pipe},
};

int main(int argc, char **argv) {
	for (size_t i = 0; argc == 2 && i < sizeof(programs) / sizeof(*programs); i++)
		if (strcmp(argv[1], programs[i].name) == 0) {
			programs[i].run();
			return 0;
		}
	return 2;
}
