// For the tables with which stacks are unwound while the test runs. A file is opened in the reader for one
// question after the other, and not kept there.
#include "symbol/reader.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static const struct question closing = {.kind = QUESTION_CLOSE};

static int open_code(struct reader *reader, int file, const char *path, const struct answer **answer) {
	const struct question question = {.kind = QUESTION_CODE};
	int error = reader_ask(reader, &question, file, path, answer);
	if (error)
		log_verbose("cannot read the code of %s: %s", path, reader_problem(reader));
	else if ((*answer)->kind != ANSWER_OPENED || !(*answer)->value)
		error = -ENOEXEC;
	return error;
}

struct elf_object *reader_open_code(struct reader *reader, const char *path) {
	const struct answer *answer;
	struct elf_object *object = NULL;
	int file = elf_find_file(path, -1);
	if (file < 0)
		return NULL;
	if (!open_code(reader, file, path, &answer)) {
		size_t size = answer->count * sizeof(*answer->segments);
		object = memory_alloc(sizeof(*object));
		*object = answer->opened;
		object->segments = memory_alloc(size + 1);
		memcpy(object->segments, answer->segments, size);
		object->files[0] = file;
	} else {
		close(file);
	}
	reader_tell(reader, &closing);
	return object;
}

int reader_rows(struct reader *reader, const struct elf_object *object, uint64_t *base, unwind_take_row *take,
		void *context) {
	const struct question question = {.kind = QUESTION_ROWS};
	const struct answer *answer;
	enum { MOST_ROWS = 1 << 24 };
	size_t taken = 0;
	char itself[64]; // where its debug file is looked for
	snprintf(itself, sizeof(itself), "/proc/self/fd/%d", object->files[0]);
	int error = open_code(reader, object->files[0], itself, &answer);
	if (!error)
		error = reader_ask(reader, &question, -1, itself, &answer);
	while (!error && answer->kind == ANSWER_ROWS && answer->count) {
		*base = answer->address;
		for (uint32_t i = 0; i < answer->count; i++)
			take(context, &answer->rows[i]);
		taken += answer->count;
		if (taken > MOST_ROWS)
			reader_stop(reader, "it has too many unwind rows");
		error = taken > MOST_ROWS ? -E2BIG : reader_next(reader, &answer);
	}
	reader_tell(reader, &closing);
	return error;
}
