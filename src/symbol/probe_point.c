// The kernel emulates pushes, jumps, calls and one-byte nops (uprobes on x86). Most functions
// have one soon; the instructions before it may be skipped if they do not change the arguments,
// the stack or the frame pointer and are not jumps. Only instructions that compilers actually
// put there are known.
#include "symbol/probe_point.h"

#include <stdbool.h>
#include <string.h>

enum { REX = 0x40, REX_WIDE = 8, REX_REG = 4, REX_BASE = 1, EXTENDED = 8 };
enum { DX = 2, SP = 4, BP = 5, SI = 6, DI = 7 };

static bool is_needed(unsigned reg) {
	return reg == DX || reg == SP || reg == BP || reg == SI || reg == DI;
}

static bool is_carried_out(const uint8_t *code, size_t size) {
	uint8_t second = size > 1 ? code[1] : 0;
	if ((*code & 0xf0) == REX) // 41 50: push %r8
		return (*code & ~REX_BASE) == REX && second >= 0x50 && second <= 0x57;
	return (*code >= 0x50 && *code <= 0x57) || (*code >= 0x70 && *code <= 0x7f) || *code == 0x90 ||
	       *code == 0xe8 || *code == 0xe9 || *code == 0xeb ||
	       (*code == 0x0f && second >= 0x80 && second <= 0x8f);
}

// The length of an instruction on two registers, both named in one byte; 0 if it is not one.
static size_t length_of_registers(uint8_t rex, const uint8_t *code, size_t size) {
	if (size < 2 || code[1] < 0xc0)
		return 0;
	unsigned reg = (code[1] >> 3 & 7) | (rex & REX_REG ? EXTENDED : 0);
	unsigned base = (code[1] & 7) | (rex & REX_BASE ? EXTENDED : 0);
	switch (*code) {
	case 0x85: // test
	case 0x39: // cmp
	case 0x3b:
		return 2;
	case 0x89: // mov
	case 0x31: // xor
	case 0x01: // add
	case 0x29: // sub
		return is_needed(base) ? 0 : 2;
	case 0x8b: // mov
		return is_needed(reg) ? 0 : 2;
	case 0x83: // cmp with a byte
		return (code[1] >> 3 & 7) == 7 ? 3 : 0;
	case 0x81: // cmp with a number
		return (code[1] >> 3 & 7) == 7 ? 6 : 0;
	default:
		return 0;
	}
}

// The same for memory addressed relative to the instruction: loads of global variables, and
// comparisons.
static size_t length_of_global(uint8_t rex, const uint8_t *code, size_t size) {
	if (size < 2 || (code[1] & 0xc7) != 0x05)
		return 0;
	unsigned reg = (code[1] >> 3 & 7) | (rex & REX_REG ? EXTENDED : 0);
	switch (*code) {
	case 0x8b: // mov
	case 0x8d: // lea
		return is_needed(reg) ? 0 : 6;
	case 0x80: // cmp with a byte
	case 0x83:
		return (reg & 7) == 7 ? 7 : 0;
	case 0x3b: // cmp
	case 0x39:
		return 6;
	default:
		return 0;
	}
}

// The length of an instruction that may be skipped; 0 if it may not be, or is unknown.
static size_t passable(const uint8_t *code, size_t size) {
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	if (size >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0)
		return sizeof(endbr64);
	uint8_t rex = size && (*code & 0xf0) == REX ? *code : 0;
	size_t prefix = rex ? 1 : 0;
	if (!rex && size && *code == 0xb8) // mov $NUMBER, %eax
		return 5;
	size_t length = length_of_registers(rex, code + prefix, size - prefix);
	if (!length)
		length = length_of_global(rex, code + prefix, size - prefix);
	return length ? prefix + length : 0;
}

size_t probe_point(const uint8_t *code, size_t size) {
	size_t at = 0;
	while (at < size && !is_carried_out(code + at, size - at)) {
		size_t length = passable(code + at, size - at);
		if (!length)
			return 0;
		at += length;
	}
	return at < size ? at : 0;
}
