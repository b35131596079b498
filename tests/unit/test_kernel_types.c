// The kernel's types that BPF programs refer to, extracted from its BTF; and the programs, loaded
// with them.
#include "unit.h"

#include "base/file.h"
#include "capture/bpf/kernel_types.h"
#include "capture/bpf/loader.h"
#include "tracelet.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

// ---- a kernel with three structures, and programs that know part of them ----

static struct btf *small_kernel(void) {
	struct btf *btf = btf__new_empty();
	int integer = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int nothing = btf__add_ptr(btf, 0);
	int counter = btf__add_struct(btf, NULL, 4);
	btf__add_field(btf, "counter", integer, 0, 0);
	int atomic = btf__add_typedef(btf, "atomic_t", counter);
	int changing = btf__add_volatile(btf, atomic);
	int choice = btf__add_union(btf, NULL, 8);
	btf__add_field(btf, "inner", integer, 0, 0);
	btf__add_field(btf, "unread", nothing, 0, 0);
	int list = btf__add_struct(btf, "list", 16);
	btf__add_field(btf, "next", nothing, 0, 0);
	int constant = btf__add_const(btf, integer);
	int numbers = btf__add_array(btf, integer, constant, 4);
	btf__add_struct(btf, "task", 128);
	btf__add_field(btf, "other", nothing, 0, 0);
	btf__add_field(btf, "list", list, 64, 0);
	btf__add_field(btf, "flag", integer, 192, 3);
	btf__add_field(btf, NULL, choice, 256, 0);
	btf__add_field(btf, "count", changing, 320, 0);
	btf__add_field(btf, "numbers", numbers, 384, 0);
	btf__add_struct(btf, "unknown", 8);
	int proto = btf__add_func_proto(btf, 0);
	btf__add_func_param(btf, "data", nothing);
	btf__add_enum(btf, "colour", 4);
	btf__add_enum_value(btf, "RED", 1);
	btf__add_enum64(btf, "wide", 8, false);
	btf__add_enum64_value(btf, "WIDE", 1);
	btf__add_func(btf, "function", BTF_FUNC_GLOBAL, proto);
	btf__add_typedef(btf, "btf_trace_one", nothing);
	btf__add_typedef(btf, "btf_trace_two", nothing);
	return btf;
}

static struct btf *small_programs(void) {
	struct btf *btf = btf__new_empty();
	int integer = btf__add_int(btf, "int", 4, 0);
	int list = btf__add_struct(btf, "own", 8);
	btf__add_struct(btf, "task___old", 16);
	btf__add_field(btf, "flag", integer, 0, 0);
	btf__add_field(btf, "inner", integer, 32, 0);
	btf__add_struct(btf, "task", 16);
	btf__add_field(btf, "list", list, 0, 0);
	btf__add_field(btf, "count", integer, 0, 0);
	btf__add_field(btf, "numbers", integer, 0, 0);
	return btf;
}

static int pick(const struct btf *kernel, uint32_t cut, struct kernel_typedef *points, size_t count,
		struct btf **found) {
	struct btf *programs = small_programs();
	uint32_t size;
	const void *bytes = btf__raw_data(kernel, &size);
	assert_non_null(bytes);
	uint8_t *copy = memory_alloc(size - cut); // nothing after it may be read
	memcpy(copy, bytes, size - cut);
	int error = kernel_types_pick(copy, size - cut, programs, points, count, found);
	free(copy);
	btf__free(programs);
	return error;
}

static const struct btf_type *structure(const struct btf *btf, const char *name) {
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

// The member with that name, or the unnamed one.
static uint32_t member(const struct btf *btf, const struct btf_type *type, const char *name) {
	for (uint32_t i = 0; i < btf_vlen(type); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), name) == 0)
			return i;
	fail_msg("there is no %s", name);
	return 0;
}

static const struct btf_type *type_of(const struct btf *btf, const struct btf_type *type, const char *name) {
	return btf__type_by_id(btf, btf_members(type)[member(btf, type, name)].type);
}

static void test_members_that_programs_read_are_where_they_were(void **state) {
	struct btf *kernel = small_kernel(), *found = NULL;
	assert_int_equal(pick(kernel, 0, NULL, 0, &found), 0);
	assert_null(structure(found, "unknown"));
	const struct btf_type *task = structure(found, "task");
	assert_non_null(task);
	assert_int_equal(task->size, 128);
	assert_int_equal(btf_vlen(task), 5); // and not "other"
	assert_int_equal(btf_member_bit_offset(task, member(found, task, "list")), 64);
	assert_int_equal(btf_member_bit_offset(task, member(found, task, "flag")), 192);
	assert_int_equal(btf_member_bitfield_size(task, member(found, task, "flag")), 3);
	assert_int_equal(btf_member_bit_offset(task, member(found, task, "")), 256);
	assert_int_equal(type_of(found, task, "list")->size, 16);
	assert_int_equal(btf_vlen(type_of(found, task, "list")), 0);
	assert_int_equal(btf_array(type_of(found, task, "numbers"))->nelems, 4);
	const struct btf_type *choice = type_of(found, task, "");
	assert_true(btf_is_union(choice));
	assert_int_equal(btf_vlen(choice), 1);
	member(found, choice, "inner");
	member(found, type_of(found, task, "count"), "counter");
	btf__free(found);
	btf__free(kernel);
}

static void test_tracepoints_have_the_kernels_ids(void **state) {
	struct btf *kernel = small_kernel(), *found = NULL;
	struct kernel_typedef points[] = {{.name = "btf_trace_two"}, {.name = "btf_trace_none"}};
	assert_int_equal(pick(kernel, 0, points, 2, &found), 0);
	assert_int_equal(points[0].id, btf__find_by_name_kind(kernel, "btf_trace_two", BTF_KIND_TYPEDEF));
	assert_int_equal(points[1].id, 0);
	btf__free(found);
	btf__free(kernel);
}

static void test_damage_is_refused(void **state) {
	struct btf *kernel = small_kernel(), *found = NULL;
	uint32_t size;
	btf__raw_data(kernel, &size);
	for (uint32_t cut = 1; cut <= size; cut++)
		assert_int_equal(pick(kernel, cut, NULL, 0, &found), -EINVAL);
	assert_null(found);
	btf__free(kernel);
}

// Whatever it contains: no reading outside, no endless recursion.
static void test_nonsense_ends(void **state) {
	struct btf *kernel = small_kernel(), *programs = small_programs();
	uint32_t size;
	const uint8_t *bytes = btf__raw_data(kernel, &size);
	for (uint32_t at = sizeof(struct btf_header); at < size; at++) {
		for (unsigned value = 0; value < 256; value += 17) {
			struct btf *found = NULL;
			uint8_t *copy = memory_alloc(size);
			memcpy(copy, bytes, size);
			copy[at] = (uint8_t)value;
			kernel_types_pick(copy, size, programs, NULL, 0, &found);
			btf__free(found);
			free(copy);
		}
	}
	btf__free(programs);
	btf__free(kernel);
}

// ---- this kernel ----

static void test_the_running_kernel_is_read_as_libbpf_does(void **state) {
	struct btf *kernel = access("/sys/kernel/btf/vmlinux", R_OK) ? NULL : btf__load_vmlinux_btf();
	if (!kernel)
		skip();
	struct btf *programs = btf__new_empty(), *found = NULL;
	int integer = btf__add_int(programs, "int", 4, 0);
	btf__add_struct(programs, "task_struct", 16);
	btf__add_field(programs, "tgid", integer, 0, 0);
	btf__add_field(programs, "comm", integer, 0, 0);
	struct kernel_typedef points[] = {{.name = "btf_trace_sched_switch"},
					  {.name = "btf_trace_sys_enter"}};
	assert_int_equal(kernel_types_read(programs, points, 2, &found), 0);
	for (size_t i = 0; i < ARRAY_SIZE(points); i++)
		assert_int_equal(points[i].id,
				 btf__find_by_name_kind(kernel, points[i].name, BTF_KIND_TYPEDEF));
	const struct btf_type *theirs = structure(kernel, "task_struct"),
			      *ours = structure(found, "task_struct");
	assert_int_equal(ours->size, theirs->size);
	static const char *const names[] = {"tgid", "comm"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(btf_member_bit_offset(ours, member(found, ours, names[i])),
				 btf_member_bit_offset(theirs, member(kernel, theirs, names[i])));
	btf__free(found);
	btf__free(programs);
	btf__free(kernel);
}

// Loads a program of each kind, as far as they need no other maps.
static int load_some(struct tracelet **programs) {
	*programs = programs_open();
	assert_non_null(*programs);
	struct bpf_program *program;
	struct bpf_map *map;
	bpf_object__for_each_map(map, (*programs)->obj) {
		const char *name = bpf_map__name(map);
		bool wanted = !strcmp(name, "slots") || !strcmp(name, "lanes") || !strcmp(name, "rings") ||
			      !strcmp(name, "task_slots") || !strcmp(name, "cpu_states") || strchr(name, '.');
		bpf_map__set_autocreate(map, wanted);
	}
	bpf_object__for_each_program(program, (*programs)->obj) {
		const char *name = bpf_program__name(program);
		bpf_program__set_autoload(program, !strcmp(name, "flush_lane") ||
							   !strcmp(name, "on_newtask") ||
							   !strcmp(name, "on_exit"));
	}
	return programs_load(*programs);
}

static void check_loaded(struct tracelet *programs) {
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(programs->progs.on_exit), &info, &size), 0);
	assert_int_equal(info.type, BPF_PROG_TYPE_TRACING);
	assert_string_equal(info.name, "on_exit");
	struct bpf_link *link = bpf_program__attach(programs->progs.on_exit);
	assert_non_null(link);
	bpf_link__destroy(link);
	tracelet__destroy(programs);
}

static void test_programs_are_loaded_in_threads_and_by_libbpf_alone(void **state) {
	struct tracelet *programs;
	if (geteuid() != 0 || access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	libbpf_set_print(NULL);
	int error = load_some(&programs);
	if (error == -EPERM)
		skip();
	assert_int_equal(error, 0);
	check_loaded(programs);
	assert_true(programs_load_otherwise(-EINVAL));
	assert_false(programs_load_otherwise(-EINVAL));
	assert_int_equal(load_some(&programs), 0);
	check_loaded(programs);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_that_programs_read_are_where_they_were),
		cmocka_unit_test(test_tracepoints_have_the_kernels_ids),
		cmocka_unit_test(test_damage_is_refused),
		cmocka_unit_test(test_nonsense_ends),
		cmocka_unit_test(test_the_running_kernel_is_read_as_libbpf_does),
		cmocka_unit_test(test_programs_are_loaded_in_threads_and_by_libbpf_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
