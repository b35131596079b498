// A program whose own functions have the same names as internal functions of libtracelet.
#include <tracelet/tracelet.h>

#include <stdio.h>
#include <stdlib.h>

int stream_open(void *stream, const char *path);
void buffer_append(void *buffer, const void *bytes, size_t size);
void buffer_grow(void *buffer, size_t more);
void *strings_new(void);
void *memory_alloc(size_t size);
int landed_file(void);
int hash_seed = 1;

int stream_open(void *stream, const char *path) {
	fprintf(stderr, "the program's stream_open(%p, %s)\n", stream, path);
	abort();
}

void buffer_append(void *buffer, const void *bytes, size_t size) {
	fprintf(stderr, "the program's buffer_append(%p, %p, %zu)\n", buffer, bytes, size);
	abort();
}

void buffer_grow(void *buffer, size_t more) {
	fprintf(stderr, "the program's buffer_grow(%p, %zu)\n", buffer, more);
	abort();
}

void *strings_new(void) {
	return NULL;
}

void *memory_alloc(size_t size) {
	fprintf(stderr, "the program's memory_alloc(%zu)\n", size);
	abort();
}

int landed_file(void) {
	return 1;
}

int main(int argc, char **argv) {
	char path[4096];
	struct tl_check_result result = TL_INIT(result);
	if (argc != 2 || tl_check_trace(argv[1], NULL, &result) || result.defects || !result.packets)
		return 1;
	if (tl_trace_landed(argv[1], 1, NULL, 0) || tl_artifact_path("x", "perfetto", path, sizeof(path)))
		return 1;
	return hash_seed != 1 || strings_new() != NULL || landed_file() != 1;
}
