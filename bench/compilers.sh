# Sourced by the benches of profiles: `record_compilers OPTIONS...` writes perf.data,
# a recording of the whole machine while compilers run.
source=$(realpath "$bench/..")
cat >compile.sh <<-END
	set -e
	for file in $source/src/write/*.c $source/src/write/perfetto/*.c $source/src/event/*.c $source/src/base/*.c; do
		case \$file in *_windows.c) continue ;; esac
		gcc -O2 -I$source/src -I$source/include -D_GNU_SOURCE -DTRACELET_VERSION='""' -c \$file -o out.o
	done
END

# perf 6.1 sometimes aborts at the end and leaves a recording with an incomplete header.
record_compilers() {
	local try
	for try in 1 2 3; do
		perf record -q "$@" -a -o perf.data -- sh compile.sh >/dev/null 2>&1 && return
	done
	echo "perf cannot record here"
	exit 77
}
