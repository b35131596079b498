// A process whose first thread has ended while another one continues; prints its id on stdout.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *stay(void *unused) {
	for (;;)
		pause();
	return unused;
}

int main(void) {
	pthread_t thread;
	pthread_create(&thread, NULL, stay, NULL);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	pthread_exit(NULL);
}
