// Tries every way to put an "x" into the input of its terminal. Prints how many the kernel took.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int tries(int terminal) {
	int taken = ioctl(terminal, TIOCSTI, "x") == 0;
	taken += syscall(SYS_ioctl, terminal, 0x123400000000 | TIOCSTI, "x") == 0;
#ifdef __x86_64__
	taken += syscall(0x40000000 | 514, terminal, TIOCSTI, "x") == 0;
	taken += syscall(0x40000000 | SYS_ioctl, terminal, TIOCSTI, "x") == 0;
	// A kernel without the 32-bit calls kills whoever tries: a child.
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	int status = 0;
	if (low != MAP_FAILED && fork() == 0) {
		long result;
		*low = 'x';
		__asm__ volatile("int $0x80"
				 : "=a"(result)
				 : "a"(54), "b"((long)terminal), "c"((long)TIOCSTI), "d"((long)(uintptr_t)low)
				 : "memory", "r8", "r9", "r10", "r11");
		_exit(result == 0 ? 9 : 0);
	}
	if (low != MAP_FAILED && wait(&status) > 0)
		taken += WIFEXITED(status) && WEXITSTATUS(status) == 9;
#endif
	return taken;
}

int main(void) {
	int terminal = open("/dev/tty", O_RDWR);
	printf("taken %d\n", tries(0) + (terminal < 0 ? 0 : tries(terminal)));
}
