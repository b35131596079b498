#include "event/points.h"
#include "event/kvm_reasons.h"
#include "event/system_calls.h"

#include <string.h>

#define FIELD(name, number, type, place)                                                                     \
	{ name, number, type, place, 0, 0 }
#define BITS(name, number, type, place, shift, bits)                                                         \
	{ name, number, type, place, shift, bits }

// Requests of block devices bear the names of the events that Perfetto draws as slices: from the
// moment the device has got them, which every kernel tells, to their completion.
#define BLOCK_FIELDS                                                                                         \
	{                                                                                                    \
		FIELD("dev", 1, POINT_UINT, 0), FIELD("sector", 2, POINT_UINT, 1),                           \
			BITS("nr_sector", 3, POINT_UINT, 2, 9, 23), BITS("bytes", 4, POINT_UINT, 2, 0, 32),  \
			BITS("rwbs", 6, POINT_TEXT, 3, 0, 8),                                                \
	}

// Perfetto has messages for these, with bare addresses: as generic events they say who asked.
#define ALLOCATION_FIELDS                                                                                    \
	{                                                                                                    \
		BITS("bytes_alloc", 0, POINT_UINT, 2, 32, 32), BITS("bytes_req", 0, POINT_UINT, 2, 0, 32),   \
			FIELD("call_site", 0, POINT_CODE, 0), BITS("gfp_flags", 0, POINT_UINT, 3, 0, 32),    \
			FIELD("ptr", 0, POINT_HEX, 1),                                                       \
	}

const struct point points[POINT_COUNT] = {
	[POINT_SYS_ENTER] = {"raw_syscalls",
			     "sys_enter",
			     SOURCE_SYSTEM_CALL,
			     4,
			     false,
			     329,
			     {FIELD("id", 1, POINT_UINT, POINT_SMALL), FIELD("args", 2, POINT_LIST, 0)}},
	[POINT_SYS_EXIT] = {"raw_syscalls",
			    "sys_exit",
			    SOURCE_SYSTEM_CALL,
			    1,
			    false,
			    330,
			    {FIELD("id", 1, POINT_UINT, POINT_SMALL), FIELD("ret", 2, POINT_INT, 0)}},
	[POINT_FAULT_MINOR] = {"exceptions",
			       "page_fault_minor",
			       SOURCE_FAULT,
			       2,
			       false,
			       0,
			       {FIELD("address", 0, POINT_HEX, 0), FIELD("ip", 0, POINT_HEX, 1)}},
	[POINT_FAULT_MAJOR] = {"exceptions",
			       "page_fault_major",
			       SOURCE_FAULT,
			       2,
			       false,
			       0,
			       {FIELD("address", 0, POINT_HEX, 0), FIELD("ip", 0, POINT_HEX, 1)}},
	[POINT_BLOCK_ISSUE] = {"block", "block_io_start", SOURCE_BLOCK, 4, false, 546, BLOCK_FIELDS},
	[POINT_BLOCK_COMPLETE] = {"block", "block_io_done", SOURCE_BLOCK, 4, false, 547, BLOCK_FIELDS},
	[POINT_HRTIMER_START] = {"timer",
				 "hrtimer_start",
				 SOURCE_TIMER,
				 3,
				 true,
				 551,
				 {FIELD("hrtimer", 1, POINT_HEX, 0), FIELD("function", 2, POINT_CODE, 1),
				  FIELD("expires", 3, POINT_INT, 2)}},
	[POINT_HRTIMER_ENTRY] = {"timer",
				 "hrtimer_expire_entry",
				 SOURCE_TIMER,
				 2,
				 true,
				 553,
				 {FIELD("hrtimer", 1, POINT_HEX, 0), FIELD("function", 3, POINT_CODE, 1)}},
	[POINT_HRTIMER_EXIT] = {"timer",
				"hrtimer_expire_exit",
				SOURCE_TIMER,
				1,
				false,
				554,
				{FIELD("hrtimer", 1, POINT_HEX, 0)}},
	[POINT_TIMER_START] = {"timer",
			       "timer_start",
			       SOURCE_TIMER,
			       3,
			       true,
			       555,
			       {FIELD("timer", 1, POINT_HEX, 0), FIELD("function", 2, POINT_CODE, 1),
				FIELD("expires", 3, POINT_UINT, 2)}},
	[POINT_TIMER_ENTRY] = {"timer",
			       "timer_expire_entry",
			       SOURCE_TIMER,
			       2,
			       true,
			       557,
			       {FIELD("timer", 1, POINT_HEX, 0), FIELD("function", 3, POINT_CODE, 1)}},
	[POINT_TIMER_EXIT] = {"timer",
			      "timer_expire_exit",
			      SOURCE_TIMER,
			      1,
			      false,
			      558,
			      {FIELD("timer", 1, POINT_HEX, 0)}},
	[POINT_WORK_QUEUE] = {"workqueue",
			      "workqueue_queue_work",
			      SOURCE_WORK,
			      2,
			      true,
			      59,
			      {FIELD("work", 1, POINT_HEX, 0), FIELD("function", 2, POINT_CODE, 1)}},
	[POINT_WORK_START] = {"workqueue",
			      "workqueue_execute_start",
			      SOURCE_WORK,
			      2,
			      true,
			      58,
			      {FIELD("work", 1, POINT_HEX, 0), FIELD("function", 2, POINT_CODE, 1)}},
	[POINT_WORK_END] = {"workqueue",
			    "workqueue_execute_end",
			    SOURCE_WORK,
			    1,
			    false,
			    57,
			    {FIELD("work", 1, POINT_HEX, 0)}},
	[POINT_IPI_CPU] = {"ipi",
			   "ipi_send_cpu",
			   SOURCE_IPI,
			   2,
			   true,
			   0,
			   {FIELD("cpu", 0, POINT_UINT, POINT_SMALL), FIELD("callsite", 0, POINT_CODE, 0),
			    FIELD("callback", 0, POINT_CODE, 1)}},
	[POINT_IPI_MASK] = {"ipi",
			    "ipi_send_cpumask",
			    SOURCE_IPI,
			    3,
			    true,
			    0,
			    {FIELD("cpumask", 0, POINT_HEX, 0), FIELD("callsite", 0, POINT_CODE, 1),
			     FIELD("callback", 0, POINT_CODE, 2)}},
	[POINT_IPI_RAISE] = {"ipi",
			     "ipi_raise",
			     SOURCE_IPI,
			     3,
			     false,
			     23,
			     {BITS("target_cpus", 1, POINT_UINT, 0, 0, 32),
			      BITS("reason", 2, POINT_TEXT, 1, 0, 16)}},
	[POINT_SOCKET_STATE] = {"sock",
				"inet_sock_set_state",
				SOURCE_NETWORK,
				3,
				false,
				362,
				{BITS("daddr", 1, POINT_UINT, 2, 32, 32),
				 BITS("dport", 2, POINT_UINT, 1, 16, 16),
				 BITS("family", 3, POINT_UINT, 1, 32, 16),
				 BITS("newstate", 4, POINT_UINT, POINT_SMALL, 8, 8),
				 BITS("oldstate", 5, POINT_UINT, POINT_SMALL, 0, 8),
				 BITS("protocol", 6, POINT_UINT, 1, 48, 16),
				 BITS("saddr", 7, POINT_UINT, 2, 0, 32), FIELD("skaddr", 8, POINT_HEX, 0),
				 BITS("sport", 9, POINT_UINT, 1, 0, 16)}},
	[POINT_PACKET_SENT] = {"net",
			       "net_dev_xmit",
			       SOURCE_NETWORK,
			       4,
			       false,
			       361,
			       {BITS("len", 1, POINT_UINT, 0, 0, 32), BITS("name", 2, POINT_TEXT, 1, 0, 16),
				BITS("rc", 3, POINT_UINT, 0, 32, 32), FIELD("skbaddr", 4, POINT_HEX, 3)}},
	[POINT_PACKET_RECEIVED] = {"net",
				   "netif_receive_skb",
				   SOURCE_NETWORK,
				   4,
				   false,
				   360,
				   {BITS("len", 1, POINT_UINT, 0, 0, 32),
				    BITS("name", 2, POINT_TEXT, 1, 0, 16),
				    FIELD("skbaddr", 3, POINT_HEX, 3)}},
	[POINT_CPU_IDLE] = {"power",
			    "cpu_idle",
			    SOURCE_POWER,
			    1,
			    false,
			    13,
			    {BITS("state", 1, POINT_UINT, 0, 0, 32),
			     BITS("cpu_id", 2, POINT_UINT, 0, 32, 32)}},
	[POINT_CPU_FREQUENCY] = {"power",
				 "cpu_frequency",
				 SOURCE_POWER,
				 1,
				 false,
				 11,
				 {BITS("state", 1, POINT_UINT, 0, 0, 32),
				  BITS("cpu_id", 2, POINT_UINT, 0, 32, 32)}},
	// Perfetto's messages for these are those of arm64, which have neither a vCPU nor a reason.
	[POINT_KVM_ENTRY] = {"kvm",
			     "kvm_entry",
			     SOURCE_KVM,
			     1,
			     false,
			     0,
			     {FIELD("vcpu_id", 0, POINT_UINT, POINT_SMALL), FIELD("rip", 0, POINT_HEX, 0)}},
	[POINT_KVM_EXIT] = {"kvm",
			    "kvm_exit",
			    SOURCE_KVM,
			    2,
			    false,
			    0,
			    {FIELD("vcpu_id", 0, POINT_UINT, POINT_SMALL),
			     BITS("exit_reason", 0, POINT_UINT, 0, 0, 32),
			     BITS("isa", 0, POINT_UINT, 0, 32, 32), FIELD("reason", 0, POINT_WORD, 0),
			     FIELD("guest_rip", 0, POINT_HEX, 1)}},
	[POINT_KVM_CREATE_VM] =
		{"kvm", "kvm_create_vm", SOURCE_KVM, 1, false, 0, {FIELD("type", 0, POINT_UINT, 0)}},
	[POINT_KVM_CREATE_VCPU] =
		{"kvm", "kvm_create_vcpu", SOURCE_KVM, 1, false, 0, {FIELD("vcpu_id", 0, POINT_UINT, 0)}},
	[POINT_PRIORITY] = {"sched",
			    "sched_pi_setprio",
			    SOURCE_PRIORITY,
			    2,
			    false,
			    353,
			    {BITS("newprio", 2, POINT_UINT, 1, 32, 32),
			     BITS("oldprio", 3, POINT_UINT, 1, 0, 32), FIELD("pid", 4, POINT_UINT, 0)}},
	[POINT_MIGRATION] = {"sched",
			     "sched_migrate_task",
			     SOURCE_MIGRATION,
			     2,
			     false,
			     491,
			     {BITS("pid", 2, POINT_UINT, 0, 0, 32), BITS("prio", 3, POINT_UINT, 0, 32, 32),
			      BITS("orig_cpu", 4, POINT_UINT, 1, 0, 32),
			      BITS("dest_cpu", 5, POINT_UINT, 1, 32, 32)}},
	[POINT_CLOCK_ENTRY] = {"irq_vectors",
			       "local_timer_entry",
			       SOURCE_CLOCK,
			       0,
			       false,
			       0,
			       {FIELD("vector", 0, POINT_UINT, POINT_SMALL)}},
	[POINT_CLOCK_EXIT] = {"irq_vectors",
			      "local_timer_exit",
			      SOURCE_CLOCK,
			      0,
			      false,
			      0,
			      {FIELD("vector", 0, POINT_UINT, POINT_SMALL)}},
	[POINT_SOFTIRQ_RAISE] = {"irq",
				 "softirq_raise",
				 SOURCE_SOFTIRQ_QUEUE,
				 0,
				 false,
				 26,
				 {FIELD("vec", 1, POINT_UINT, POINT_SMALL)}},
	[POINT_TASKLET_ENTRY] = {"irq",
				 "tasklet_entry",
				 SOURCE_SOFTIRQ_QUEUE,
				 2,
				 true,
				 0,
				 {FIELD("tasklet", 0, POINT_HEX, 0), FIELD("func", 0, POINT_CODE, 1)}},
	[POINT_TASKLET_EXIT] = {"irq",
				"tasklet_exit",
				SOURCE_SOFTIRQ_QUEUE,
				2,
				true,
				0,
				{FIELD("tasklet", 0, POINT_HEX, 0), FIELD("func", 0, POINT_CODE, 1)}},
	[POINT_SUSPEND] = {"power",
			   "suspend_resume",
			   SOURCE_POWER,
			   4,
			   false,
			   113,
			   {BITS("action", 1, POINT_TEXT, 1, 0, 24), BITS("val", 2, POINT_UINT, 0, 0, 32),
			    BITS("start", 3, POINT_UINT, 0, 32, 1)}},
	[POINT_HOTPLUG_ENTER] = {"cpuhp",
				 "cpuhp_enter",
				 SOURCE_POWER,
				 2,
				 true,
				 0,
				 {FIELD("cpu", 0, POINT_UINT, POINT_SMALL), FIELD("fun", 0, POINT_CODE, 0),
				  BITS("idx", 0, POINT_UINT, 1, 0, 32),
				  BITS("target", 0, POINT_UINT, 1, 32, 32)}},
	[POINT_HOTPLUG_EXIT] = {"cpuhp",
				"cpuhp_exit",
				SOURCE_POWER,
				2,
				false,
				343,
				{FIELD("cpu", 1, POINT_UINT, POINT_SMALL), FIELD("ret", 3, POINT_INT, 0),
				 BITS("idx", 2, POINT_UINT, 1, 0, 32),
				 BITS("state", 4, POINT_UINT, 1, 32, 32)}},
	[POINT_RSS] = {"kmem",
		       "rss_stat",
		       SOURCE_RSS,
		       2,
		       false,
		       313,
		       {BITS("member", 1, POINT_UINT, POINT_SMALL, 1, 15), FIELD("size", 2, POINT_INT, 0),
			BITS("curr", 3, POINT_UINT, POINT_SMALL, 0, 1), FIELD("mm_id", 4, POINT_UINT, 1)}},
	[POINT_KMALLOC] = {"kmem", "kmalloc", SOURCE_SLAB, 4, true, 0, ALLOCATION_FIELDS},
	[POINT_KFREE] = {"kmem",
			 "kfree",
			 SOURCE_SLAB,
			 2,
			 true,
			 0,
			 {FIELD("call_site", 0, POINT_CODE, 0), FIELD("ptr", 0, POINT_HEX, 1)}},
	[POINT_CACHE_ALLOC] = {"kmem", "kmem_cache_alloc", SOURCE_SLAB, 4, true, 0, ALLOCATION_FIELDS},
	[POINT_CACHE_FREE] = {"kmem",
			      "kmem_cache_free",
			      SOURCE_SLAB,
			      2,
			      true,
			      0,
			      {FIELD("call_site", 0, POINT_CODE, 0), FIELD("ptr", 0, POINT_HEX, 1)}},
	[POINT_LOCK_BEGIN] = {"lock",
			      "contention_begin",
			      SOURCE_LOCK,
			      1,
			      false,
			      0,
			      {FIELD("lock_addr", 0, POINT_HEX, 0),
			       FIELD("flags", 0, POINT_UINT, POINT_SMALL)}},
	[POINT_LOCK_END] = {"lock",
			    "contention_end",
			    SOURCE_LOCK,
			    2,
			    false,
			    0,
			    {FIELD("lock_addr", 0, POINT_HEX, 0), FIELD("ret", 0, POINT_INT, 1)}},
	[POINT_BIO_QUEUE] = {"block",
			     "block_bio_queue",
			     SOURCE_BIO,
			     4,
			     false,
			     119,
			     {FIELD("dev", 1, POINT_UINT, 0), FIELD("sector", 2, POINT_UINT, 1),
			      FIELD("nr_sector", 3, POINT_UINT, 2), BITS("rwbs", 4, POINT_TEXT, 3, 0, 8)}},
	[POINT_BIO_SPLIT] = {"block",
			     "block_split",
			     SOURCE_BIO,
			     4,
			     false,
			     131,
			     {FIELD("dev", 1, POINT_UINT, 0), FIELD("sector", 2, POINT_UINT, 1),
			      FIELD("new_sector", 3, POINT_UINT, 2), BITS("rwbs", 4, POINT_TEXT, 3, 0, 8)}},
};

static uint64_t mask_of(const struct point_field *field) {
	return field->bits && field->bits < 64 ? ((uint64_t)1 << field->bits) - 1 : UINT64_MAX;
}

uint64_t point_value(const struct event *event, const struct point_field *field) {
	uint64_t value = field->place == POINT_SMALL ? event->point.small : event->point.values[field->place];
	return value >> field->shift & mask_of(field);
}

// Bits that two fields tell of are the same from both.
void point_set(struct event *event, const struct point_field *field, uint64_t value) {
	uint64_t bits = (value & mask_of(field)) << field->shift;
	if (field->place == POINT_SMALL)
		event->point.small |= (uint16_t)bits;
	else
		event->point.values[field->place] |= bits;
}

const char *point_text(const struct event *event, const struct point_field *field, size_t *size) {
	const char *text = (const char *)&event->point.values[field->place];
	*size = strnlen(text, field->bits);
	return text;
}

void point_set_text(struct event *event, const struct point_field *field, const char *text, size_t size) {
	char *room = (char *)&event->point.values[field->place];
	memcpy(room, text, MIN(size, (size_t)field->bits));
}

// So far only exits of guests have some.
const char *point_word(const struct event *event, const struct point_field *field) {
	uint64_t value = point_value(event, field);
	return kvm_exit_reason((uint32_t)(value >> 32), (uint32_t)value);
}

size_t point_list(const struct event *event, const struct point_field *field) {
	return points[event->point.number].values - (size_t)field->place;
}

const char *system_call_name(const char *machine, uint64_t number) {
	bool arm = strcmp(machine, "aarch64") == 0;
	if (!arm && strcmp(machine, "x86_64") != 0)
		return NULL;
	const char *const *names = arm ? names_aarch64 : names_x86_64;
	size_t count = arm ? ARRAY_SIZE(names_aarch64) : ARRAY_SIZE(names_x86_64);
	return number < count ? names[number] : NULL;
}
