#include "capture/bpf/points.h"
#include "capture/sources.h"
#include "event/event.h"
#include "tracelet.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The program of each event, where tracefs tells whether this kernel has it, and what it is for.
static const struct {
	const char *program, *point;
	int source;
} programs_of[] = {
	{"on_minor_fault", NULL, RECORD_SOURCE_FAULT},
	{"on_major_fault", NULL, RECORD_SOURCE_FAULT},
	{"on_block_issue", "block/block_rq_issue", RECORD_SOURCE_BLOCK},
	{"on_block_complete", "block/block_rq_complete", RECORD_SOURCE_BLOCK},
	{"on_hrtimer_start", "timer/hrtimer_start", RECORD_SOURCE_TIMER},
	{"on_hrtimer_entry", "timer/hrtimer_expire_entry", RECORD_SOURCE_TIMER},
	{"on_hrtimer_exit", "timer/hrtimer_expire_exit", RECORD_SOURCE_TIMER},
	{"on_timer_list_start", "timer/timer_start", RECORD_SOURCE_TIMER},
	{"on_timer_list_entry", "timer/timer_expire_entry", RECORD_SOURCE_TIMER},
	{"on_timer_list_exit", "timer/timer_expire_exit", RECORD_SOURCE_TIMER},
	{"on_work_queue", "workqueue/workqueue_queue_work", RECORD_SOURCE_WORK},
	{"on_work_start", "workqueue/workqueue_execute_start", RECORD_SOURCE_WORK},
	{"on_work_end", "workqueue/workqueue_execute_end", RECORD_SOURCE_WORK},
	{"on_ipi_cpu", "ipi/ipi_send_cpu", RECORD_SOURCE_IPI},
	{"on_ipi_mask", "ipi/ipi_send_cpumask", RECORD_SOURCE_IPI},
	{"on_ipi_raise", "ipi/ipi_raise", RECORD_SOURCE_IPI},
	{"on_reschedule_entry", "irq_vectors/reschedule_entry", RECORD_SOURCE_IPI},
	{"on_reschedule_exit", "irq_vectors/reschedule_exit", RECORD_SOURCE_IPI},
	{"on_call_function_entry", "irq_vectors/call_function_entry", RECORD_SOURCE_IPI},
	{"on_call_function_exit", "irq_vectors/call_function_exit", RECORD_SOURCE_IPI},
	{"on_call_function_single_entry", "irq_vectors/call_function_single_entry", RECORD_SOURCE_IPI},
	{"on_call_function_single_exit", "irq_vectors/call_function_single_exit", RECORD_SOURCE_IPI},
	{"on_socket_state", "sock/inet_sock_set_state", RECORD_SOURCE_NETWORK},
	{"on_packet_sent", "net/net_dev_xmit", RECORD_SOURCE_NETWORK},
	{"on_packet_received", "net/netif_receive_skb", RECORD_SOURCE_NETWORK},
	{"on_cpu_idle", "power/cpu_idle", RECORD_SOURCE_POWER},
	{"on_cpu_frequency", "power/cpu_frequency", RECORD_SOURCE_POWER},
	{"on_suspend", "power/suspend_resume", RECORD_SOURCE_POWER},
	{"on_hotplug_enter", "cpuhp/cpuhp_enter", RECORD_SOURCE_POWER},
	{"on_hotplug_exit", "cpuhp/cpuhp_exit", RECORD_SOURCE_POWER},
	{"on_priority", "sched/sched_pi_setprio", RECORD_SOURCE_PRIORITY},
	{"on_migration", "sched/sched_migrate_task", RECORD_SOURCE_MIGRATION},
	{"on_clock_entry", "irq_vectors/local_timer_entry", RECORD_SOURCE_CLOCK},
	{"on_clock_exit", "irq_vectors/local_timer_exit", RECORD_SOURCE_CLOCK},
	{"on_softirq_raise", "irq/softirq_raise", RECORD_SOURCE_SOFTIRQ_QUEUE},
	{"on_tasklet_entry", "irq/tasklet_entry", RECORD_SOURCE_SOFTIRQ_QUEUE},
	{"on_tasklet_exit", "irq/tasklet_exit", RECORD_SOURCE_SOFTIRQ_QUEUE},
	{"on_rss", "kmem/rss_stat", RECORD_SOURCE_RSS},
	{"on_kmalloc", "kmem/kmalloc", RECORD_SOURCE_SLAB},
	{"on_kfree", "kmem/kfree", RECORD_SOURCE_SLAB},
	{"on_cache_alloc", "kmem/kmem_cache_alloc", RECORD_SOURCE_SLAB},
	{"on_cache_free", "kmem/kmem_cache_free", RECORD_SOURCE_SLAB},
	{"on_lock_begin", "lock/contention_begin", RECORD_SOURCE_LOCK},
	{"on_lock_end", "lock/contention_end", RECORD_SOURCE_LOCK},
	{"on_bio_queue", "block/block_bio_queue", RECORD_SOURCE_BIO},
	{"on_bio_split", "block/block_split", RECORD_SOURCE_BIO},
	{"on_kvm_entry", "kvm/kvm_entry", RECORD_SOURCE_KVM},
	{"on_kvm_exit", "kvm/kvm_exit", RECORD_SOURCE_KVM},
};

// ---- system calls ----

static const uint16_t memory_calls[] = {SYS_mmap, SYS_munmap, SYS_brk, SYS_mprotect, SYS_mremap};

static const uint16_t file_calls[] = {
#ifdef SYS_open
	SYS_open,
	SYS_creat,
	SYS_rename,
	SYS_unlink,
	SYS_mkdir,
	SYS_rmdir,
	SYS_link,
	SYS_symlink,
	SYS_readlink,
	SYS_access,
	SYS_stat,
	SYS_lstat,
	SYS_getdents,
#endif
	SYS_openat,
	SYS_close,
	SYS_read,
	SYS_write,
	SYS_pread64,
	SYS_pwrite64,
	SYS_readv,
	SYS_writev,
	SYS_preadv,
	SYS_pwritev,
	SYS_fsync,
	SYS_fdatasync,
	SYS_sync_file_range,
	SYS_lseek,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_getdents64,
	SYS_renameat,
	SYS_unlinkat,
	SYS_mkdirat,
	SYS_linkat,
	SYS_symlinkat,
	SYS_readlinkat,
	SYS_faccessat,
	SYS_truncate,
	SYS_ftruncate,
	SYS_fallocate,
	SYS_sendfile,
	SYS_splice,
	SYS_copy_file_range,
	SYS_flock,
	SYS_sync,
	SYS_syncfs,
#ifdef SYS_renameat2
	SYS_renameat2,
#endif
#ifdef SYS_openat2
	SYS_openat2,
	SYS_faccessat2,
#endif
};

static const uint16_t lock_calls[] = {
	SYS_futex,
#ifdef SYS_futex_waitv
	SYS_futex_waitv,
#endif
};

static void want(struct tracelet *programs, const uint16_t *calls, size_t count) {
	for (size_t i = 0; i < count; i++)
		programs->rodata->wanted_calls[calls[i] / 64] |= (uint64_t)1 << calls[i] % 64;
}

static void choose_calls(struct tracelet *programs, const struct capture_options *options) {
	const bool *sources = options->sources;
	bool all = sources[RECORD_SOURCE_SYSTEM_CALL], memory = sources[RECORD_SOURCE_MEMORY];
	bool files = sources[RECORD_SOURCE_FILE], kvm = sources[RECORD_SOURCE_KVM];
	bool locks = sources[RECORD_SOURCE_LOCK], any = all || memory || files || locks;
	bpf_program__set_autoload(programs->progs.on_sys_enter, any || kvm);
	bpf_program__set_autoload(programs->progs.on_sys_exit, any);
	if (all)
		memset(programs->rodata->wanted_calls, 0xff, sizeof(programs->rodata->wanted_calls));
	if (memory)
		want(programs, memory_calls, ARRAY_SIZE(memory_calls));
	if (files)
		want(programs, file_calls, ARRAY_SIZE(file_calls));
	if (locks)
		want(programs, lock_calls, ARRAY_SIZE(lock_calls));
	if (!all)
		programs->rodata->call_source = memory  ? RECORD_SOURCE_MEMORY
						: files ? RECORD_SOURCE_FILE
							: RECORD_SOURCE_LOCK;
	if (kvm)
		programs->rodata->call_of_ioctl = SYS_ioctl;
}

// ---- events whose fields have to be found ----

struct wanted_field {
	const char *point, *field, *otherwise; // arm64 has other names
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

// ---- all ----

static bool switch_off(bool *source) {
	bool was_on = *source;
	*source = false;
	return was_on;
}

// Those programs have several sources. KVM's needs one of them for the life of machines only.
static const char *leave_out_calls(bool *sources) {
	static const int by_calls[] = {RECORD_SOURCE_SYSTEM_CALL, RECORD_SOURCE_FILE, RECORD_SOURCE_MEMORY,
				       RECORD_SOURCE_LOCK};
	bool any = false;
	for (size_t i = 0; i < ARRAY_SIZE(by_calls); i++)
		any |= switch_off(&sources[by_calls[i]]);
	return any                                       ? "system calls"
	       : switch_off(&sources[RECORD_SOURCE_KVM]) ? event_source_names[RECORD_SOURCE_KVM]
							 : NULL;
}

const char *points_leave_out(const char *program, bool *sources) {
	if (strcmp(program, "on_sys_enter") == 0 || strcmp(program, "on_sys_exit") == 0)
		return leave_out_calls(sources);
	for (size_t i = 0; i < ARRAY_SIZE(programs_of); i++)
		if (strcmp(programs_of[i].program, program) == 0)
			return switch_off(&sources[programs_of[i].source])
				       ? event_source_names[programs_of[i].source]
				       : NULL;
	return NULL;
}

void points_choose(struct tracelet *programs, const struct capture_options *options, uint32_t slot) {
	bool owned = false;
	for (size_t i = 0; i < ARRAY_SIZE(programs_of); i++) {
		int source = programs_of[i].source;
		bool load = options->sources[source] &&
			    (!programs_of[i].point || source_has_point(programs_of[i].point));
		bpf_program__set_autoload(
			bpf_object__find_program_by_name(programs->obj, programs_of[i].program), load);
		owned |= load && source >= RECORD_SOURCE_BLOCK && source <= RECORD_SOURCE_NETWORK;
	}
	if (options->hard_faults)
		bpf_program__set_autoload(programs->progs.on_minor_fault, false);
	bpf_map__set_autocreate(programs->maps.owners, owned);
	bpf_program__set_autoattach(programs->progs.on_minor_fault, false);
	bpf_program__set_autoattach(programs->progs.on_major_fault, false);
	choose_calls(programs, options);
	if (options->sources[RECORD_SOURCE_KVM])
		choose_kvm(programs);
	if (options->sources[RECORD_SOURCE_RSS])
		choose_rss(programs);
	if (options->sources[RECORD_SOURCE_SLAB])
		choose_slab(programs);
	programs->rodata->power_slot = slot;
}

// ---- page faults ----

static int attach_event(struct bpf_program *program, uint64_t event, int cpu, struct point_links *links) {
	struct perf_event_attr attribute = {
		.type = PERF_TYPE_SOFTWARE, .config = event, .size = sizeof(attribute), .sample_period = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attribute, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno == ENODEV ? 0 : -errno; // a CPU that is off
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
