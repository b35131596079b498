# Small files that unpack to a lot: the total is limited, one line reports it, and the disk does not fill up.
. "$(dirname "$0")/lib.sh"
need_command python3 zstd
python3 "$source/tests/attack/helpers/bombs.py" || exit 1

# limited KIBIBYTES COMMAND...: killed by a signal if it writes a larger file.
limited() (
	ulimit -f "$1" && shift && "$@"
)

# refused FILE: even if it takes only a few MiB on disk.
refused() {
	check_run "$1 is refused" 2 limited 4096 "$TRACELET" info --max-unpacked 2M "$1"
	check_lines "... in one line" 1 "$stderr"
	check_match "... which says why and what to do" "$1: unpacks to more than 2 MiB; .*--max-unpacked" "$stderr"
}

for file in bomb.gz packets.pb zstd.pb zstd.perf bomb.zip; do
	refused $file
done
for file in bomb.gz packets.pb zstd.pb zstd.perf; do
	check_run "$file: with a higher limit it is read" 0 "$TRACELET" info --max-unpacked 20M $file
done
check_run "without a word the limit is high enough" 0 "$TRACELET" info bomb.gz
check_run "but not for everything" 2 limited 600000 "$TRACELET" info large.gz
check_match "which is reported" "large.gz: unpacks to more than 512 MiB" "$stderr"

for verb in flame top dump fold; do
	check_run "$verb has the limit" 2 "$TRACELET" $verb --max-unpacked 2M bomb.gz
	check_match "... and reports it" 'more than 2 MiB' "$stderr"
done
check_run "so has table" 2 "$TRACELET" table --max-unpacked 2M bomb.gz threads
check_run "and diff" 2 "$TRACELET" diff --max-unpacked 2M bomb.gz plain.pb
check_run "and convert" 2 "$TRACELET" convert --max-unpacked 2M bomb.gz out.pb
check_not "which leaves no file" test -e out.pb
check_run "the variable means the same" 2 env TRACELET_MAX_UNPACKED=2M "$TRACELET" info bomb.gz
check_run "a bad size" 2 "$TRACELET" info --max-unpacked much small.gz
check_match "is refused by name" "max-unpacked: 'much' is not a size" "$stderr"
check_run "a file within the limit is read" 0 "$TRACELET" info --max-unpacked 64K small.gz
done_testing
