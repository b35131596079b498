#include "unit.h"

#include "heap/heap.h"
#include "heap/leaks.h"
#include "heap/preload/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- live blocks ----

static struct heap_block block_at(uint64_t address, uint64_t size) {
	return (struct heap_block){.address = address, .size = size};
}

static void test_blocks_come_and_go(void **state) {
	enum { COUNT = 50000 };
	struct heap_block block, before;
	for (uint64_t i = 1; i <= COUNT; i++) {
		block = block_at(i * 32, i);
		assert_true(heap_block_put(&block, &before));
		assert_int_equal(0, before.address);
	}
	// Every other block is freed, exactly once.
	for (uint64_t i = 1; i <= COUNT; i += 2) {
		assert_true(heap_block_take(i * 32, &block));
		assert_int_equal(i, block.size);
		assert_false(heap_block_take(i * 32, &block));
	}
	for (uint64_t i = 2; i <= COUNT; i += 2) {
		assert_true(heap_block_take(i * 32, &block));
		assert_int_equal(i, block.size);
	}
	assert_false(heap_block_take(64, &block));
}

static void test_a_block_at_the_same_address_returns_the_previous_one(void **state) {
	struct heap_block first = block_at(0x1000, 7), second = block_at(0x1000, 9), before, taken;
	assert_true(heap_block_put(&first, &before));
	assert_true(heap_block_put(&second, &before));
	assert_int_equal(0x1000, before.address);
	assert_int_equal(7, before.size);
	assert_true(heap_block_take(0x1000, &taken));
	assert_int_equal(9, taken.size);
	assert_false(heap_block_take(0x1000, &taken));
}

// ---- counting ----

// The library's own code, with a sanitizer if there is one: threads that begin, resize and end
// blocks which are just numbers, in several processes at once. Each process has its own area.
enum { STRESS_THREADS = 4, STRESS_SLOTS = 300, STRESS_TURNS = 20000 };

static void *stress_thread(void *context) {
	uint64_t seed = (uintptr_t)context, sizes[STRESS_SLOTS] = {0}, first = seed << 32;
	struct heap_visit visit;
	heap_self.id = (uint32_t)gettid();
	heap_self.thread = heap_thread_new();
	for (int i = 0; i < STRESS_TURNS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint64_t slot = (seed >> 33) % STRESS_SLOTS;
		void *address = (void *)(first + (slot + 1) * 16); // NOLINT: a number
		struct heap_place here = {(uint64_t)__builtin_return_address(0),
					  (uint64_t)__builtin_frame_address(0) + 16,
					  *(uint64_t *)__builtin_frame_address(0)};
		struct heap_block block;
		heap_enter(&visit);
		if (!sizes[slot]) {
			sizes[slot] = seed >> 50 | 1;
			heap_count_begin(address, sizes[slot], &here);
		} else if (seed >> 40 & 1 && heap_count_resize(address, &block)) {
			sizes[slot] = seed >> 51 | 1;
			heap_count_resized(&block, address, sizes[slot]);
		} else {
			sizes[slot] = 0;
			heap_count_end(address);
		}
		heap_leave();
	}
	heap_enter(&visit);
	for (uint64_t slot = 0; slot < STRESS_SLOTS; slot++)
		if (sizes[slot])
			heap_count_end((void *)(first + (slot + 1) * 16)); // NOLINT: a number
	heap_leave();
	heap_thread_free(heap_self.thread);
	heap_self.thread = NULL;
	return NULL;
}

// Runs in a separate process. Returns 0 if everything that was counted was also uncounted.
static int stress_process(void) {
	pthread_t threads[STRESS_THREADS];
	uint64_t live = 0, blocks = 0;
	if (!heap_area_open())
		return 2;
	for (uintptr_t i = 0; i < STRESS_THREADS; i++)
		if (pthread_create(&threads[i], NULL, stress_thread, (void *)(i + 1))) // NOLINT: a number
			return 3;
	for (int i = 0; i < STRESS_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < heap_area->point_count; i++) {
		live += heap_area->points[i].bytes + heap_area->points[i].blocks;
		blocks += heap_area->points[i].total_blocks;
	}
	return live || heap_area->bytes || heap_area->missed || blocks < STRESS_TURNS;
}

static void test_threads_and_processes(void **state) {
	enum { PROCESSES = 3 };
	int fd = heap_create(&(struct heap_options){.children = true});
	char *name = memory_format("/proc/%d/fd/%d", (int)getpid(), fd);
	struct heap_results results = {0};
	char *command[] = {(char[]){"stress"}, NULL};
	pid_t children[PROCESSES];
	setenv(HEAP_VARIABLE, name, 1);
	for (int i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		if (children[i] == 0)
			_exit(stress_process());
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status = -1;
		waitpid(children[i], &status, 0);
		assert_int_equal(0, status);
	}
	struct heap_time end = heap_time_now();
	heap_collect(fd, command, &end, &results);
	assert_int_equal(PROCESSES, results.items.count);
	heap_results_free(&results);
	unsetenv(HEAP_VARIABLE);
	free(name);
	close(fd);
}

// Holds a lock and sleeps until it is woken.
struct sleeper {
	uint32_t lock;
	pthread_barrier_t holds, ends;
};

static void *sleep_with_lock(void *context) {
	struct sleeper *sleeper = context;
	heap_self.id = (uint32_t)gettid();
	heap_lock(&sleeper->lock);
	pthread_barrier_wait(&sleeper->holds);
	pthread_barrier_wait(&sleeper->ends);
	heap_unlock(&sleeper->lock);
	return NULL;
}

static void wait_for_a_sleeper(void) {
	struct sleeper sleeper = {0};
	pthread_t thread;
	pthread_barrier_init(&sleeper.holds, NULL, 2);
	pthread_barrier_init(&sleeper.ends, NULL, 2);
	assert_int_equal(0, pthread_create(&thread, NULL, sleep_with_lock, &sleeper));
	pthread_barrier_wait(&sleeper.holds);
	assert_false(heap_lock(&sleeper.lock));
	assert_int_equal(HEAP_LOCK_BROKEN, sleeper.lock);
	pthread_barrier_wait(&sleeper.ends);
	pthread_join(thread, NULL);
	assert_true(heap_lock(&sleeper.lock)); // it has returned after all
	heap_unlock(&sleeper.lock);
}

// A lock whose holder will never return is given up, along with its table; a holder that does
// return repairs it.
static void test_a_thread_that_never_leaves_the_allocator_is_recovered(void **state) {
	struct heap_block block = block_at(0x770, 7), before, taken;
	struct heap_area *area = memory_alloc(sizeof(*area));
	struct heap_visit visit;
	heap_area = area;
	heap_self.id = 42;
	assert_true(heap_block_put(&block, &before));
	heap_enter(&visit);
	heap_self.pending = 0x770;
	heap_recover(); // it was in the table, but not counted
	heap_leave();
	assert_int_equal(1, area->interrupted);
	assert_false(heap_block_take(0x770, &taken));
	uint32_t lock = HEAP_LOCK_BROKEN;
	assert_false(heap_lock(&lock));
	lock = 42; // our own lock, although we do not know that we hold it
	assert_false(heap_lock(&lock));
	assert_int_equal(HEAP_LOCK_BROKEN, lock);
	assert_int_equal(1, area->broken);
	wait_for_a_sleeper();
	assert_int_equal(2, area->broken);
	heap_area = NULL;
	heap_self = (struct heap_self){0};
	free(area);
}

// ---- profiles ----

static char folder[] = "/tmp/tracelet-heap-XXXXXX";

static char *text_of(const char *path) {
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	char *text = memory_alloc(1 << 16);
	assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
	fclose(file);
	return text;
}

static struct heap_area *area_of(int fd) {
	struct heap_area *area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				      (off_t)heap_area_offset(0));
	assert_ptr_not_equal(MAP_FAILED, area);
	assert_int_equal(4, pwrite(fd, &(uint32_t){1}, 4, offsetof(struct heap_head, count)));
	return area;
}

// The profile as text; the caller frees it.
static char *saved(int fd) {
	char *command[] = {(char[]){"./a test"}, (char[]){"-x"}, NULL};
	struct heap_time end = heap_time_now();
	char *stem = memory_format("%s/x", folder);
	struct heap_files files = {0};
	struct heap_results results = {0};
	heap_collect(fd, command, &end, &results);
	heap_save(&results, stem, &files);
	heap_results_free(&results);
	free(stem);
	assert_int_equal(1, files.items.count);
	char *text = text_of(files.items.items[0].path);
	unlink(files.items.items[0].path);
	heap_files_free(&files);
	return text;
}

// root, 0x10 and two calls from there: one was at the newest peak, one has not changed since.
static void test_a_profile(void **state) {
	int fd = heap_create(&(struct heap_options){0});
	assert_true(fd >= 0);
	struct heap_area *area = area_of(fd);
	area->owner = 77;
	area->peak = 5;
	area->frame_count = 3;
	area->node_count = 4;
	area->point_count = 3;
	for (uint32_t i = 0; i < 3; i++) {
		area->frames[i].address = 0x10 * (i + 1);
		area->nodes[i + 1] = (struct heap_node){.parent = i ? 1 : 0, .frame = i};
	}
	area->points[1] = (struct heap_point){.node = 2,
					      .total_bytes = 100,
					      .total_blocks = 10,
					      .bytes = 20,
					      .blocks = 2,
					      .most_bytes = 60,
					      .most_blocks = 6,
					      .peak_bytes = 50,
					      .peak_blocks = 5,
					      .peak = 5};
	area->points[2] = (struct heap_point){.node = 3,
					      .total_bytes = 8,
					      .total_blocks = 1,
					      .bytes = 8,
					      .blocks = 1,
					      .most_bytes = 8,
					      .most_blocks = 1,
					      .peak = 4};
	char *text = saved(fd);
	assert_non_null(strstr(
		text, "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,"));
	assert_non_null(strstr(text, "\"cmd\":\"./a test -x\",\"pid\":77,"));
	assert_non_null(
		strstr(text, "\"mb\":60,\"mbk\":6,\"gb\":50,\"gbk\":5,\"eb\":20,\"ebk\":2,\"fs\":[2,1]}"));
	assert_non_null(
		strstr(text, "\"mb\":8,\"mbk\":1,\"gb\":8,\"gbk\":1,\"eb\":8,\"ebk\":1,\"fs\":[3,1]}"));
	assert_non_null(strstr(text, "\"ftbl\":[\"[root]\",\"0x10: ???\",\"0x20: ???\",\"0x30: ???\"]"));
	free(text);
	munmap(area, sizeof(*area));
	close(fd);
}

// Two frames with the same text make one point: the viewer rejects duplicates.
static void test_stacks_that_read_the_same_are_one(void **state) {
	int fd = heap_create(&(struct heap_options){0});
	struct heap_area *area = area_of(fd);
	area->owner = 1;
	area->frame_count = 2;
	area->node_count = area->point_count = 3;
	for (uint32_t i = 0; i < 2; i++) {
		area->frames[i].address = 0x10;
		area->nodes[i + 1].frame = i;
		area->points[i + 1] = (struct heap_point){
			.node = i + 1, .total_bytes = 10, .total_blocks = 1};
	}
	char *text = saved(fd);
	assert_non_null(strstr(text, "\"pps\":[{\"tb\":20,\"tbk\":2,"));
	assert_null(strstr(text, "\"tb\":10"));
	free(text);
	munmap(area, sizeof(*area));
	close(fd);
}

// The test may have written anything into it.
static void test_an_area_full_of_nonsense(void **state) {
	uint32_t seed = 1;
	for (int round = 0; round < 20; round++) {
		int fd = heap_create(&(struct heap_options){0});
		struct heap_area *area = area_of(fd);
		struct {
			void *begin;
			size_t size;
		} parts[] = {{area->modules, 1 << 14},
			     {area->frames, 1 << 12},
			     {area->nodes, 1 << 12},
			     {area->points, 1 << 12}};
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
			for (size_t k = 0; k < parts[i].size / 4; k++) {
				seed = seed * 1664525 + 1013904223;
				// Small numbers get further.
				((uint32_t *)parts[i].begin)[k] = round % 2 ? seed : seed >> 24;
			}
		for (size_t i = 0; i < 32 && round % 3; i++)
			memcpy(area->modules[i].path, "/proc/self/exe", 15);
		area->owner = 1;
		area->module_count = 40;
		area->frame_count = 200;
		area->node_count = 500;
		area->point_count = 100;
		free(saved(fd));
		munmap(area, sizeof(*area));
		close(fd);
	}
}

static void test_no_process_used_the_area(void **state) {
	char *command[] = {(char[]){"true"}, NULL};
	int fd = heap_create(&(struct heap_options){0});
	struct heap_results results = {0};
	heap_collect(fd, command, &(struct heap_time){0}, &results);
	assert_int_equal(0, results.items.count);
	heap_results_free(&results);
	close(fd);
}

// ---- leaks ----

// A point with two blocks of 12 bytes, allocated by "give" in /bin/heap, and its callers.
static struct heap_made *leaking(void) {
	static const char *const functions[] = {"give", "resized", "main", "__libc_start_main"};
	struct heap_made *made = memory_alloc(sizeof(*made));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		struct heap_label label = {functions[i], i < 3 ? "/bin/heap" : "/lib/libc.so.6"};
		array_push(&made->labels, label);
		array_push(&made->profile.frames, "0x1: give (heap.c:1)");
		array_push(&made->profile.stacks, (uint32_t)i);
	}
	array_push(&made->profile.points,
		   (struct dhat_point){.end_bytes = 24, .end_blocks = 2, .frame_count = 4});
	made->strings = strings_new();
	return made;
}

static uint64_t leaks_with(const char *lines) {
	struct heap_suppressions suppressions;
	struct heap_leaks leaks = {0};
	struct heap_made *made = leaking();
	char *path = memory_format("%s/suppressions", folder);
	FILE *file = fopen(path, "we");
	fputs(lines, file);
	fclose(file);
	assert_int_equal(0, heap_suppressions_load(&suppressions, path));
	heap_leaks_add(&leaks, made, &suppressions, NULL);
	assert_int_equal(2, leaks.blocks + leaks.hidden_blocks);
	assert_int_equal(24, leaks.bytes + leaks.hidden_bytes);
	uint64_t blocks = leaks.blocks;
	heap_leaks_free(&leaks);
	heap_suppressions_free(&suppressions);
	heap_made_free(made);
	unlink(path);
	free(path);
	return blocks;
}

static void test_suppressions(void **state) {
	static const char *const hide[] = {
		"resized",        "*!give",       "heap!res*",
		"/bin/heap!main", "^give",        "^give < resized < main",
		"leak:esize",     "leak:/bin/he", "# nothing\n\n  resized # behind\n"};
	static const char *const show[] = {"",
					   "^resized",
					   "libc*!resized",
					   "^give < main",
					   "# resized",
					   "res",
					   "leak:resizes",
					   "^give < resized < main < x",
					   "^give < resized < main < __libc_start_main < more"};
	for (size_t i = 0; i < ARRAY_SIZE(hide); i++)
		assert_int_equal(0, leaks_with(hide[i]));
	for (size_t i = 0; i < ARRAY_SIZE(show); i++)
		assert_int_equal(2, leaks_with(show[i]));
}

// ---- windows ----

// Consecutive windows do not overlap; the whole profile covers both.
static void test_windows_are_disjoint(void **state) {
	int fd = heap_create(&(struct heap_options){0});
	struct heap_area *area = area_of(fd);
	char *path = memory_format("%s/window", folder);
	area->owner = 1;
	area->frame_count = 1;
	area->node_count = area->point_count = 2;
	struct heap_point *point = &area->points[1];
	*point = (struct heap_point){.node = 1,
				     .total_bytes = 100,
				     .total_blocks = 10,
				     .bytes = 30,
				     .blocks = 3,
				     .most_bytes = 90};
	static const struct {
		enum heap_window window;
		uint64_t more; // blocks since the last check
		const char *tells;
	} looks[] = {
		{HEAP_WINDOW, 0, "\"tb\":100,\"tbk\":10,"}, {HEAP_WINDOW_END, 0, "\"tb\":100,\"tbk\":10,"},
		{HEAP_WINDOW_END, 0, "\"pps\":[]"},         {HEAP_WINDOW_END, 7, "\"tb\":70,\"tbk\":7,"},
		{HEAP_WHOLE, 0, "\"tb\":170,\"tbk\":17,"},  {HEAP_WINDOW, 1, "\"tb\":10,\"tbk\":1,"}};
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		point->total_blocks += looks[i].more;
		point->total_bytes += looks[i].more * 10;
		assert_int_equal(0, heap_snapshot(fd, 0, looks[i].window, path, NULL));
		char *text = text_of(path);
		assert_non_null(strstr(text, looks[i].tells));
		free(text);
	}
	assert_int_equal(-ENODATA, heap_snapshot(fd, 1, HEAP_WHOLE, path, NULL));
	unlink(path);
	free(path);
	munmap(area, sizeof(*area));
	close(fd);
}

// ---- a running process ----

// A program with our library; runs until its input ends.
static int be_counted(void) {
	char end;
	if (!heap_area_open())
		return 1;
	heap_area->point_count = 1;
	heap_area->points[0] = (struct heap_point){.total_blocks = 3, .total_bytes = 33};
	return write(STDOUT_FILENO, "!", 1) != 1 || read(STDIN_FILENO, &end, 1) != 0;
}

static void test_a_process_is_found(void **state) {
	int fd = heap_create(&(struct heap_options){0}), in[2], out[2], found = -1, status = -1;
	uint32_t area = 77;
	char *name = memory_format(HEAP_VARIABLE "=/proc/%d/fd/%d", (int)getpid(), fd), said;
	char *arguments[] = {(char[]){"test_heap"}, (char[]){"be-counted"}, NULL},
	     *environment[] = {name, NULL};
	assert_int_equal(0, pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC));
	pid_t child = fork();
	if (child == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execve("/proc/self/exe", arguments, environment);
		_exit(1);
	}
	assert_int_equal(1, read(out[0], &said, 1));
	assert_int_equal(0, heap_find(child, &found, &area));
	assert_int_equal(0, area);
	char *path = memory_format("%s/found", folder);
	assert_int_equal(0, heap_snapshot(found, area, HEAP_WHOLE, path, NULL));
	char *text = text_of(path);
	assert_non_null(strstr(text, "\"tb\":33,\"tbk\":3,"));
	assert_non_null(strstr(text, "\"cmd\":\"test_heap be-counted\""));
	assert_int_equal(-ENOENT, heap_find(getpid(), &(int){-1}, &area));
	close(in[1]);
	waitpid(child, &status, 0);
	assert_int_equal(0, status);
	unlink(path);
	free(text);
	free(path);
	free(name);
	for (int i = 0; i < 2; i++)
		close(out[i]);
	close(in[0]);
	close(found);
	close(fd);
}

int main(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "be-counted") == 0)
		return be_counted();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_come_and_go),
		cmocka_unit_test(test_a_block_at_the_same_address_returns_the_previous_one),
		cmocka_unit_test(test_threads_and_processes),
		cmocka_unit_test(test_a_thread_that_never_leaves_the_allocator_is_recovered),
		cmocka_unit_test(test_a_profile),
		cmocka_unit_test(test_stacks_that_read_the_same_are_one),
		cmocka_unit_test(test_an_area_full_of_nonsense),
		cmocka_unit_test(test_no_process_used_the_area),
		cmocka_unit_test(test_suppressions),
		cmocka_unit_test(test_a_process_is_found),
		cmocka_unit_test(test_windows_are_disjoint),
	};
	if (!mkdtemp(folder))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
