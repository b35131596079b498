// Package tracelet puts the cases and phases of a Go test into its trace.
//
//	func TestParser(t *testing.T) {
//		tracelet.Case(t)            // ends with the test, with its result
//		defer tracelet.Slice("load")()
//		tracelet.Mark("cache is cold")
//	}
//
// Run it with "tracelet run -- go test ./..." or with a compiled test program. The calls do nothing unless tracelet records,
// and without cgo. They need <tracelet/mark.h> (package libtracelet-dev, or CGO_CFLAGS=-I...) and nothing to link.
package tracelet

import (
	"os"
	"runtime"
	"testing"
)

const (
	passed  = 0
	failed  = 1
	skipped = 77
)

// Active tells whether tracelet records this test.
func Active() bool {
	return os.Getenv("TRACELET_MARKS") != ""
}

// Case begins a case named after the test, and ends it with the test. The goroutine keeps its thread until then, because
// cases belong to threads.
func Case(t testing.TB) {
	t.Helper()
	if !Active() {
		return
	}
	runtime.LockOSThread()
	testBegin(t.Name())
	t.Cleanup(func() {
		result := passed
		if t.Failed() {
			result = failed
		} else if t.Skipped() {
			result = skipped
		}
		testEnd(result)
		runtime.UnlockOSThread()
	})
}

// Slice begins a bar on this thread's track; the function that it returns ends it.
func Slice(name string) func() {
	if !Active() {
		return func() {}
	}
	runtime.LockOSThread()
	sliceBegin(name)
	return func() {
		sliceEnd()
		runtime.UnlockOSThread()
	}
}

// Mark is a point in time.
func Mark(text string) {
	if Active() {
		mark(text)
	}
}

// Counter is a curve of this process.
func Counter(name string, value float64) {
	if Active() {
		counter(name, value)
	}
}
