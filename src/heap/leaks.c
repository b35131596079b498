#include "heap/leaks.h"

#include "base/log.h"
#include "base/map.h"
#include "base/text.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Memory kept for reuse and never freed: not a leak of the program.
static const char *const our_own[] = {
	"^ld-linux*!*", // modules, and thread-local data
	"^ld-musl*!*",
	"libc.so*!_IO_*file_doallocate", // buffers of standard streams
	"libc.so*!__cxa_*at*exit*",
	"libc.so*!*atexit",
	"libc.so*!on_exit",
	"libc.so*!setlocale",
	"libc.so*!*newlocale",
	"libc.so*!*textdomain*",
	"libc.so*!*gettext*",
	"libc.so*!getpw*",
	"libc.so*!getgr*",
	"libc.so*!gethostby*",
	"libc.so*!getserv*",
	"libc.so*!*tzset*",
	"libc.so*!*localtime*",
	"libc.so*!mktime",
	"libc.so*!setenv",
	"libc.so*!putenv",
	"libc.so*!__add_to_environ",
	"libc.so*!dlerror",
	"libc.so*!*syslog",
	"libc.so*!pthread_create*",
	"^libstdc++.so*!* < ld-linux*!*", // emergency memory for exceptions, allocated when the library is
					  // loaded
	"libstdc++.so*!__cxa_get_globals",
	"libstdc++.so*!std::locale::*",
};

// ---- patterns ----

static void take_step(struct heap_suppression *suppression, const char *text) {
	const char *mark = strchr(text, '!');
	suppression->steps = memory_resize_items(suppression->steps, suppression->step_count + 1,
						 sizeof(*suppression->steps));
	suppression->steps[suppression->step_count++] = (struct heap_pattern){
		.module = mark ? memory_format("%.*s", (int)(mark - text), text) : memory_string("*"),
		.function = memory_string(mark ? mark + 1 : text),
	};
}

static void take_pattern(struct heap_suppressions *suppressions, const char *line, unsigned number) {
	static const char separator[] = " < ";
	struct heap_suppression suppression = {.innermost = *line == '^', .line = number};
	CLEANUP_FREE char *copy = memory_string(line + suppression.innermost);
	for (char *step = copy, *next; step; step = next) {
		next = suppression.innermost ? strstr(step, separator) : NULL;
		if (next) {
			*next = 0;
			next += sizeof(separator) - 1;
		}
		take_step(&suppression, step);
	}
	array_push(&suppressions->items, suppression);
}

// AddressSanitizer's patterns: match in a function's name, or in a module's.
static void take_text(struct heap_suppressions *suppressions, const char *text, unsigned number) {
	CLEANUP_FREE char *function = memory_format("*%s*", text);
	CLEANUP_FREE char *module = memory_format("*%s*!*", text);
	take_pattern(suppressions, function, number);
	take_pattern(suppressions, module, number);
}

// What is wrong with a line; NULL if nothing.
static const char *fault_of(const char *line) {
	static const char *const of_valgrind[] = {"{", "}", "fun:", "obj:", "Memcheck:", "match-leak-kinds:"};
	for (size_t i = 0; i < ARRAY_SIZE(of_valgrind); i++)
		if (strncmp(line, of_valgrind[i], strlen(of_valgrind[i])) == 0)
			return "this is valgrind's format; here each line is a pattern for a function, or "
			       "MODULE!FUNCTION";
	line += *line == '^';
	if (*line == '!' || !*line || line[strlen(line) - 1] == '!' || strstr(line, " <  < "))
		return "a pattern is empty";
	return NULL;
}

static int take_line(struct heap_suppressions *suppressions, const char *line, const char *path,
		     unsigned number) {
	static const char sanitizers[] = "leak:";
	const char *fault = fault_of(line);
	if (fault) {
		log_error("%s: line %u: %s", path, number, fault);
		return -EINVAL;
	}
	if (strncmp(line, sanitizers, sizeof(sanitizers) - 1) == 0)
		take_text(suppressions, line + sizeof(sanitizers) - 1, number);
	else
		take_pattern(suppressions, line, number);
	return 0;
}

static char *trimmed(char *line) {
	line[strcspn(line, "#\n\r")] = 0;
	size_t length = strlen(line);
	while (length && strchr(" \t", line[length - 1]))
		line[--length] = 0;
	return line + strspn(line, " \t");
}

static int load_file(struct heap_suppressions *suppressions, const char *path) {
	CLEANUP_FREE char *line = NULL;
	size_t room = 0;
	unsigned number = 0;
	int bad = 0;
	FILE *file = fopen(path, "re");
	if (!file) {
		int error = errno;
		log_error("%s: cannot be read: %s", path, strerror(error));
		return -error;
	}
	errno = 0;
	while (!bad && getline(&line, &room, file) >= 0) {
		const char *pattern = trimmed(line);
		number++;
		if (*pattern)
			bad = take_line(suppressions, pattern, path, number);
		errno = 0;
	}
	int error = ferror(file) ? -errno : 0;
	fclose(file);
	if (error)
		log_error("%s: cannot be read: %s", path, strerror(-error));
	return error ? error : bad;
}

int heap_suppressions_load(struct heap_suppressions *suppressions, const char *path) {
	*suppressions = (struct heap_suppressions){0};
	for (size_t i = 0; i < ARRAY_SIZE(our_own); i++)
		take_pattern(suppressions, our_own[i], 0);
	return path ? load_file(suppressions, path) : 0;
}

void heap_suppressions_free(struct heap_suppressions *suppressions) {
	for (size_t i = 0; i < suppressions->items.count; i++) {
		struct heap_suppression *suppression = &suppressions->items.items[i];
		for (size_t k = 0; k < suppression->step_count; k++) {
			free(suppression->steps[k].module);
			free(suppression->steps[k].function);
		}
		free(suppression->steps);
	}
	array_free(&suppressions->items);
}

static bool matches(const struct heap_pattern *pattern, const struct heap_label *label) {
	const char *slash = strrchr(label->module, '/');
	return fnmatch(pattern->function, label->function, 0) == 0 &&
	       (fnmatch(pattern->module, label->module, 0) == 0 ||
		(slash && fnmatch(pattern->module, slash + 1, 0) == 0));
}

static const struct heap_label *label_at(const struct heap_made *made, const struct dhat_point *point,
					 size_t index) {
	return &made->labels.items[made->profile.stacks.items[point->first_frame + index]];
}

static bool hides(const struct heap_suppression *suppression, const struct heap_made *made,
		  const struct dhat_point *point) {
	size_t begins = suppression->innermost ? 1 : point->frame_count;
	for (size_t at = 0; at < begins; at++) {
		size_t step = 0;
		while (step < suppression->step_count && at + step < point->frame_count &&
		       matches(&suppression->steps[step], label_at(made, point, at + step)))
			step++;
		if (step == suppression->step_count)
			return true;
	}
	return false;
}

static bool hidden(struct heap_suppressions *suppressions, const struct heap_made *made,
		   const struct dhat_point *point) {
	for (size_t i = 0; i < suppressions->items.count; i++)
		if (hides(&suppressions->items.items[i], made, point))
			return suppressions->items.items[i].used = true;
	return false;
}

void heap_suppressions_report_unused(const struct heap_suppressions *suppressions, const char *path) {
	for (size_t i = 0; i < suppressions->items.count; i++) {
		const struct heap_suppression *one = &suppressions->items.items[i];
		bool used = one->used;
		for (size_t k = 0; k < suppressions->items.count; k++) // one line may become two patterns
			used |= suppressions->items.items[k].line == one->line &&
				suppressions->items.items[k].used;
		if (one->line && !used && (i == 0 || suppressions->items.items[i - 1].line != one->line))
			log_verbose("%s: line %u hides no leak", path, one->line);
	}
}

// ---- leaks ----

// Points whose stacks have the same names: calls from different lines of a function.
struct place {
	uint64_t bytes, blocks;
	const struct dhat_point *point; // the first of them
};

typedef ARRAY(struct place) place_array;

// Without its address.
static const char *name_at(const struct heap_made *made, const struct dhat_point *point, size_t index) {
	const char *frame =
		made->profile.frames.items[made->profile.stacks.items[point->first_frame + index]];
	const char *name = strstr(frame, ": ");
	return name ? name + 2 : frame;
}

static uint64_t hash_of(const struct heap_made *made, const struct dhat_point *point) {
	uint64_t hash = point->frame_count;
	for (size_t i = 0; i < point->frame_count; i++) {
		const char *name = name_at(made, point, i);
		uint64_t parts[] = {hash, hash_bytes(name, strlen(name))};
		hash = hash_bytes(parts, sizeof(parts));
	}
	return hash;
}

static bool same_names(const struct heap_made *made, const struct dhat_point *a, const struct dhat_point *b) {
	bool same = a->frame_count == b->frame_count;
	for (size_t i = 0; same && i < a->frame_count; i++)
		same = strcmp(name_at(made, a, i), name_at(made, b, i)) == 0;
	return same;
}

static struct place *place_of(place_array *places, struct map *index, const struct heap_made *made,
			      const struct dhat_point *point) {
	uint64_t *known = map_put(index, hash_of(made, point));
	if (*known && same_names(made, places->items[*known - 1].point, point))
		return &places->items[*known - 1];
	array_push(places, (struct place){.point = point});
	*known = places->count;
	return &places->items[places->count - 1];
}

// Appends the stack in dhat's form, without addresses.
static void tell(struct buffer *text, const struct heap_made *made, const struct place *place,
		 size_t most_frames) {
	buffer_printf(text, "%" PRIu64 " byte%s in %" PRIu64 " block%s, allocated in\n", place->bytes,
		      place->bytes == 1 ? "" : "s", place->blocks, place->blocks == 1 ? "" : "s");
	for (size_t i = 0; i < place->point->frame_count; i++) {
		if (i == most_frames) {
			buffer_printf(text, "    ...\n");
			break;
		}
		text_append_line(text, "    %s", name_at(made, place->point, i));
	}
}

static int by_bytes(const void *left, const void *right) {
	const struct place *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return a->point < b->point ? -1 : a->point > b->point;
}

// Sums up what was left, and collects the places of leaks that are not hidden.
static void find_places(struct heap_leaks *leaks, const struct heap_made *made,
			struct heap_suppressions *suppressions, place_array *places) {
	struct map index = {0};
	for (size_t i = 0; i < made->profile.points.count; i++) {
		const struct dhat_point *point = &made->profile.points.items[i];
		uint64_t blocks = point->end_blocks - point->reached_blocks;
		uint64_t bytes = point->end_bytes - point->reached_bytes;
		leaks->reached_blocks += point->reached_blocks;
		leaks->reached_bytes += point->reached_bytes;
		if (!blocks)
			continue;
		bool known = hidden(suppressions, made, point);
		*(known ? &leaks->hidden_blocks : &leaks->blocks) += blocks;
		*(known ? &leaks->hidden_bytes : &leaks->bytes) += bytes;
		if (known)
			continue;
		struct place *place = place_of(places, &index, made, point);
		place->bytes += bytes;
		place->blocks += blocks;
	}
	map_free(&index);
}

void heap_leaks_add(struct heap_leaks *leaks, const struct heap_made *made,
		    struct heap_suppressions *suppressions, const char *whose) {
	enum { SHOWN = 10, SHOWN_FRAMES = 12 };
	place_array found = {0};
	find_places(leaks, made, suppressions, &found);
	if (found.count)
		qsort(found.items, found.count, sizeof(*found.items), by_bytes);
	if (found.count && whose) {
		text_append_line(&leaks->text, "process %" PRIu32 ": %s", made->profile.pid, whose);
		buffer_text(&leaks->text, "\n");
	}
	for (size_t i = 0; i < found.count; i++) {
		tell(&leaks->text, made, &found.items[i], SIZE_MAX);
		buffer_printf(&leaks->text, "\n");
		if (leaks->places++ < SHOWN)
			tell(&leaks->beginning, made, &found.items[i], SHOWN_FRAMES);
	}
	array_free(&found);
}

static void describe_sum(struct buffer *words, const char *what, uint64_t bytes, uint64_t blocks) {
	buffer_printf(words, "tracelet: %s: %" PRIu64 " byte%s in %" PRIu64 " block%s", what, bytes,
		      bytes == 1 ? "" : "s", blocks, blocks == 1 ? "" : "s");
}

void heap_leaks_describe(const struct heap_leaks *leaks, struct buffer *words) {
	if (leaks->reached_blocks) {
		describe_sum(words, "not freed, but still reachable", leaks->reached_bytes,
			     leaks->reached_blocks);
		buffer_printf(words, "\n");
	}
	if (!leaks->blocks)
		return;
	describe_sum(words, "leaked", leaks->bytes, leaks->blocks);
	buffer_printf(words, ", from %" PRIu64 " place%s\n", leaks->places, leaks->places == 1 ? "" : "s");
	buffer_append(words, leaks->beginning.data, leaks->beginning.size);
}

void heap_leaks_free(struct heap_leaks *leaks) {
	buffer_free(&leaks->text);
	buffer_free(&leaks->beginning);
}
