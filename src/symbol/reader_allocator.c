// For watching an allocator from outside: its functions are where a hostile file says, but inside that file.
#include "symbol/reader.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static bool are_inside(const struct allocator_symbols *symbols, int file) {
	struct stat status;
	bool inside = fstat(file, &status) == 0;
	for (size_t i = 0; i < symbols->count && inside; i++)
		inside = symbols->places[i].offset < (uint64_t)status.st_size;
	return inside;
}

int reader_allocator(struct reader *reader, int file, bool is_program, struct allocator_symbols *symbols) {
	const struct question question = {.kind = QUESTION_ALLOCATOR, .address = is_program};
	const struct answer *answer;
	int error = reader_ask(reader, &question, file, "", &answer);
	if (error)
		return error;
	if (answer->kind != ANSWER_ALLOCATOR || !are_inside(&answer->allocator, file)) {
		reader_stop(reader, "the reader process gave no proper answer");
		return -EPROTO;
	}
	*symbols = answer->allocator;
	return 0;
}
