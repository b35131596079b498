//go:build linux && cgo

package tracelet

// #include <stdlib.h>
// #include <tracelet/mark.h>
// static void go_mark(const char *text) { tl_mark(text); }
// static void go_slice_begin(const char *name) { tl_slice_begin(name); }
// static void go_slice_end(void) { tl_slice_end(); }
// static void go_counter(const char *name, double value) { tl_counter(name, value); }
// static void go_test_begin(const char *name) { tl_test_begin(name); }
// static void go_test_end(int result) { tl_test_end(result); }
import "C"

import "unsafe"

func with(text string, call func(*C.char)) {
	copied := C.CString(text)
	defer C.free(unsafe.Pointer(copied))
	call(copied)
}

func mark(text string)       { with(text, func(t *C.char) { C.go_mark(t) }) }
func sliceBegin(name string) { with(name, func(t *C.char) { C.go_slice_begin(t) }) }
func sliceEnd()              { C.go_slice_end() }
func testBegin(name string)  { with(name, func(t *C.char) { C.go_test_begin(t) }) }
func testEnd(result int)     { C.go_test_end(C.int(result)) }
func counter(name string, value float64) {
	with(name, func(t *C.char) { C.go_counter(t, C.double(value)) })
}
