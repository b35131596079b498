// The parts of a throw-away guest, and its console output.
#include "aside.h"

#include "vm/cpio.h"
#include "vm/kernel.h"
#include "vm/machine.h"
#include "vm/needed.h"
#include "vm/panic.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

// ---- archives ----

// `cpio -tv` would do, but not every machine has it: so this parses the headers.
struct listed {
	char name[256];
	unsigned mode, size;
	const uint8_t *content;
};

static unsigned hexadecimal(const uint8_t *at) {
	char digits[9] = "";
	memcpy(digits, at, 8);
	return (unsigned)strtoul(digits, NULL, 16);
}

static bool next_entry(const struct input *archive, size_t *at, struct listed *entry) {
	assert_true(*at + 110 <= archive->size);
	const uint8_t *header = archive->data + *at;
	assert_memory_equal(header, "070701", 6);
	unsigned name_size = hexadecimal(header + 94);
	entry->mode = hexadecimal(header + 14);
	entry->size = hexadecimal(header + 54);
	assert_true(name_size <= sizeof(entry->name));
	memcpy(entry->name, header + 110, name_size);
	*at = (*at + 110 + name_size + 3) & ~(size_t)3;
	entry->content = archive->data + *at;
	*at = (*at + entry->size + 3) & ~(size_t)3;
	assert_true(*at <= archive->size);
	return strcmp(entry->name, "TRAILER!!!") != 0;
}

static bool find_entry(const char *path, const char *name, struct listed *found, unsigned *count) {
	struct input archive;
	struct listed entry;
	size_t at = 0;
	*count = 0;
	assert_int_equal(input_open(&archive, path), 0);
	while (next_entry(&archive, &at, &entry)) {
		if (strcmp(entry.name, name) == 0) {
			*found = entry;
			(*count)++;
		}
	}
	input_close(&archive);
	return *count;
}

static void test_archive_has_folders_before_files_and_each_once(void **state) {
	struct output output;
	struct cpio cpio = {.output = &output};
	struct listed entry;
	unsigned count;
	put_file(in_folder("program"), "12345", 5);
	assert_int_equal(output_open(&output, in_folder("archive"), OUTPUT_REPLACE), 0);
	cpio_bytes(&cpio, "/a/b/file", 0644, "xyz", 3);
	cpio_bytes(&cpio, "/a/b/file", 0600, "other", 5);
	cpio_link(&cpio, "/a/link", "b/file");
	assert_true(cpio_copy(&cpio, "/bin/program", in_folder("program")));
	assert_false(cpio_copy(&cpio, "/bin/none", in_folder("none")));
	assert_false(cpio_copy(&cpio, "/bin/folder", aside_folder));
	assert_int_equal(cpio_end(&cpio), 0);
	assert_int_equal(output_commit(&output), 0);
	assert_true(find_entry(in_folder("archive"), "a/b", &entry, &count));
	assert_int_equal(count, 1);
	assert_true(S_ISDIR(entry.mode));
	assert_true(find_entry(in_folder("archive"), "a/b/file", &entry, &count));
	assert_int_equal(count, 1);
	assert_int_equal(entry.size, 3);
	assert_int_equal(entry.mode, S_IFREG | 0644);
	assert_true(find_entry(in_folder("archive"), "a/link", &entry, &count));
	assert_true(S_ISLNK(entry.mode));
	assert_true(find_entry(in_folder("archive"), "bin/program", &entry, &count));
	assert_int_equal(entry.size, 5);
	assert_false(find_entry(in_folder("archive"), "bin/none", &entry, &count));
}

static void test_archive_of_a_tree_keeps_links(void **state) {
	struct output output;
	struct cpio cpio = {.output = &output};
	struct listed entry;
	unsigned count;
	assert_int_equal(mkdir(in_folder("root"), 0755), 0);
	assert_int_equal(mkdir(in_folder("root/etc"), 0755), 0);
	put_file(in_folder("root/etc/name"), "guest", 5);
	assert_int_equal(symlink("/etc", in_folder("root/loop")), 0);
	assert_int_equal(output_open(&output, in_folder("archive"), OUTPUT_REPLACE), 0);
	cpio_tree(&cpio, in_folder("root"), "");
	cpio_tree(&cpio, in_folder("root/etc"), "/a/b");
	assert_int_equal(cpio_end(&cpio), 0);
	assert_int_equal(output_commit(&output), 0);
	assert_true(find_entry(in_folder("archive"), "etc/name", &entry, &count));
	assert_true(find_entry(in_folder("archive"), "a/b/name", &entry, &count));
	assert_true(find_entry(in_folder("archive"), "loop", &entry, &count));
	assert_true(S_ISLNK(entry.mode));
}

// ---- needs ----

struct names {
	struct buffer found, missing;
};

static void take_found(void *context, const char *path, const char *file) {
	buffer_printf(&((struct names *)context)->found, "%s\n", path);
}

static void take_missing(void *context, const char *name, const char *by) {
	buffer_printf(&((struct names *)context)->missing, "%s\n", name);
}

static bool needs(const char *file, struct names *names) {
	struct needed_reader reader = {.found = take_found, .missing = take_missing, .context = names};
	bool known = needed_by(file, &reader);
	buffer_append(&names->found, "", 1);
	buffer_append(&names->missing, "", 1);
	return known;
}

static void names_free(struct names *names) {
	buffer_free(&names->found);
	buffer_free(&names->missing);
}

static void test_program_needs_its_loader_and_libraries(void **state) {
	struct names names = {0};
	assert_true(needs("/proc/self/exe", &names));
	assert_non_null(strstr((char *)names.found.data, "ld-linux"));
	assert_non_null(strstr((char *)names.found.data, "libc.so.6"));
	assert_string_equal((char *)names.missing.data, "");
	names_free(&names);
}

static void test_script_needs_its_interpreter_and_what_that_needs(void **state) {
	struct names names = {0};
	put_file(in_folder("script"), "#!/bin/sh -e\n", 13);
	assert_true(needs(in_folder("script"), &names));
	assert_non_null(strstr((char *)names.found.data, "/bin/sh\n"));
	assert_non_null(strstr((char *)names.found.data, "libc.so.6"));
	names_free(&names);
	names = (struct names){0};
	put_file(in_folder("script"), "#!/no/such/program\n", 19);
	assert_true(needs(in_folder("script"), &names));
	assert_string_equal((char *)names.missing.data, "/no/such/program\n");
	names_free(&names);
}

static void test_other_files_need_nothing(void **state) {
	static const char broken[] = "\177ELF\2\1\1";
	struct names names = {0};
	put_file(in_folder("text"), "text\n", 5);
	assert_false(needs(in_folder("text"), &names));
	assert_false(needs(in_folder("none"), &names));
	put_file(in_folder("broken"), broken, sizeof(broken));
	needs(in_folder("broken"), &names);
	assert_string_equal((char *)names.found.data, "");
	names_free(&names);
}

// ---- kernels ----

static void test_modules_beside_a_kernel_are_found_in_order(void **state) {
	struct vm_kernel kernel;
	assert_int_equal(mkdir(in_folder("modules"), 0755), 0);
	put_file(in_folder("modules/2-virtio_ring.ko"), "b", 1);
	put_file(in_folder("modules/1-virtio.ko"), "a", 1);
	put_file(in_folder("modules/6-virtio_console.ko"), "c", 1);
	put_file(in_folder("modules/7-virtio_net.ko"), "d", 1);
	static const uint8_t elf[64] = {0x7f, 'E', 'L', 'F', [18] = 62};
	put_file(in_folder("vmlinux"), elf, sizeof(elf));
	assert_int_equal(vm_kernel_prepare(&kernel, in_folder("vmlinux"), VM_X86_64, aside_folder), 0);
	assert_string_equal(kernel.file, in_folder("vmlinux"));
	assert_int_equal(kernel.modules.count, 3);
	assert_string_equal(kernel.modules.items[0].name, "virtio");
	assert_string_equal(kernel.modules.items[1].name, "virtio_ring");
	assert_string_equal(kernel.modules.items[2].name, "virtio_console");
	vm_kernel_free(&kernel);
}

static void test_a_boot_image_that_lies_is_booted_as_it_is(void **state) {
	struct vm_kernel kernel;
	uint8_t image[0x400] = {0};
	memcpy(image + 0x202, "HdrS", 4);
	memset(image + 0x248, 0xff, 8);
	put_file(in_folder("bzImage"), image, sizeof(image));
	assert_int_equal(vm_kernel_prepare(&kernel, in_folder("bzImage"), VM_X86_64, aside_folder), 0);
	assert_string_equal(kernel.file, in_folder("bzImage"));
	vm_kernel_free(&kernel);
}

static int prepare(const void *bytes, size_t size, enum vm_arch arch) {
	struct vm_kernel kernel;
	put_file(in_folder("kernel"), bytes, size);
	int error = vm_kernel_prepare(&kernel, in_folder("kernel"), arch, aside_folder);
	vm_kernel_free(&kernel);
	return error;
}

static void test_what_is_no_kernel_of_the_machine_is_refused(void **state) {
	uint8_t image[0x400] = {0};
	assert_int_equal(prepare("text", 4, VM_X86_64), -EINVAL);
	assert_int_equal(prepare("", 0, VM_ARM64), -EINVAL);
	memcpy(image + 0x38, "ARMd", 4);
	assert_int_equal(prepare(image, sizeof(image), VM_ARM64), 0);
	assert_int_equal(prepare(image, sizeof(image), VM_X86_64), -EINVAL);
	memset(image, 0, sizeof(image));
	memcpy(image + 0x202, "HdrS", 4);
	assert_int_equal(prepare(image, sizeof(image), VM_X86_64), 0);
	assert_int_equal(prepare(image, sizeof(image), VM_ARM64), -EINVAL);
	memcpy(image, "MZ\0\0zimg", 8);
	assert_int_equal(prepare(image, sizeof(image), VM_ARM64), -EINVAL);
}

// An ELF file with one note.
static size_t make_elf(uint8_t *elf, unsigned note_type) {
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_EXEC,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_phoff = sizeof(header),
			     .e_ehsize = sizeof(header),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 1};
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint32_t entry;
	} note = {{4, 4, note_type}, "Xen", 0x1000000};
	Elf64_Phdr segment = {.p_type = PT_NOTE,
			      .p_offset = sizeof(header) + sizeof(segment),
			      .p_filesz = sizeof(note),
			      .p_align = 4};
	memcpy(elf, &header, sizeof(header));
	memcpy(elf + sizeof(header), &segment, sizeof(segment));
	memcpy(elf + segment.p_offset, &note, sizeof(note));
	return segment.p_offset + sizeof(note);
}

// A bzImage that contains this kernel, compressed with gzip.
static void put_boot_image(const char *path, const uint8_t *elf, uint32_t elf_size) {
	uint8_t image[4096] = {0};
	uint32_t offset = 0, length;
	struct input packed;
	put_file(in_folder("elf"), elf, elf_size);
	CLEANUP_FREE char *command = memory_format("gzip -kf '%s'", in_folder("elf"));
	assert_int_equal(system(command), 0);
	assert_int_equal(input_open(&packed, in_folder("elf.gz")), 0);
	memcpy(image + 0x202, "HdrS", 4);
	image[0x1f1] = 1;
	length = (uint32_t)packed.size + 4;
	memcpy(image + 0x248, &offset, 4);
	memcpy(image + 0x24c, &length, 4);
	memcpy(image + 1024, packed.data, packed.size);
	memcpy(image + 1024 + packed.size, &elf_size, 4);
	put_file(path, image, 1024 + length);
	input_close(&packed);
}

static void test_a_kernel_is_taken_out_once_and_kept(void **state) {
	struct vm_kernel kernel, again;
	struct input unpacked;
	uint8_t elf[512];
	size_t size = make_elf(elf, 18);
	setenv("XDG_CACHE_HOME", aside_folder, 1);
	put_boot_image(in_folder("bzImage"), elf, (uint32_t)size);
	assert_int_equal(vm_kernel_prepare(&kernel, in_folder("bzImage"), VM_X86_64, aside_folder), 0);
	assert_non_null(strstr(kernel.file, "/tracelet/vmlinux-"));
	assert_int_equal(input_open(&unpacked, kernel.file), 0);
	assert_int_equal(unpacked.size, size);
	assert_memory_equal(unpacked.data, elf, size);
	input_close(&unpacked);
	// If nothing can be unpacked any more, the earlier result is used.
	assert_int_equal(vm_kernel_prepare(&again, in_folder("bzImage"), VM_X86_64, "/no/such/folder"), 0);
	assert_string_equal(again.file, kernel.file);
	vm_kernel_free(&kernel);
	vm_kernel_free(&again);
	unsetenv("XDG_CACHE_HOME");
}

static void test_a_kernel_that_an_emulator_cannot_enter_is_booted_as_it_is(void **state) {
	struct vm_kernel kernel;
	uint8_t elf[512];
	setenv("XDG_CACHE_HOME", aside_folder, 1);
	put_boot_image(in_folder("bzImage"), elf, (uint32_t)make_elf(elf, 7));
	assert_int_equal(vm_kernel_prepare(&kernel, in_folder("bzImage"), VM_X86_64, aside_folder), 0);
	assert_string_equal(kernel.file, in_folder("bzImage"));
	vm_kernel_free(&kernel);
	unsetenv("XDG_CACHE_HOME");
}

static void test_names_of_machines(void **state) {
	enum vm_arch arch = VM_X86_64;
	assert_true(machine_arch("aarch64", &arch));
	assert_int_equal(arch, VM_ARM64);
	assert_true(machine_arch("amd64", &arch));
	assert_int_equal(arch, VM_X86_64);
	assert_false(machine_arch("sparc", &arch));
}

// ---- panics ----

static void check_panic(const char *console, const char *words, const char *stack) {
	struct buffer why = {0}, frames = {0};
	bool panicked = panic_find(console, strlen(console), &why, &frames);
	buffer_append(&why, "", 1);
	buffer_append(&frames, "", 1);
	assert_int_equal(panicked, words != NULL);
	if (words) {
		assert_string_equal((char *)why.data, words);
		assert_string_equal((char *)frames.data, stack);
	}
	buffer_free(&why);
	buffer_free(&frames);
}

static void test_panic_is_found_with_its_stack(void **state) {
	check_panic("[    1.0] Run /init\r\n", NULL, NULL);
	check_panic(
		"[    2.1] Kernel panic - not syncing: sysrq triggered crash\r\n[    2.1] CPU: 0 PID: 1\r\n"
		"[    2.1] Call Trace:\r\n[    2.1]  <TASK>\r\n[    2.1]  panic+0x118/0x2f4\r\n"
		"[    2.1]  sysrq_handle_crash+0x16/0x20\r\n[    2.1]  </TASK>\r\n[    2.1] Kernel Offset: "
		"0\r\n",
		"sysrq triggered crash", "panic+0x118/0x2f4\nsysrq_handle_crash+0x16/0x20\n");
}

static void test_stack_of_the_fault_comes_before_that_of_the_panic(void **state) {
	check_panic("BUG: kernel NULL pointer dereference\nCall Trace:\n fault+0x1/0x2\nRIP: x\n"
		    "Kernel panic - not syncing: Fatal exception\nCall Trace:\n panic+0x1/0x2\n",
		    "Fatal exception", "fault+0x1/0x2\n");
}

static void test_console_of_a_hostile_guest_is_made_plain(void **state) {
	check_panic("Kernel panic - not syncing: \033[2J\001x\n", "\\x1b[2J\\x01x", "");
	check_panic("Kernel panic - not syncing: ", "", "");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_archive_has_folders_before_files_and_each_once),
		IN_FOLDER(test_archive_of_a_tree_keeps_links),
		cmocka_unit_test(test_program_needs_its_loader_and_libraries),
		IN_FOLDER(test_script_needs_its_interpreter_and_what_that_needs),
		IN_FOLDER(test_other_files_need_nothing),
		IN_FOLDER(test_modules_beside_a_kernel_are_found_in_order),
		IN_FOLDER(test_a_boot_image_that_lies_is_booted_as_it_is),
		IN_FOLDER(test_what_is_no_kernel_of_the_machine_is_refused),
		IN_FOLDER(test_a_kernel_is_taken_out_once_and_kept),
		IN_FOLDER(test_a_kernel_that_an_emulator_cannot_enter_is_booted_as_it_is),
		cmocka_unit_test(test_names_of_machines),
		cmocka_unit_test(test_panic_is_found_with_its_stack),
		cmocka_unit_test(test_stack_of_the_fault_comes_before_that_of_the_panic),
		cmocka_unit_test(test_console_of_a_hostile_guest_is_made_plain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
