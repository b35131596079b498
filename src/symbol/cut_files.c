#include "symbol/cut_files.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static uintptr_t page_mask;

// Maps an empty page in place of the missing one. If that fails, or the signal has another cause, it gets its
// default action.
static void fill_page(int number, siginfo_t *about, void *context) {
	int before = errno;
	void *page = (void *)((uintptr_t)about->si_addr & page_mask); // NOLINT: an address
	if (about->si_code != BUS_ADRERR ||
	    mmap(page, ~page_mask + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) == MAP_FAILED) {
		signal(number, SIG_DFL);
		raise(number);
	}
	errno = before;
}

void cut_files_survive(void) {
	page_mask = ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	sigaction(SIGBUS, &(struct sigaction){.sa_sigaction = fill_page, .sa_flags = SA_SIGINFO}, NULL);
}
