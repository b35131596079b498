// An x86 kernel is extracted from its bzImage, so that the guest need not unpack it, which takes seconds
// under emulation. The boot header says where it is (the kernel's Documentation/arch/x86/boot.rst). gzip, xz,
// zstd or lz4 unpack it, once: the result stays in the user's cache until it has not been used for a month.
#include "vm/kernel.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/log.h"
#include "base/siphash.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <gelf.h>
#include <glob.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

// Modules for a virtio serial port. The agent finds out which needs which.
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
		log_error("%s: cannot be unpacked without the program %s", input, packing->program);
		return false;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	// Some complain about what follows the packed bytes; the caller checks the result.
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

// An emulator starts an uncompressed x86 kernel at the address in a Xen note (CONFIG_PVH); a kernel without
// one boots as a bzImage.
static bool can_be_entered(const char *file) {
	enum { PHYSICAL_ENTRY = 18 };
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	size_t count = 0, name, content;
	GElf_Phdr segment;
	GElf_Nhdr note;
	bool found = false;
	if (elf && elf_getphdrnum(elf, &count))
		count = 0;
	for (size_t i = 0; i < count && !found; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_NOTE)
			continue;
		Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz,
						      ELF_T_NHDR);
		for (size_t at = 0; !found && data && (at = gelf_getnote(data, at, &note, &name, &content));)
			found = note.n_type == PHYSICAL_ENTRY && note.n_namesz == 4 &&
				memcmp((char *)data->d_buf + name, "Xen", 4) == 0;
	}
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return found;
}

// To be freed; NULL if there is no such directory.
static char *cache_folder(void) {
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *folder = cache && *cache ? memory_format("%s/tracelet", cache)
		       : home && *home ? memory_format("%s/.cache/tracelet", home)
				       : NULL;
	if (folder) {
		char *slash = strrchr(folder, '/');
		*slash = 0;
		mkdir(folder, 0755);
		*slash = '/';
		mkdir(folder, 0755);
	}
	if (folder && access(folder, W_OK) == 0)
		return folder;
	free(folder);
	return NULL;
}

static void forget_unused(const char *folder) {
	enum { MONTH = 30 * 24 * 3600 };
	CLEANUP_FREE char *pattern = memory_format("%s/vmlinux-*", folder);
	struct stat status;
	glob_t found = {0};
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (stat(found.gl_pathv[i], &status) == 0 && time(NULL) - status.st_mtime > MONTH)
				unlink(found.gl_pathv[i]);
	globfree(&found);
}

static bool unpack_payload(const struct cursor *payload, const struct packing *packing, const char *folder,
			   const char *kernel) {
	CLEANUP_FREE char *packed = memory_format("%s/vmlinux.packed", folder);
	struct output output;
	if (output_open(&output, packed, OUTPUT_REPLACE))
		return false;
	output_write(&output, payload->at, cursor_left(payload));
	bool good = output_commit(&output) == 0 && unpack(packing, packed, kernel);
	output_abandon(&output);
	unlink(packed);
	return good && can_be_entered(kernel);
}

static bool has_size(const char *path, uint32_t size) {
	struct stat status;
	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size == size;
}

// NULL if it cannot be extracted; the bzImage boots too, only slower.
static char *take_out(const struct input *image, const char *folder) {
	struct cursor payload = payload_of(image);
	const struct packing *packing = payload.failed ? NULL : packing_of(payload.at, cursor_left(&payload));
	uint32_t size;
	if (!packing)
		return NULL;
	memcpy(&size, payload.end, sizeof(size)); // payload_of() has left these four bytes
	CLEANUP_FREE char *cache = cache_folder();
	CLEANUP_FREE char *kept = cache ? memory_format("%s/vmlinux-%016llx", cache,
							(unsigned long long)siphash13(payload.at,
										      cursor_left(&payload)))
					: NULL;
	if (kept && has_size(kept, size) && can_be_entered(kept)) {
		utimensat(AT_FDCWD, kept, NULL, 0);
		return memory_string(kept);
	}
	// Under another name until it is complete: several processes may unpack at once.
	char *kernel = kept ? memory_format("%s.%d", kept, (int)getpid())
			    : memory_format("%s/vmlinux", folder);
	bool good = unpack_payload(&payload, packing, folder, kernel);
	if (good && kept && has_size(kernel, size) && rename(kernel, kept) == 0) {
		forget_unused(cache);
		free(kernel);
		return memory_string(kept);
	}
	if (good && !kept)
		return kernel;
	unlink(kernel);
	free(kernel);
	return NULL;
}

// ---- what it is ----

static uint32_t number_at(const struct input *image, size_t offset) {
	uint32_t number = 0;
	if (offset <= image->size && image->size - offset >= sizeof(number))
		memcpy(&number, image->data + offset, sizeof(number));
	return number;
}

// NULL if the first bytes are those of a kernel for this architecture; otherwise what is wrong, as text.
static const char *what_is_wrong(const struct input *image, enum vm_arch arch) {
	enum {
		ELF_MAGIC = 0x464c457f,
		X86_MAGIC = 0x53726448,
		ARM_MAGIC = 0x644d5241,
		ZBOOT_MAGIC = 0x676d697a
	};
	bool x86 = number_at(image, 0x202) == X86_MAGIC, arm = number_at(image, 0x38) == ARM_MAGIC;
	if (!image->size)
		return "is empty";
	if (number_at(image, 0) == ELF_MAGIC) {
		unsigned machine = number_at(image, 18) & 0xffff;
		x86 = machine == EM_X86_64;
		arm = machine == EM_AARCH64;
		if (arm && arch == VM_ARM64)
			return "is a vmlinux, which does not boot on arm64; use arch/arm64/boot/Image";
	}
	if (number_at(image, 4) == ZBOOT_MAGIC)
		return arch == VM_ARM64 ? "is an EFI zboot image; use arch/arm64/boot/Image"
					: "is not for x86_64";
	if (packing_of(image->data, image->size) && arch == VM_ARM64)
		return NULL; // Image.gz: the emulator unpacks it
	if (!x86 && !arm)
		return "is not a kernel (vmlinux, bzImage or arm64 Image)";
	if (x86 != (arch == VM_X86_64))
		return x86 ? "is a kernel for x86_64 (see --arch)" : "is a kernel for arm64 (see --arch)";
	return NULL;
}

static int prepare_kernel(struct vm_kernel *kernel, const char *path, enum vm_arch arch, const char *folder) {
	struct input image;
	int error = input_open(&image, path);
	const char *wrong = error ? strerror(-error) : what_is_wrong(&image, arch);
	if (wrong) {
		log_error("--kernel %s: %s", path, wrong);
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
