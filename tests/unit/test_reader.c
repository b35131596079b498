// The process that reads symbol files dies, and the side that asks goes on.
#include "aside.h"

#include "symbol/elf_unwind.h"
#include "symbol/namer.h"
#include "symbol/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t address_of(const char *program, const char *symbol) {
	CLEANUP_FREE char *command = memory_format("nm %s | awk '$3 == \"%s\" { print $1 }'", program,
						   symbol);
	unsigned long long address = 0;
	FILE *names = popen(command, "r");
	assert_non_null(names);
	assert_int_equal(fscanf(names, "%llx", &address), 1);
	pclose(names);
	return address;
}

static int make_files(void **state) {
	assert_int_equal(0, folder_setup(state));
	assert_int_equal(0, chdir(aside_folder));
	assert_int_equal(0, system("printf 'int first(void) { return 1; }\nint second(void) { return 2; }\n"
				   "int main(void) { return first() + second(); }\n' >a.c && "
				   "gcc -O0 -o a a.c && cp a b && cp a c"));
	setenv("HOME", aside_folder, 1);
	return 0;
}

static const char *name_in(struct namer *namer, struct elf_object *object, const char *function) {
	struct named found[MOST_NAMED];
	size_t count = namer_functions(namer, object, address_of("a", function), false, found);
	assert_int_equal(count, 1);
	return found[0].name;
}

struct rows {
	size_t count;
	uint64_t sum;
};

static void take_row(void *context, const struct unwind_row *row) {
	struct rows *rows = context;
	rows->count++;
	rows->sum = rows->sum * 31 + row->pc + (uint32_t)row->cfa_offset + row->cfa_register;
}

static void kill_reader(struct namer *namer) {
	pid_t pid = reader_pid(namer_reader(namer));
	assert_true(pid > 0);
	kill(pid, SIGKILL);
	siginfo_t about;
	assert_int_equal(waitid(P_PID, (id_t)pid, &about, WEXITED | WNOWAIT), 0);
}

static void test_the_file_that_killed_it_has_no_names_and_others_have(void **state) {
	struct namer *namer = namer_new();
	struct elf_object *a = namer_open(namer, in_folder("a"), "", -1);
	struct elf_object *b = namer_open(namer, in_folder("b"), "", -1);
	assert_string_equal(name_in(namer, a, "first"), "first");
	kill_reader(namer);
	assert_null(name_in(namer, a, "second"));
	assert_string_equal(name_in(namer, a, "first"), "first"); // it is known
	assert_string_equal(name_in(namer, b, "second"), "second");
	struct elf_object *c = namer_open(namer, in_folder("c"), "", -1);
	assert_non_null(c);
	assert_string_equal(name_in(namer, c, "first"), "first");
	namer_free(namer);
}

static void test_there_is_an_end_to_starting_it(void **state) {
	struct namer *namer = namer_new();
	struct elf_object *object = NULL;
	unsigned starts = 0;
	while ((object = namer_open(namer, in_folder("a"), "", -1)) && starts < 100) {
		starts++;
		kill_reader(namer);
		assert_null(name_in(namer, object, "first"));
	}
	assert_in_range(starts, 2, 20);
	namer_free(namer);
}

// A thread that converts while the test runs is idle; at the end it is in a hurry, and so is its reader.
static void *ask_idly(void *context) {
	struct namer *namer = context;
	const struct sched_param none = {0};
	sched_setscheduler(0, SCHED_IDLE, &none);
	struct elf_object *object = namer_open(namer, in_folder("a"), "", -1);
	pid_t pid = reader_pid(namer_reader(namer));
	int before = sched_getscheduler(pid);
	sched_setscheduler(0, SCHED_OTHER, &none);
	name_in(namer, object, "first");
	return (void *)(uintptr_t)(before == SCHED_IDLE && sched_getscheduler(pid) == SCHED_OTHER); // NOLINT
}

static void test_it_is_as_urgent_as_the_thread_that_asks(void **state) {
	struct namer *namer = namer_new();
	pthread_t thread;
	void *result = NULL;
	assert_int_equal(pthread_create(&thread, NULL, ask_idly, namer), 0);
	pthread_join(thread, &result);
	assert_non_null(result);
	namer_free(namer);
}

// Rows and segments are those that the file itself has.
static void test_code_is_the_same_as_in_the_file(void **state) {
	struct reader *reader = reader_new();
	struct elf_object *read = reader_open_code(reader, in_folder("a"));
	struct elf_object *here = elf_open_code(in_folder("a"));
	assert_int_equal(read->segment_count, here->segment_count);
	for (size_t i = 0; i < here->segment_count; i++)
		assert_int_equal(read->segments[i].address, here->segments[i].address);
	assert_string_equal(read->build_id, here->build_id);
	struct rows of_reader = {0}, of_file = {0};
	uint64_t base = 0;
	assert_int_equal(reader_rows(reader, read, &base, take_row, &of_reader), 0);
	struct unwind_table *table = elf_unwind_table(here);
	assert_int_equal(base, unwind_table_base(table));
	unwind_table_each_row(table, take_row, &of_file);
	assert_true(of_file.count > 3);
	assert_int_equal(of_reader.count, of_file.count);
	assert_int_equal(of_reader.sum, of_file.sum);
	assert_null(reader_open_code(reader, in_folder("a.c")));
	unwind_table_free(table);
	elf_close(here);
	elf_close(read);
	reader_free(reader);
}

// ---- stubs ----

// Every stub that the tool finds in the program has its name, from the first byte to the last.
static unsigned check_stubs(struct namer *namer, const char *program, const char *tools) {
	CLEANUP_FREE char *command = memory_format("%sobjdump -d %s | sed -n 's/^\\([0-9a-f]*\\) "
						   "<\\(.*@plt\\)>:$/\\1 \\2/p'",
						   tools, program);
	struct elf_object *object = namer_open(namer, in_folder(program), "", -1);
	assert_non_null(object);
	FILE *stubs = popen(command, "r");
	assert_non_null(stubs);
	unsigned long long address;
	char name[64];
	unsigned count = 0;
	for (; fscanf(stubs, "%llx %63s", &address, name) == 2; count++)
		for (uint64_t i = 0; i < 8; i++) {
			struct named found[MOST_NAMED];
			assert_int_equal(namer_functions(namer, object, address + i, false, found), 1);
			assert_non_null(found[0].name);
			assert_string_equal(found[0].name, name);
		}
	pclose(stubs);
	return count;
}

static void test_stubs_have_the_names_of_their_functions(void **state) {
	static const char *const ways[] = {"-Wl,-z,lazy", "-Wl,-z,now",
					   "-no-pie",     "-fcf-protection=full -Wl,-z,ibtplt",
					   "-s",          "-fno-plt"};
	struct namer *namer = namer_new();
	assert_int_equal(
		0, system("printf '#include <stdio.h>\\n#include <stdlib.h>\\n"
			  "int main(int argc, char **argv) { srand(argc); puts(argv[0]); return rand(); }\\n"
			  "void *twice(void) { return (void *)rand; }\\n' >s.c"));
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		CLEANUP_FREE char *command = memory_format("gcc -O1 %s -o stubs%zu s.c", ways[i], i);
		CLEANUP_FREE char *program = memory_format("stubs%zu", i);
		assert_int_equal(0, system(command));
		unsigned count = check_stubs(namer, program, "");
		assert_true(strcmp(ways[i], "-fno-plt") == 0 || count >= 3);
	}
	if (system("aarch64-linux-gnu-gcc --version >none 2>&1") == 0) {
		assert_int_equal(0, system("aarch64-linux-gnu-gcc -O1 -o arm s.c && "
					   "aarch64-linux-gnu-gcc -O1 -mbranch-protection=standard "
					   "-Wl,-z,force-bti -o marked s.c 2>none"));
		assert_true(check_stubs(namer, "arm", "aarch64-linux-gnu-") >= 3);
		assert_true(check_stubs(namer, "marked", "aarch64-linux-gnu-") >= 3);
	}
	namer_free(namer);
}

// ---- allocators ----

static const struct allocator_place *place_of(const struct allocator_symbols *symbols,
					      enum heap_function function, bool prefixed) {
	for (size_t i = 0; i < symbols->count; i++)
		if (symbols->places[i].function == function && symbols->places[i].prefixed == prefixed)
			return &symbols->places[i];
	return NULL;
}

static void test_an_allocator_s_functions(void **state) {
	static struct allocator_symbols symbols;
	struct reader *reader = reader_new();
	assert_int_equal(0, system("printf 'void *malloc(unsigned long size) { return (void *)size; }\n"
				   "void *aliased(unsigned long) __attribute__((alias(\"malloc\")));\n"
				   "static __attribute__((used)) void free(void *block) { }\n"
				   "static __attribute__((used)) void mi_free(void *block) { }\n' >m.c && "
				   "gcc -w -O0 -fno-builtin -shared -fPIC -o m.so m.c"));
	int file = section_open_file(in_folder("m.so"));
	assert_int_equal(reader_allocator(reader, file, false, &symbols), 0);
	assert_true(symbols.has_malloc && !symbols.is_go && !symbols.is_sanitized &&
		    !symbols.is_other_machine);
	assert_int_equal(symbols.count, 2);
	assert_non_null(place_of(&symbols, HEAP_CALL_SIZE, false));
	assert_non_null(place_of(&symbols, HEAP_CALL_FREE, true)); // free() is not exported
	close(file);
	file = section_open_file(in_folder("a"));
	assert_int_equal(reader_allocator(reader, file, true, &symbols), 0);
	assert_false(symbols.has_malloc);
	assert_int_equal(symbols.count, 0);
	close(file);
	file = open(in_folder("a.c"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(reader_allocator(reader, file, true, &symbols), 0);
	assert_true(symbols.is_other_machine);
	close(file);
	reader_free(reader);
}

static const char *reader_that_says(const struct allocator_symbols *symbols) {
	struct buffer packet = {0}, text = {0};
	answer_write_allocator(&packet, symbols);
	for (size_t i = 0; i < packet.size; i++)
		buffer_printf(&text, "%d,", packet.data[i]);
	FILE *source = fopen(in_folder("says.c"), "we");
	assert_non_null(source);
	fprintf(source,
		"#include <sys/socket.h>\nchar says[] = {%.*s};\nint main(void) { char in[999];\n"
		"while (recv(0, in, sizeof(in), 0) > 0) send(0, says, sizeof(says), 0); }\n",
		(int)text.size, (char *)text.data);
	fclose(source);
	assert_int_equal(0, system("gcc -w -o says says.c"));
	buffer_free(&packet);
	buffer_free(&text);
	return in_folder("says");
}

static void test_functions_outside_the_file_are_refused(void **state) {
	static struct allocator_symbols symbols;
	struct allocator_symbols said = {
		.has_malloc = true, .count = 1, .places = {{100, HEAP_CALL_SIZE, false}}};
	int file = section_open_file(in_folder("a"));
	for (unsigned i = 0; i < 2; i++) {
		CLEANUP_FREE char *says = memory_string(reader_that_says(&said));
		reader_program(says);
		struct reader *reader = reader_new();
		assert_int_equal(reader_allocator(reader, file, true, &symbols), i ? -EPROTO : 0);
		assert_int_equal(reader_running(reader), i ? 0 : 1);
		reader_free(reader);
		said.places[0].offset = UINT64_C(1) << 40;
	}
	reader_program(NULL);
	close(file);
}

// The other end of an answer that no proper reader gives.
static void test_improper_answers(void **state) {
	static struct answer answer;
	struct buffer packet = {0};
	const struct named named = {.name = "main"};
	answer_write_named(&packet, &CODE_RANGE_ALL, &named, 1);
	assert_true(answer_read(packet.data, packet.size, &answer));
	assert_string_equal(answer.named[0].name, "main");
	for (size_t size = 0; size < packet.size; size++)
		assert_false(answer_read(packet.data, size, &answer));
	packet.data[4] = 200; // items
	assert_false(answer_read(packet.data, packet.size, &answer));
	packet.data[0] = 99; // kind
	assert_false(answer_read(packet.data, packet.size, &answer));
	answer_write_opened(&packet, &(struct elf_object){.build_id = "../../etc"});
	assert_false(answer_read(packet.data, packet.size, &answer));
	struct allocator_symbols symbols = {.count = 1, .places = {{100, HEAP_CALL_FREE, true}}};
	answer_write_allocator(&packet, &symbols);
	assert_true(answer_read(packet.data, packet.size, &answer));
	assert_int_equal(answer.allocator.places[0].offset, 100);
	symbols.places[0].function = HEAP_CALL_LAST + 1;
	answer_write_allocator(&packet, &symbols);
	assert_false(answer_read(packet.data, packet.size, &answer));
	buffer_free(&packet);
}

static void test_long_names_are_cut_so_that_all_fit(void **state) {
	static struct answer answer;
	enum { LENGTH = 100000 };
	CLEANUP_FREE char *text = memory_alloc(LENGTH + 1);
	memset(text, 'x', LENGTH);
	struct named named[MOST_NAMED];
	for (size_t i = 0; i < MOST_NAMED; i++)
		named[i] = (struct named){.name = text, .at = {text, 1}};
	struct buffer packet = {0};
	answer_write_named(&packet, &CODE_RANGE_ALL, named, MOST_NAMED);
	assert_true(packet.size <= LARGEST_ANSWER);
	assert_true(answer_read(packet.data, packet.size, &answer));
	assert_int_equal(answer.count, MOST_NAMED);
	answer_write_named(&packet, &CODE_RANGE_ALL, named, 1);
	assert_true(answer_read(packet.data, packet.size, &answer));
	assert_int_equal(strlen(answer.named[0].name), LENGTH);
	buffer_free(&packet);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_file_that_killed_it_has_no_names_and_others_have),
		cmocka_unit_test(test_there_is_an_end_to_starting_it),
		cmocka_unit_test(test_it_is_as_urgent_as_the_thread_that_asks),
		cmocka_unit_test(test_code_is_the_same_as_in_the_file),
		cmocka_unit_test(test_stubs_have_the_names_of_their_functions),
		cmocka_unit_test(test_an_allocator_s_functions),
		cmocka_unit_test(test_functions_outside_the_file_are_refused),
		cmocka_unit_test(test_improper_answers),
		cmocka_unit_test(test_long_names_are_cut_so_that_all_fit),
	};
	return cmocka_run_group_tests(tests, make_files, folder_teardown);
}
