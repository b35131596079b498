// Copies of this program with their own build ids, as mapped by a process that has ended, and by
// this one.
#include "aside.h"

#include "capture/mapped_files.h"
#include "symbol/cut_files.h"
#include "symbol/elf.h"
#include "symbol/kept.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 0x7ffffff0 }; // a process that does not exist

static struct buffer program;
static size_t id_at;
static struct mapped_files files;

static int read_program(void **state) {
	static const uint8_t note[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
	assert_int_equal(0, folder_setup(state));
	assert_int_equal(0, chdir(aside_folder));
	struct input self;
	assert_int_equal(0, input_open(&self, "/proc/self/exe"));
	buffer_append(&program, self.data, self.size);
	input_close(&self);
	uint8_t *found = memmem(program.data, program.size, note, sizeof(note));
	if (found)
		id_at = (size_t)(found - program.data) + sizeof(note);
	return 0;
}

static int end(void **state) {
	mapped_files_free(&files);
	buffer_free(&program);
	return folder_teardown(state);
}

static struct file_number number_of(const char *path) {
	struct stat status;
	assert_int_equal(0, stat(path, &status));
	return (struct file_number){status.st_dev, status.st_ino};
}

// Writes the program, with an id that begins with this byte, over what is there.
static struct file_number write_program(const char *path, uint8_t id) {
	program.data[id_at] = id;
	put_file(path, program.data, program.size);
	return number_of(path);
}

static struct spool_mapping mapping;

// The first byte of the id; -1 if there is none; -2 if it is lost.
static int look(uint32_t pid, const void *start, struct file_number number, const char *path) {
	mapping = (struct spool_mapping){.pid = pid, .start = (uintptr_t)start, .size = program.size};
	uint32_t index = mapped_files_look(&files, &mapping, number, *path == '[' ? path : in_folder(path));
	if (mapping.build_id_size == SPOOL_BUILD_ID_LOST) {
		assert_int_equal(0, index);
		return -2;
	}
	assert_true(!mapping.build_id_size || index);
	return mapping.build_id_size ? mapping.build_id[0] : -1;
}

static void need_id(void) {
	if (!id_at)
		skip(); // a linker without build ids
}

static void test_file_that_is_there(void **state) {
	need_id();
	struct file_number number = write_program("there", 1);
	assert_int_equal(1, look(NOBODY, NULL, number, "there"));
	assert_int_equal(20, mapping.build_id_size);
	assert_memory_equal(program.data + id_at, mapping.build_id, 20);
}

static void test_path_that_leads_to_another_file(void **state) {
	need_id();
	struct file_number old = write_program("replaced", 2);
	write_program("new", 3);
	assert_int_equal(0, rename("new", "replaced"));
	assert_int_equal(-2, look(NOBODY, NULL, old, "replaced"));
}

static void test_file_that_was_seen_and_replaced(void **state) {
	need_id();
	struct file_number old = write_program("seen", 4);
	assert_int_equal(4, look(NOBODY, NULL, old, "seen"));
	struct file_number new = write_program("other", 5);
	assert_int_equal(0, rename("other", "seen"));
	assert_int_equal(5, look(NOBODY, NULL, new, "seen"));
	assert_int_equal(4, look(NOBODY, NULL, old, "seen")); // another process still has it
}

static void test_file_that_is_written_over(void **state) {
	need_id();
	struct file_number number = write_program("over", 6);
	assert_int_equal(6, look(NOBODY, NULL, number, "over"));
	write_program("over", 7);
	struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}}; // the clock may not have moved on
	assert_int_equal(0, utimensat(AT_FDCWD, "over", times, 0));
	assert_int_equal(7, look(NOBODY, NULL, number, "over"));
	// Each is found by its id when names are looked up.
	assert_int_equal(0, unlink("over"));
	char id[41];
	for (int i = 0; i < 20; i++)
		snprintf(id + 2 * i, 3, "%02x", mapping.build_id[i]);
	assert_true(kept_files_find("over", id) >= 0);
}

static void test_file_that_is_gone(void **state) {
	need_id();
	struct file_number number = write_program("gone", 8);
	assert_int_equal(0, unlink("gone"));
	assert_int_equal(-2, look(NOBODY, NULL, number, "gone"));
}

static void test_deleted_file_that_is_mapped(void **state) {
	need_id();
	struct file_number number = write_program("deleted", 9);
	int file = open("deleted", O_RDONLY | O_CLOEXEC);
	void *there = mmap(NULL, program.size, PROT_READ, MAP_PRIVATE, file, 0);
	assert_ptr_not_equal(MAP_FAILED, there);
	close(file);
	assert_int_equal(0, unlink("deleted"));
	char link[96];
	snprintf(link, sizeof(link), "/proc/self/map_files/%lx-%lx", (unsigned long)(uintptr_t)there,
		 (unsigned long)(((uintptr_t)there + program.size + 4095) & ~4095ul));
	bool allowed = open(link, O_PATH | O_CLOEXEC) >= 0;
	size_t size = program.size;
	program.size = (size + 4095) & ~(size_t)4095; // as the kernel reports it
	int found = look((uint32_t)getpid(), there, number, "deleted");
	program.size = size;
	munmap(there, size);
	if (!allowed)
		skip(); // not root
	assert_int_equal(9, found);
}

static void test_code_is_read_once(void **state) {
	need_id();
	struct file_number number = write_program("once", 10);
	assert_int_equal(10, look(NOBODY, NULL, number, "once"));
	struct mapped_file *file = &files.items.items[files.items.count - 1];
	assert_non_null(file->object);
	uint64_t content = file->content;
	elf_close(file->object);
	file->object = NULL;
	assert_int_equal(10, look(NOBODY, NULL, number, "once"));
	assert_null(file->object);
	number = write_program("twin", 10); // another file, the same code
	assert_int_equal(10, look(NOBODY, NULL, number, "twin"));
	assert_true(content == files.items.items[files.items.count - 1].content);
}

static void test_program_without_sections(void **state) {
	need_id();
	Elf64_Ehdr *header = (Elf64_Ehdr *)program.data, before = *header;
	header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
	struct file_number number = write_program("bare", 11);
	*header = before;
	assert_int_equal(11, look(NOBODY, NULL, number, "bare"));
}

// Like a linker that overwrites a program while its names are read.
static void test_file_that_is_cut_while_it_is_read(void **state) {
	write_program("cut", 12);
	int file = open("cut", O_RDWR | O_CLOEXEC);
	volatile const uint8_t *there = mmap(NULL, program.size, PROT_READ, MAP_PRIVATE, file, 0);
	assert_int_equal(0x7f, there[0]);
	cut_files_survive();
	assert_int_equal(0, ftruncate(file, 1));
	assert_int_equal(0, there[8192] | there[8191]);
	assert_int_equal(0x7f, there[0]);
	close(file);
	pid_t child = fork();
	if (child == 0) {
		raise(SIGBUS); // not caused by a file
		_exit(0);
	}
	int status = 0;
	assert_int_equal(child, waitpid(child, &status, 0));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

static void test_what_is_no_program(void **state) {
	put_file("text", "text", 4);
	assert_int_equal(-1, look(NOBODY, NULL, number_of("text"), "text"));
	assert_int_equal(-1, look(NOBODY, NULL, (struct file_number){0}, "[stack]"));
	assert_int_equal(0, mkfifo("fifo", 0700)); // would wait for a writer
	assert_int_equal(-2, look(NOBODY, NULL, number_of("fifo"), "fifo"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_that_is_there),
		cmocka_unit_test(test_path_that_leads_to_another_file),
		cmocka_unit_test(test_file_that_was_seen_and_replaced),
		cmocka_unit_test(test_file_that_is_written_over),
		cmocka_unit_test(test_file_that_is_gone),
		cmocka_unit_test(test_deleted_file_that_is_mapped),
		cmocka_unit_test(test_code_is_read_once),
		cmocka_unit_test(test_program_without_sections),
		cmocka_unit_test(test_file_that_is_cut_while_it_is_read),
		cmocka_unit_test(test_what_is_no_program),
	};
	return cmocka_run_group_tests(tests, read_program, end);
}
