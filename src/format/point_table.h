// The kernel's smaller events, "points": a number, a task and up to four values. One entry each.
//
//	POINT(NUMBER, its BPF program or NULL, group, name, source, values, message, fields ...)
//
// The program is in capture/bpf/points.bpf.c; the section it is in says at which tracepoint of the group it
// runs. Group and name are what people see. The source is a line of source_table.h. `values` is how many of
// the four a record has. The message is that of Perfetto's FtraceEvent; if it is 0, the event is a
// generic one.
//
//	FIELD(name, its number in the message or 0, type, place)
//	BITS(name, number, type, place, shift, bits)
//
// A field is a value, or some bits of one; event/points.h has the types and POINT_SMALL, the place of a value
// of 16 bits.
//
// The position of an entry is the point's number in recorded files: append, never reorder.
// Read by BPF programs too. Included several times, hence no #pragma once.

// clang-format off

#define BLOCK_FIELDS \
	FIELD("dev", 1, UINT, 0), FIELD("sector", 2, UINT, 1), BITS("nr_sector", 3, UINT, 2, 9, 23), \
	BITS("bytes", 4, UINT, 2, 0, 32), BITS("rwbs", 6, TEXT, 3, 0, 8)
#define ALLOCATION_FIELDS \
	BITS("bytes_alloc", 0, UINT, 2, 32, 32), BITS("bytes_req", 0, UINT, 2, 0, 32), \
	FIELD("call_site", 0, CODE, 0), BITS("gfp_flags", 0, UINT, 3, 0, 32), FIELD("ptr", 0, HEX, 1)

// System calls: capture/bpf/points.c decides when their programs are loaded.
POINT(SYS_ENTER, NULL, "raw_syscalls", "sys_enter", SYSTEM_CALL, 4, 329,
      FIELD("id", 1, UINT, POINT_SMALL), FIELD("args", 2, LIST, 0))
POINT(SYS_EXIT, NULL, "raw_syscalls", "sys_exit", SYSTEM_CALL, 1, 330,
      FIELD("id", 1, UINT, POINT_SMALL), FIELD("ret", 2, INT, 0))

// perf's software events, not tracepoints.
POINT(FAULT_MINOR, "on_minor_fault", "exceptions", "page_fault_minor", FAULT, 2, 0,
      FIELD("address", 0, HEX, 0), FIELD("ip", 0, HEX, 1))
POINT(FAULT_MAJOR, "on_major_fault", "exceptions", "page_fault_major", FAULT, 2, 0,
      FIELD("address", 0, HEX, 0), FIELD("ip", 0, HEX, 1))

// Named after the events that Perfetto draws as slices. They are taken when the device gets the request
// (block_rq_issue), which every kernel reports.
POINT(BLOCK_ISSUE, "on_block_issue", "block", "block_io_start", BLOCK, 4, 546,
      BLOCK_FIELDS)
POINT(BLOCK_COMPLETE, "on_block_complete", "block", "block_io_done", BLOCK, 4, 547,
      BLOCK_FIELDS)

POINT(HRTIMER_START, "on_hrtimer_start", "timer", "hrtimer_start", TIMER, 3, 551,
      FIELD("hrtimer", 1, HEX, 0), FIELD("function", 2, CODE, 1), FIELD("expires", 3, INT, 2))
POINT(HRTIMER_ENTRY, "on_hrtimer_entry", "timer", "hrtimer_expire_entry", TIMER, 2, 553,
      FIELD("hrtimer", 1, HEX, 0), FIELD("function", 3, CODE, 1))
POINT(HRTIMER_EXIT, "on_hrtimer_exit", "timer", "hrtimer_expire_exit", TIMER, 1, 554,
      FIELD("hrtimer", 1, HEX, 0))
POINT(TIMER_START, "on_timer_list_start", "timer", "timer_start", TIMER, 3, 555,
      FIELD("timer", 1, HEX, 0), FIELD("function", 2, CODE, 1), FIELD("expires", 3, UINT, 2))
POINT(TIMER_ENTRY, "on_timer_list_entry", "timer", "timer_expire_entry", TIMER, 2, 557,
      FIELD("timer", 1, HEX, 0), FIELD("function", 3, CODE, 1))
POINT(TIMER_EXIT, "on_timer_list_exit", "timer", "timer_expire_exit", TIMER, 1, 558,
      FIELD("timer", 1, HEX, 0))

POINT(WORK_QUEUE, "on_work_queue", "workqueue", "workqueue_queue_work", WORK, 2, 59,
      FIELD("work", 1, HEX, 0), FIELD("function", 2, CODE, 1))
POINT(WORK_START, "on_work_start", "workqueue", "workqueue_execute_start", WORK, 2, 58,
      FIELD("work", 1, HEX, 0), FIELD("function", 2, CODE, 1))
POINT(WORK_END, "on_work_end", "workqueue", "workqueue_execute_end", WORK, 1, 57,
      FIELD("work", 1, HEX, 0))

POINT(IPI_CPU, "on_ipi_cpu", "ipi", "ipi_send_cpu", IPI, 2, 0,
      FIELD("cpu", 0, UINT, POINT_SMALL), FIELD("callsite", 0, CODE, 0), FIELD("callback", 0, CODE, 1))
POINT(IPI_MASK, "on_ipi_mask", "ipi", "ipi_send_cpumask", IPI, 3, 0,
      FIELD("cpumask", 0, HEX, 0), FIELD("callsite", 0, CODE, 1), FIELD("callback", 0, CODE, 2))
POINT(IPI_RAISE, "on_ipi_raise", "ipi", "ipi_raise", IPI, 3, 23,
      BITS("target_cpus", 1, UINT, 0, 0, 32), BITS("reason", 2, TEXT, 1, 0, 16))

POINT(SOCKET_STATE, "on_socket_state", "sock", "inet_sock_set_state", NETWORK, 3, 362,
      BITS("daddr", 1, UINT, 2, 32, 32), BITS("dport", 2, UINT, 1, 16, 16),
      BITS("family", 3, UINT, 1, 32, 16), BITS("newstate", 4, STATE, POINT_SMALL, 8, 8),
      BITS("oldstate", 5, STATE, POINT_SMALL, 0, 8), BITS("protocol", 6, UINT, 1, 48, 16),
      BITS("saddr", 7, UINT, 2, 0, 32), FIELD("skaddr", 8, HEX, 0), BITS("sport", 9, UINT, 1, 0, 16))
POINT(PACKET_SENT, "on_packet_sent", "net", "net_dev_xmit", NETWORK, 4, 361,
      BITS("len", 1, UINT, 0, 0, 32), BITS("name", 2, TEXT, 1, 0, 16), BITS("rc", 3, UINT, 0, 32, 32),
      FIELD("skbaddr", 4, HEX, 3))
POINT(PACKET_RECEIVED, "on_packet_received", "net", "netif_receive_skb", NETWORK, 4, 360,
      BITS("len", 1, UINT, 0, 0, 32), BITS("name", 2, TEXT, 1, 0, 16), FIELD("skbaddr", 3, HEX, 3))

POINT(CPU_IDLE, "on_cpu_idle", "power", "cpu_idle", POWER, 1, 13,
      BITS("state", 1, UINT, 0, 0, 32), BITS("cpu_id", 2, UINT, 0, 32, 32))
POINT(CPU_FREQUENCY, "on_cpu_frequency", "power", "cpu_frequency", POWER, 1, 11,
      BITS("state", 1, UINT, 0, 0, 32), BITS("cpu_id", 2, UINT, 0, 32, 32))

// Perfetto's messages for these are arm64's, which have neither a vCPU nor a reason.
POINT(KVM_ENTRY, "on_kvm_entry", "kvm", "kvm_entry", KVM, 1, 0,
      FIELD("vcpu_id", 0, UINT, POINT_SMALL), FIELD("rip", 0, HEX, 0))
POINT(KVM_EXIT, "on_kvm_exit", "kvm", "kvm_exit", KVM, 2, 0,
      FIELD("vcpu_id", 0, UINT, POINT_SMALL), BITS("exit_reason", 0, UINT, 0, 0, 32),
      BITS("isa", 0, UINT, 0, 32, 32), FIELD("reason", 0, WORD, 0), FIELD("guest_rip", 0, HEX, 1))

// Calls of ioctl(), seen by the program for system calls.
POINT(KVM_CREATE_VM, NULL, "kvm", "kvm_create_vm", KVM, 1, 0,
      FIELD("type", 0, UINT, 0))
POINT(KVM_CREATE_VCPU, NULL, "kvm", "kvm_create_vcpu", KVM, 1, 0,
      FIELD("vcpu_id", 0, UINT, 0))

POINT(PRIORITY, "on_priority", "sched", "sched_pi_setprio", PRIORITY, 2, 353,
      BITS("newprio", 2, UINT, 1, 32, 32), BITS("oldprio", 3, UINT, 1, 0, 32), FIELD("pid", 4, UINT, 0))

POINT(MIGRATION, "on_migration", "sched", "sched_migrate_task", MIGRATION, 2, 491,
      BITS("pid", 2, UINT, 0, 0, 32), BITS("prio", 3, UINT, 0, 32, 32),
      BITS("orig_cpu", 4, UINT, 1, 0, 32), BITS("dest_cpu", 5, UINT, 1, 32, 32))

POINT(CLOCK_ENTRY, "on_clock_entry", "irq_vectors", "local_timer_entry", CLOCK, 0, 0,
      FIELD("vector", 0, UINT, POINT_SMALL))
POINT(CLOCK_EXIT, "on_clock_exit", "irq_vectors", "local_timer_exit", CLOCK, 0, 0,
      FIELD("vector", 0, UINT, POINT_SMALL))

POINT(SOFTIRQ_RAISE, "on_softirq_raise", "irq", "softirq_raise", SOFTIRQ_QUEUE, 0, 26,
      FIELD("vec", 1, UINT, POINT_SMALL))
POINT(TASKLET_ENTRY, "on_tasklet_entry", "irq", "tasklet_entry", SOFTIRQ_QUEUE, 2, 0,
      FIELD("tasklet", 0, HEX, 0), FIELD("func", 0, CODE, 1))
POINT(TASKLET_EXIT, "on_tasklet_exit", "irq", "tasklet_exit", SOFTIRQ_QUEUE, 2, 0,
      FIELD("tasklet", 0, HEX, 0), FIELD("func", 0, CODE, 1))

POINT(SUSPEND, "on_suspend", "power", "suspend_resume", POWER, 4, 113,
      BITS("action", 1, TEXT, 1, 0, 24), BITS("val", 2, UINT, 0, 0, 32),
      BITS("start", 3, UINT, 0, 32, 1))
POINT(HOTPLUG_ENTER, "on_hotplug_enter", "cpuhp", "cpuhp_enter", POWER, 2, 0,
      FIELD("cpu", 0, UINT, POINT_SMALL), FIELD("fun", 0, CODE, 0), BITS("idx", 0, UINT, 1, 0, 32),
      BITS("target", 0, UINT, 1, 32, 32))
POINT(HOTPLUG_EXIT, "on_hotplug_exit", "cpuhp", "cpuhp_exit", POWER, 2, 343,
      FIELD("cpu", 1, UINT, POINT_SMALL), FIELD("ret", 3, INT, 0), BITS("idx", 2, UINT, 1, 0, 32),
      BITS("state", 4, UINT, 1, 32, 32))

POINT(RSS, "on_rss", "kmem", "rss_stat", RSS, 2, 313,
      BITS("member", 1, UINT, POINT_SMALL, 1, 15), FIELD("size", 2, INT, 0),
      BITS("curr", 3, UINT, POINT_SMALL, 0, 1), FIELD("mm_id", 4, UINT, 1))

// Perfetto has messages for these, with bare addresses: as generic events they name the caller.
POINT(KMALLOC, "on_kmalloc", "kmem", "kmalloc", SLAB, 4, 0,
      ALLOCATION_FIELDS)
POINT(KFREE, "on_kfree", "kmem", "kfree", SLAB, 2, 0,
      FIELD("call_site", 0, CODE, 0), FIELD("ptr", 0, HEX, 1))
POINT(CACHE_ALLOC, "on_cache_alloc", "kmem", "kmem_cache_alloc", SLAB, 4, 0,
      ALLOCATION_FIELDS)
POINT(CACHE_FREE, "on_cache_free", "kmem", "kmem_cache_free", SLAB, 2, 0,
      FIELD("call_site", 0, CODE, 0), FIELD("ptr", 0, HEX, 1))

POINT(LOCK_BEGIN, "on_lock_begin", "lock", "contention_begin", LOCK, 1, 0,
      FIELD("lock_addr", 0, HEX, 0), FIELD("flags", 0, UINT, POINT_SMALL))
POINT(LOCK_END, "on_lock_end", "lock", "contention_end", LOCK, 2, 0,
      FIELD("lock_addr", 0, HEX, 0), FIELD("ret", 0, INT, 1))

POINT(BIO_QUEUE, "on_bio_queue", "block", "block_bio_queue", BIO, 4, 119,
      FIELD("dev", 1, UINT, 0), FIELD("sector", 2, UINT, 1), FIELD("nr_sector", 3, UINT, 2),
      BITS("rwbs", 4, TEXT, 3, 0, 8))
POINT(BIO_SPLIT, "on_bio_split", "block", "block_split", BIO, 4, 131,
      FIELD("dev", 1, UINT, 0), FIELD("sector", 2, UINT, 1), FIELD("new_sector", 3, UINT, 2),
      BITS("rwbs", 4, TEXT, 3, 0, 8))

POINT(RESCHEDULE_ENTRY, "on_reschedule_entry", "irq_vectors", "reschedule_entry", IPI, 0, 0,
      FIELD("vector", 0, UINT, POINT_SMALL))
POINT(RESCHEDULE_EXIT, "on_reschedule_exit", "irq_vectors", "reschedule_exit", IPI, 0, 0,
      FIELD("vector", 0, UINT, POINT_SMALL))
POINT(CALL_ENTRY, "on_call_function_entry", "irq_vectors", "call_function_entry", IPI, 0, 0,
      FIELD("vector", 0, UINT, POINT_SMALL))
POINT(CALL_EXIT, "on_call_function_exit", "irq_vectors", "call_function_exit", IPI, 0, 0,
      FIELD("vector", 0, UINT, POINT_SMALL))
POINT(CALL_SINGLE_ENTRY, "on_call_function_single_entry", "irq_vectors", "call_function_single_entry",
      IPI, 0, 0, FIELD("vector", 0, UINT, POINT_SMALL))
POINT(CALL_SINGLE_EXIT, "on_call_function_single_exit", "irq_vectors", "call_function_single_exit",
      IPI, 0, 0, FIELD("vector", 0, UINT, POINT_SMALL))

// The thread it happens in is the sender, which may be no thread of the test: hence its name, under a number
// that Perfetto's message does not have and its importer skips.
POINT(SIGNAL, "on_signal_sent", "signal", "signal_generate", SIGNAL, 4, 325,
      FIELD("code", 1, INT, 1), BITS("group", 3, UINT, 0, 32, 8), BITS("pid", 4, UINT, 0, 0, 32),
      BITS("result", 5, UINT, 0, 40, 8), FIELD("sig", 6, UINT, POINT_SMALL), BITS("sender", 100, TEXT, 2, 0, 16))

// What the kernel ends for lack of memory, in the thread that asked for more: the process, and the tightest
// limit of its control groups, in bytes (0 if none), with what was used of it.
POINT(OOM_VICTIM, "on_oom_victim", "oom", "mark_victim", SIGNAL, 3, 0,
      FIELD("pid", 0, UINT, 0), FIELD("limit", 0, UINT, 1), FIELD("usage", 0, UINT, 2))

#undef BLOCK_FIELDS
#undef ALLOCATION_FIELDS

// clang-format on
