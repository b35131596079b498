// Marks in a Perfetto trace: whatever marks a test sets, its slices balance.
#include "trace_run.h"

enum { BEGIN = 1, END = 2, COUNTER = 4 };
enum { UUID_OF_TEST = 0x7472616365 };

static uint64_t clock_now;

static void mark(uint32_t tid, enum mark_type type, const char *name, double value) {
	push((struct event){.kind = EVENT_MARK,
			    .cpu = CPU_NONE,
			    .time = ++clock_now,
			    .tid = tid,
			    .pid = 10,
			    .mark = {.type = (uint16_t)type, .name = text(name), .value = value}});
}

static void begin(void) {
	trace_begin("tree");
	clock_now = START;
	push((struct event){.kind = EVENT_TASK,
			    .cpu = CPU_NONE,
			    .time = START,
			    .tid = 10,
			    .pid = 10,
			    .task = {.name = text("test")}});
}

// What was written on the tracks of threads, in order: "type name", joined by commas.
static const char *told(const struct view *view) {
	static char story[2048];
	static const char *const words[] = {"", "begin ", "end", "at "};
	size_t used = 0;
	*story = 0;
	for (size_t i = 0; i < view->track_events.count; i++) {
		const struct view_track_event *event = &view->track_events.items[i];
		if (event->type != COUNTER && event->track != UUID_OF_TEST && !strstr(event->name, "ex"))
			used += (size_t)snprintf(story + used, sizeof(story) - used, "%s%s%s",
						 used ? "," : "", words[event->type], event->name);
	}
	return story;
}

static const struct view_track_event *event_named(const struct view *view, const char *name) {
	for (size_t i = 0; i < view->track_events.count; i++)
		if (strcmp(view->track_events.items[i].name, name) == 0)
			return &view->track_events.items[i];
	fail_msg("no event is called %s", name);
	return NULL;
}

static void test_slices_and_instants_are_on_the_threads_track(void **state) {
	begin();
	mark(10, MARK_SLICE_BEGIN, "outer", 0);
	mark(10, MARK_SLICE_BEGIN, "inner", 0);
	mark(10, MARK_INSTANT, "point", 0);
	mark(10, MARK_SLICE_END, "", 0);
	mark(10, MARK_SLICE_END, "", 0);
	struct view view = trace_end();
	assert_string_equal(told(&view), "begin outer,begin inner,at point,end,end");
	uint64_t track = event_named(&view, "outer")->track;
	assert_int_equal(event_named(&view, "point")->track, track);
	size_t described = 0;
	for (size_t i = 0; i < view.tracks.count; i++)
		if (view.tracks.items[i].uuid == track)
			described += view.tracks.items[i].tid == 10 && view.tracks.items[i].pid == 10;
	assert_int_equal(described, 1);
	view_free(&view);
}

static void test_a_name_is_spelled_out_once(void **state) {
	begin();
	for (int i = 0; i < 100; i++) {
		mark(10, MARK_SLICE_BEGIN, "again", 0);
		mark(10, MARK_SLICE_END, "", 0);
	}
	struct view view = trace_end();
	assert_int_equal(view.names.count, 1);
	assert_string_equal(view.names.items[0].text, "again");
	view_free(&view);
}

static void test_an_end_without_a_begin_is_left_out(void **state) {
	begin();
	mark(10, MARK_SLICE_END, "", 0);
	mark(10, MARK_TEST_END, "", 0);
	mark(10, MARK_SLICE_BEGIN, "a", 0);
	mark(10, MARK_SLICE_END, "", 0);
	mark(10, MARK_SLICE_END, "", 0);
	struct view view = trace_end();
	assert_string_equal(told(&view), "begin a,end");
	view_free(&view);
}

static void test_what_is_open_ends_with_the_trace(void **state) {
	begin();
	mark(10, MARK_TEST_BEGIN, "case", 0);
	mark(10, MARK_SLICE_BEGIN, "a", 0);
	mark(11, MARK_SLICE_BEGIN, "b", 0);
	struct view view = trace_end();
	assert_string_equal(told(&view), "begin case,begin a,begin b,end,end,end");
	view_free(&view);
}

static void test_what_is_open_ends_with_its_thread(void **state) {
	begin();
	mark(10, MARK_SLICE_BEGIN, "a", 0);
	push((struct event){.kind = EVENT_EXIT, .time = ++clock_now, .tid = 10, .pid = 10});
	uint64_t end = clock_now;
	mark(11, MARK_INSTANT, "later", 0);
	struct view view = trace_end();
	assert_string_equal(told(&view), "begin a,end,at later");
	for (size_t i = 0; i < view.track_events.count; i++)
		if (view.track_events.items[i].type == END &&
		    view.track_events.items[i].track != UUID_OF_TEST)
			assert_int_equal(view.track_events.items[i].time, end);
	view_free(&view);
}

static void test_what_is_open_ends_with_its_program(void **state) {
	begin();
	mark(10, MARK_SLICE_BEGIN, "a", 0);
	push((struct event){
		.kind = EVENT_EXEC, .time = ++clock_now, .tid = 10, .pid = 10, .exec = {.old_tid = 10}});
	mark(10, MARK_SLICE_END, "", 0);
	struct view view = trace_end();
	assert_string_equal(told(&view), "begin a,end");
	view_free(&view);
}

static void test_a_case_ends_what_it_left_open(void **state) {
	begin();
	mark(10, MARK_SLICE_BEGIN, "suite", 0);
	mark(10, MARK_TEST_BEGIN, "one", 0);
	mark(10, MARK_SLICE_BEGIN, "a", 0);
	mark(10, MARK_SLICE_BEGIN, "b", 0);
	mark(10, MARK_TEST_END, "", 1);
	mark(10, MARK_TEST_BEGIN, "two", 0);
	mark(10, MARK_SLICE_END, "", 0); // this case has no open slice
	mark(10, MARK_TEST_END, "", 77);
	mark(10, MARK_SLICE_END, "", 0);
	struct view view = trace_end();
	assert_string_equal(told(&view),
			    "begin suite,begin one,begin a,begin b,end,end,end,begin two,end,end");
	size_t failed = 0, skipped = 0;
	for (size_t i = 0; i < view.track_events.count; i++) {
		failed += strcmp(view.track_events.items[i].annotations, "result=failed;") == 0;
		skipped += strcmp(view.track_events.items[i].annotations, "result=skipped;") == 0;
	}
	assert_int_equal(failed, 1);
	assert_int_equal(skipped, 1);
	assert_int_not_equal(event_named(&view, "one")->category, event_named(&view, "a")->category);
	view_free(&view);
}

static void test_a_case_that_begins_inside_another_ends_it(void **state) {
	begin();
	mark(10, MARK_TEST_BEGIN, "one", 0);
	mark(10, MARK_SLICE_BEGIN, "a", 0);
	mark(10, MARK_TEST_BEGIN, "two", 0);
	mark(10, MARK_TEST_END, "", 0);
	struct view view = trace_end();
	assert_string_equal(told(&view), "begin one,begin a,end,end,begin two,end");
	view_free(&view);
}

static void test_a_depth_beyond_all_is_cut(void **state) {
	enum { DEPTH = 600, MOST = 500 };
	begin();
	for (int i = 0; i < DEPTH; i++)
		mark(10, MARK_SLICE_BEGIN, "deep", 0);
	for (int i = 0; i < DEPTH; i++)
		mark(10, MARK_SLICE_END, "", 0);
	mark(10, MARK_SLICE_BEGIN, "last", 0);
	mark(10, MARK_SLICE_END, "", 0);
	struct view view = trace_end();
	size_t begun = 0;
	for (size_t i = 0; i < view.track_events.count; i++)
		begun += view.track_events.items[i].type == BEGIN &&
			 view.track_events.items[i].track != UUID_OF_TEST;
	assert_int_equal(begun, MOST + 1);
	view_free(&view);
}

static void test_counters_are_of_their_process(void **state) {
	begin();
	mark(10, MARK_COUNTER, "queue", 3);
	mark(11, MARK_COUNTER, "queue", 4.5);
	mark(10, MARK_COUNTER, "other", -1);
	struct view view = trace_end();
	double sum = 0;
	size_t tracks = 0;
	for (size_t i = 0; i < view.track_events.count; i++)
		sum += view.track_events.items[i].type == COUNTER ? view.track_events.items[i].value : 0;
	assert_true(sum == 6.5);
	for (size_t i = 0; i < view.tracks.count; i++) {
		const struct view_track *track = &view.tracks.items[i];
		tracks += track->counter;
		if (track->counter)
			assert_int_not_equal(track->parent, 0);
	}
	assert_int_equal(tracks, 2);
	view_free(&view);
}

static void test_a_mark_of_no_task_is_on_the_tests_track(void **state) {
	begin();
	push((struct event){.kind = EVENT_MARK,
			    .cpu = CPU_NONE,
			    .time = ++clock_now,
			    .tid = 5,
			    .pid = 5,
			    .mark = {.type = MARK_INSTANT, .name = text("of all"), .no_task = true}});
	struct view view = trace_end();
	assert_int_equal(event_named(&view, "of all")->track, UUID_OF_TEST);
	view_free(&view);
}

static void test_lost_marks_are_reported_and_do_not_spoil_the_cpus(void **state) {
	begin();
	push((struct event){.kind = EVENT_LOST,
			    .cpu = CPU_NONE,
			    .time = ++clock_now,
			    .lost = {.count = 7, .source = SOURCE_MARKER}});
	struct view view = trace_end();
	assert_string_equal(event_named(&view, "7 marker events lost")->annotations, "count=7;");
	assert_int_equal(view.dropped, 0);
	assert_int_equal(view.lost_bundles, 0);
	view_free(&view);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices_and_instants_are_on_the_threads_track),
		cmocka_unit_test(test_a_name_is_spelled_out_once),
		cmocka_unit_test(test_an_end_without_a_begin_is_left_out),
		cmocka_unit_test(test_what_is_open_ends_with_the_trace),
		cmocka_unit_test(test_what_is_open_ends_with_its_thread),
		cmocka_unit_test(test_what_is_open_ends_with_its_program),
		cmocka_unit_test(test_a_case_ends_what_it_left_open),
		cmocka_unit_test(test_a_case_that_begins_inside_another_ends_it),
		cmocka_unit_test(test_a_depth_beyond_all_is_cut),
		cmocka_unit_test(test_counters_are_of_their_process),
		cmocka_unit_test(test_a_mark_of_no_task_is_on_the_tests_track),
		cmocka_unit_test(test_lost_marks_are_reported_and_do_not_spoil_the_cpus),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
