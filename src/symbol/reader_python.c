// For the frames of Python's interpreter: the places where a hostile file says they are found. They are in
// the memory of the process that runs this file, which may have anything there anyway.
#include "symbol/reader.h"

#include <errno.h>

int reader_python(struct reader *reader, int file, uint64_t offset, struct python_symbols *symbols) {
	const struct question question = {.kind = QUESTION_PYTHON, .address = offset};
	const struct answer *answer;
	int error = reader_ask(reader, &question, file, "", &answer);
	if (error)
		return error;
	if (answer->kind != ANSWER_PYTHON) {
		reader_stop(reader, "the reader process gave no proper answer");
		return -EPROTO;
	}
	*symbols = answer->python;
	return 0;
}
