// An x86 kernel is taken out of its bzImage: the emulator then loads it as it is, which saves the
// guest the unpacking, seconds under emulation. The boot header says where it is (the kernel's
// Documentation/arch/x86/boot.rst). Unpacking is left to the programs that do it.
#include "vm/kernel.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// Those of a virtio serial port, in the order of their needs.
static const char *const wanted[] = {
	"virtio",     "virtio_ring", "virtio_pci_modern_dev", "virtio_pci_legacy_dev",
	"virtio_pci", "virtio_mmio", "virtio_console"};

static const struct packing {
	uint8_t magic[4];
	size_t magic_size;
	const char *program, *extension;
} packings[] = {
	{{0x02, 0x21, 0x4c, 0x18}, 4, "lz4", ".lz4"},
	{{0xfd, '7', 'z', 'X'}, 4, "xz", ".xz"},
	{{0x28, 0xb5, 0x2f, 0xfd}, 4, "zstd", ".zst"},
	{{0x1f, 0x8b}, 2, "gzip", ".gz"},
};

static const struct packing *packing_of(const uint8_t *bytes, size_t size) {
	for (size_t i = 0; i < ARRAY_SIZE(packings); i++)
		if (size >= packings[i].magic_size &&
		    memcmp(bytes, packings[i].magic, packings[i].magic_size) == 0)
			return &packings[i];
	return NULL;
}

// PROGRAM -dc <INPUT >OUTPUT.
static bool unpack(const struct packing *packing, const char *input, const char *output) {
	posix_spawn_file_actions_t actions;
	char *words[] = {(char *)(uintptr_t)packing->program, (char *)(uintptr_t) "-dcq", NULL};
	pid_t child;
	int status = 0;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	int error = posix_spawnp(&child, packing->program, &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error) {
		log_error("%s: needs the program %s to be unpacked", input, packing->program);
		return false;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	// Some say a word about what follows the packed bytes; the result is looked at by who uses it.
	struct stat result;
	return stat(output, &result) == 0 && result.st_size > 0 &&
	       (!status || WEXITSTATUS(status) == 2 || strcmp(packing->program, "lz4") == 0);
}

// ---- the kernel ----

// The packed kernel inside a bzImage.
static struct cursor payload_of(const struct input *image) {
	enum { SECTORS = 0x1f1, MAGIC = 0x202, VERSION = 0x206, OFFSET = 0x248, HEADER_END = 0x250 };
	struct cursor none = {.failed = true};
	struct cursor header = cursor_of(image->data, image->size);
	if (image->size < HEADER_END || memcmp(image->data + MAGIC, "HdrS", 4) != 0)
		return none;
	uint32_t offset, length;
	size_t start = (image->data[SECTORS] ? image->data[SECTORS] + 1u : 5u) * 512u;
	memcpy(&offset, image->data + OFFSET, sizeof(offset));
	memcpy(&length, image->data + OFFSET + 4, sizeof(length));
	cursor_take(&header, start);
	cursor_take(&header, offset);
	// Its last four bytes are the size when unpacked.
	return length > 4 ? cursor_slice(&header, length - 4) : none;
}

// NULL: there is none that can be taken out; the boot loader's way is slower and works too.
static char *take_out(const struct input *image, const char *folder) {
	struct cursor payload = payload_of(image);
	const struct packing *packing = payload.failed ? NULL : packing_of(payload.at, cursor_left(&payload));
	CLEANUP_FREE char *packed = memory_format("%s/vmlinux.packed", folder);
	char *kernel = memory_format("%s/vmlinux", folder);
	struct output output;
	uint8_t magic[4] = {0};
	bool good = packing && output_open(&output, packed, OUTPUT_REPLACE) == 0;
	if (good) {
		output_write(&output, payload.at, cursor_left(&payload));
		good = output_commit(&output) == 0 && unpack(packing, packed, kernel);
		output_abandon(&output);
		unlink(packed);
	}
	int fd = good ? open(kernel, O_RDONLY | O_CLOEXEC) : -1;
	good = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) && memcmp(magic, "\177ELF", 4) == 0;
	if (fd >= 0)
		close(fd);
	if (good)
		return kernel;
	free(kernel);
	return NULL;
}

static int prepare_kernel(struct vm_kernel *kernel, const char *path, enum vm_arch arch, const char *folder) {
	struct input image;
	int error = input_open(&image, path);
	if (error || !image.size) {
		log_error("--kernel %s: %s", path, error ? strerror(-error) : "is empty");
		if (!error)
			input_close(&image);
		return error ? error : -EINVAL;
	}
	kernel->file = arch == VM_X86_64 ? take_out(&image, folder) : NULL;
	if (!kernel->file)
		kernel->file = memory_string(path);
	input_close(&image);
	return 0;
}

// ---- modules ----

static bool is_module(const char *file, const char *name) {
	size_t length = strlen(name);
	const char *dash = strchr(file, '-'); // 3-virtio.ko, in a folder made for guests
	if (dash && file[strspn(file, "0123456789")] == '-')
		file = dash + 1;
	return strncmp(file, name, length) == 0 && strncmp(file + length, ".ko", 3) == 0;
}

static int add_module(struct vm_kernel *kernel, const char *name, const char *file, const char *folder) {
	struct input input;
	int error = input_open(&input, file);
	if (error) {
		log_error("%s: cannot be read: %s", file, strerror(-error));
		return error;
	}
	const struct packing *packing = packing_of(input.data, input.size);
	input_close(&input);
	char *plain = packing ? memory_format("%s/%s.ko", folder, name) : memory_string(file);
	if (packing && !unpack(packing, file, plain)) {
		log_error("%s: cannot be unpacked", file);
		free(plain);
		return -EINVAL;
	}
	array_push(&kernel->modules, (struct vm_module){.name = memory_string(name), .file = plain});
	return 0;
}

static int add_modules(struct vm_kernel *kernel, const char *tree, const char *folder) {
	char *found[ARRAY_SIZE(wanted)] = {0}, *roots[] = {(char *)(uintptr_t)tree, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	int error = 0;
	for (FTSENT *entry; walk && (entry = fts_read(walk));)
		for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
			if (!found[i] && entry->fts_info != FTS_D && is_module(entry->fts_name, wanted[i]))
				found[i] = memory_string(entry->fts_path);
	if (walk)
		fts_close(walk);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (found[i] && !error)
			error = add_module(kernel, wanted[i], found[i], folder);
		free(found[i]);
	}
	return error;
}

static int prepare_modules(struct vm_kernel *kernel, const char *path, const char *folder) {
	const char *slash = strrchr(path, '/'), *dash = strchr(slash ? slash : path, '-');
	int length = slash ? (int)(slash - path) : 1;
	const char *beside = slash ? path : ".", *release = dash ? dash + 1 : "";
	char *const places[] = {
		memory_format("%.*s/modules", length, beside),
		memory_format("%.*s/../lib/modules/%s", length, beside, release),
		memory_format("/lib/modules/%s", release),
	};
	int error = 0;
	bool found = false;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (!found && !error && (i == 0 || *release) && access(places[i], R_OK) == 0) {
			found = true;
			error = add_modules(kernel, places[i], folder);
		}
		free(places[i]);
	}
	if (!found)
		log_verbose("%s: no modules of it are found; what it needs has to be built in", path);
	return error;
}

int vm_kernel_prepare(struct vm_kernel *kernel, const char *path, enum vm_arch arch, const char *folder) {
	*kernel = (struct vm_kernel){0};
	int error = prepare_kernel(kernel, path, arch, folder);
	return error ? error : prepare_modules(kernel, path, folder);
}

void vm_kernel_free(struct vm_kernel *kernel) {
	for (size_t i = 0; i < kernel->modules.count; i++) {
		free(kernel->modules.items[i].name);
		free(kernel->modules.items[i].file);
	}
	array_free(&kernel->modules);
	free(kernel->file);
}
