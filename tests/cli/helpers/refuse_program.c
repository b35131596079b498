// Preloaded into tracelet: a kernel whose verifier does not take the BPF program that REFUSE names.
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// bpf() has no function of its own in the C library.
long syscall(long number, ...) {
	static long (*next)(long number, ...);
	va_list list;
	long arguments[6];
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	const char *refused = getenv("REFUSE");
	const union bpf_attr *attributes = (const void *)arguments[1]; // NOLINT: an address
	if (number == SYS_bpf && arguments[0] == BPF_PROG_LOAD && refused &&
	    strncmp(attributes->prog_name, refused, BPF_OBJ_NAME_LEN - 1) == 0) {
		errno = EINVAL;
		return -1;
	}
	return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
		    arguments[5]);
}
