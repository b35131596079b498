#include "capture/perf/samples.h"
#include "base/log.h"
#include "capture/tasks.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <asm/perf_regs.h>
#endif

// Bytes of the stack. The rings of ordinary users are small.
enum { COPY_BYTES = 8192 };

// What a sample consists of; take_head() and the others read it in this order.
enum { EVERY_SAMPLE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU };

void perf_samples_choose(struct perf_samples *samples, const struct capture_options *options) {
	enum { USUAL_FREQUENCY = 999 };
	unsigned frequency = options->sample_frequency ? options->sample_frequency : USUAL_FREQUENCY;
	*samples = (struct perf_samples){0};
	if (options->off_cpu)
		log_warning("waits are not recorded: --off-cpu needs BPF");
	if (!options->sources[SOURCE_SAMPLE] || !(options->sample_frequency || options->sample_event))
		return;
	if (options->sample_event)
		log_warning("cannot sample on %s without BPF; sampling on the CPU clock at %u Hz instead",
			    options->sample_event, frequency);
	samples->period = 1000000000 / frequency;
	samples->how = PERF_SAMPLES_CHAINS;
#if defined(__x86_64__)
	if (options->call_graph != CALL_GRAPH_FP)
		samples->how = PERF_SAMPLES_COPIES;
#endif
}

void perf_samples_free(struct perf_samples *samples) {
	copies_free(&samples->copies);
	buffer_free(&samples->batch);
}

void perf_samples_ask(const struct perf_samples *samples, struct perf_event_attr *attribute) {
	if (samples->how == PERF_SAMPLES_NONE)
		return;
	attribute->config = PERF_COUNT_SW_CPU_CLOCK;
	attribute->sample_period = samples->period;
	attribute->sample_type |= EVERY_SAMPLE;
	attribute->mmap = attribute->mmap2 = attribute->build_id = 1;
	attribute->exclude_callchain_kernel = 1;
	if (samples->how == PERF_SAMPLES_CHAINS)
		attribute->sample_type |= PERF_SAMPLE_CALLCHAIN;
#if defined(__x86_64__)
	if (samples->how == PERF_SAMPLES_COPIES) {
		attribute->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attribute->sample_regs_user = 1ull << PERF_REG_X86_DI | 1ull << PERF_REG_X86_BP |
					      1ull << PERF_REG_X86_SP | 1ull << PERF_REG_X86_IP;
		attribute->sample_stack_user = COPY_BYTES;
	}
#endif
}

// ---- samples ----

struct head {
	uint64_t instruction, time;
	uint32_t pid, tid;
};

static struct head take_head(struct cursor *in) {
	struct head head = {.instruction = cursor_u64(in)};
	head.pid = cursor_u32(in);
	head.tid = cursor_u32(in);
	head.time = cursor_u64(in);
	cursor_u64(in); // CPU
	return head;
}

// A batch with one sample, without what follows it.
static void begin_batch(struct perf_samples *samples, const struct head *head, uint8_t flags,
			uint16_t user_frames) {
	struct record_sample sample = {.head = {.kind = RECORD_SAMPLE, .flags = flags},
				       .tid = head->tid,
				       .pid = head->pid,
				       .period = samples->period,
				       .user_frames = user_frames};
	samples->batch.size = 0;
	buffer_append(&samples->batch, &(struct batch){0}, sizeof(struct batch));
	buffer_append(&samples->batch, &sample, sizeof(sample));
}

static void end_batch(struct perf_samples *samples, struct spool *spool, uint32_t cpu, uint64_t time) {
	static const uint8_t padding[8];
	buffer_append(&samples->batch, padding, -samples->batch.size & 7);
	uint32_t size = (uint32_t)(samples->batch.size - sizeof(struct batch));
	struct batch batch = {.base = time, .cpu = cpu, .size = size};
	struct record *record = (struct record *)(samples->batch.data + sizeof(batch));
	record->size = (uint16_t)size;
	memcpy(samples->batch.data, &batch, sizeof(batch));
	const struct batch *packed = copies_pack(&samples->copies, (const struct batch *)samples->batch.data);
	spool_append(spool, SPOOL_BATCH, packed, sizeof(*packed) + packed->size);
}

// Marks in a chain that say whose code follows are large negative numbers.
static void take_chain(struct perf_samples *samples, const struct head *head, struct cursor *in) {
	uint64_t count = cursor_u64(in), address;
	uint16_t frames = 0;
	// Where the chain ends, frame pointers ended: more is not known.
	begin_batch(samples, head, SAMPLE_STACK_COMPLETE | SAMPLE_STACK_GUESSED, 0);
	for (uint64_t i = 0; i < count && !in->failed && frames < SAMPLE_MOST_FRAMES; i++) {
		address = cursor_u64(in);
		if (address >= PERF_CONTEXT_MAX)
			continue;
		buffer_append(&samples->batch, &address, sizeof(address));
		frames++;
	}
	((struct record_sample *)(samples->batch.data + sizeof(struct batch)))->user_frames = frames;
}

// False if the thread has no user registers: it is a kernel thread.
static bool take_copy(struct perf_samples *samples, const struct head *head, struct cursor *in) {
	static const uint64_t no_addresses[SAMPLE_ADDRESSES];
	struct sample_copied copied = {0};
	if (cursor_u64(in) == PERF_SAMPLE_REGS_ABI_NONE)
		return false;
	copied.first = cursor_u64(in); // in the order of their numbers
	copied.frame = cursor_u64(in);
	copied.stack = cursor_u64(in);
	copied.pc = cursor_u64(in);
	uint64_t room = cursor_u64(in);
	const uint8_t *bytes = room <= COPY_BYTES ? cursor_take(in, room) : NULL;
	uint64_t used = room ? cursor_u64(in) : 0;
	if (in->failed || !bytes || used > room)
		return false;
	copied.size = (uint32_t)used;
	begin_batch(samples, head, SAMPLE_STACK_COPIED, 0);
	buffer_append(&samples->batch, no_addresses, sizeof(no_addresses));
	buffer_append(&samples->batch, &copied, sizeof(copied));
	buffer_append(&samples->batch, bytes, used);
	return true;
}

void perf_samples_take(struct perf_samples *samples, struct spool *spool, uint32_t cpu, struct cursor in) {
	struct head head = take_head(&in);
	bool good = true;
	if (samples->how == PERF_SAMPLES_CHAINS)
		take_chain(samples, &head, &in);
	else
		good = take_copy(samples, &head, &in);
	if (good && !in.failed)
		end_batch(samples, spool, cpu, head.time);
}

// ---- mappings ----

static void append_mapping(struct spool *spool, const struct spool_mapping *mapping, const char *path) {
	struct buffer content = {0};
	buffer_append(&content, mapping, sizeof(*mapping));
	buffer_append(&content, path, strlen(path) + 1);
	spool_append(spool, SPOOL_MAPPING, content.data, content.size);
	buffer_free(&content);
}

void perf_samples_mapping(struct spool *spool, uint16_t misc, struct cursor in, uint64_t time) {
	enum { FILE_BYTES = 24, PROTECTION_EXECUTE = 4 };
	struct spool_mapping mapping = {.time = time, .pid = cursor_u32(&in)};
	cursor_u32(&in); // tid
	mapping.start = cursor_u64(&in);
	mapping.size = cursor_u64(&in);
	mapping.offset = cursor_u64(&in);
	const uint8_t *file = cursor_take(&in, FILE_BYTES); // device and inode, or a build id
	uint32_t protection = cursor_u32(&in);
	cursor_u32(&in); // flags
	const char *path = cursor_string(&in);
	if (in.failed || !(protection & PROTECTION_EXECUTE))
		return;
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID && file[0] <= sizeof(mapping.build_id)) {
		mapping.build_id_size = file[0];
		memcpy(mapping.build_id, file + 4, sizeof(mapping.build_id));
	}
	append_mapping(spool, &mapping, path);
}

// To the reader an exec is a mapping of nothing.
void perf_samples_exec(struct spool *spool, uint32_t pid, uint64_t time) {
	append_mapping(spool, &(struct spool_mapping){.time = time, .pid = pid}, "");
}

struct listing {
	struct spool *spool;
	pid_t pid;
	uint64_t time;
};

static void take_task_mapping(void *context, const struct task_mapping *mapping) {
	const struct listing *listing = context;
	append_mapping(listing->spool,
		       &(struct spool_mapping){.time = listing->time,
					       .pid = (uint32_t)listing->pid,
					       .start = mapping->start,
					       .size = mapping->size,
					       .offset = mapping->offset},
		       mapping->path);
}

static bool is_first_thread(pid_t tid) {
	char path[64], line[128];
	int process = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file) && sscanf(line, "Tgid: %d", &process) != 1)
		;
	if (file)
		fclose(file);
	return process == tid;
}

void perf_samples_process(struct spool *spool, pid_t pid) {
	struct listing listing = {.spool = spool, .pid = pid, .time = clock_boot_now()};
	if (is_first_thread(pid))
		task_mappings(pid, take_task_mapping, &listing);
}
