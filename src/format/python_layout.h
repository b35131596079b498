// Where CPython keeps the frames of its threads: written by the loader, read by python.bpf.c. Offsets are in
// bytes and differ between minor versions only.
#pragma once

#include "format/record.h"

// How a frame says that the C function of the interpreter began with it.
enum python_entries {
	PYTHON_ENTRY_ALWAYS, // before 3.11, each frame has a C function of its own
	PYTHON_ENTRY_FLAG,   // 3.11: a byte of the frame
	PYTHON_ENTRY_SHIM,   // since 3.12: a frame without code comes after it
};

// How a frame says where it is.
enum python_position {
	PYTHON_BYTE,    // an int: the offset in its code
	PYTHON_NUMBER,  // an int: the number of the instruction
	PYTHON_POINTER, // the address of the instruction
};

struct python_layout {
	uint16_t main;         // of the runtime: the main interpreter
	uint16_t threads;      // of the interpreter: its first thread
	uint16_t next, id;     // of a thread: the next one; pthread_self()
	uint16_t frame;        // of a thread: the innermost frame, or what leads there
	uint16_t inner;        // if `indirect`: of that, the innermost frame
	uint16_t frame_size;   // as far as it is read
	uint16_t code;         // of a frame
	uint16_t previous;     // of a frame: its caller's
	uint16_t position;     // of a frame: enum python_position
	uint16_t entry;        // of a frame: a byte
	uint16_t first_line;   // of the code
	uint16_t file, name;   // of the code: strings
	uint16_t lines;        // of the code: bytes that map instructions to lines
	uint16_t instructions; // of the code
	uint16_t ascii, text;  // of a string: its ASCII characters, or its other ones
	uint8_t indirect;
	uint8_t entries;    // enum python_entries
	uint8_t positions;  // enum python_position
	uint8_t line_table; // enum python_lines
};

struct python_process {
	uint64_t runtime;   // address of _PyRuntime
	uint64_t code_type; // address of PyCode_Type: what is not of this type is no code
	struct python_layout layout;
};
