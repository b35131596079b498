#!/usr/bin/env bash
# `tracelet heap -p`: the cost of an allocator call while a process is watched, and how long the process
# pauses when watching starts and stops. The process measures both itself: the CPU time of a call, and
# the longest time between two rounds of a thread that allocates and reads the clock every 0.2 ms. That
# thread has the highest priority, so that a busy machine does not look like a pause. Rounds with and
# without alternate.
. "$(dirname "$0")/lib.sh"
need_root

cat >server.c <<-'END'
	#include <pthread.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <time.h>

	static void *volatile kept;
	static volatile int looking = 1;
	static double longest;

	static double now(clockid_t clock) {
		struct timespec time;
		clock_gettime(clock, &time);
		return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
	}

	static void *look(void *unused) {
		struct sched_param first = {.sched_priority = 50};
		pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
		double before = now(CLOCK_MONOTONIC);
		while (looking) {
			nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
			free(malloc(16));
			double after = now(CLOCK_MONOTONIC);
			if (after - before > longest)
				longest = after - before;
			before = after;
		}
		return unused;
	}

	__attribute__((noinline)) static void make(int depth) {
		if (depth) {
			make(depth - 1);
			__asm__ volatile("" ::: "memory");
			return;
		}
		kept = malloc(32);
		free(kept);
	}

	int main(void) {
		char word[64];
		pthread_t thread;
		setvbuf(stdout, NULL, _IOLBF, 0);
		while (fgets(word, sizeof(word), stdin)) {
			if (strncmp(word, "calls", 5) == 0) {
				enum { TIMES = 50000 };
				int depth = atoi(word + 5);
				double begin = now(CLOCK_THREAD_CPUTIME_ID);
				for (int i = 0; i < TIMES; i++)
					make(depth);
				printf("%.0f\n", (now(CLOCK_THREAD_CPUTIME_ID) - begin) / TIMES / 2);
			} else if (strncmp(word, "look", 4) == 0) {
				looking = 1;
				longest = 0;
				pthread_create(&thread, NULL, look, NULL);
				printf("looking\n");
			} else {
				looking = 0;
				pthread_join(thread, NULL);
				printf("%.3f\n", longest / 1e6);
			}
		}
		return 0;
	}
END
gcc -O1 -g -pthread -o server server.c
mkfifo questions answers
./server <questions >answers &
server=$!
exec 7>questions 8<answers

ask() {
	echo "$1" >&7
	read -r answer <&8
	echo "$answer"
}

watch() {
	: >messages
	"$TRACELET" heap -p "$server" -o profile.json 2>messages 7>&- 8<&- &
	recorder=$!
	until grep -q watching messages; do sleep 0.05; done
}

unwatch() {
	kill -INT "$recorder"
	wait "$recorder"
}

median() {
	sort -g | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

: >plain.ns >watched.ns >deep.ns >plain.ms >watched.ms >end.s
for _ in $(seq "$ROUNDS"); do
	ask "calls 2" >>plain.ns
	ask look >/dev/null
	sleep 1
	ask stop >>plain.ms
	ask look >/dev/null # the beginning and the end
	watch
	sleep 0.3
	begin=$EPOCHREALTIME
	unwatch
	calculate "$EPOCHREALTIME - $begin" >>end.s
	echo >>end.s
	ask stop >>watched.ms
	watch
	ask "calls 2" >>watched.ns
	ask "calls 22" >>deep.ns
	unwatch
	! grep warning messages
done
exec 7>&- 8<&-
wait "$server"

echo "an allocator call: $(median <plain.ns) ns; watched, with 5 functions on the stack: $(median <watched.ns) ns; with 25: $(median <deep.ns) ns"
echo "the longest pause: $(median <plain.ms) ms; while watching starts and stops: $(median <watched.ms) ms"
echo "time to stop and write the profile: $(grep . end.s | median) s"
floor "cost added to an allocator call, in us" "$(calculate "($(median <watched.ns) - $(median <plain.ns)) / 1000")" '<=' 3
floor "longest pause, in ms" "$(median <watched.ms)" '<=' 10
finish
