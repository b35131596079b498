#include "profile/keywords.h"

#include <string.h>
#include <strings.h>

#define POWER_EVENTS "cpu_idle, cpu_frequency, suspend_resume, cpuhp_enter/exit"
#define LOCK_EVENTS  "futex system calls, contention_begin/end"

// One line for each keyword of WPR's schema. The events are those that its sources record
// (format/source_table.h); if there is no source, those that one would have to record.
const struct system_keyword system_keywords[KEYWORD_COUNT] = {
	{"AllFaults", "page-faults-min, page-faults-maj"},
	{"Alpc", NULL},
	{"AntiStarvation", "sched_pi_setprio"},
	{"CacheFlush", NULL, .newer = true},
	{"CC", NULL},
	{"ClockInterrupt", "local_timer_entry/exit"},
	{"ClusterOff", NULL},
	{"CompactCSwitch", "sched_switch"},
	{"ContiguousMemorygeneration", NULL},
	{"CpuConfig", POWER_EVENTS},
	{"CSwitch", "sched_switch"},
	{"DiskIO", "block_rq_issue, block_rq_complete"},
	{"DiskIOInit", "block_rq_issue, block_rq_complete"},
	{"DPC", "softirq_entry/exit"},
	{"DPCQueue", "softirq_raise, tasklet_entry/exit", .newer = true},
	{"Drivers", NULL},
	{"FileIO", "sys_enter/exit of open, read, write, fsync and the like"},
	{"FileIOInit", "sys_enter/exit of open, read, write, fsync and the like"},
	{"Filename", "sys_enter_openat", .part = "the calls with FileIO, not the names"},
	{"FilterIO", NULL},
	{"FilterIOFailure", NULL},
	{"FilterIOFastIO", NULL},
	{"FilterIOInit", NULL},
	{"FootPrint", NULL},
	{"KeClock", NULL, .newer = true},
	{"Handle", NULL},
	{"HardFaults", "page-faults-maj"},
	{"HvHypercalls", "kvm_entry, kvm_exit, KVM_CREATE_VM, KVM_CREATE_VCPU", .newer = true},
	{"IdealProcessor", "sched_migrate_task", .newer = true},
	{"IdleStates", POWER_EVENTS},
	{"InterProcessorInterrupt",
	 "ipi_send_cpu, ipi_send_cpumask, ipi_raise, reschedule_*, call_function_*"},
	{"Interrupt", "irq_handler_entry/exit"},
	{"KernelQueue", "workqueue_queue_work, workqueue_execute_start/end"},
	{"Loader", "PERF_RECORD_MMAP2 (with build id)", .part = "what samples and crashes need"},
	{"Memory", "rss_stat"},
	{"NonTradeableMemory", NULL, .newer = true},
	{"MemoryInfo", "rss_stat"},
	{"MemoryInfoWS", "rss_stat"},
	{"NetworkTrace", "inet_sock_set_state, net_dev_xmit, netif_receive_skb"},
	{"Object", NULL},
	{"OpticalIO", NULL},
	{"OpticalIOInit", NULL},
	{"Pool", "kmalloc, kfree, kmem_cache_alloc/free"},
	{"Power", POWER_EVENTS},
	{"PmcProfile", "hardware events", .part = "with run --counters or --sample EVENT", .newer = true},
	{"ProcessCounter", NULL},
	{"ProcessFreeze", NULL},
	{"ProcessThread", "task_newtask, task_rename, sched_process_exec/exit, signal_generate"},
	{"ReadyThread", "sched_waking"},
	{"ReferenceSet", NULL},
	{"Registry", NULL},
	{"RegistryHive", NULL},
	{"SampledProfile", "cpu-clock, or cycles if there is a PMU"},
	{"Session", NULL, .newer = true},
	{"SpinLock", LOCK_EVENTS},
	{"SplitIO", "block_bio_queue, block_split"},
	{"SynchronizationObjects", LOCK_EVENTS},
	{"SystemCall", "sys_enter, sys_exit"},
	{"ThreadPriority", "sched_pi_setprio"},
	{"Timer", "hrtimer_start, hrtimer_expire_*, timer_start, timer_expire_*"},
	{"VAMap", "sys_enter/exit of mmap, munmap, brk, mprotect, mremap", .newer = true},
	{"VirtualAllocation", "sys_enter/exit of mmap, munmap, brk, mprotect, mremap"},
	{"WakeCounter", NULL},
	{"WakeDrop", NULL, .newer = true},
	{"WakeEvent", NULL, .newer = true},
	{"WDFDPC", NULL, .newer = true},
	{"WDFInterrupt", NULL, .newer = true},
	{"HiberRundown", NULL, .newer = true},
};

const char *const stack_names[STACK_COUNT] = {
	"AlpcClosePort",
	"AlpcConnectFail",
	"AlpcConnectRequest",
	"AlpcConnectSuccess",
	"AlpcReceiveMessage",
	"AlpcSendMessage",
	"AlpcUnwait",
	"AlpcWaitForNewMessage",
	"AlpcWaitForReply",
	"CcCanIWriteFail",
	"CcFlushCache",
	"CcFlushSection",
	"CcLazyWriteScan",
	"CcReadAhead",
	"CcWorkitemComplete",
	"CcWorkitemDequeue",
	"CcWorkitemEnqueue",
	"CcWriteBehind",
	"ContiguousMemoryGeneration",
	"CacheFlush",
	"CSwitch",
	"DiskFlushInit",
	"DiskReadInit",
	"DiskWriteInit",
	"DpcEnqueue",
	"DpcExecute",
	"ExecutiveResource",
	"FileCleanup",
	"FileClose",
	"FileCreate",
	"FileDelete",
	"FileDirEnum",
	"FileDirNotify",
	"FileFlush",
	"FileFSCTL",
	"FileOpEnd",
	"FileQueryInformation",
	"FileRead",
	"FileRename",
	"FileSetInformation",
	"FileWrite",
	"HandleCreate",
	"HandleClose",
	"HandleDuplicate",
	"HardFault",
	"HeapAllocation",
	"HeapCreate",
	"HeapDestroy",
	"HeapFree",
	"HeapRangeCreate",
	"HeapRangeDestroy",
	"HeapRangeRelease",
	"HeapRangeReserve",
	"HeapReallocation",
	"ImageLoad",
	"ImageUnload",
	"InterProcessorInterrupt",
	"KernelHypercalls",
	"KernelQueueEnqueue",
	"KernelQueueDequeue",
	"MapFile",
	"Mark",
	"MiniFilterPreOpInit",
	"MiniFilterPostOpInit",
	"ObjectCreate",
	"ObjectDelete",
	"ObjectReference",
	"ObjectDeReference",
	"PageAccess",
	"PageAccessEx",
	"PagefaultAV",
	"PagefaultCopyOnWrite",
	"PagefaultDemandZero",
	"PagefaultGuard",
	"PagefaultHard",
	"PagefaultTransition",
	"PagefileBackedImageMapping",
	"PagefileMappedSectionCreate",
	"PagefileMappedSectionDelete",
	"PageRangeAccess",
	"PageRangeRelease",
	"PageRelease",
	"PageRemovedfromWorkingSet",
	"PmcInterrupt",
	"PoolAllocation",
	"PoolAllocationSession",
	"PoolFree",
	"PoolFreeSession",
	"PowerDeviceNotify",
	"PowerDeviceNotifyComplete",
	"PowerIdleStateChange",
	"PowerPerfStateChange",
	"PowerPostSleep",
	"PowerPreSleep",
	"PowerSessionCallout",
	"PowerSessionCalloutReturn",
	"PowerSetDevicesState",
	"PowerSetDevicesStateReturn",
	"PowerSetPowerAction",
	"PowerSetPowerActionReturn",
	"PowerThermalConstraint",
	"PopSetUserPresent",
	"ProcessCreate",
	"ProcessDelete",
	"ProcessFreeze",
	"ProcessResume",
	"SampledProfile",
	"SampledProfileSetInterval",
	"ReadyThread",
	"RegistryCloseKey",
	"RegistryCreateKey",
	"RegistryDeleteKey",
	"RegistryDeleteValue",
	"RegistryEnumerateKey",
	"RegistryEnumerateValueKey",
	"RegistryFlush",
	"RegistryKcbCreate",
	"RegistryKcbDelete",
	"RegistryOpenKey",
	"RegistryQueryKey",
	"RegistryQueryMultipleValue",
	"RegistryQuerySecurity",
	"RegistryQueryValue",
	"RegistrySetInformation",
	"RegistrySetSecurity",
	"RegistrySetValue",
	"RegistryVirtualize",
	"RegHiveInit",
	"RegHiveDestroy",
	"RegHiveLink",
	"RegHiveDirty",
	"SplitIO",
	"SystemCallEnter",
	"SystemCallExit",
	"ThreadCreate",
	"ThreadDCEnd",
	"ThreadDCStart",
	"ThreadDelete",
	"ThreadPoolCallbackCancel",
	"ThreadPoolCallbackDequeue",
	"ThreadPoolCallbackEnqueue",
	"ThreadPoolCallbackStart",
	"ThreadPoolCallbackStop",
	"ThreadPoolCancelNtTimer",
	"ThreadPoolClose",
	"ThreadPoolCreate",
	"ThreadPoolSetMaxThreads",
	"ThreadPoolSetMinThreads",
	"ThreadPoolSetNtTimer",
	"ThreadPoolTimerSet",
	"ThreadPoolTimerCancelled",
	"ThreadPoolTimerExpirationBegin",
	"ThreadPoolTimerExpirationEnd",
	"ThreadPoolTimerExpiration",
	"ThreadSetBasePriority",
	"ThreadSetIdealProcessor",
	"ThreadSetPriority",
	"ThreadSetUserIdealProcessor",
	"TimerPeriodic",
	"TimerOneShot",
	"UnMapFile",
	"VirtualAllocation",
	"VirtualFree",
	"WakeChargeUser",
	"WakeChargeExecution",
	"WakeChargeKernel",
	"WakeChargeInstrumentation",
	"WakeReleaseUser",
	"WakeReleaseExecution",
	"WakeReleaseKernel",
	"WakeReleaseInstrumentation",
	"WakeDropUser",
	"WakeDropExecution",
	"WakeDropKernel",
	"WakeDropInstrumentation",
	"WakeEventUser",
	"WakeEventExecution",
	"WakeEventKernel",
	"WakeEventInstrumentation",
};

int keyword_find(const char *name) {
	for (int i = 0; i < KEYWORD_COUNT; i++)
		if (strcasecmp(system_keywords[i].name, name) == 0)
			return i;
	return -1;
}

int stack_find(const char *name) {
	for (int i = 0; i < STACK_COUNT; i++)
		if (strcasecmp(stack_names[i], name) == 0)
			return i;
	return -1;
}

static const char *const words_of[RECORD_SOURCE_COUNT] = {
#define SOURCE(NAME, name, keywords, tracepoints, why_not) [SOURCE_##NAME] = keywords,
#include "format/source_table.h"
#undef SOURCE
};

bool keyword_asks_for(const struct system_keyword *keyword, int source) {
	size_t length = strlen(keyword->name);
	const char *at = words_of[source];
	while (*at) {
		size_t here = strcspn(at, " ");
		if (here == length && strncasecmp(at, keyword->name, length) == 0)
			return true;
		at += here + strspn(at + here, " ");
	}
	return false;
}

int keyword_source(const struct system_keyword *keyword) {
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		if (keyword_asks_for(keyword, source))
			return source;
	return NOT_RECORDED;
}

bool keyword_recorded(const struct system_keyword *keyword) {
	return keyword_source(keyword) != NOT_RECORDED || keyword->part;
}

const char *keyword_state(const struct system_keyword *keyword) {
	return keyword_source(keyword) != NOT_RECORDED ? "recorded"
	       : keyword->part                         ? "recorded in part"
	       : keyword->linux_events                 ? "not recorded yet"
						       : "Linux has nothing like it";
}
