// libtracelet-mark.so: the functions of tracelet/mark.h for languages that cannot include it. They load this
// library by name when a test is recorded; pytest_tracelet.py and the crate tracelet do.
#include <tracelet/mark.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void tracelet_mark(const char *text);
EXPORTED void tracelet_slice_begin(const char *text);
EXPORTED void tracelet_slice_end(void);
EXPORTED void tracelet_counter(const char *name, double value);
EXPORTED void tracelet_test_begin(const char *name);
EXPORTED void tracelet_test_end(int result);

void tracelet_mark(const char *text) {
	tl_mark(text);
}

void tracelet_slice_begin(const char *text) {
	tl_slice_begin(text);
}

void tracelet_slice_end(void) {
	tl_slice_end();
}

void tracelet_counter(const char *name, double value) {
	tl_counter(name, value);
}

void tracelet_test_begin(const char *name) {
	tl_test_begin(name);
}

void tracelet_test_end(int result) {
	tl_test_end(result);
}
