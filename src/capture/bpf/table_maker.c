#include "capture/bpf/table_maker.h"

#include "base/log.h"
#include "capture/bpf/placer.h"
#include "capture/bpf/sample.h"
#include "symbol/elf.h"
#include "symbol/elf_unwind.h"
#include "symbol/reader.h"
#include "symbol/unwind.h"
#include "tracelet.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct unfinished {
	struct elf_object *object;
	uint64_t base;
	uint32_t file;
};

struct table_maker {
	struct tracelet *programs;
	struct placer placer;
	struct reader *reader;
	pthread_t thread;
	bool running, ending, working;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	ARRAY(struct unfinished) queue; // under the lock
	size_t files, rows;             // finished so far
};

// ---- rows ----

static enum row_rule rule_of(const struct unwind_row *row) {
	enum { DWARF_FRAME = 6, DWARF_STACK = 7, RETURN_ADDRESS = -1 };
	bool by_frame = row->cfa_register == DWARF_FRAME;
	if (row->registers & UNWIND_OUTERMOST)
		return ROW_END;
	if (row->cfa == CFA_NONE)
		return ROW_NONE;
	if (row->cfa == CFA_SIGNAL)
		return ROW_SIGNAL;
	if (row->registers & UNWIND_RETURN_IN_FIRST)
		return row->cfa == CFA_REGISTER && row->cfa_register == DWARF_STACK ? ROW_FIRST : ROW_NONE;
	if (row->return_offset != RETURN_ADDRESS)
		return ROW_NONE;
	if (row->cfa == CFA_PLT)
		return ROW_PLT;
	if (row->cfa == CFA_DEREFERENCE)
		return by_frame ? ROW_ALIGNED : ROW_NONE;
	return by_frame ? ROW_FRAME : row->cfa_register == DWARF_STACK ? ROW_STACK : ROW_NONE;
}

static struct kernel_row kernel_row(const struct unwind_row *row) {
	enum row_rule rule = rule_of(row);
	int unit = rule == ROW_PLT ? 1 : 8;
	struct kernel_row out = {0};
	if (row->registers & UNWIND_FRAME_SAVED)
		out.frame = (int8_t)row->frame_offset;
	bool needs_cfa = (rule >= ROW_STACK && rule <= ROW_ALIGNED) || rule == ROW_FIRST;
	bool fits = row_set(&out, rule, needs_cfa ? row->cfa_offset / unit : 0);
	if (needs_cfa && (!fits || row->cfa_offset % unit ||
			  (row->registers & UNWIND_FRAME_SAVED && out.frame != row->frame_offset)))
		row_set(&out, ROW_NONE, 0);
	return out;
}

typedef ARRAY(struct kernel_row) row_array;

// A program's entry point has no caller, even if .eh_frame does not say so (as in the dynamic
// linker).
static void mark_entry(row_array *rows, uint64_t entry) {
	size_t at = 0;
	while (at < rows->count && rows->items[at].pc <= entry)
		at++;
	bool covered = at && row_rule(&rows->items[at - 1]) != ROW_NONE;
	if (covered || entry > UINT32_MAX - ELF_ENTRY_SIZE ||
	    (at < rows->count && rows->items[at].pc < entry + 8))
		return;
	uint64_t end = at < rows->count ? MIN(rows->items[at].pc, entry + ELF_ENTRY_SIZE)
					: entry + ELF_ENTRY_SIZE;
	array_push(rows, (struct kernel_row){0});
	array_push(rows, (struct kernel_row){0});
	memmove(&rows->items[at + 2], &rows->items[at], (rows->count - 2 - at) * sizeof(struct kernel_row));
	rows->items[at] = (struct kernel_row){.pc = (uint32_t)entry, .rule = ROW_END};
	rows->items[at + 1] = (struct kernel_row){.pc = (uint32_t)end, .rule = ROW_NONE};
	if (at + 2 < rows->count &&
	    rows->items[at + 2].pc == end) // the gap is closed: that row continues here
		rows->items[at + 1] = rows->items[at + 2];
}

struct compiling {
	row_array *rows;
	uint64_t from; // the address of pc 0 in the table
	uint64_t base; // and in the rows
};

static void take_row(void *context, const struct unwind_row *row) {
	struct compiling *compiling = context;
	uint64_t pc = row->pc + (compiling->from - compiling->base);
	if (compiling->from < compiling->base || pc >= UINT32_MAX)
		return;
	struct kernel_row compiled = kernel_row(row);
	compiled.pc = (uint32_t)pc;
	array_push(compiling->rows, compiled);
}

// The vdso is the kernel's own; all other code is read by a process without rights.
static void take_rows(struct table_maker *maker, struct elf_object *object, struct compiling *compiling) {
	if (!object->handles[0]) {
		reader_rows(maker->reader, object, &compiling->from, take_row, compiling);
		return;
	}
	struct unwind_table *table = elf_unwind_table(object);
	compiling->from = table ? unwind_table_base(table) : 0;
	if (table)
		unwind_table_each_row(table, take_row, compiling);
	unwind_table_free(table);
}

// A file without any rows gets one that says so.
static void compile_rows(struct table_maker *maker, const struct unfinished *file, row_array *rows) {
	struct elf_object *object = file->object;
	struct compiling compiling = {.rows = rows, .base = file->base};
	take_rows(maker, object, &compiling);
	if (object->entry > file->base)
		mark_entry(rows, object->entry - file->base);
	if (!rows->count)
		array_push(rows, (struct kernel_row){.rule = ROW_NONE});
}

static void fill_pages(struct unwind_page *pages, size_t index_pages, size_t row_pages,
		       const row_array *table) {
	uint32_t *starts = pages->starts;
	struct kernel_row *rows = pages[index_pages].rows;
	for (size_t i = 0; i < row_pages * UNWIND_PAGE_ROWS; i++)
		rows[i] = i < table->count ? table->items[i] : (struct kernel_row){.pc = UINT32_MAX};
	for (size_t i = 0; i < index_pages * UNWIND_PAGE_STARTS; i++)
		starts[i] = i < row_pages ? rows[i * UNWIND_PAGE_ROWS].pc : UINT32_MAX;
}

// Loads the rows as pages into a map of their own. 0 or -errno.
static int load_table(struct table_maker *maker, uint32_t file, const row_array *table) {
	size_t row_pages = (table->count + UNWIND_PAGE_ROWS - 1) / UNWIND_PAGE_ROWS;
	size_t index_pages = (row_pages + UNWIND_PAGE_STARTS - 1) / UNWIND_PAGE_STARTS;
	size_t pages = index_pages + row_pages, size = pages * sizeof(struct unwind_page);
	if (row_pages > UNWIND_MOST_PAGES)
		return -EINVAL;
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_pages", sizeof(uint32_t),
				 sizeof(struct unwind_page), (uint32_t)pages, &options);
	if (map < 0)
		return -errno;
	struct unwind_page *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	int error = memory == MAP_FAILED ? -errno : 0;
	if (!error) {
		fill_pages(memory, index_pages, row_pages, table);
		munmap(memory, size);
		struct unwind_size known = {.index_pages = (uint32_t)index_pages};
		if (bpf_map_update_elem(bpf_map__fd(maker->programs->maps.unwind_sizes), &file, &known,
					BPF_ANY))
			error = -errno;
	}
	if (error)
		close(map);
	else
		placer_put(&maker->placer, file, map);
	return error;
}

// ---- the thread ----

static void make(struct table_maker *maker, const struct unfinished *file) {
	row_array rows = {0};
	compile_rows(maker, file, &rows);
	load_table(maker, file->file, &rows);
	elf_let_go(file->object); // the table is all that is needed
	maker->files++;
	maker->rows += rows.count;
	array_free(&rows);
}

// The quickest first: the libraries that every program uses are small, programs may be large.
static struct unfinished take_smallest(struct table_maker *maker) {
	size_t best = 0;
	for (size_t i = 1; i < maker->queue.count; i++)
		if (maker->queue.items[i].object->eh_frame_size <
		    maker->queue.items[best].object->eh_frame_size)
			best = i;
	struct unfinished file = maker->queue.items[best];
	maker->queue.items[best] = maker->queue.items[--maker->queue.count];
	return file;
}

static void say_what_it_took(const struct table_maker *maker) {
	struct timespec time = {0};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	log_verbose("unwind tables: %zu files, %zu rows, %.1f ms of CPU", maker->files, maker->rows,
		    (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6);
}

static void *make_all(void *context) {
	struct table_maker *maker = context;
	setpriority(PRIO_PROCESS, (id_t)gettid(), -15); // until a table is ready, stacks have to be copied
	pthread_mutex_lock(&maker->lock);
	while (!maker->ending) {
		if (!maker->queue.count) {
			pthread_cond_wait(&maker->wake, &maker->lock);
			continue;
		}
		struct unfinished file = take_smallest(maker);
		maker->working = true;
		pthread_mutex_unlock(&maker->lock);
		make(maker, &file);
		pthread_mutex_lock(&maker->lock);
		maker->working = false;
	}
	pthread_mutex_unlock(&maker->lock);
	say_what_it_took(maker);
	return NULL;
}

int table_maker_start(struct table_maker **result, struct tracelet *programs) {
	struct table_maker *maker = memory_alloc(sizeof(*maker));
	maker->programs = programs;
	maker->reader = reader_new();
	pthread_mutex_init(&maker->lock, NULL);
	pthread_cond_init(&maker->wake, NULL);
	int error = placer_start(&maker->placer, bpf_map__fd(programs->maps.unwind_files));
	if (!error) {
		error = -pthread_create(&maker->thread, NULL, make_all, maker);
		maker->running = !error;
	}
	if (error)
		table_maker_stop(maker);
	else
		*result = maker;
	return error;
}

void table_maker_add(struct table_maker *maker, uint32_t file, struct elf_object *object, uint64_t base) {
	pthread_mutex_lock(&maker->lock);
	array_push(&maker->queue, (struct unfinished){.object = object, .base = base, .file = file});
	pthread_cond_signal(&maker->wake);
	pthread_mutex_unlock(&maker->lock);
}

bool table_maker_is_idle(struct table_maker *maker) {
	pthread_mutex_lock(&maker->lock);
	bool idle = !maker->working && !maker->queue.count;
	pthread_mutex_unlock(&maker->lock);
	return idle && placer_is_idle(&maker->placer);
}

void table_maker_end(struct table_maker *maker) {
	pthread_mutex_lock(&maker->lock);
	maker->ending = true;
	pthread_cond_signal(&maker->wake);
	pthread_mutex_unlock(&maker->lock);
}

void table_maker_stop(struct table_maker *maker) {
	if (!maker)
		return;
	table_maker_end(maker);
	if (maker->running)
		pthread_join(maker->thread, NULL);
	placer_stop(&maker->placer);
	reader_free(maker->reader);
	array_free(&maker->queue);
	pthread_cond_destroy(&maker->wake);
	pthread_mutex_destroy(&maker->lock);
	free(maker);
}
