// A library that chains.c loads.
__attribute__((visibility("default"))) void call_from_library(void (*function)(void));

static volatile int calls;

void call_from_library(void (*function)(void)) {
	function();
	calls++;
}
