// A process that reads symbol files, because these come from others: programs, their debug files, the maps of
// JIT compilers. It has no rights (confine.h), gets files as descriptors, and opens nothing by name. The
// process that needs names asks it, and does not look at the files itself.
#pragma once

#include "symbol/reader_wire.h"

#include <signal.h>

#define READER_NAME "tracelet-reader" // argv[0] of our program as a reader

// The reader: answers until its socket is closed. Does not return.
__attribute__((noreturn)) void reader_serve(int socket);
// From now on, readers run this program, which calls reader_serve(0) if its name is READER_NAME. Otherwise
// they are forked.
void reader_program(const char *program);

// The side that asks. A reader is for one thread at a time.
struct reader;

struct reader *reader_new(void); // the process is started for the first question
void reader_free(struct reader *reader);

// Asks, and waits for the answer. `file`: goes with the question; or -1. `path`: of the module, where its
// debug files are looked for. 0, or -errno: the reader has died of the question, or cannot be started. The
// answer is valid until the next call.
int reader_ask(struct reader *reader, const struct question *question, int file, const char *path,
	       const struct answer **answer);
int reader_next(struct reader *reader, const struct answer **answer); // the next one, of several
void reader_tell(struct reader *reader, const struct question *question);

// Ends the process; the next question starts another one. `why`: the problem; NULL if that is to be seen from
// how the process ended.
void reader_stop(struct reader *reader, const char *why);

// The code of a file, as elf_open_code() finds it: its segments and so on, read by the reader. `files[0]` is
// the file, until elf_close() or elf_let_go(). NULL if it is no ELF file, or the reader fails on it.
struct elf_object *reader_open_code(struct reader *reader, const char *path);
// All unwind rows of that file, in order, with their `pc` counted from `*base`, which is set before the
// first. 0 or -errno: rows are missing.
int reader_rows(struct reader *reader, const struct elf_object *object, uint64_t *base, unwind_take_row *take,
		void *context);

// The functions of an allocator in an ELF file; their places are inside it. 0 or -errno.
int reader_allocator(struct reader *reader, int file, bool is_program, struct allocator_symbols *symbols);
// Where Python's interpreter is in a file, as python_symbols_read(). 0 or -errno.
int reader_python(struct reader *reader, int file, uint64_t offset, struct python_symbols *symbols);
// While this is not 0, questions end soon, with -EINTR. For signal handlers.
void reader_stop_when(struct reader *reader, const volatile sig_atomic_t *asked);

// Which of the processes started one after another is running; 0 if none. It knows only modules that were
// opened in it.
unsigned reader_running(const struct reader *reader);
const char *reader_problem(const struct reader *reader); // why the last question was not answered
pid_t reader_pid(const struct reader *reader);           // for tests

enum { READER_HAS_NO_USER = 1, READER_HAS_NO_FILTER = 2, READER_HAS_NO_LIMITS = 4 };
// How far readers are confined here: these bits, or -errno.
int reader_check(void);
