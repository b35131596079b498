// Frames of Python's interpreter: what their records say, and how they take the place of its C functions.
#include "unit.h"

#include "event/script.h"
#include "read/spool/scripts.h"

#include <stdio.h>
#include <string.h>

#define EVAL "_PyEval_EvalFrameDefault"

// ---- in place of C functions ----

// Names from the outermost on; in a script, "|" comes before the frames of one C function.
static uint32_t stack_of(struct tables *tables, const char *names) {
	uint32_t stack = 0;
	for (size_t length; *names; names += length + (names[length] == ' ')) {
		char name[64];
		length = strcspn(names, " ");
		snprintf(name, sizeof(name), "%.*s", (int)length, names);
		bool boundary = strcmp(name, "|") == 0, script = *name == '.';
		struct frame frame = {.kind = boundary || script ? FRAME_JIT : FRAME_USER,
				      .symbol = boundary ? 0 : strings_add(tables->strings, name),
				      .at_line = script ? 7 : 0};
		stack = stacks_add(tables->stacks, stack, stacks_add_frame(tables->stacks, &frame));
	}
	return stack;
}

static void print_stack(const struct tables *tables, uint32_t id, char *out, size_t room) {
	const struct stack *stack = stacks_get(tables->stacks, id);
	if (!stack)
		return;
	print_stack(tables, stack->caller, out, room);
	const struct frame *frame = stacks_frame(tables->stacks, stack->frame);
	size_t used = strlen(out);
	snprintf(out + used, room - used, "%s%s%s", used ? " " : "",
		 strings_get(tables->strings, frame->symbol), frame->at_line ? ":7" : "");
}

static void assert_mixed(const char *native, const char *script, const char *expected) {
	struct tables tables = tables_new();
	struct scripted scripted = {0};
	char got[256] = "";
	uint32_t stack = stack_of(&tables, native);
	print_stack(&tables, scripted_stack(&scripted, &tables, stack, stack_of(&tables, script), false), got,
		    sizeof(got));
	assert_string_equal(got, expected);
	scripted_free(&scripted);
	tables_free(&tables);
}

static void test_frames_take_the_place_of_c_functions(void **state) {
	assert_mixed("main " EVAL " sleep", "| .f .g", "main .f .g sleep");
	assert_mixed("main " EVAL " sort " EVAL " len", "| .f .g | .h", "main .f .g sort .h len");
}

static void test_a_function_that_just_began_stays(void **state) {
	assert_mixed("main " EVAL " call " EVAL, "| .f", "main .f call " EVAL);
	assert_mixed("main " EVAL " call " EVAL, "| .f |", "main .f call " EVAL);
}

static void test_stacks_that_do_not_agree_stay(void **state) {
	assert_mixed("main " EVAL, "| .f | .g", "main " EVAL);
	assert_mixed("main " EVAL " " EVAL " " EVAL, "| .f", "main " EVAL " " EVAL " " EVAL);
	assert_mixed("main", "| .f", "main");
}

// Without its outermost frames.
static void test_a_cut_script_needs_as_many_functions(void **state) {
	assert_mixed("main " EVAL " len", ".f .g", "main .f .g len");
	assert_mixed("main " EVAL " call " EVAL, ".f .g", "main " EVAL " call " EVAL);
}

static void test_lines_are_kept_on_request(void **state) {
	struct tables tables = tables_new();
	struct scripted scripted = {0};
	char got[256] = "";
	uint32_t stack = stack_of(&tables, "main " EVAL), script = stack_of(&tables, "| .f");
	print_stack(&tables, scripted_stack(&scripted, &tables, stack, script, true), got, sizeof(got));
	assert_string_equal(got, "main .f:7");
	scripted_free(&scripted);
	tables_free(&tables);
}

// ---- records ----

struct recorded {
	struct tables tables;
	struct scripts scripts;
};

static void begin(struct recorded *recorded) {
	recorded->tables = tables_new();
	recorded->scripts = (struct scripts){.strings = recorded->tables.strings,
					     .stacks = recorded->tables.stacks};
}

static void end(struct recorded *recorded) {
	scripts_free(&recorded->scripts);
	tables_free(&recorded->tables);
}

static bool take(struct recorded *recorded, const void *record, size_t size, uint64_t time) {
	struct record head;
	bool bad = true;
	memcpy(&head, record, sizeof(head));
	struct cursor in = cursor_of((const char *)record + sizeof(head), size - sizeof(head));
	scripts_take(&recorded->scripts, &head, &in, time, &bad);
	return !bad;
}

static struct record_code code_of(uint8_t table, const void *lines, uint16_t size) {
	struct record_code code = {.head = {.kind = RECORD_CODE},
				   .code = 0x1000,
				   .pid = 5,
				   .first_line = 10,
				   .name_size = 1,
				   .file_size = 4,
				   .name_width = 2,
				   .file_width = 1,
				   .lines_size = size,
				   .line_table = table,
				   .name = {0xfc, 0},
				   .file = "a.py"};
	memcpy(code.lines, lines, size);
	return code;
}

// The line of an instruction, whose code has such a table.
static uint32_t line_of(uint8_t table, const void *lines, uint16_t size, uint64_t instruction) {
	struct recorded recorded;
	struct record_code code = code_of(table, lines, size);
	struct {
		struct record_script script;
		uint64_t word;
	} frames = {{.head = {.kind = RECORD_SCRIPT}, .tid = 6, .pid = 5},
		    instruction << SCRIPT_POSITION_SHIFT | SCRIPT_ENTRY | 0x1000};
	begin(&recorded);
	assert_true(take(&recorded, &code, offsetof(struct record_code, lines) + size, 98));
	assert_true(take(&recorded, &frames, sizeof(frames), 99));
	assert_int_equal(scripts_for(&recorded.scripts, 6, 101), 0);
	assert_int_equal(scripts_for(&recorded.scripts, 7, 100), 0);
	uint32_t stack = scripts_for(&recorded.scripts, 6, 100);
	const struct frame *frame = stacks_frame(recorded.tables.stacks,
						 stacks_get(recorded.tables.stacks, stack)->frame);
	assert_string_equal(strings_get(recorded.tables.strings, frame->symbol), "ü");
	assert_string_equal(strings_get(recorded.tables.strings, frame->file), "a.py");
	assert_int_equal(frame->line, 10);
	uint32_t line = frame->at_line;
	end(&recorded);
	return line;
}

static void test_instructions_have_lines(void **state) {
	const uint8_t bytes[] = {0, 1, 4, 2, 6, 0xff};             // 3.8: from byte 4 and 10 on
	const uint8_t ranges[] = {4, 1, 6, 0x80, 2, 2};            // 3.10: the second has no line
	const uint8_t locations[] = {0xd9, 0, 0, 0xf8, 0xe8, 0x3}; // one line later; none; back by one
	assert_int_equal(line_of(PYTHON_LINES_BYTES, bytes, sizeof(bytes), 0), 11);
	assert_int_equal(line_of(PYTHON_LINES_BYTES, bytes, sizeof(bytes), 2), 13);
	assert_int_equal(line_of(PYTHON_LINES_BYTES, bytes, sizeof(bytes), 5), 12);
	assert_int_equal(line_of(PYTHON_LINES_RANGES, ranges, sizeof(ranges), 1), 11);
	assert_int_equal(line_of(PYTHON_LINES_RANGES, ranges, sizeof(ranges), 2), 0);
	assert_int_equal(line_of(PYTHON_LINES_RANGES, ranges, sizeof(ranges), 5), 13);
	assert_int_equal(line_of(PYTHON_LINES_LOCATIONS, locations, sizeof(locations), 1), 11);
	assert_int_equal(line_of(PYTHON_LINES_LOCATIONS, locations, sizeof(locations), 2), 0);
	assert_int_equal(line_of(PYTHON_LINES_LOCATIONS, locations, sizeof(locations), 3), 10);
	assert_int_equal(line_of(PYTHON_LINES_LOCATIONS, locations, sizeof(locations), 4), 0);
	assert_int_equal(line_of(PYTHON_LINES_LOCATIONS, "\xf5", 1, 0), 0); // damaged
	assert_int_equal(line_of(PYTHON_LINES_LOCATIONS, "", 0, SCRIPT_NO_POSITION), 0);
}

static void test_damaged_records_are_refused(void **state) {
	struct recorded recorded;
	struct record_code code = code_of(0, "", 0);
	size_t size = offsetof(struct record_code, lines);
	begin(&recorded);
	assert_false(take(&recorded, &code, size - 1, 1));
	code.lines_size = 1;
	assert_false(take(&recorded, &code, size, 1));
	code = code_of(0, "", 0);
	code.name_width = 3;
	assert_false(take(&recorded, &code, size, 1));
	code.name_width = 4;
	code.name_size = CODE_NAME_ROOM / 4 + 1;
	assert_false(take(&recorded, &code, size, 1));
	struct record_script empty = {.head = {.kind = RECORD_SCRIPT}, .tid = 6, .pid = 5};
	assert_false(take(&recorded, &empty, sizeof(empty), 1));
	end(&recorded);
}

// In a flight recording it may be gone.
static void test_frames_of_unknown_code_are_left_out(void **state) {
	struct recorded recorded;
	struct {
		struct record_script script;
		uint64_t word;
	} frames = {{.head = {.kind = RECORD_SCRIPT}, .tid = 6, .pid = 5}, SCRIPT_ENTRY | 0x2000};
	begin(&recorded);
	assert_true(take(&recorded, &frames, sizeof(frames), 99));
	assert_int_equal(scripts_for(&recorded.scripts, 6, 100), 0);
	end(&recorded);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_take_the_place_of_c_functions),
		cmocka_unit_test(test_a_function_that_just_began_stays),
		cmocka_unit_test(test_stacks_that_do_not_agree_stay),
		cmocka_unit_test(test_a_cut_script_needs_as_many_functions),
		cmocka_unit_test(test_lines_are_kept_on_request),
		cmocka_unit_test(test_instructions_have_lines),
		cmocka_unit_test(test_damaged_records_are_refused),
		cmocka_unit_test(test_frames_of_unknown_code_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
