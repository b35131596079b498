// The sources of events: one line each. format/sources.h makes the enum of it, and the tables of
// names, of keywords and of what a kernel must have are made of it where they are used.
//
//	SOURCE(NAME, display name,
//	       WPR keywords that enable it,
//	       tracepoints, one of which the kernel must have ("" if none is needed),
//	       the reason to report if it has none)
//
// The position of an entry is the source's number in recorded files: append, never reorder.
// BPF programs include this too. Included several times, hence no #pragma once.

// clang-format off

// switches and wakeups
SOURCE(SCHED, "sched", "CSwitch CompactCSwitch ReadyThread", "", "")

// forks, execs, names and exits
SOURCE(PROCESS, "process", "ProcessThread", "", "")

// interrupts and softirqs
SOURCE(IRQ, "irq", "Interrupt DPC", "", "")

// marks that the test makes itself
SOURCE(MARKER, "marker", "", "", "")

SOURCE(SAMPLE, "sample", "SampledProfile", "", "")

// page faults, from perf's software events: capture/sources.c knows what they need
SOURCE(FAULT, "fault", "AllFaults HardFaults", "", "")

// system calls about the address space: those calls out of SYSTEM_CALL
SOURCE(MEMORY, "memory", "VirtualAllocation VAMap",
       "raw_syscalls/sys_enter", "this kernel has no raw_syscalls events")

// the same about files
SOURCE(FILE, "file", "FileIO FileIOInit",
       "raw_syscalls/sys_enter", "this kernel has no raw_syscalls events")

SOURCE(SYSTEM_CALL, "system-call", "SystemCall",
       "raw_syscalls/sys_enter", "this kernel has no raw_syscalls events")

// requests to block devices
SOURCE(BLOCK, "block", "DiskIO DiskIOInit",
       "block/block_rq_issue", "this kernel has no block device events")

SOURCE(TIMER, "timer", "Timer",
       "timer/hrtimer_start", "this kernel has no timer events")

SOURCE(WORK, "workqueue", "KernelQueue",
       "workqueue/workqueue_execute_start", "this kernel has no workqueue events")

SOURCE(IPI, "ipi", "InterProcessorInterrupt",
       "ipi/ipi_send_cpu ipi/ipi_raise irq_vectors/reschedule_entry", "this kernel has no IPI events")

SOURCE(NETWORK, "network", "NetworkTrace",
       "sock/inet_sock_set_state", "this kernel has no socket events")

SOURCE(POWER, "power", "Power IdleStates CpuConfig",
       "power/cpu_idle", "this kernel has no power events")

SOURCE(KVM, "kvm", "HvHypercalls",
       "kvm/kvm_exit", "not a host of virtual machines: no KVM")

// priorities that threads lend each other
SOURCE(PRIORITY, "priority", "ThreadPriority AntiStarvation",
       "sched/sched_pi_setprio", "this kernel has no priority events")

SOURCE(MIGRATION, "migration", "IdealProcessor",
       "sched/sched_migrate_task", "this kernel has no migration events")

// interrupts of the local timer
SOURCE(CLOCK, "clock", "ClockInterrupt",
       "irq_vectors/local_timer_entry", "this kernel has no irq_vectors events")

// softirqs being raised, tasklets
SOURCE(SOFTIRQ_QUEUE, "softirq-queue", "DPCQueue",
       "irq/softirq_raise", "this kernel has no softirq events")

// resident memory
SOURCE(RSS, "rss", "Memory MemoryInfo MemoryInfoWS",
       "kmem/rss_stat", "this kernel has no rss_stat event")

// the kernel's heap
SOURCE(SLAB, "slab", "Pool",
       "kmem/kmalloc", "this kernel has no kmem events")

SOURCE(LOCK, "lock", "SynchronizationObjects SpinLock",
       "raw_syscalls/sys_enter lock/contention_begin", "this kernel has no lock events")

// block I/O before it becomes requests
SOURCE(BIO, "bio", "SplitIO",
       "block/block_bio_queue", "this kernel has no block device events")

// signals sent to the test's threads, with their senders
SOURCE(SIGNAL, "signal", "ProcessThread",
       "signal/signal_generate", "this kernel has no signal events")

// clang-format on
