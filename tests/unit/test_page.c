// The data of a page: columns as they are read back, and the states of threads as Perfetto has them.
#include "unit.h"

#include "write/page/html.h"
#include "write/page/runs.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

// ---- reading back ----

static size_t from_base64(const char *text, size_t size, uint8_t *out) {
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t made = 0;
	assert_int_equal(size % 4, 0);
	for (size_t i = 0; i < size; i += 4) {
		uint32_t all = 0;
		int pads = 0;
		for (size_t j = 0; j < 4; j++) {
			const char *digit = text[i + j] == '=' ? digits : strchr(digits, text[i + j]);
			assert_non_null(digit);
			pads += text[i + j] == '=';
			all = all << 6 | (uint32_t)(digit - digits);
		}
		out[made++] = (uint8_t)(all >> 16);
		if (pads < 2)
			out[made++] = (uint8_t)(all >> 8);
		if (pads < 1)
			out[made++] = (uint8_t)all;
	}
	return made;
}

static size_t read_back(const struct buffer *page, uint8_t *out, size_t room) {
	uint8_t *packed = malloc(page->size + 4);
	z_stream stream = {.next_in = packed, .next_out = out, .avail_out = (uInt)room};
	stream.avail_in = (uInt)from_base64((const char *)page->data, page->size, packed);
	assert_int_equal(inflateInit2(&stream, -15), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	inflateEnd(&stream);
	free(packed);
	return room - stream.avail_out;
}

static void columns_are_read_back(void **state) {
	static const char head[] =
		"{\"version\":1,\"sets\":[{\"name\":\"a\",\"rows\":2,\"columns\":[[\"u\",\"u\",3],[\"d\","
		"\"d\",3],"
		"[\"b\",\"b\",2]]},{\"name\":\"t\",\"rows\":1,\"columns\":[[\"x\",\"t\",6]]}]}";
	static const uint8_t body[] = {5, 0xac, 2, 0xc8, 1, 3, 1, 2, 'a', ' ', 0xef, 0xbf, 0xbd, 0};
	struct columns columns;
	struct buffer out = {0};
	uint8_t bytes[1000];
	columns_init(&columns);
	columns_set(&columns, "a", 2);
	columns_begin(&columns, "u", COLUMN_UINT);
	columns_uint(&columns, 5);
	columns_uint(&columns, 300);
	columns_end(&columns);
	columns_begin(&columns, "d", COLUMN_DELTA);
	columns_delta(&columns, 100);
	columns_delta(&columns, 98);
	columns_end(&columns);
	columns_begin(&columns, "b", COLUMN_BYTE);
	columns_byte(&columns, 1);
	columns_byte(&columns, 2);
	columns_end(&columns);
	columns_set(&columns, "t", 1);
	columns_begin(&columns, "x", COLUMN_TEXT);
	columns_text(&columns, "a\0\xff", 3);
	columns_end(&columns);
	columns_write(&columns, &out, NULL);
	size_t size = read_back(&out, bytes, sizeof(bytes));
	assert_int_equal(size, 4 + strlen(head) + sizeof(body));
	assert_int_equal(bytes[0], strlen(head) & 0xff);
	assert_memory_equal(bytes + 4, head, strlen(head));
	assert_memory_equal(bytes + 4 + strlen(head), body, sizeof(body));
	buffer_free(&out);
}

// ---- states ----

struct run {
	struct tables tables;
	struct page_trace page;
};

static void begin(struct run *run) {
	*run = (struct run){.tables = tables_new()};
	page_trace_init(&run->page, &run->tables, NULL);
}

static void end(struct run *run) {
	page_trace_free(&run->page);
	tables_free(&run->tables);
}

static void push(struct run *run, struct event event) {
	assert_int_equal(sink_push(&run->page.sink, &event), 0);
}

static void switches(struct run *run, uint64_t time, uint32_t from, enum task_state left, uint32_t to) {
	push(run, (struct event){.kind = EVENT_SWITCH,
				 .time = time,
				 .cpu = 3,
				 .tid = from,
				 .switched = {.next_tid = to, .state = (uint16_t)left}});
}

static void wakes(struct run *run, uint64_t time, uint32_t waker, uint32_t wakee) {
	push(run, (struct event){
			  .kind = EVENT_WAKING, .time = time, .tid = waker, .waking = {.wakee_tid = wakee}});
}

// "Running@100 S@200": the states of a thread and when they begin.
static void assert_states(const struct run *run, uint32_t tid, const char *wanted) {
	char text[300] = "";
	for (size_t i = 0; i < run->page.threads.count; i++)
		for (size_t j = 0;
		     run->page.threads.items[i].tid == tid && j < run->page.threads.items[i].states.count;
		     j++) {
			const struct page_state *state = &run->page.threads.items[i].states.items[j];
			size_t length = strlen(text);
			snprintf(text + length, sizeof(text) - length, "%s%s%s@%d", length ? " " : "",
				 page_state_names[state->kind & PAGE_STATE_KIND],
				 state->kind & PAGE_STATE_LOST ? "?" : "", (int)state->start);
		}
	assert_string_equal(text, wanted);
}

static void states_follow_switches_and_wakeups(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 100, 0, STATE_RUNNING, 7);
	switches(&run, 200, 7, STATE_SLEEPING, 8);
	wakes(&run, 250, 8, 7);
	wakes(&run, 260, 8, 7); // it is ready already
	wakes(&run, 270, 8, 8); // it runs
	switches(&run, 300, 8, STATE_PREEMPTED, 7);
	switches(&run, 400, 7, STATE_DEAD, 8);
	sink_finish(&run.page.sink);
	assert_states(&run, 7, "Running@100 S@200 R@250 Running@300 X@400");
	assert_states(&run, 8, "Running@200 R+@300 Running@400");
	assert_states(&run, 0, "");
	end(&run);
}

// A switch is once in the list of its CPU. 9 waits for two turns; a run that overlaps others is none.
static void runs_are_turns_of_their_cpu(void **state) {
	static const uint64_t times[] = {100, 200, 250, 300, 400, 500};
	static const uint32_t turns[] = {1, 2, 3, 1, 0, 1};
	struct run run;
	struct page_runs runs;
	begin(&run);
	switches(&run, 100, 0, STATE_RUNNING, 7);
	wakes(&run, 150, 7, 9);
	switches(&run, 200, 7, STATE_PREEMPTED, 8);
	switches(&run, 250, 8, STATE_SLEEPING, 7);
	switches(&run, 300, 7, STATE_SLEEPING, 9);
	switches(&run, 400, 9, STATE_DEAD, 8);
	switches(&run, 500, 8, STATE_DEAD, 0);
	sink_finish(&run.page.sink);
	struct page_state *sleeps = &run.page.threads.items[3].states.items[1];
	assert_int_equal(run.page.threads.items[3].tid, 8);
	sleeps->kind = PAGE_RUNS;
	sleeps->cpu = 3;
	page_runs_init(&runs, &run.page);
	assert_int_equal(runs.cpus.count, 1); // none for the numbers below it
	assert_int_equal(runs.cpus.items[0].cpu, 3);
	assert_int_equal(runs.cpus.items[0].times.count, ARRAY_SIZE(times));
	assert_memory_equal(runs.cpus.items[0].times.items, times, sizeof(times));
	assert_int_equal(runs.turns.count, ARRAY_SIZE(turns));
	assert_memory_equal(runs.turns.items, turns, sizeof(turns));
	page_runs_free(&runs);
	end(&run);
}

static void a_switch_that_does_not_join_is_a_loss(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 100, 0, STATE_RUNNING, 7);
	switches(&run, 200, 7, STATE_DISK, 0);
	switches(&run, 300, 7, STATE_SLEEPING, 0); // it was not seen to come back
	assert_states(&run, 7, "Running@100 D?@200 S@300");
	end(&run);
}

static void without_switches_there_are_no_states(void **state) {
	struct run run;
	begin(&run);
	push(&run,
	     (struct event){
		     .kind = EVENT_FORK, .time = 200, .tid = 5, .fork = {.child_tid = 7, .child_pid = 7}});
	sink_finish(&run.page.sink);
	assert_states(&run, 7, "");
	end(&run);
}

static void a_new_thread_is_not_the_old_one_of_its_number(void **state) {
	struct run run;
	begin(&run);
	switches(&run, 100, 7, STATE_DEAD, 0);
	push(&run,
	     (struct event){
		     .kind = EVENT_FORK, .time = 200, .tid = 5, .fork = {.child_tid = 7, .child_pid = 7}});
	assert_int_equal(run.page.threads.count, 4);
	assert_int_equal(run.page.threads.items[0].states.count, 1);
	assert_int_equal(run.page.threads.items[3].states.items[0].what, 3); // its parent + 1
	end(&run);
}

static void the_stack_of_a_wait_belongs_to_it(void **state) {
	struct run run;
	begin(&run);
	struct frame frame = {.symbol = strings_add(run.tables.strings, "lock")};
	uint32_t stack = stacks_add(run.tables.stacks, 0, stacks_add_frame(run.tables.stacks, &frame));
	switches(&run, 100, 7, STATE_SLEEPING, 0);
	wakes(&run, 200, 5, 7);
	switches(&run, 210, 0, STATE_RUNNING, 7);
	push(&run, (struct event){.kind = EVENT_SAMPLE,
				  .time = 210,
				  .tid = 7,
				  .sample = {.stack = stack,
					     .weight = 100,
					     .name = strings_add(run.tables.strings, EVENT_OFF_CPU)}});
	assert_int_equal(run.page.threads.items[0].states.items[0].what, stack);
	end(&run);
}

static void samples_of_the_baseline_are_sums(void **state) {
	struct run run;
	begin(&run);
	uint32_t name = strings_add(run.tables.strings, "cycles"),
		 comm = strings_add(run.tables.strings, "a");
	run.page.baseline = true;
	for (uint32_t i = 0; i < 5; i++)
		push(&run,
		     (struct event){
			     .kind = EVENT_SAMPLE,
			     .time = i,
			     .tid = 7 + i,
			     .sample = {.weight = 10, .name = name, .comm = comm, .flags = SAMPLE_BASELINE}});
	assert_int_equal(run.page.samples.count, 1);
	assert_int_equal(run.page.samples.items[0].weight, 50);
	assert_int_equal(run.page.first, 0);
	end(&run);
}

// ---- text ----

static void names_are_text(void **state) {
	struct run run;
	struct buffer out = {0};
	begin(&run);
	push(&run, (struct event){.kind = EVENT_TASK,
				  .tid = 7,
				  .pid = 7,
				  .task.name = strings_add(run.tables.strings, "</svg><script>x")});
	switches(&run, 100, 0, STATE_RUNNING, 7);
	switches(&run, 200, 7, STATE_SLEEPING, 0);
	page_trace_picture(&run.page, &out);
	page_cell(&out, "td class=\"a\"", "<b>&\"");
	buffer_append(&out, "", 1);
	assert_null(strstr((char *)out.data, "<script"));
	assert_non_null(strstr((char *)out.data, "&lt;script&gt;x"));
	assert_non_null(strstr((char *)out.data, "<td class=\"a\">&lt;b&gt;&amp;&quot;</td>"));
	buffer_free(&out);
	end(&run);
}

static void the_code_is_small(void **state) {
	assert_in_range(strlen(page_code) + strlen(page_loader) + strlen(page_style) + strlen(page_policy), 1,
			60000);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_read_back),
		cmocka_unit_test(states_follow_switches_and_wakeups),
		cmocka_unit_test(runs_are_turns_of_their_cpu),
		cmocka_unit_test(a_switch_that_does_not_join_is_a_loss),
		cmocka_unit_test(without_switches_there_are_no_states),
		cmocka_unit_test(a_new_thread_is_not_the_old_one_of_its_number),
		cmocka_unit_test(the_stack_of_a_wait_belongs_to_it),
		cmocka_unit_test(samples_of_the_baseline_are_sums),
		cmocka_unit_test(names_are_text),
		cmocka_unit_test(the_code_is_small),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
