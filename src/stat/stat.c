// The stages of counting: which events, where, from when to when. The command is started as
// `tracelet run` starts a test and waits at its gate while the counters are opened; they start
// counting when it executes its program.
#include "stat/stat.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/near.h"
#include "process/descriptors.h"
#include "process/test.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char default_events[] = "task-clock,context-switches,cpu-migrations,page-faults,cycles,"
				     "instructions,branches,branch-misses";

// ---- which events ----

static int add_events(struct counting *counting, const char *list) {
	struct pmu_source source = PMU_SOURCE_HERE;
	char why[PMU_WHY_SIZE] = "";
	source.alias = metrics_alias;
	source.context = &counting->metrics;
	if (pmu_events_parse(&counting->events, list, &source, why) == 0)
		return 0;
	log_error("%s", why);
	return STAT_USAGE;
}

// An event that a metric needs and this machine does not know is not available, no mistake.
static void add_needed(struct counting *counting, const char *list) {
	struct pmu_source source = PMU_SOURCE_HERE;
	char why[PMU_WHY_SIZE] = "";
	source.alias = metrics_alias;
	source.context = &counting->metrics;
	if (pmu_events_parse(&counting->events, list, &source, why) == 0 || !counting->events.count)
		return;
	struct pmu_event *last = &counting->events.items[counting->events.count - 1];
	if (!last->missing)
		last->missing = memory_string("not supported by this machine");
}

static bool is_needed(const struct counting *counting, const char *name) {
	return name && strcmp(name, "seconds") != 0 && !pmu_events_find(&counting->events, name);
}

static void add_events_of(struct counting *counting, const struct formula *formula, bool group) {
	struct buffer list = {0};
	for (size_t i = 0; i < formula->steps.count; i++) {
		const char *name = formula->steps.items[i].name;
		if (!is_needed(counting, name))
			continue;
		if (group)
			buffer_printf(&list, "%s%s", list.size ? "," : "", name);
		else
			add_needed(counting, name);
	}
	if (list.size) {
		CLEANUP_FREE char *words = memory_format("{%.*s}", (int)list.size, (char *)list.data);
		add_needed(counting, words);
	}
	buffer_free(&list);
}

static void say_no_metric(const struct counting *counting, const char *name) {
	struct near_name near = {.wanted = name};
	char words[NEAR_LONGEST + 32];
	for (size_t i = 0; i < counting->metrics.metrics.count; i++)
		near_offer(&near, counting->metrics.metrics.items[i].name);
	near_words(&near, words, sizeof(words));
	log_error("unknown metric '%s'%s; 'tracelet stat list' lists them", name, words);
}

static int add_metrics(struct counting *counting, const char *list) {
	CLEANUP_FREE char *copy = memory_string(list);
	char *rest = copy;
	for (char *name; (name = strsep(&rest, ","));) {
		const struct metric *metric = metrics_find(&counting->metrics, name);
		if (!metric) {
			say_no_metric(counting, name);
			return STAT_USAGE;
		}
		array_push(&counting->shown, metric);
		add_events_of(counting, &metric->formula, metric->group);
	}
	return 0;
}

// What an assertion names is counted: an event, or the events of a metric.
static int add_asserted(struct counting *counting, const struct formula *formula) {
	for (size_t i = 0; i < formula->steps.count; i++) {
		const char *name = formula->steps.items[i].name;
		const struct metric *metric = name ? metrics_find(&counting->metrics, name) : NULL;
		if (metric)
			add_events_of(counting, &metric->formula, metric->group);
		else if (is_needed(counting, name) && add_events(counting, name))
			return STAT_USAGE;
	}
	return 0;
}

static void show_default_metrics(struct counting *counting) {
	for (size_t i = 0; i < counting->metrics.metrics.count; i++)
		if (counting->metrics.metrics.items[i].is_default)
			array_push(&counting->shown, &counting->metrics.metrics.items[i]);
}

// The user's own metrics come after the built-in ones, and the last one with a name counts.
static int read_own_metrics(struct counting *counting) {
	const char *path = counting->options->metric_file;
	struct input input;
	int error = path ? input_open(&input, path) : 0;
	if (!path)
		return 0;
	if (error) {
		log_error("%s: %s", path, strerror(-error));
		return STAT_USAGE;
	}
	CLEANUP_FREE char *text = memory_format("%.*s", (int)MIN(input.size, (size_t)1 << 20),
						(const char *)input.data);
	int line = metrics_read(&counting->metrics, text);
	input_close(&input);
	if (line)
		log_error("%s:%d: neither a metric nor an event in the format of 'tracelet stat man'", path,
			  line);
	return line ? STAT_USAGE : 0;
}

static int choose_events(struct counting *counting) {
	const struct stat_options *options = counting->options;
	CLEANUP_FREE char *cpu = metrics_this_cpu();
	metrics_load(&counting->metrics, cpu);
	int status = read_own_metrics(counting);
	if (!status)
		status = stat_take_assertions(counting);
	if (!status && options->baseline)
		status = stat_baseline_read(&counting->baseline, options->baseline, NULL);
	if (!status && options->events)
		status = add_events(counting, options->events);
	if (!status && options->metrics)
		status = add_metrics(counting, options->metrics);
	for (size_t i = 0; !status && i < counting->assertions.count; i++)
		status = add_asserted(counting, &counting->assertions.items[i].formula);
	for (size_t i = 0; !status && !options->events && i < counting->baseline.count; i++)
		if (!pmu_events_find(&counting->events, counting->baseline.items[i].name))
			status = add_events(counting, counting->baseline.items[i].name);
	if (!status && !counting->events.count)
		status = add_events(counting, default_events);
	if (!status && !options->metrics)
		show_default_metrics(counting);
	return status;
}

// ---- where ----

static void add_places(struct counting *counting, pid_t task, const struct cpu_list *cpus) {
	struct counter_place place = {.pid = task,
				      .cpu = -1,
				      .inherit = task != -1,
				      .elsewhere = task != -1 && counting->options->cpus,
				      .on_exec = counting->options->command && !counting->options->pid &&
						 !counting->options->system};
	for (size_t i = 0; i < cpus->count; i++) {
		place.cpu = cpus->items[i];
		array_push(&counting->places, place);
	}
	if (!cpus->count)
		array_push(&counting->places, place);
}

// All threads of a process that are there now; those they start later are counted with them.
static int add_threads(struct counting *counting, pid_t process, const struct cpu_list *cpus) {
	CLEANUP_FREE char *path = memory_format("/proc/%d/task", (int)process);
	DIR *folder = opendir(path);
	if (!folder) {
		log_error("no process %d", (int)process);
		return STAT_USAGE;
	}
	struct dirent *entry;
	while ((entry = readdir(folder)))
		if (*entry->d_name != '.')
			add_places(counting, (pid_t)strtol(entry->d_name, NULL, 10), cpus);
	closedir(folder);
	return 0;
}

// Those of -c are looked at: nothing is counted on a CPU that is not there, and one that is named
// twice would count twice.
static int check_cpus(struct cpu_list *cpus, const char *online) {
	struct cpu_list there = {0};
	int status = 0;
	size_t count = 0;
	cpu_list_parse(&there, online);
	for (size_t i = 0; i < cpus->count && !status; i++) {
		bool found = false, again = false;
		for (size_t k = 0; k < there.count; k++)
			found |= there.items[k] == cpus->items[i];
		for (size_t k = 0; k < count; k++)
			again |= cpus->items[k] == cpus->items[i];
		if (!found) {
			log_error("-c: no CPU %d; this machine has %s", cpus->items[i], online);
			status = STAT_USAGE;
		} else if (!again) {
			cpus->items[count++] = cpus->items[i];
		}
	}
	cpus->count = count;
	array_free(&there);
	return status;
}

static int choose_places(struct counting *counting, pid_t test) {
	const struct stat_options *options = counting->options;
	struct cpu_list cpus = {0};
	int status = 0;
	CLEANUP_FREE char *online = pmu_sysfs_line("/sys/devices/system/cpu", "online");
	const char *list = options->cpus                          ? options->cpus
			   : options->system || options->per_core ? (online ? online : "0")
								  : NULL;
	if (list && cpu_list_parse(&cpus, list)) {
		log_error("-c takes CPUs like 0,3-5, not '%s'", list);
		status = STAT_USAGE;
	} else if (options->cpus && online && check_cpus(&cpus, online)) {
		status = STAT_USAGE;
	} else if (options->pid) {
		status = add_threads(counting, options->pid, &cpus);
	} else {
		add_places(counting, options->system ? -1 : test, &cpus);
	}
	array_free(&cpus);
	return status;
}

// ---- when ----

static struct stat_reading new_reading(const struct counting *counting) {
	size_t count = counting->places.count * counting->events.count;
	return (struct stat_reading){.counts = memory_alloc(count * sizeof(struct count))};
}

static void add_counts(const struct counting *counting, struct count *to, const struct count *from) {
	for (size_t i = 0; i < counting->places.count * counting->events.count; i++) {
		to[i].value += from[i].value;
		to[i].scaled += from[i].scaled;
		to[i].enabled += from[i].enabled;
		to[i].running += from[i].running;
	}
}

// Reads what was counted since the last time; `row`: as one of a timeline.
static void take_reading(struct counting *counting, double now, bool row) {
	struct stat_reading reading = new_reading(counting);
	counters_read(&counting->counters, reading.counts);
	add_counts(counting, counting->total.counts, reading.counts);
	reading.begin = counting->timeline.count ? counting->timeline.items[counting->timeline.count - 1].end
						 : 0;
	reading.end = counting->total.end = now;
	if (row) {
		array_push(&counting->timeline, reading);
		stat_report_row(counting, &reading);
	} else {
		free(reading.counts);
	}
}

static bool rows_left(const struct counting *counting) {
	const struct stat_options *options = counting->options;
	return options->timeline && (!options->count || counting->timeline.count < options->count);
}

// Is it over? And: until a signal, or for so many seconds.
struct watched {
	struct test *test; // NULL if none
	int process;       // a pidfd, -1 if none
	int wait_status;
	struct rusage usage; // of the test, when it has ended
	sigset_t signals;
	bool asked_to_end;
};

static bool is_over(struct watched *watched) {
	if (watched->test)
		return test_has_ended(watched->test, &watched->wait_status, &watched->usage);
	struct pollfd poll_process = {.fd = watched->process, .events = POLLIN};
	return watched->asked_to_end || (watched->process >= 0 && poll(&poll_process, 1, 0) > 0);
}

static void wait_for(struct watched *watched, double seconds) {
	enum { LOOK_MILLISECONDS = 50 }; // for the end of a process that is not our child
	if (watched->test) {
		test_wait_signal(watched->test, seconds);
		return;
	}
	double limit = LOOK_MILLISECONDS / 1e3;
	if (seconds >= 0 && seconds < limit)
		limit = seconds;
	struct timespec time = {.tv_nsec = (long)(limit * 1e9)};
	watched->asked_to_end |= sigtimedwait(&watched->signals, NULL, &time) > 0;
}

static void count_until_over(struct counting *counting, struct watched *watched, double begin) {
	double next = begin + counting->options->interval;
	bool over = false;
	while (!over) {
		over = is_over(watched);
		double now = seconds_now();
		bool whole = rows_left(counting) && (now >= next || over);
		if (whole || over)
			take_reading(counting, now - begin, whole);
		while (next <= now)
			next += counting->options->interval;
		// Without a command the last row is the end.
		if (!watched->test && counting->options->count &&
		    counting->timeline.count == counting->options->count)
			break;
		if (!over)
			wait_for(watched, rows_left(counting) ? next - now : -1);
	}
}

// ---- all of it ----

static int open_output(struct counting *counting) {
	const struct stat_options *options = counting->options;
	counting->fd = options->command ? STDERR_FILENO : STDOUT_FILENO;
	clock_gettime(CLOCK_REALTIME, &counting->begun);
	if (!options->output || stat_wants_files(options))
		return 0;
	counting->file_name = stat_file_name(options, &counting->begun, STAT_ALL_PLACES);
	int error = output_open(&counting->file, counting->file_name, OUTPUT_REPLACE);
	if (error)
		log_error("%s: %s", counting->file_name, strerror(-error));
	counting->to_file = !error;
	return error ? STAT_USAGE : 0;
}

// All at once with the reason of the first: there is nothing to wait for.
static int say_nothing_counts(const struct counting *counting) {
	const struct pmu_event *first = &counting->events.items[0];
	log_error("nothing can be counted: %s is not available: %s", first->name,
		  first->missing ? first->missing : "there was no thread or CPU to count");
	return STAT_NOTHING;
}

static int open_counters(struct counting *counting, pid_t test) {
	bool of_threads = counting->options->per_thread && counting->options->command &&
			  !counting->options->pid;
	if (of_threads && stat_threads_begin(counting, test)) {
		counters_open(&counting->counters, &counting->events, NULL, 0);
		counting->total = new_reading(counting);
		return 0;
	}
	int status = choose_places(counting, test);
	if (status)
		return status;
	// Our own limit, not the test's: it has been forked already.
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	counters_open(&counting->counters, &counting->events, counting->places.items, counting->places.count);
	counting->total = new_reading(counting);
	if (!counting->options->command && !counting->counters.groups.count)
		return say_nothing_counts(counting);
	if (!counting->test)
		stat_report_begin(counting);
	counters_enable(&counting->counters);
	return 0;
}

static int finish(struct counting *counting) {
	int reported = stat_report_end(counting), checked = stat_check(counting);
	return checked ? checked : reported;
}

static double seconds_of(struct timeval time) {
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static int count_command(struct counting *counting) {
	struct test test;
	char **command = counting->options->command;
	descriptors_fill_gaps();
	int error = test_prepare(&test, command, false);
	if (error)
		return test_say_not_started(command[0], -error);
	int named = counting->options->output ? descriptor_named(counting->options->output) : -1;
	descriptors_give_up((int[]){test.gate, test.exec_error, counting->to_file ? counting->file.fd : -1,
				    named, counting->case_report, counting->case_output[0],
				    counting->case_output[1]},
			    7);
	int status = open_counters(counting, test.pid);
	if (status) {
		close(test.gate); // it ends without having begun
		return status;
	}
	struct watched watched = {.test = &test, .process = -1};
	double begin = seconds_now();
	error = test_begin(&test);
	if (error)
		return test_say_not_started(command[0], error);
	count_until_over(counting, &watched, begin);
	stat_threads_end(counting);
	int of_command = test_shell_status(watched.wait_status);
	counting->user_seconds = seconds_of(watched.usage.ru_utime);
	counting->system_seconds = seconds_of(watched.usage.ru_stime);
	if (counting->test) {
		int judged = stat_judge_case(counting, of_command);
		stat_report_case(counting, of_command);
		of_command = judged;
	}
	if (counting->options->settings)
		stat_note(counting, watched.wait_status, &watched.usage, !of_command);
	status = counting->test ? stat_check(counting) : finish(counting);
	// A report that cannot be written does not make a test fail; a count that is too high does.
	return of_command ? of_command : status == STAT_DIFFERS ? status : 0;
}

static int count_others(struct counting *counting) {
	struct watched watched = {.process = -1};
	sigemptyset(&watched.signals);
	sigaddset(&watched.signals, SIGINT);
	sigaddset(&watched.signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &watched.signals, NULL);
	if (counting->options->pid)
		watched.process = (int)syscall(SYS_pidfd_open, counting->options->pid, 0);
	int status = open_counters(counting, 0);
	if (!status) {
		count_until_over(counting, &watched, seconds_now());
		status = finish(counting);
	}
	if (watched.process >= 0)
		close(watched.process);
	return status;
}

static void counting_free(struct counting *counting) {
	counters_close(&counting->counters);
	if (counting->to_file)
		output_abandon(&counting->file);
	for (size_t i = 0; i < counting->timeline.count; i++)
		free(counting->timeline.items[i].counts);
	for (size_t i = 0; i < counting->assertions.count; i++)
		formula_free(&counting->assertions.items[i].formula);
	free(counting->file_name);
	array_free(&counting->timeline);
	array_free(&counting->assertions);
	array_free(&counting->shown);
	array_free(&counting->places);
	for (size_t i = 0; i < counting->thread_names.count; i++)
		free(counting->thread_names.items[i]);
	array_free(&counting->thread_names);
	free(counting->total.counts);
	stat_baseline_free(&counting->baseline);
	pmu_events_free(&counting->events);
	metrics_free(&counting->metrics);
}

int session_stat(const struct stat_options *options) {
	struct counting counting = {.options = options, .case_report = -1, .case_output = {-1, -1}};
	int status = choose_events(&counting);
	if (!status)
		status = open_output(&counting);
	if (!status)
		status = options->per_test  ? stat_each_case(&counting, count_command)
			 : options->command ? count_command(&counting)
					    : count_others(&counting);
	counting_free(&counting);
	return status;
}
