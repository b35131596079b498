// All operators new and delete of C++: 100 times 7 blocks of 280 bytes together, an exception, and a leak
// of 40 bytes.
#include <cstdio>
#include <cstdlib>
#include <new>

#define APART __attribute__((noinline, noclone))

struct alignas(64) wide {
	char bytes[64];
};

static void *volatile kept;

APART static void operators() {
	for (int i = 0; i < 100; i++) {
		int *one = new int;
		kept = one;
		delete one;
		char *array = new char[11];
		kept = array;
		delete[] array;
		int *quiet = new (std::nothrow) int;
		kept = quiet;
		delete quiet;
		wide *aligned = new wide;
		kept = aligned;
		delete aligned;
		wide *aligned_array = new wide[2];
		kept = aligned_array;
		delete[] aligned_array;
		wide *quietly_aligned = new (std::nothrow) wide;
		kept = quietly_aligned;
		delete quietly_aligned;
		char *quiet_array = new (std::nothrow) char[5];
		kept = quiet_array;
		delete[] quiet_array;
	}
}

APART static void too_large() {
	volatile size_t size = (size_t)1 << 62;
	try {
		kept = new char[size];
	} catch (std::bad_alloc &) {
		puts("thrown");
	}
}

APART static void leaking() {
	kept = new int[10];
}

int main(int argc, char **argv) {
	operators();
	if (argc < 2) // mimalloc ends the program then
		too_large();
	leaking();
	return 0;
}
