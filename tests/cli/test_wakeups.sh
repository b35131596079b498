# Waits together with what ended them: the stack of the wakeup is above that of the wait.
. "$(dirname "$0")/lib.sh"
need_root
need_command gcc
[ "$(uname -m)" = x86_64 ] || skip_all "stacks can be walked only on x86-64"

cat >pair.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static sem_t work, answer;

#define FUNCTION __attribute__((noinline)) static void
FUNCTION give_work(void) { sem_post(&work); __asm__ volatile(""); }
FUNCTION give_answer(void) { sem_post(&answer); __asm__ volatile(""); }
FUNCTION wait_for_work(void) { sem_wait(&work); __asm__ volatile(""); }
FUNCTION wait_for_answer(void) { sem_wait(&answer); __asm__ volatile(""); }

static void *worker(void *nothing) {
	pthread_setname_np(pthread_self(), "worker");
	for (int i = 0; i < 20; i++) {
		wait_for_work();
		usleep(3000);
		give_answer();
	}
	return nothing;
}

int main(void) {
	pthread_t thread;
	sem_init(&work, 0, 0);
	sem_init(&answer, 0, 0);
	pthread_create(&thread, NULL, worker, NULL);
	for (int i = 0; i < 20; i++) {
		usleep(2000);
		give_work();
		wait_for_answer();
	}
	return pthread_join(thread, NULL);
}
END
gcc -O1 -g -o pair pair.c -lpthread
check_run "a test is recorded with its wakeups" 0 "$TRACELET" run --wakeups --keep-spool --name pair -- ./pair
check "and with the picture of waits" test -s tracelet-out/pair_*.off-cpu.svg
"$TRACELET" fold --wakeups tracelet-out/pair_*.pb >waits.folded
check_match "a wait has the stack that ended it, from the inside out, and the thread's name" \
	'^worker;.*;worker;wait_for_work;.*;__schedule;--;try_to_wake_up;.*;sem_post;give_work;main;.*;_start;pair [0-9]+$' waits.folded
check_match "so has that of the other thread" \
	'^pair;.*;main;wait_for_answer;.*;--;.*;sem_post;give_answer;worker;.*;worker [0-9]+$' waits.folded
check_not "none has the wakeup of another wait" grep -E 'wait_for_work;.*--.*give_answer|wait_for_answer;.*--.*give_work|usleep;.*--.*give_' waits.folded
check_match "a sleep was ended by an interrupt" ';usleep;.*;--;\[(timer|interrupt)\] ' waits.folded
check_not "being ready has no wakeup" grep -E ';\[ready\];.*;--;' waits.folded
check_equal "the recording and the trace say the same" "$(sort waits.folded)" "$("$TRACELET" fold --wakeups tracelet-out/pair_*.spool | sort)"
total() { awk '{ sum += $NF } END { print sum }' "$@"; }
check_equal "as long as without wakeups" "$("$TRACELET" fold --event-filter off-cpu tracelet-out/pair_*.pb | total)" "$(total waits.folded)"
check_run "a flame graph" 0 "$TRACELET" flame --wakeups -o out.svg tracelet-out/pair_*.pb
check_match "it says what it shows" 'Waits and what ended them' out.svg
check_run "a table" 0 "$TRACELET" top --wakeups --sort total --limit 0 tracelet-out/pair_*.pb
check_match "in which wakers have a share" ' give_work ' "$stdout"
check_run "a recording without stacks of wakeups" 0 "$TRACELET" run --off-cpu --name plain -- ./pair
check_match "names the threads" ';wait_for_work;.*;--;plain|;wait_for_work;.*;--;pair' <("$TRACELET" fold --wakeups tracelet-out/plain_*.pb)

done_testing
