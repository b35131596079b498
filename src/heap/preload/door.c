// The first instructions of malloc(), calloc(), realloc() and free(), which every call executes. A
// block that is not sampled goes on to the allocator by a conditional jump, the only branch here. A
// second branch, taken once in a thousand calls, would double the cost of each call: the processor
// would need two predictions. (`bench/heap.sh` measures the rest.)
//
// The allocator's address is known only when the program starts, so at first the jumps lead to an
// indirect jump. They are patched then, if the target is in reach, no other thread runs yet, and
// the system allows it. If not, they stay as they are.
#include "heap/preload/heap.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <unistd.h>

_Static_assert(offsetof(struct heap_self, countdown) == 0, "the doors count there");
_Static_assert(HEAP_MARKS == 0x4000, "the doors know this number");
_Static_assert(offsetof(struct heap_next, malloc) == 0 && offsetof(struct heap_next, free) == 8 &&
		       offsetof(struct heap_next, calloc) == 16 && offsetof(struct heap_next, realloc) == 24,
	       "the assembly uses these offsets");

#define BEGIN(name) ".globl " #name "\n.type " #name ", @function\n.p2align 6\n" #name ":\n\t.cfi_startproc\n"

#define IF_ZERO         "0x84"
#define IF_NOT_NEGATIVE "0x89"

// The jump has a label, so that its distance, which follows two opcode bytes, can be patched.
#define ALLOCATOR_IF(condition, name, place)                                                                 \
	"heap_jump_" #name ":	.byte 0x0f, " condition "\n"                                                 \
	"	.long 1f - . - 4\n"                                                                                \
	"	jmp heap_" #name "_slowly\n"                                                                 \
	"1:	jmp *heap_next+" #place "(%rip)\n"                                                           \
	"	.cfi_endproc\n"                                                                                    \
	"	.size " #name ", . - " #name "\n"

// Subtracts a quarter of %rax, plus one, from the thread's countdown. A negative size, which no
// allocator accepts, must not count upwards: without its two upper bits it does not.
#define COUNT_DOWN                                                                                           \
	"	mov heap_self@gottpoff(%rip), %rdx\n"                                                              \
	"	shr $2, %rax\n"                                                                                    \
	"	not %rax\n"                                                                                        \
	"	add %rax, %fs:(%rdx)\n"

// Is the block in %rdi marked?
#define LOOK_FOR_MARK                                                                                        \
	"	mov %edi, %eax\n"                                                                                  \
	"	lea heap_marks(%rip), %rdx\n"                                                                      \
	"	shr $4, %eax\n"                                                                                    \
	"	and $0x3fff, %eax\n"                                                                               \
	"	cmpb $0, (%rdx, %rax)\n"

// Aligned to 512 bytes and no longer than that: on one page.
__asm__(".pushsection .text.heap_doors, \"ax\", @progbits\n.p2align 9\n"
	// clang-format off
	BEGIN(malloc)
	"	lea (, %rdi, 4), %rax\n"
	COUNT_DOWN
	ALLOCATOR_IF(IF_NOT_NEGATIVE, malloc, 0)
	BEGIN(free)
	LOOK_FOR_MARK
	ALLOCATOR_IF(IF_ZERO, free, 8)
	BEGIN(calloc)
	"	mov %rdi, %rax\n"
	"	imul %rsi, %rax\n"
	"	shl $2, %rax\n"
	COUNT_DOWN
	ALLOCATOR_IF(IF_NOT_NEGATIVE, calloc, 16)
	BEGIN(realloc)
	"	lea (, %rsi, 4), %rax\n"
	COUNT_DOWN
	"	js heap_realloc_slowly\n"
	LOOK_FOR_MARK
	ALLOCATOR_IF(IF_ZERO, realloc, 24)
	// clang-format on
	".popsection\n");

extern char heap_jump_malloc[], heap_jump_free[], heap_jump_calloc[], heap_jump_realloc[];

static void lead(char *jump, uint64_t function) {
	enum { OPCODE = 2 };
	int64_t distance = (int64_t)(function - (uint64_t)(jump + OPCODE + sizeof(int32_t)));
	int32_t short_distance = (int32_t)distance;
	if (function && distance == short_distance)
		memcpy(jump + OPCODE, &short_distance, sizeof(short_distance));
}

extern char __libc_single_threaded __attribute__((weak)); // musl does not have it

void heap_doors_lead(void) {
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = (void *)((uintptr_t)heap_jump_malloc & ~(size - 1)); // NOLINT: an address
	int error = errno;
	bool alone = &__libc_single_threaded && __libc_single_threaded;
	if (alone && mprotect(page, size, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) {
		lead(heap_jump_malloc, (uint64_t)heap_next.malloc);
		lead(heap_jump_free, (uint64_t)heap_next.free);
		lead(heap_jump_calloc, (uint64_t)heap_next.calloc);
		lead(heap_jump_realloc, (uint64_t)heap_next.realloc);
		mprotect(page, size, PROT_READ | PROT_EXEC);
	}
	errno = error;
}
