# Cases from inside a test program, in other languages: pytest, Rust, Go.
# Each has up to three cases: one passes, one fails, one is skipped where the framework can.
. "$(dirname "$0")/lib.sh"
need_root
need_command jq
export TRACELET_MARK_LIBRARY=${TRACELET_MARK_LIBRARY:-$(dirname "$TRACELET")/libtracelet-mark.so}
export PYTHONDONTWRITEBYTECODE=1
python=python3 # the one that has pytest, as there may be several
$python -c "import pytest" 2>/dev/null || python=/usr/bin/python3


# try NAME STATUS CASES COMMAND...: a traced test program, its exit status, and its cases: how many passed, failed, were skipped.
try() {
	local name=$1 expected=$2 counts=$3
	shift 3
	rm -rf tracelet-out
	check_run "$name: the test's status" "$expected" "$TRACELET" run --name whole -- "$@"
	check_match "$name: $counts" "cases +$counts" "$stderr"
}

# traces PATTERN...: each case has a trace of its own.
traces() {
	local pattern
	for pattern; do
		check "with a trace: $pattern" "$TRACELET" check tracelet-out/*$pattern*.pb
	done
}

# ---- pytest ----

if $python -c 'import pytest' 2>/dev/null; then
	cat >test_sample.py <<-'END'
		import pytest
		def test_good(tracelet):
		    with tracelet.slice("load"):
		        tracelet.mark("cold")
		        tracelet.counter("queue", 3)
		def test_bad():
		    assert 1 + 1 == 3
		@pytest.mark.skip
		def test_not():
		    pass
	END
	export PYTHONPATH=$source/share/python
	try pytest 1 "1 passed, 1 failed, 1 skipped" $python -m pytest -q -p pytest_tracelet -p no:cacheprovider
	traces good bad
	check_match "its phases are in the trace" load <(for trace in tracelet-out/whole_*.pb; do "$TRACELET" dump "$trace"; done)
	check_run "without tracelet the plugin does nothing" 1 $python -m pytest -q -p pytest_tracelet -p no:cacheprovider
	check_match "and tests run" '1 failed, 1 passed, 1 skipped' "$stdout"
	check_run "without its library it says so" 1 env TRACELET_MARK_LIBRARY=none TRACELET=none PATH=/usr/bin:/bin \
		"$TRACELET" run -q -- $python -m pytest -q -p pytest_tracelet -p no:cacheprovider
	check_match "and what to do" 'set TRACELET_MARK_LIBRARY' "$stdout"
	if $python -c 'import xdist' 2>/dev/null; then
		try "pytest with xdist" 1 "1 passed, 1 failed, 1 skipped" $python -m pytest -q -n 2 -p pytest_tracelet -p no:cacheprovider
		traces good bad
	else
		skip "pytest with xdist" "there is no xdist here"
	fi
	unset PYTHONPATH
else
	skip pytest "there is no pytest here"
fi

# ---- Rust ----

if command -v cargo >/dev/null; then
	fresh
	cp -r "$source/share/rust" tracelet
	mkdir -p sample/src
	printf '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\ntracelet = { path = "../tracelet" }\n' >sample/Cargo.toml
	cat >sample/src/lib.rs <<-'END'
		#[test]
		fn good() {
		    let _case = tracelet::case("sample::good");
		    let _load = tracelet::slice("load");
		    tracelet::mark("cold");
		}
		#[test]
		fn bad() {
		    let _case = tracelet::case("sample::bad");
		    assert_eq!(1 + 1, 3);
		}
	END
	check "the crate compiles, without warnings" env RUSTFLAGS=-Dwarnings CARGO_HOME="$PWD/cargo" \
		cargo test -q --offline --no-run --lib --manifest-path sample/Cargo.toml
	program=$(find sample/target/debug/deps -name 'sample-*' -executable -type f)
	try Rust 101 "1 passed, 1 failed" "$program"
	traces good bad
	check "without tracelet the crate does nothing" "$program" good
else
	skip Rust "there is no cargo here"
fi

# ---- Go ----

if command -v go >/dev/null; then
	fresh
	mkdir sample
	cp -r "$source/share/go/tracelet" tracelet
	printf 'module sample\n\ngo 1.18\n\nrequire tracelet v0.0.0\n\nreplace tracelet => ../tracelet\n' >sample/go.mod
	cat >sample/sample_test.go <<-'END'
		package sample

		import (
			"testing"
			"tracelet"
		)

		func TestGood(t *testing.T) {
			tracelet.Case(t)
			defer tracelet.Slice("load")()
			tracelet.Mark("cold")
			tracelet.Counter("queue", 3)
		}
		func TestBad(t *testing.T) {
			tracelet.Case(t)
			t.Error("bad")
		}
		func TestNot(t *testing.T) {
			tracelet.Case(t)
			t.Skip("not")
		}
	END
	export CGO_CFLAGS=-I$source/include GOFLAGS=-mod=mod GOCACHE=${GOCACHE:-$work_root/go} GOPROXY=off
	check "the package compiles" sh -c 'cd sample && go vet ./... && go test -c -o ../sample.test'
	try Go 1 "1 passed, 1 failed, 1 skipped" ./sample.test
	traces Good Bad
else
	skip Go "there is no go here"
fi

done_testing
