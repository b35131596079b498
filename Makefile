# The short way to everything; the build itself is meson's. Each target first
# sees to its packages (packages.txt), which is quick when they are there.

PREFIX ?= /usr/local
TIME   ?= 60

# Debian keeps bpftool where ordinary users do not look.
export PATH := $(PATH):/usr/sbin:/sbin

.PHONY: all run test test-guest bench fuzz agent-arm64 install format format-check clean help packages-build

all: packages-build build/build.ninja
	@ninja -C build

packages-build:
	@tools/packages build

build/build.ninja: | packages-build
	@meson setup build

run: all
	@demo/run

test:
	@tools/packages build test guest
	@tools/test native sanitize windows wine fuzz guest

test-guest: all
	@tools/packages guest
	@tools/test guest

# Every executable bench/*.sh, one after another: a quiet machine gives better numbers.
bench: all
	@tools/packages bench
	@tools/bench

# For guests of another kind than this machine; its parts are downloaded.
agent-arm64:
	@tools/packages build guest
	@tools/agent-arm64 build-arm64

fuzz:
	@tools/packages build test
	@CC=clang tests/fuzz/run $(TIME) build-fuzz

install: all
	@meson configure build -Dprefix=$(abspath $(PREFIX))
	@ninja -C build
	@meson install -C build --no-rebuild

format:
	@tools/packages format
	@git ls-files -z '*.c' '*.h' | xargs -0 clang-format -i

format-check:
	@tools/packages format
	@git ls-files -z '*.c' '*.h' | xargs -0 clang-format --dry-run -Werror

clean:
	@rm -rf build build-sanitize build-windows build-fuzz build-arm64

help:
	@echo 'make               builds build/tracelet'
	@echo 'make run           traces the demo tests and says where the traces are'
	@echo 'make test          all tests: native, sanitizers, Windows build and wine, fuzzers, guest'
	@echo 'make test-guest    only those inside a virtual machine (LONG=1: also a gigabyte out of one)'
	@echo 'make bench         measures what is claimed, against peers'
	@echo 'make agent-arm64   tracelet-agent for arm64 guests, in build-arm64'
	@echo 'make fuzz          fuzzes each reader (TIME=60 seconds each)'
	@echo 'make install       installs under PREFIX=/usr/local, or DESTDIR and that'
	@echo 'make format        clang-format over all C files (format-check: only looks)'
	@echo 'make clean         removes the build directories'
