#include "capture/bpf/points.h"
#include "capture/sources.h"
#include "event/points.h"
#include "tracelet.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const programs_of[POINT_COUNT] = {
#define POINT(NUMBER, program, group, name, source, values, message, ...) [POINT_##NUMBER] = program,
#include "format/point_table.h"
#undef POINT
};

// ---- system calls ----

static const uint16_t memory_calls[] = {SYS_mmap, SYS_munmap, SYS_brk, SYS_mprotect, SYS_mremap};

static const uint16_t file_calls[] = {
#ifdef SYS_open
	SYS_open,        SYS_creat,      SYS_rename,
	SYS_unlink,      SYS_mkdir,      SYS_rmdir,
	SYS_link,        SYS_symlink,    SYS_readlink,
	SYS_access,      SYS_stat,       SYS_lstat,
	SYS_getdents,    SYS_dup2,
#endif
	SYS_openat,      SYS_close,      SYS_dup,
	SYS_dup3,        SYS_read,       SYS_write,
	SYS_pread64,     SYS_pwrite64,   SYS_readv,
	SYS_writev,      SYS_preadv,     SYS_pwritev,
	SYS_fsync,       SYS_fdatasync,  SYS_sync_file_range,
	SYS_lseek,       SYS_fstat,      SYS_newfstatat,
	SYS_statx,       SYS_getdents64, SYS_renameat,
	SYS_unlinkat,    SYS_mkdirat,    SYS_linkat,
	SYS_symlinkat,   SYS_readlinkat, SYS_faccessat,
	SYS_truncate,    SYS_ftruncate,  SYS_fallocate,
	SYS_sendfile,    SYS_splice,     SYS_copy_file_range,
	SYS_flock,       SYS_sync,       SYS_syncfs,
#ifdef SYS_renameat2
	SYS_renameat2,
#endif
#ifdef SYS_openat2
	SYS_openat2,     SYS_faccessat2,
#endif
#ifdef SYS_close_range
	SYS_close_range,
#endif
};

static const uint16_t lock_calls[] = {
	SYS_futex,
#ifdef SYS_futex_waitv
	SYS_futex_waitv,
#endif
};

static const uint16_t path_first[] = {
// calls whose first argument is a path
#ifdef SYS_open
	SYS_open,    SYS_creat,    SYS_rename, SYS_unlink, SYS_mkdir,     SYS_rmdir, SYS_link,
	SYS_symlink, SYS_readlink, SYS_access, SYS_stat,   SYS_lstat,     SYS_chmod, SYS_chown,
#endif
	SYS_chdir,   SYS_truncate, SYS_execve, SYS_statfs, SYS_symlinkat,
};

static const uint16_t path_second[] = {
	SYS_openat,     SYS_newfstatat, SYS_statx,     SYS_unlinkat, SYS_mkdirat,
	SYS_readlinkat, SYS_faccessat,  SYS_fchmodat,  SYS_fchownat, SYS_renameat,
	SYS_linkat,     SYS_execveat,   SYS_utimensat,
#ifdef SYS_renameat2
	SYS_renameat2,
#endif
#ifdef SYS_openat2
	SYS_openat2,    SYS_faccessat2,
#endif
};

static void add_calls(uint64_t set[8], const uint16_t *calls, size_t count) {
	for (size_t i = 0; i < count; i++)
		set[calls[i] / 64] |= (uint64_t)1 << calls[i] % 64;
}

struct call_sets points_call_sets(void) {
	struct call_sets sets = {0};
	add_calls(sets.memory, memory_calls, ARRAY_SIZE(memory_calls));
	add_calls(sets.file, file_calls, ARRAY_SIZE(file_calls));
	add_calls(sets.lock, lock_calls, ARRAY_SIZE(lock_calls));
	add_calls(sets.paths[0], path_first, ARRAY_SIZE(path_first));
	add_calls(sets.paths[1], path_second, ARRAY_SIZE(path_second));
	return sets;
}

static void have_paths(struct tracelet *programs, int argument, const uint16_t *calls, size_t count) {
	for (size_t i = 0; i < count; i++)
		programs->rodata->path_calls[argument][calls[i] / 64] |= (uint64_t)1 << calls[i] % 64;
}

static void want(struct tracelet *programs, const uint16_t *calls, size_t count) {
	for (size_t i = 0; i < count; i++)
		programs->rodata->wanted_calls[calls[i] / 64] |= (uint64_t)1 << calls[i] % 64;
}

static void choose_calls(struct tracelet *programs, const struct capture_options *options) {
	const bool *sources = options->sources;
	bool all = sources[SOURCE_SYSTEM_CALL], memory = sources[SOURCE_MEMORY];
	bool files = sources[SOURCE_FILE], kvm = sources[SOURCE_KVM];
	bool locks = sources[SOURCE_LOCK], any = all || memory || files || locks;
	bpf_program__set_autoload(programs->progs.on_sys_enter, any || kvm);
	bpf_program__set_autoload(programs->progs.on_sys_exit, any);
	have_paths(programs, 0, path_first, ARRAY_SIZE(path_first));
	have_paths(programs, 1, path_second, ARRAY_SIZE(path_second));
	if (all)
		memset(programs->rodata->wanted_calls, 0xff, sizeof(programs->rodata->wanted_calls));
	if (memory)
		want(programs, memory_calls, ARRAY_SIZE(memory_calls));
	if (files)
		want(programs, file_calls, ARRAY_SIZE(file_calls));
	if (locks)
		want(programs, lock_calls, ARRAY_SIZE(lock_calls));
	if (!all)
		programs->rodata->call_source = memory ? SOURCE_MEMORY : files ? SOURCE_FILE : SOURCE_LOCK;
	if (kvm)
		programs->rodata->call_of_ioctl = SYS_ioctl;
}

// ---- events whose fields have to be found ----

struct wanted_field {
	const char *point, *field, *otherwise; // otherwise: the name on arm64
};

static void find_fields(volatile uint32_t *offsets, const struct wanted_field *fields, size_t count) {
	for (size_t i = 0; i < count; i++) {
		offsets[i] = source_field_offset(fields[i].point, fields[i].field);
		if (!offsets[i] && fields[i].otherwise)
			offsets[i] = source_field_offset(fields[i].point, fields[i].otherwise);
	}
}

static void choose_kvm(struct tracelet *programs) {
	static const struct wanted_field fields[] = {{"kvm/kvm_entry", "vcpu_id", NULL},
						     {"kvm/kvm_entry", "rip", "vcpu_pc"},
						     {"kvm/kvm_exit", "vcpu_id", NULL},
						     {"kvm/kvm_exit", "exit_reason", "esr_ec"},
						     {"kvm/kvm_exit", "guest_rip", "vcpu_pc"}};
	find_fields(programs->rodata->kvm_offsets, fields, ARRAY_SIZE(fields));
	programs->rodata->kvm_isa_offset = source_field_offset("kvm/kvm_exit", "isa");
}

static void choose_rss(struct tracelet *programs) {
	static const struct wanted_field fields[] = {
		{"kmem/rss_stat", "mm_id", NULL},
		{"kmem/rss_stat", "curr", NULL},
		{"kmem/rss_stat", "member", NULL},
		{"kmem/rss_stat", "size", NULL},
	};
	find_fields(programs->rodata->rss_offsets, fields, ARRAY_SIZE(fields));
}

static void choose_slab(struct tracelet *programs) {
	static const char *const names[] = {"call_site", "ptr", "bytes_req", "bytes_alloc", "gfp_flags"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		programs->rodata->kmalloc_offsets[i] = source_field_offset("kmem/kmalloc", names[i]);
		programs->rodata->cache_offsets[i] = source_field_offset("kmem/kmem_cache_alloc", names[i]);
	}
}

// ---- all programs ----

static bool switch_off(bool *source) {
	bool was_on = *source;
	*source = false;
	return was_on;
}

// These programs serve several sources. KVM needs one of them just for the life of its machines.
static const char *leave_out_calls(bool *sources) {
	static const int by_calls[] = {SOURCE_SYSTEM_CALL, SOURCE_FILE, SOURCE_MEMORY, SOURCE_LOCK};
	bool any = false;
	for (size_t i = 0; i < ARRAY_SIZE(by_calls); i++)
		any |= switch_off(&sources[by_calls[i]]);
	return any                                ? "system calls"
	       : switch_off(&sources[SOURCE_KVM]) ? event_source_names[SOURCE_KVM]
						  : NULL;
}

const char *points_leave_out(const char *program, bool *sources) {
	if (strcmp(program, "on_sys_enter") == 0 || strcmp(program, "on_sys_exit") == 0)
		return leave_out_calls(sources);
	if (strcmp(program, "on_flush_asked") == 0)
		return switch_off(&sources[SOURCE_BLOCK]) ? event_source_names[SOURCE_BLOCK] : NULL;
	for (int i = 0; i < POINT_COUNT; i++)
		if (programs_of[i] && strcmp(programs_of[i], program) == 0)
			return switch_off(&sources[points[i].source]) ? event_source_names[points[i].source]
								      : NULL;
	return NULL;
}

// Does this kernel have the program's tracepoint? Its section names it: "tp_btf/NAME",
// "tp/GROUP/NAME"; programs for perf events have none.
static bool has_tracepoint(const struct bpf_program *program, const char *group) {
	const char *slash = strchr(bpf_program__section_name(program), '/');
	if (!slash)
		return true;
	CLEANUP_FREE char *point = strchr(slash + 1, '/') ? memory_string(slash + 1)
							  : memory_format("%s/%s", group, slash + 1);
	return source_has_point(point);
}

void points_choose(struct tracelet *programs, const struct capture_options *options, uint32_t slot) {
	bool owned = false;
	for (int i = 0; i < POINT_COUNT; i++) {
		if (!programs_of[i])
			continue;
		struct bpf_program *program = bpf_object__find_program_by_name(programs->obj, programs_of[i]);
		int source = points[i].source;
		bool load = options->sources[source] && has_tracepoint(program, points[i].group);
		bpf_program__set_autoload(program, load);
		owned |= load && source >= SOURCE_BLOCK && source <= SOURCE_NETWORK;
	}
	if (options->hard_faults)
		bpf_program__set_autoload(programs->progs.on_minor_fault, false);
	bool flushes = options->sources[SOURCE_BLOCK] &&
		       has_tracepoint(programs->progs.on_flush_asked, "block");
	bpf_program__set_autoload(programs->progs.on_flush_asked, flushes);
	bpf_map__set_autocreate(programs->maps.flush_askers, options->sources[SOURCE_BLOCK]);
	bpf_map__set_autocreate(programs->maps.owners, owned);
	bpf_program__set_autoattach(programs->progs.on_minor_fault, false);
	bpf_program__set_autoattach(programs->progs.on_major_fault, false);
	choose_calls(programs, options);
	if (options->sources[SOURCE_KVM])
		choose_kvm(programs);
	if (options->sources[SOURCE_RSS])
		choose_rss(programs);
	if (options->sources[SOURCE_SLAB])
		choose_slab(programs);
	programs->rodata->power_slot = slot;
}

// ---- page faults ----

static int attach_event(struct bpf_program *program, uint64_t event, int cpu, struct point_links *links) {
	struct perf_event_attr attribute = {
		.type = PERF_TYPE_SOFTWARE, .config = event, .size = sizeof(attribute), .sample_period = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attribute, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno == ENODEV ? 0 : -errno; // an offline CPU
	struct bpf_link *link = bpf_program__attach_perf_event(program, fd);
	if (!link) {
		int error = -errno;
		close(fd);
		return error;
	}
	array_push(&links->list, link);
	return 0;
}

int points_attach_event(struct bpf_program *program, uint64_t event, struct point_links *links) {
	int error = 0;
	if (!bpf_program__autoload(program))
		return 0;
	for (int cpu = 0; !error && cpu < libbpf_num_possible_cpus(); cpu++)
		error = attach_event(program, event, cpu, links);
	return error;
}

int points_attach(struct tracelet *programs, struct point_links *links) {
	int error = points_attach_event(programs->progs.on_minor_fault, PERF_COUNT_SW_PAGE_FAULTS_MIN, links);
	return error ? error
		     : points_attach_event(programs->progs.on_major_fault, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
					   links);
}

void points_detach(struct point_links *links) {
	for (size_t i = 0; i < links->list.count; i++)
		bpf_link__destroy(links->list.items[i]);
	array_free(&links->list);
}
