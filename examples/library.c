// A program that runs a command traced and inspects the result; C99 or later, and C++11.
//
//     cc library.c $(pkg-config --cflags --libs tracelet) -o library
//     ./library out sleep 0.1
#include <tracelet/mark.h>
#include <tracelet/tracelet.h>

#include <stdio.h>
#include <string.h>

static void print_finding(const struct tl_finding *finding, void *context) {
	printf("%s: byte %lu: %s\n", (const char *)context, (unsigned long)finding->offset, finding->text);
}

// The number of defects in the trace.
static int look_at(const char *trace) {
	struct tl_check_opts opts = TL_INIT(opts);
	struct tl_check_result result = TL_INIT(result);
	opts.on_finding = print_finding;
	opts.context = (void *)trace;
	if (tl_check_trace(trace, &opts, &result) != 0)
		return 1;
	printf("%s: %lu events, %lu defects\n", trace, (unsigned long)result.events,
	       (unsigned long)result.defects);
	return result.defects != 0;
}

static int run_command(const char *folder, char **command) {
	struct tl_run_opts opts = TL_INIT(opts);
	struct tl_run_result result = TL_INIT(result);
	opts.output_dir = folder;
	int error = tl_run(command, &opts, &result);
	if (error)
		fprintf(stderr, "%s: %s\n%s", command[0], strerror(-error),
			result.messages ? result.messages : "");
	else
		printf("status %d after %.3f s\n", result.status, result.wall_seconds);
	int bad = error ? 1 : result.trace ? look_at(result.trace) : 0;
	tl_run_free(&result);
	return bad;
}

int main(int argc, char **argv) {
	if (argc < 2) {
		fprintf(stderr, "usage: library TRACE | library FOLDER COMMAND...\n");
		return 2;
	}
	tl_slice_begin("example"); // in the trace of this program, if it is traced itself
	int bad = argc == 2 ? look_at(argv[1]) : run_command(argv[1], argv + 2);
	tl_slice_end();
	return bad;
}
