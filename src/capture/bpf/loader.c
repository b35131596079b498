// libbpf loads programs one after the other, and the kernel's verifier takes most of the time. Here
// libbpf prepares each program, through its section handlers, but loads a stub of two instructions
// instead; the program itself is loaded by a pool of one thread per CPU, and then replaces the
// stub's descriptor. The kernel's types come from kernel_types.c. If any of this fails, we fall
// back silently, and libbpf does everything its own way.
#include "capture/bpf/loader.h"

#include "base/array.h"
#include "base/log.h"
#include "capture/bpf/kernel_types.h"
#include "tracelet.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_THREADS = 8 };

struct job {
	struct bpf_program *program;
	struct bpf_insn *instructions;
	size_t count;
	enum bpf_prog_type type;
	struct bpf_prog_load_opts options;
	int fd; // the program's, or -errno
};

static struct {
	bool refused; // does not work here
	int types;    // memfd with the reduced BTF
	ARRAY(struct kernel_typedef) points;
	ARRAY(struct job) jobs; // of the current load
	size_t next;            // first job not taken yet
	bool complete;          // no more jobs will come
	pthread_mutex_t lock;
	pthread_cond_t wake;
} loader = {.types = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

// ---- the threads ----

static void load_one(struct job *job) {
	job->fd = bpf_prog_load(job->type, bpf_program__name(job->program), "Dual BSD/GPL", job->instructions,
				job->count, &job->options);
	if (job->fd < 0)
		job->fd = -errno;
}

// Loads programs until no jobs are left.
static void *load_some(void *context) {
	pthread_mutex_lock(&loader.lock);
	for (;;) {
		if (loader.next < loader.jobs.count) {
			size_t number = loader.next++;
			struct job job = loader.jobs.items[number];
			pthread_mutex_unlock(&loader.lock);
			load_one(&job);
			pthread_mutex_lock(&loader.lock);
			loader.jobs.items[number].fd = job.fd;
		} else if (loader.complete) {
			break;
		} else {
			pthread_cond_wait(&loader.wake, &loader.lock);
		}
	}
	pthread_mutex_unlock(&loader.lock);
	return NULL;
}

static size_t threads_wanted(void) {
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	int count = sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : CPU_COUNT(&cpus);
	return (size_t)MIN(MAX(count - 1, 0), MOST_THREADS); // the calling thread helps
}

// ---- libbpf's callbacks ----

// The kernel's typedef for the tracepoint, or NULL.
static const struct kernel_typedef *find_point(const char *name) {
	for (size_t i = 0; i < loader.points.count; i++)
		if (strcmp(loader.points.items[i].name + strlen("btf_trace_"), name) == 0)
			return &loader.points.items[i];
	return NULL;
}

static int prepare(struct bpf_program *program, struct bpf_prog_load_opts *options, long type) {
	static const struct bpf_insn stub[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K},
					       {.code = BPF_JMP | BPF_EXIT}};
	struct job job = {.program = program,
			  .count = bpf_program__insn_cnt(program),
			  .type = (enum bpf_prog_type)type,
			  .options = *options};
	job.options.line_info = NULL; // only used for messages
	job.options.line_info_cnt = 0;
	if (type == BPF_PROG_TYPE_TRACING) {
		const struct kernel_typedef *point = find_point(bpf_program__section_name(program) + 7);
		if (!point || !point->id)
			return -ESRCH;
		job.options.attach_btf_id = point->id;
	}
	job.instructions = memory_resize_items(NULL, job.count, sizeof(*job.instructions));
	memcpy(job.instructions, bpf_program__insns(program), job.count * sizeof(*job.instructions));
	pthread_mutex_lock(&loader.lock);
	array_push(&loader.jobs, job);
	pthread_cond_signal(&loader.wake);
	pthread_mutex_unlock(&loader.lock);
	options->prog_btf_fd = options->func_info_cnt = options->line_info_cnt = 0;
	return bpf_program__set_insns(program, (struct bpf_insn *)(uintptr_t)stub, ARRAY_SIZE(stub));
}

static int attach(const struct bpf_program *program, long type, struct bpf_link **link) {
	const char *name = strchr(bpf_program__section_name(program), '/') + 1;
	const char *slash = strchr(name, '/');
	CLEANUP_FREE char *category = slash ? memory_format("%.*s", (int)(slash - name), name) : NULL;
	*link = type == BPF_PROG_TYPE_TRACING ? bpf_program__attach_trace(program)
		: type == BPF_PROG_TYPE_RAW_TRACEPOINT
			? bpf_program__attach_raw_tracepoint(program, name)
			: bpf_program__attach_tracepoint(program, category, slash + 1);
	return *link ? 0 : -errno;
}

// tp_btf claims another type: for the real one libbpf would read the kernel's BTF.
static const struct {
	const char *section;
	enum bpf_prog_type type, shown;
	enum bpf_attach_type attach_type;
	libbpf_prog_attach_fn_t attach;
} handlers[] = {
	{"tp_btf/", BPF_PROG_TYPE_TRACING, BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_RAW_TP, attach},
	{"raw_tp/", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_PROG_TYPE_RAW_TRACEPOINT, 0, attach},
	{"tp/", BPF_PROG_TYPE_TRACEPOINT, BPF_PROG_TYPE_TRACEPOINT, 0, attach},
	{"perf_event", BPF_PROG_TYPE_PERF_EVENT, BPF_PROG_TYPE_PERF_EVENT, 0, NULL},
};
static int handler_ids[ARRAY_SIZE(handlers)]; // 0 if not registered

static bool register_handlers(void) {
	bool all = true;
	for (size_t i = 0; i < ARRAY_SIZE(handlers) && all; i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = handlers[i].type,
			    .prog_prepare_load_fn = prepare, .prog_attach_fn = handlers[i].attach);
		if (handler_ids[i] <= 0)
			handler_ids[i] = libbpf_register_prog_handler(handlers[i].section, handlers[i].shown,
								      handlers[i].attach_type, &options);
		all = handler_ids[i] > 0;
	}
	return all;
}

static void unregister_handlers(void) {
	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
		if (handler_ids[i] > 0)
			libbpf_unregister_prog_handler(handler_ids[i]);
		handler_ids[i] = 0;
	}
}

// ---- opening ----

bool loader_begin(char path[LOADER_PATH]) {
	if (!loader.refused && !register_handlers())
		loader.refused = true;
	if (!loader.refused && loader.types < 0)
		loader.types = memfd_create("tracelet-types", MFD_CLOEXEC);
	if (loader.refused || loader.types < 0) {
		loader.refused = true;
		unregister_handlers();
		return false;
	}
	snprintf(path, LOADER_PATH, "/proc/self/fd/%d", loader.types);
	return true;
}

struct tracelet *programs_open(void) {
	char path[LOADER_PATH];
	if (!loader_begin(path))
		return tracelet__open();
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	return tracelet__open_opts(&options);
}

// ---- loading ----

// Lists the tracepoints of the programs to load, each once.
static void list_points(struct bpf_object *object) {
	struct bpf_program *program;
	bpf_object__for_each_program(program, object) {
		const char *section = bpf_program__section_name(program);
		if (bpf_program__autoload(program) && strncmp(section, "tp_btf/", 7) == 0 &&
		    !find_point(section + 7))
			array_push(
				&loader.points,
				(struct kernel_typedef){.name = memory_format("btf_trace_%s", section + 7)});
	}
}

static int write_types(struct bpf_object *object) {
	struct btf *types = NULL;
	int error = kernel_types_read(bpf_object__btf(object), loader.points.items, loader.points.count,
				      &types);
	if (error)
		return error;
	uint32_t size = 0;
	const void *bytes = btf__raw_data(types, &size);
	error = bytes && ftruncate(loader.types, 0) == 0 &&
				pwrite(loader.types, bytes, size, 0) == (ssize_t)size
			? 0
			: -EIO;
	btf__free(types);
	return error;
}

// Programs that the caller attaches itself are not loaded if this kernel does not have their tracepoints.
static void leave_out_missing(struct bpf_object *object) {
	struct bpf_program *program;
	bpf_object__for_each_program(program, object) {
		const char *section = bpf_program__section_name(program);
		const struct kernel_typedef *point = strncmp(section, "tp_btf/", 7) == 0
							     ? find_point(section + 7)
							     : NULL;
		if (point && !point->id && !bpf_program__autoattach(program))
			bpf_program__set_autoload(program, false);
	}
}

// Replaces the stubs by their programs.
static int place_programs(int error) {
	for (size_t i = 0; i < loader.jobs.count; i++) {
		struct job *job = &loader.jobs.items[i];
		if (!error && job->fd < 0)
			error = job->fd;
		if (!error && dup3(job->fd, bpf_program__fd(job->program), O_CLOEXEC) < 0)
			error = -errno;
		if (job->fd >= 0)
			close(job->fd);
		free(job->instructions);
	}
	array_free(&loader.jobs);
	loader.next = 0;
	return error;
}

static int load_in_threads(struct bpf_object_skeleton *skeleton) {
	pthread_t threads[MOST_THREADS];
	size_t count = 0, wanted = threads_wanted();
	loader.complete = false;
	while (count < wanted && pthread_create(&threads[count], NULL, load_some, NULL) == 0)
		count++;
	int error = bpf_object__load_skeleton(skeleton);
	pthread_mutex_lock(&loader.lock);
	loader.complete = true;
	pthread_cond_broadcast(&loader.wake);
	pthread_mutex_unlock(&loader.lock);
	load_some(NULL);
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return place_programs(error);
}

// For tests: makes the kernel reject this program, by an unknown flag.
static void spoil(struct bpf_object *object) {
	const char *name = secure_getenv("TRACELET_REFUSED");
	struct bpf_program *program = name ? bpf_object__find_program_by_name(object, name) : NULL;
	if (program)
		bpf_program__set_flags(program, 1u << 31);
}

int programs_load(struct tracelet *programs) {
	return loader_load(programs->obj, programs->skeleton);
}

int loader_load(struct bpf_object *object, struct bpf_object_skeleton *skeleton) {
	spoil(object);
	if (loader.refused)
		return bpf_object__load_skeleton(skeleton);
	list_points(object);
	int error = write_types(object);
	leave_out_missing(object);
	if (!error)
		error = load_in_threads(skeleton);
	for (size_t i = 0; i < loader.points.count; i++)
		free((char *)(uintptr_t)loader.points.items[i].name);
	array_free(&loader.points);
	return error;
}

bool programs_load_otherwise(int error) {
	if (loader.refused || error == -EPERM)
		return false;
	log_verbose("cannot load the BPF programs in threads: %s; loading them one by one", strerror(-error));
	return loader.refused = true;
}
