# Shortcuts for everything; meson does the build. `make` and `make install` only name
# missing packages; the targets for fresh machines install them (packages.txt is the list).

PREFIX ?= /usr/local
TIME   ?= 60

# On Debian, bpftool is in a directory that is not in an ordinary user's PATH.
export PATH := $(PATH):/usr/sbin:/sbin

BUILD := { [ -e build/build.ninja ] || meson setup build; } && ninja -C build

.PHONY: all run test test-long test-guest bench fuzz agent-arm64 deb release install uninstall format format-check clean help

all:
	@tools/packages check build
	@$(BUILD)

run:
	@tools/packages install build
	@$(BUILD)
	@demo/run

test:
	@tools/packages install build test guest
	@tools/test native sanitize windows wine fuzz guest

test-long:
	@tools/packages install build test guest release
	@tools/test long

test-guest:
	@tools/packages install build guest
	@$(BUILD)
	@tools/test guest

# Runs every executable bench/*.sh in turn; a quiet machine gives better numbers.
bench:
	@tools/packages install build bench
	@$(BUILD)
	@tools/bench

# For guests of another architecture; downloads the libraries it needs.
agent-arm64:
	@tools/packages install build guest
	@tools/agent-arm64 build-arm64

# Debian packages, with the shared libraries of the distribution, in build-deb.
deb:
	@tools/packages install build release
	@tools/deb build-deb

# Archives that run anywhere, with checksums, in build-release.
release:
	@tools/packages install build test guest release
	@tools/release build-release

fuzz:
	@tools/packages install build test
	@CC=clang tests/fuzz/run $(TIME) build-fuzz

install: all
	@meson configure build -Dprefix=$(abspath $(PREFIX))
	@ninja -C build
	@meson install -C build --no-rebuild

uninstall:
	@tools/uninstall build

format:
	@tools/packages check format
	@git ls-files -z '*.c' '*.h' | xargs -0 clang-format -i

format-check:
	@tools/packages check format
	@git ls-files -z '*.c' '*.h' | xargs -0 clang-format --dry-run -Werror

clean:
	@rm -rf build build-sanitize build-windows build-fuzz build-arm64 build-deb build-release

help:
	@echo 'make               builds build/tracelet; names missing packages'
	@echo 'make install       installs under PREFIX=/usr/local; honours DESTDIR'
	@echo 'make uninstall     removes what make install put there'
	@echo 'make format        runs clang-format on all C files (format-check: only checks)'
	@echo 'make clean         removes the build directories'
	@echo
	@echo 'For fresh machines; these install missing Debian packages (packages.txt lists them):'
	@echo
	@echo 'make run           traces the demo tests and prints where the traces are'
	@echo 'make test          runs all tests: native, sanitizers, Windows build and wine, fuzzers, guest'
	@echo 'make test-long     runs what takes longer: suites of others, 500 runs for false contexts, all tests twice under load, more kernels, gigabytes, long fuzzing, 10,000 changed files'
	@echo 'make test-guest    runs only the tests in a virtual machine (LONG=1: also on arm64, and copies a gigabyte from one)'
	@echo 'make bench         measures the claims about speed and size, against peers'
	@echo 'make agent-arm64   builds tracelet-agent for arm64 guests, in build-arm64'
	@echo 'make deb           builds Debian packages, in build-deb'
	@echo 'make release       builds archives for Linux and Windows that need nothing else, in build-release'
	@echo 'make fuzz          fuzzes each reader (TIME=60 seconds each)'
