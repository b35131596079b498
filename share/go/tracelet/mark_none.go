//go:build !linux || !cgo

package tracelet

func mark(string)             {}
func sliceBegin(string)       {}
func sliceEnd()               {}
func testBegin(string)        {}
func testEnd(int)             {}
func counter(string, float64) {}
