#include "capture/mapped_files.h"

#include "base/file.h"
#include "symbol/elf.h"
#include "symbol/kept.h"
#include "symbol/reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

// ---- opening ----

// File systems whose files report another device than their mappings.
static bool has_two_devices(int file) {
	struct statfs system;
	return fstatfs(file, &system) == 0 &&
	       (system.f_type == BTRFS_SUPER_MAGIC || system.f_type == OVERLAYFS_SUPER_MAGIC);
}

static bool leads_to(const char *link, const char *path) {
	char there[4096];
	ssize_t size = readlink(link, there, sizeof(there));
	return size == (ssize_t)strlen(path) && memcmp(there, path, (size_t)size) == 0;
}

// Is this the file that was mapped? `link`: what /proc says is mapped there now; NULL if found by
// path.
static bool is_mapped_file(int file, struct file_number number, const char *link, const char *path) {
	struct stat status;
	if (fstat(file, &status))
		return false;
	if (status.st_dev == number.device)
		return status.st_ino == number.inode;
	return link ? leads_to(link, path) : status.st_ino == number.inode && has_two_devices(file);
}

static bool is_on_root(int file) {
	struct statx its, root;
	return statx(file, "", AT_EMPTY_PATH, STATX_MNT_ID, &its) == 0 &&
	       statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &root) == 0 && its.stx_mnt_id == root.stx_mnt_id;
}

// A test may unmount what it mounted, which fails while a file there is open: so we hold the file
// through a mount of our own. (Impossible for mounts of another namespace.)
static int open_aside(int there) {
	int own = is_on_root(there)
			  ? -1
			  : open_tree(there, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	int file = file_open_found(own < 0 ? there : own, O_RDONLY);
	if (own >= 0)
		close(own);
	return file;
}

static int open_if_mapped(const char *place, struct file_number number, const char *link, const char *path) {
	int there = file_find_regular(place, 0);
	if (there < 0)
		return -1;
	int file = is_mapped_file(there, number, link, path) ? open_aside(there) : -1;
	close(there);
	return file;
}

// Opens what the process has mapped there. If the process is gone or has mapped something else by
// now, tries the path, as the process sees it (it may be in a container) and as we do.
static int open_mapped(const struct spool_mapping *mapping, struct file_number number, const char *path) {
	CLEANUP_FREE char *theirs = memory_format("/proc/%u/root%s", mapping->pid, path);
	char mapped[96];
	snprintf(mapped, sizeof(mapped), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, mapping->pid,
		 mapping->start, mapping->start + mapping->size);
	int file = open_if_mapped(mapped, number, mapped, path);
	if (file < 0)
		file = open_if_mapped(theirs, number, NULL, path);
	return file < 0 ? open_if_mapped(path, number, NULL, path) : file;
}

// ---- reading ----

static int64_t nanoseconds(struct timespec time) {
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static struct mapped_file describe(int descriptor) {
	struct stat status = {0};
	fstat(descriptor, &status);
	return (struct mapped_file){
		.number = {status.st_dev, status.st_ino},
		.size = status.st_size,
		.written = nanoseconds(status.st_mtim),
		.changed = nanoseconds(status.st_ctim),
		.held = -1,
	};
}

static bool is_same_content(const struct mapped_file *one, const struct mapped_file *other) {
	return one->number.device == other->number.device && one->number.inode == other->number.inode &&
	       one->size == other->size && one->written == other->written && one->changed == other->changed;
}

// Without a build id, code that has been written to since counts as different.
static void take_object(struct mapped_file *file, struct elf_object *object) {
	const char *digits = object ? object->build_id : "";
	for (; digits[0] && digits[1] && file->build_id_size < sizeof(file->build_id); digits += 2)
		sscanf(digits, "%2hhx", &file->build_id[file->build_id_size++]);
	const uint64_t instead[] = {file->number.device, file->number.inode, (uint64_t)file->size,
				    (uint64_t)file->written};
	file->content = file->build_id_size ? hash_bytes(file->build_id, file->build_id_size)
					    : hash_bytes(instead, sizeof(instead));
	file->object = object;
}

static void read_file(struct mapped_files *files, struct mapped_file *file, int descriptor) {
	char itself[64];
	snprintf(itself, sizeof(itself), "/proc/self/fd/%d", descriptor);
	if (!files->reader)
		files->reader = reader_new();
	take_object(file, reader_open_code(files->reader, itself));
}

// ---- looking ----

static struct mapped_file *file_for(struct mapped_files *files, struct file_number number, uint32_t *index) {
	const uint64_t key[] = {number.device, number.inode};
	uint64_t *known = map_put(&files->by_number, hash_bytes(key, sizeof(key)));
	if (!*known) {
		array_push(&files->items, (struct mapped_file){.held = -1});
		*known = files->items.count;
	}
	*index = (uint32_t)*known;
	return &files->items.items[*known - 1];
}

// Holds the file open until it is symbolized. `fresh`: just opened, or -1 if the content of the
// held one changed. Where a file reports another device than its mapping, several files may share
// the kernel's numbers: these are checked every time.
static void keep(struct mapped_file *file, struct file_number number, const char *path, int fresh) {
	char build_id[2 * sizeof(file->build_id) + 1] = "";
	for (size_t i = 0; i < file->build_id_size; i++)
		snprintf(build_id + 2 * i, 3, "%02x", file->build_id[i]);
	int own = fresh < 0 ? fcntl(file->held, F_DUPFD_CLOEXEC, 0) : fresh;
	if (kept_files_add(path, build_id, own) && fresh >= 0 && file->number.device == number.device)
		file->held = fresh;
}

static bool look_at_file(struct mapped_files *files, struct mapped_file *file,
			 const struct spool_mapping *mapping, struct file_number number, const char *path) {
	int fresh = file->held < 0 ? open_mapped(mapping, number, path) : -1;
	int descriptor = fresh < 0 ? file->held : fresh;
	if (descriptor < 0)
		return false;
	struct mapped_file now = describe(descriptor);
	if (is_same_content(file, &now)) {
		if (fresh >= 0)
			close(fresh);
		return true;
	}
	now.held = file->held;
	read_file(files, &now, descriptor);
	elf_close(file->object);
	*file = now;
	keep(file, number, path, fresh);
	return true;
}

// The vDSO is the same in every process, except 32-bit ones.
static bool look_at_vdso(struct mapped_file *file, const struct spool_mapping *mapping) {
	enum { VDSO_SIZE = 8192 };
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT: an address
	if (mapping->start <= UINT32_MAX)                             // a 32-bit process's
		return false;
	if (image && !file->content)
		take_object(file, elf_open_code_memory(image, VDSO_SIZE));
	return image;
}

uint32_t mapped_files_look(struct mapped_files *files, struct spool_mapping *mapping,
			   struct file_number number, const char *path) {
	bool vdso = strcmp(path, "[vdso]") == 0;
	uint32_t index;
	if (!vdso && (!number.inode || *path != '/' || path[1] == '/'))
		return 0;
	struct mapped_file *file = file_for(files, vdso ? (struct file_number){0} : number, &index);
	if (!(vdso ? look_at_vdso(file, mapping) : look_at_file(files, file, mapping, number, path))) {
		mapping->build_id_size = vdso ? 0 : SPOOL_BUILD_ID_LOST;
		return 0;
	}
	mapping->build_id_size = file->build_id_size;
	memcpy(mapping->build_id, file->build_id, sizeof(mapping->build_id));
	return index;
}

int mapped_files_open(const struct spool_mapping *mapping, struct file_number number, const char *path) {
	return open_mapped(mapping, number, path);
}

void mapped_files_free(struct mapped_files *files) {
	for (size_t i = 0; i < files->items.count; i++)
		elf_close(files->items.items[i].object);
	array_free(&files->items);
	reader_free(files->reader);
	map_free(&files->by_number);
}
