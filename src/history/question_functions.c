// `history functions`: which function takes more CPU time than before, in which tests. The mix of tests
// changes from day to day, so each test is compared with itself: for the tests of both times, weighted with
// the CPU time that a run of each took before, the change of the function's share.
#include "history/show.h"

#include "base/map.h"

#include <math.h>

enum { MOST_NAMED = 3 };

struct grown {
	const char *function;
	double growth, share_before, share_after; // seconds of CPU in one run of each test
	struct {
		uint64_t test;
		double growth;
	} tests[MOST_NAMED]; // those with the largest part
};

// One test in one of the two times.
struct side {
	struct map self; // address of a function's name → its samples
	uint64_t sessions, samples;
	int64_t cpu;
};

struct context {
	struct history_question *question;
	int64_t border; // the first day of the later time
	uint64_t test;
	bool any;
	struct side before, after;
	struct map places; // address of a name → place + 1
	ARRAY(struct grown) functions;
	ARRAY(const char *) names; // of the current test
	uint64_t tests;
	double weight; // CPU seconds of one run of each test
};

static struct grown *grown_of(struct context *context, const char *function) {
	uint64_t *place = map_put(&context->places, (uint64_t)(uintptr_t)function);
	if (!*place) {
		array_push(&context->functions, (struct grown){.function = function});
		*place = context->functions.count;
	}
	return &context->functions.items[*place - 1];
}

static double share(const struct side *side, const char *function) {
	const uint64_t *self = map_get(&side->self, (uint64_t)(uintptr_t)function);
	return self && side->samples ? (double)*self / (double)side->samples : 0;
}

static void name_test(struct grown *grown, uint64_t test, double growth) {
	for (size_t i = 0; i < MOST_NAMED; i++)
		if (fabs(growth) > fabs(grown->tests[i].growth)) {
			memmove(&grown->tests[i + 1], &grown->tests[i],
				(MOST_NAMED - 1 - i) * sizeof(grown->tests[0]));
			grown->tests[i].test = test;
			grown->tests[i].growth = growth;
			return;
		}
}

static void clear_side(struct side *side) {
	map_free(&side->self);
	*side = (struct side){0};
}

static int by_text(const void *a, const void *b) {
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Functions in the order of their names: sums of fractions depend on their order.
static void finish_test(struct context *context) {
	const struct side *before = &context->before, *after = &context->after;
	if (context->any && before->samples && after->samples) {
		double weight = (double)before->cpu / (double)before->sessions / 1e9;
		context->tests++;
		context->weight += weight;
		if (context->names.count)
			qsort(context->names.items, context->names.count, sizeof(*context->names.items),
			      by_text);
		for (size_t i = 0; i < context->names.count; i++) {
			const char *name = context->names.items[i];
			if (i && name == context->names.items[i - 1])
				continue;
			struct grown *grown = grown_of(context, name);
			double earlier = weight * share(before, name), later = weight * share(after, name);
			grown->share_before += earlier;
			grown->share_after += later;
			grown->growth += later - earlier;
			name_test(grown, context->test, later - earlier);
		}
	}
	clear_side(&context->before);
	clear_side(&context->after);
	context->names.count = 0;
}

static void take_day(void *data, const struct history_function_day *row) {
	struct context *context = data;
	if (context->any && context->test != row->test)
		finish_test(context);
	context->any = true;
	context->test = row->test;
	struct side *side = row->day >= context->border ? &context->after : &context->before;
	side->sessions += row->sessions;
	side->samples += row->samples;
	side->cpu += row->cpu_sum;
	for (size_t i = 0; i < row->function_count; i++) {
		uint64_t *self = map_put(&side->self, (uint64_t)(uintptr_t)row->functions[i].name);
		if (!*self)
			array_push(&context->names, row->functions[i].name);
		*self += row->functions[i].self;
	}
}

// The largest growth first.
static int by_growth(const void *a, const void *b) {
	const struct grown *left = a, *right = b;
	int order = (left->growth < right->growth) - (left->growth > right->growth);
	return order ? order : strcmp(left->function, right->function);
}

static void print(const struct context *context, const history_tests *tests) {
	static const char *const headers[] = {"growth>", "before>", "after>", "function", "mostly in"};
	struct history_question *question = context->question;
	struct show_table table = {headers, ARRAY_SIZE(headers), {0}};
	char text[SHOW_SIZE];
	if (!context->tests) {
		show_line(question,
			  "no test was sampled both from %s on and before; 'tracelet run --sample' takes "
			  "samples, --recent and --since set other times",
			  show_day(context->border * HISTORY_DAY_MS, text));
		return;
	}
	for (size_t i = 0; i < context->functions.count; i++) {
		const struct grown *grown = &context->functions.items[i];
		struct buffer names = {0};
		for (size_t k = 0; k < MOST_NAMED && grown->tests[k].growth != 0; k++) {
			CLEANUP_FREE char *name = show_test(question_find_test(tests, grown->tests[k].test));
			buffer_printf(&names, "%s%s", k ? ", " : "", name);
		}
		buffer_append(&names, "", 1);
		show_cell(&table, "%s%s", grown->growth < 0 ? "-" : "+",
			  show_value("wall_ns", fabs(grown->growth) * 1e9, text));
		show_cell(&table, "%s", show_value("wall_ns", grown->share_before * 1e9, text));
		show_cell(&table, "%s", show_value("wall_ns", grown->share_after * 1e9, text));
		show_cell(&table, "%s", grown->function);
		show_cell(&table, "%s", (char *)names.data);
		buffer_free(&names);
	}
	show_line(question,
		  "CPU time in one run of each of %llu tests (%s), the days from %s on against those before; "
		  "the "
		  "share of each function, by samples.",
		  (unsigned long long)context->tests, show_value("wall_ns", context->weight * 1e9, text),
		  show_day(context->border * HISTORY_DAY_MS, (char[SHOW_SIZE]){0}));
	show_table_print(&table, question->form, question->out);
}

static void print_json(const struct context *context, const history_tests *tests) {
	struct json json = json_into(context->question->out);
	char day[SHOW_SIZE];
	json_object(&json, NULL);
	json_string(&json, "from_day", show_day(context->border * 86400000, day));
	json_uint(&json, "tests", context->tests);
	json_double(&json, "cpu_seconds", context->weight);
	json_array(&json, "functions");
	for (size_t i = 0; i < context->functions.count; i++) {
		const struct grown *grown = &context->functions.items[i];
		json_object(&json, NULL);
		json_string(&json, "function", grown->function);
		json_double(&json, "growth_seconds", grown->growth);
		json_double(&json, "before_seconds", grown->share_before);
		json_double(&json, "after_seconds", grown->share_after);
		json_array(&json, "tests");
		for (size_t k = 0; k < MOST_NAMED && grown->tests[k].growth != 0; k++) {
			json_object(&json, NULL);
			show_json_test(&json, question_find_test(tests, grown->tests[k].test));
			json_double(&json, "growth_seconds", grown->tests[k].growth);
			json_close_object(&json);
		}
		json_close_array(&json);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	buffer_text(context->question->out, "\n");
}

int question_functions(struct history_question *question) {
	history_tests tests = {0};
	int64_t until = question->until ? question->until : question->now;
	struct context context = {.question = question,
				  .border = (until - question->recent) / HISTORY_DAY_MS};
	struct history_filter filter = question_filter(question);
	int error = question_read_tests(question, NULL, &tests);
	error = error ? error
		      : question->store->operations->functions(question->store, &filter, take_day, &context);
	finish_test(&context);
	if (context.functions.count)
		qsort(context.functions.items, context.functions.count, sizeof(*context.functions.items),
		      by_growth);
	if (!error && question->form == HISTORY_JSON)
		print_json(&context, &tests);
	else if (!error)
		print(&context, &tests);
	map_free(&context.places);
	array_free(&context.functions);
	array_free(&context.names);
	array_free(&tests);
	return error;
}
