// The first line of a sample: "comm pid/tid [cpu] time: period event: rest",
// where -F may omit any part. A name may contain blanks and numbers ("tokio 1
// 4711 [003] 12.5: ..."), so the task is the word before the CPU or the time, not
// the first number; only if both are missing is it the first number.
#include "read/perf/script.h"

#include <string.h>

enum { MOST_WORDS = 48, LONGEST_NAME = 16 };

struct words {
	struct slice words[MOST_WORDS];
	size_t count;
};

static bool is_blank(char c) {
	return c == ' ' || c == '\t';
}

static bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

// A whole word that is a number, possibly signed; perf prints -1 for "no such task".
static bool take_number(const char **at, const char *end, uint64_t *value) {
	bool negative = *at < end && **at == '-';
	const char *digit = *at + negative;
	uint64_t number = 0;
	if (digit == end || !is_digit(*digit))
		return false;
	for (; digit < end && is_digit(*digit); digit++)
		number = number * 10 + (uint64_t)(*digit - '0');
	*value = negative ? -number : number;
	*at = digit;
	return true;
}

static bool word_number(struct slice word, uint64_t *value) {
	const char *at = word.text, *end = at + word.size;
	return take_number(&at, end, value) && at == end;
}

// "1234" or "1233/1234"
static bool word_task(struct slice word, struct script_header *header) {
	const char *at = word.text, *end = at + word.size;
	uint64_t first, second;
	if (!take_number(&at, end, &first))
		return false;
	if (at == end) {
		header->tid = (uint32_t)first;
		header->has_pid = false;
		return true;
	}
	if (*at++ != '/' || !take_number(&at, end, &second) || at != end)
		return false;
	header->pid = (uint32_t)first;
	header->tid = (uint32_t)second;
	header->has_pid = true;
	return true;
}

// "[003]"
static bool word_cpu(struct slice word, struct script_header *header) {
	uint64_t cpu;
	if (word.size < 3 || word.text[0] != '[' || word.text[word.size - 1] != ']' ||
	    !word_number((struct slice){word.text + 1, word.size - 2}, &cpu))
		return false;
	header->cpu = (uint32_t)cpu;
	header->has_cpu = true;
	return true;
}

// "158665.570607:", with any number of decimals
static bool word_time(struct slice word, struct script_header *header) {
	if (word.size < 4 || word.text[word.size - 1] != ':' || !is_digit(word.text[0]))
		return false;
	const char *at = word.text, *end = at + word.size - 1;
	uint64_t seconds, nanoseconds = 0, unit = 1000000000;
	take_number(&at, end, &seconds);
	if (at == end || *at++ != '.' || at == end)
		return false;
	for (; at < end && is_digit(*at); at++) {
		unit /= 10;
		nanoseconds += unit * (uint64_t)(*at - '0');
	}
	header->time = seconds * 1000000000u + nanoseconds;
	return at == end;
}

static bool ends_with_colon(struct slice word) {
	return word.size > 1 && word.text[word.size - 1] == ':';
}

static bool looks_like_address(struct slice word) {
	for (size_t i = 0; i < word.size; i++)
		if (!is_digit(word.text[i]) && !(word.text[i] >= 'a' && word.text[i] <= 'f'))
			return false;
	return word.size >= 4 && word.size <= 16;
}

// Splits the line into words up to the time; if there is no time, all words (that
// fit). Returns the index of the time, or one past the last word.
static size_t split(const char *line, size_t size, struct words *words, struct script_header *header) {
	const char *at = line, *end = line + size;
	words->count = 0;
	size_t time = SIZE_MAX;
	while (words->count < MOST_WORDS && !(time != SIZE_MAX && words->count > time + 3)) {
		while (at < end && is_blank(*at))
			at++;
		if (at == end)
			break;
		const char *begin = at;
		while (at < end && !is_blank(*at))
			at++;
		struct slice word = {begin, (size_t)(at - begin)};
		if (time == SIZE_MAX && word_time(word, header))
			time = words->count;
		words->words[words->count++] = word;
	}
	return time == SIZE_MAX ? words->count : time;
}

// The text of words [first, behind), including the blanks between them.
static struct slice span(const struct words *words, size_t first, size_t behind) {
	if (first >= behind)
		return (struct slice){"", 0};
	const struct slice *last = &words->words[behind - 1];
	const char *begin = words->words[first].text;
	return (struct slice){begin, (size_t)(last->text + last->size - begin)};
}

// Everything from a word to the end of the line, without trailing blanks.
static struct slice rest_from(const struct words *words, size_t first, const char *end) {
	if (first >= words->count)
		return (struct slice){"", 0};
	const char *begin = words->words[first].text;
	while (end > begin && is_blank(end[-1]))
		end--;
	return (struct slice){begin, (size_t)(end - begin)};
}

// After the time: a period, the event, and the rest.
static void take_event(const struct words *words, size_t at, const char *end, struct script_header *header) {
	uint64_t period;
	if (at < words->count && word_number(words->words[at], &period)) {
		bool last = at + 1 == words->count;
		if (last || ends_with_colon(words->words[at + 1]) ||
		    looks_like_address(words->words[at + 1])) {
			header->period = period;
			at++;
		}
	}
	if (at < words->count && ends_with_colon(words->words[at])) {
		header->event = (struct slice){words->words[at].text, words->words[at].size - 1};
		at++;
	}
	header->rest = rest_from(words, at, end);
	static const char record[] = "PERF_RECORD_";
	struct slice first = header->event.size ? header->event : header->rest;
	header->other = first.size >= sizeof(record) - 1 &&
			memcmp(first.text, record, sizeof(record) - 1) == 0;
}

// If there is a time, the task precedes it.
static void take_before_time(const struct words *words, size_t time, struct script_header *header) {
	size_t at = time;
	if (at > 0 && word_cpu(words->words[at - 1], header))
		at--;
	// At most one of the one-letter columns (-F +misc) comes between them.
	if (at > 1 && !word_task(words->words[at - 1], header) && word_task(words->words[at - 2], header))
		at--;
	if (at > 0 && word_task(words->words[at - 1], header)) {
		header->has_task = true;
		at--;
	}
	header->comm = span(words, 0, at);
	header->strict = header->has_task || header->has_cpu || time == 0;
}

// Without a time, the task is the word before the CPU, or else the first number.
static bool take_timeless(const struct words *words, const char *end, struct script_header *header) {
	size_t task = 0;
	while (task < words->count && !(task + 1 < words->count && word_cpu(words->words[task + 1], header) &&
					word_task(words->words[task], header)))
		task++;
	if (task == words->count)
		for (task = 0; task < words->count; task++)
			if (word_task(words->words[task], header) && (task > 0 || header->has_pid))
				break;
	size_t behind = task + 1 + header->has_cpu;
	if (task < words->count) {
		header->has_task = true;
		header->comm = span(words, 0, task);
		take_event(words, behind, end, header);
		header->strict = header->event.size > 0;
		return true;
	}
	size_t event = 1;
	while (event < words->count && !ends_with_colon(words->words[event]))
		event++;
	header->comm = span(words, 0, MIN(event, words->count));
	if (event < words->count)
		take_event(words, event, end, header);
	return header->comm.size < LONGEST_NAME;
}

bool script_header(const char *line, size_t size, struct script_header *header) {
	struct words words;
	*header = (struct script_header){.comm = {"", 0}, .event = {"", 0}, .rest = {"", 0}};
	size_t time = split(line, size, &words, header);
	if (words.count == 0)
		return false;
	if (time == words.count)
		return take_timeless(&words, line + size, header);
	take_before_time(&words, time, header);
	take_event(&words, time + 1, line + size, header);
	return true;
}

// ---- the frame after the event ----

static bool is_hexadecimal(struct slice word) {
	for (size_t i = 0; i < word.size; i++)
		if (!is_digit(word.text[i]) && !(word.text[i] >= 'a' && word.text[i] <= 'f'))
			return false;
	return word.size >= 1 && word.size <= 16;
}

// perf right-aligns addresses and weights in 16 columns; a name or part of one follows a single blank.
static bool is_column(const char *begin, struct slice word) {
	return is_hexadecimal(word) &&
	       (word.size == 16 || word.text == begin || (word.text - begin >= 2 && is_blank(word.text[-2])));
}

// "4K": the size of a page (-F data_page_size)
static bool is_page_size(struct slice word) {
	return word.size >= 2 && is_digit(word.text[0]) && strchr("KMG", word.text[word.size - 1]);
}

// Of the columns with hexadecimal numbers, the instruction pointer is the last one with a module after it, or
// else the last one with a name, or else the last one: physical addresses may come after the module.
struct slice script_own_frame(struct slice rest) {
	const char *at = rest.text, *end = at + rest.size;
	const char *column = NULL, *with_name = NULL, *with_module = NULL;
	bool after_column = false;
	while (at < end) {
		while (at < end && is_blank(*at))
			at++;
		struct slice word = {at, 0};
		while (at < end && !is_blank(*at))
			at++;
		word.size = (size_t)(at - word.text);
		if (word.size == 0)
			break;
		if (is_column(rest.text, word)) {
			column = word.text;
			after_column = true;
			continue;
		}
		if (!column) // other text, as of a tracepoint
			break;
		if (after_column && word.text[0] != '|' && !is_page_size(word))
			with_name = column;
		after_column = false;
		if (with_name == column && word.text[0] == '(')
			with_module = column;
	}
	const char *frame = with_module ? with_module : with_name ? with_name : column;
	return frame ? (struct slice){frame, (size_t)(end - frame)} : (struct slice){"", 0};
}
