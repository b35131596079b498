// Small programs that are slow because of something one step away from where they wait: a notification that
// came too early, a peer that reads slowly, a grandchild that keeps a pipe open. test_why_indirect.sh knows
// the answers.
#include "known_cause.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000 * 1000, ASK_AGAIN = 100 * 1000 /* us */, MUTATORS = 3, BLOCKS = 24 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t stopped, resumed;
static atomic_bool done;
static pthread_t mutators[MUTATORS];

// ---- the notification comes before the thread waits for it ----

static void *publish(void *unused) {
	pthread_mutex_lock(&mutex);
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
	return unused;
}

FUNCTION void await_item(void) {
	struct timespec limit;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_nsec += 300 * MS;
	limit.tv_sec += limit.tv_nsec / (1000 * MS);
	limit.tv_nsec %= 1000 * MS;
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &limit);
	pthread_mutex_unlock(&mutex);
}

static void lost_wakeup(void) {
	pthread_join(start(publish), NULL);
	await_item();
}

// ---- the socket is full, because its reader is slow ----

static char block[65536];

FUNCTION void digest(void) {
	nanosleep(&(struct timespec){.tv_nsec = 15 * MS}, NULL);
}

FUNCTION void produce(int fd) {
	for (int i = 0; i < BLOCKS; i++)
		for (size_t sent = 0; sent < sizeof(block);) {
			ssize_t size = write(fd, block + sent, sizeof(block) - sent);
			must(size > 0);
			sent += (size_t)size;
		}
}

static void full_socket(void) {
	int ends[2];
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	pid_t child = fork();
	if (!child) {
		named("consumer");
		close(ends[0]);
		while (read(ends[1], block, sizeof(block)) > 0)
			digest();
		_exit(0);
	}
	close(ends[1]);
	produce(ends[0]);
	close(ends[0]);
	waitpid(child, NULL, 0);
}

// ---- the first questions get no answer ----

FUNCTION bool ask(int fd, const struct sockaddr_in *server) {
	char text[16] = "where?";
	must(sendto(fd, text, 6, 0, (const void *)server, sizeof(*server)) == 6);
	return recv(fd, text, sizeof(text), 0) > 0;
}

static void answer_the_fourth(int fd) {
	for (int i = 0;; i++) {
		char text[16];
		struct sockaddr_in from;
		socklen_t size = sizeof(from);
		must(recvfrom(fd, text, sizeof(text), 0, (void *)&from, &size) > 0);
		if (i == 3) {
			sendto(fd, text, 4, 0, (void *)&from, size);
			_exit(0);
		}
	}
}

static void udp_retry(void) {
	int server = socket(AF_INET, SOCK_DGRAM, 0), client = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	must(!bind(server, (void *)&address, sizeof(address)) &&
	     !getsockname(server, (void *)&address, &size));
	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_usec = ASK_AGAIN},
		   sizeof(struct timeval));
	pid_t child = fork();
	if (!child) {
		named("server");
		answer_the_fourth(server);
	}
	while (!ask(client, &address))
		;
	waitpid(child, NULL, 0);
}

// ---- all threads are stopped by signals while one works ----

static void park(int number) {
	sem_post(&stopped);
	while (sem_wait(&resumed))
		;
}

static void *mutate(void *unused) {
	named("mutator");
	while (!done)
		nanosleep(&(struct timespec){.tv_nsec = 2 * MS}, NULL);
	return unused;
}

FUNCTION void mark_heap(void) {
	WORK(300 * MS);
}

static void *collect(void *unused) {
	named("collector");
	for (int i = 0; i < MUTATORS; i++)
		pthread_kill(mutators[i], SIGUSR1);
	for (int i = 0; i < MUTATORS; i++)
		sem_wait(&stopped);
	mark_heap();
	done = true;
	for (int i = 0; i < MUTATORS; i++)
		sem_post(&resumed);
	return unused;
}

static void stop_the_world(void) {
	signal(SIGUSR1, park);
	sem_init(&stopped, 0, 0);
	sem_init(&resumed, 0, 0);
	for (int i = 0; i < MUTATORS; i++)
		mutators[i] = start(mutate);
	start(collect);
	for (int i = 0; i < MUTATORS; i++)
		pthread_join(mutators[i], NULL);
}

// ---- the child has ended, but its own child has the pipe ----

FUNCTION void linger(void) {
	nanosleep(&(struct timespec){.tv_nsec = 300 * MS}, NULL);
}

FUNCTION void read_all(int fd) {
	char text[64];
	while (read(fd, text, sizeof(text)) > 0)
		;
}

static void grandchild(void) {
	int ends[2];
	must(!pipe(ends));
	pid_t child = fork();
	if (!child) {
		close(ends[0]);
		if (!fork()) {
			named("daemon");
			linger();
		}
		_exit(0);
	}
	close(ends[1]);
	waitpid(child, NULL, 0);
	read_all(ends[0]);
}

// ---- a file is locked by another process ----

FUNCTION void open_store(int fd) {
	must(!fcntl(fd, F_SETLKW, &(struct flock){.l_type = F_WRLCK}));
}

FUNCTION void migrate(void) {
	nanosleep(&(struct timespec){.tv_nsec = 300 * MS}, NULL);
}

static void locked_file(void) {
	int fd = open("store", O_RDWR | O_CREAT, 0600), ends[2];
	char byte = 0;
	must(fd >= 0 && !pipe(ends));
	pid_t child = fork();
	if (!child) {
		named("migration");
		open_store(fd);
		must(write(ends[1], &byte, 1) == 1);
		migrate();
		_exit(0);
	}
	must(read(ends[0], &byte, 1) == 1);
	open_store(fd);
	waitpid(child, NULL, 0);
}

// ---- the thread looks again and again ----

FUNCTION void compress(void) {
	WORK(300 * MS);
}

FUNCTION void unpack(void) {
	nanosleep(&(struct timespec){.tv_nsec = 300 * MS}, NULL);
}

static void *help(void *slow) {
	named("helper");
	((void (*)(void))slow)();
	done = true;
	return NULL;
}

FUNCTION void look_for_file(void) {
	while (!done)
		nanosleep(&(struct timespec){.tv_nsec = 5 * MS}, NULL);
}

FUNCTION void spin(void) {
	while (!done)
		;
}

static void look_and_sleep(void) {
	pthread_t thread;
	must(!pthread_create(&thread, NULL, help, (void *)compress));
	look_for_file();
}

static void look_and_spin(void) {
	pthread_t thread;
	must(!pthread_create(&thread, NULL, help, (void *)unpack));
	spin();
}

// A parent that asks again and again whether its child has ended.
FUNCTION void await_child(pid_t child) {
	while (!waitpid(child, NULL, WNOHANG))
		nanosleep(&(struct timespec){.tv_nsec = 5 * MS}, NULL);
}

static void look_at_child(void) {
	pid_t child = fork();
	if (!child) {
		named("child");
		compress();
		_exit(0);
	}
	await_child(child);
}

// The helper has nothing to do with the work: it ends long before.
static void work_beside(void) {
	pthread_t thread;
	must(!pthread_create(&thread, NULL, help, (void *)unpack));
	pthread_join(thread, NULL);
	compress();
	compress();
}

// ----

static const struct {
	const char *name;
	void (*happen)(void);
} programs[] = {
	{"lost_wakeup", lost_wakeup},       {"full_socket", full_socket},
	{"udp_retry", udp_retry},           {"stop_the_world", stop_the_world},
	{"grandchild", grandchild},         {"locked_file", locked_file},
	{"look_and_sleep", look_and_sleep}, {"look_and_spin", look_and_spin},
	{"look_at_child", look_at_child},   {"work_beside", work_beside},
};

int main(int argc, char **argv) {
	for (size_t i = 0; argc == 2 && i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(argv[1], programs[i].name) == 0) {
			programs[i].happen();
			return 0;
		}
	fprintf(stderr, "usage: indirect PROGRAM\n");
	return 2;
}
