// The loop of the reader process. Modules are numbered by the process that asks, which is trusted; the files
// are not. Whatever goes wrong here ends the process, and the asking side goes on without names.
#include "symbol/reader.h"

#include "symbol/confine.h"
#include "symbol/cut_files.h"
#include "symbol/debug_file.h"
#include "symbol/elf_unwind.h"
#include "symbol/jit.h"
#include "symbol/image.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static struct {
	struct names *names;
	ARRAY(struct elf_object *) modules; // NULL if there is none
	struct buffer out;
	uint32_t confined; // READER_HAS_ bits
} self;

// ---- packets ----

// Ends the process if the other side is gone.
static void send_packet(void) {
	struct iovec bytes = {self.out.data, self.out.size};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
	ssize_t sent;
	while ((sent = sendmsg(0, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	if (sent < 0)
		_exit(1);
}

static int received_file(struct msghdr *message) {
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	int file = -1;
	if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS)
		memcpy(&file, CMSG_DATA(control), sizeof(file));
	return file;
}

static struct question receive(int *file) {
	struct question question;
	struct iovec bytes = {&question, sizeof(question)};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct msghdr message = {.msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t got;
	while ((got = recvmsg(0, &message, 0)) < 0 && errno == EINTR)
		;
	if (got != sizeof(question))
		_exit(got ? 1 : 0);
	*file = received_file(&message);
	question.build_id[BUILD_ID_TEXT - 1] = 0;
	return question;
}

// ---- files ----

// For debug_file.h: the other side opens them.
static int ask_for_file(const struct debug_wanted *wanted, unsigned *index) {
	int file;
	answer_write_want(&self.out, wanted->kind, *index, wanted->text);
	send_packet();
	struct question given = receive(&file);
	*index = (unsigned)given.address;
	return file;
}

static struct elf_object *open_module(const struct question *question, int file) {
	static const char somewhere[] = "/"; // the other side knows its path
	switch (question->kind) {
	case QUESTION_ELF:
		return elf_open_file(file, somewhere, question->build_id);
	case QUESTION_CODE:
		return elf_open_code_file(file, somewhere);
	case QUESTION_JIT:
		return jit_open_file(file);
	case QUESTION_IMAGE:
		return image_open_file(file, question->build_id, question->address);
	default:
		return names_open_vdso(question->build_id);
	}
}

static void answer_open(const struct question *question, int file) {
	while (self.modules.count <= question->module)
		array_push(&self.modules, NULL);
	struct elf_object *object = open_module(question, file);
	self.modules.items[question->module] = object;
	answer_write_opened(&self.out, object);
}

static void answer_allocator(bool is_program, int file) {
	static struct allocator_symbols symbols;
	elf_version(EV_CURRENT);
	Elf *elf = section_elf_of(&file);
	symbols = (struct allocator_symbols){.is_other_machine = true};
	if (elf)
		allocator_symbols_read(&symbols, elf, is_program);
	section_close_elf(elf, file);
	answer_write_allocator(&self.out, &symbols);
}

static void answer_python(uint64_t offset, int file) {
	struct python_symbols symbols = {0};
	elf_version(EV_CURRENT);
	Elf *elf = section_elf_of(&file);
	if (elf)
		python_symbols_read(&symbols, elf, offset);
	section_close_elf(elf, file);
	answer_write_python(&self.out, &symbols);
}

static void close_module(uint32_t number) {
	if (number >= self.modules.count || !self.modules.items[number])
		return;
	struct elf_object *object = self.modules.items[number];
	self.modules.items[number] = NULL;
	unwind_table_free(object->unwind);
	inlined_table_free(object->inlined);
	elf_close(object);
}

// ---- addresses ----

static void answer_functions(struct elf_object *object, uint64_t address, bool inlined) {
	struct code_range range = CODE_RANGE_ALL;
	struct named found[MOST_NAMED];
	size_t count = names_functions_around(self.names, object, address, inlined, found, &range);
	answer_write_named(&self.out, &range, found, count);
}

static void answer_sources(struct elf_object *object, uint64_t address, bool declarations) {
	struct code_range range = CODE_RANGE_ALL;
	struct named found[MOST_NAMED] = {0};
	struct source sources[MOST_NAMED];
	struct inlined_table *table = names_debug_information(object);
	size_t count = 0;
	if (object->pdb) {
		count = image_sources(object, address, declarations, sources, &range);
	} else if (table && declarations) {
		count = declarations_around(table, address, sources, MOST_NAMED, &range);
	} else if (table) {
		count = lines_at(table, address, sources, MOST_NAMED);
		range = (struct code_range){address, address + 1};
	}
	for (size_t i = 0; i < count; i++)
		found[i].at = sources[i];
	answer_write_named(&self.out, &range, found, count);
}

static void answer_extents(struct elf_object *object) {
	static struct code_range extents[EXTENTS_IN_ANSWER];
	struct unwind_table *table = object->absolute ? NULL : elf_unwind_of(object);
	size_t all = table ? unwind_table_functions(table) : 0;
	for (size_t i = 0; i < all;) {
		size_t count = 0;
		while (i < all && count < EXTENTS_IN_ANSWER)
			extents[count++] = unwind_table_function(table, i++);
		answer_write_extents(&self.out, extents, count);
		send_packet();
	}
	answer_write_extents(&self.out, NULL, 0);
}

// ---- rows ----

static void answer_row(struct elf_object *object, uint64_t address) {
	struct code_range range = CODE_RANGE_ALL;
	struct unwind_row row;
	bool known = !object->absolute && elf_unwind_of(object) &&
		     unwind_row_around(object->unwind, address, &row, &range);
	answer_write_rows(&self.out, &range, 0, &row, known);
}

struct sending {
	uint64_t base;
	size_t count;
	struct unwind_row rows[ROWS_IN_ANSWER];
};

static void send_rows(struct sending *sending) {
	answer_write_rows(&self.out, &CODE_RANGE_ALL, sending->base, sending->rows, sending->count);
	send_packet();
	sending->count = 0;
}

static void take_row(void *context, const struct unwind_row *row) {
	struct sending *sending = context;
	sending->rows[sending->count++] = *row;
	if (sending->count == ROWS_IN_ANSWER)
		send_rows(sending);
}

static void answer_rows(struct elf_object *object) {
	static struct sending sending;
	struct unwind_table *table = elf_unwind_of(object);
	sending.base = table ? unwind_table_base(table) : 0;
	if (table)
		unwind_table_each_row(table, take_row, &sending);
	if (sending.count)
		send_rows(&sending);
	answer_write_rows(&self.out, &CODE_RANGE_ALL, sending.base, NULL, 0);
}

// ---- the other side is gone ----

// Nothing ends a process that computes when the one that waits for it is killed. Called once for each second
// of CPU time.
static void end_if_alone(int number) {
	int before = errno;
	char byte;
	struct iovec bytes = {&byte, 1};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
	if (recvmsg(0, &message, MSG_PEEK | MSG_DONTWAIT) == 0)
		_exit(1);
	errno = before;
}

static void end_when_alone(void) {
	const struct itimerval each_second = {{.tv_sec = 1}, {.tv_sec = 1}};
	sigaction(SIGPROF, &(struct sigaction){.sa_handler = end_if_alone, .sa_flags = SA_RESTART}, NULL);
	setitimer(ITIMER_PROF, &each_second, NULL);
}

// ---- the whole ----

static void answer_about(const struct question *question, struct elf_object *object) {
	uint64_t address = question->address;
	switch (question->kind) {
	case QUESTION_FUNCTIONS:
	case QUESTION_INLINED:
		answer_functions(object, address, question->kind == QUESTION_INLINED);
		break;
	case QUESTION_DECLARATIONS:
	case QUESTION_LINES:
		answer_sources(object, address, question->kind == QUESTION_DECLARATIONS);
		break;
	case QUESTION_ROW:
		answer_row(object, address);
		break;
	case QUESTION_EXTENTS:
		answer_extents(object);
		break;
	case QUESTION_ROWS:
		answer_rows(object);
		break;
	default:
		_exit(1);
	}
}

static void answer(const struct question *question, int file) {
	uint32_t module = question->module;
	if (question->kind == QUESTION_HELLO)
		answer_write_hello(&self.out, self.confined);
	else if (question->kind >= QUESTION_ELF && question->kind <= QUESTION_VDSO)
		answer_open(question, file);
	else if (question->kind == QUESTION_ALLOCATOR)
		answer_allocator(question->address != 0, file);
	else if (question->kind == QUESTION_PYTHON)
		answer_python(question->address, file);
	else if (module < self.modules.count && self.modules.items[module])
		answer_about(question, self.modules.items[module]);
	else
		_exit(1);
	send_packet();
}

void reader_serve(int socket) {
	end_when_alone();
	struct confined confined = confine(socket);
	self.confined = (confined.user ? 0 : READER_HAS_NO_USER) |
			(confined.filter ? 0 : READER_HAS_NO_FILTER) |
			(confined.limited ? 0 : READER_HAS_NO_LIMITS);
	self.names = names_new();
	cut_files_survive();
	debug_files_open_by(ask_for_file);
	for (;;) {
		int file;
		struct question question = receive(&file);
		if (question.kind == QUESTION_CLOSE)
			close_module(question.module);
		else
			answer(&question, file);
	}
}
