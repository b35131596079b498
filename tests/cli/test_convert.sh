# tracelet convert: from a recording to a trace, completely or not at all.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_bpf

"$TRACELET" run --quiet --keep-spool --name t -- sh -c '/bin/echo early-mark; for i in $(seq 50); do /bin/true; done; /bin/echo late-mark; exit 3' >/dev/null
mv tracelet-out/t_*.pb made-by-run.pb
mv tracelet-out/t_*.spool t.spool
good=$(pwd)

# ---- formats ----

check_run "by extension" 0 "$TRACELET" convert t.spool out.pb
check "gives what run itself made, byte for byte" cmp made-by-run.pb out.pb
check_lines "silently" 0 "$stderr"
check_lines "also on stdout" 0 "$stdout"
check_run "any name with --to" 0 "$TRACELET" convert --to perfetto t.spool any.name
check "is the same" cmp made-by-run.pb any.name
cp t.spool no-extension
check_run "the input is recognised by its content" 0 "$TRACELET" convert no-extension again.pb
check "not by its name" cmp made-by-run.pb again.pb
check_run "--from names it" 0 "$TRACELET" convert --from spool no-extension again.pb
check "too" cmp made-by-run.pb again.pb
check_run "- is stdin and stdout" 0 sh -c '"$TRACELET" convert --to perfetto - - <t.spool | cat >piped.pb'
check "with the same result" cmp made-by-run.pb piped.pb
check_run "also through a pipe" 0 sh -c 'cat t.spool | "$TRACELET" convert - piped2.pb'
check "with the same result" cmp made-by-run.pb piped2.pb
check_run "a device is written to, not replaced" 0 "$TRACELET" convert --to perfetto t.spool /dev/null
check "it is still one" test -c /dev/null
echo old >existing.pb
check_run "an output that the user named is replaced" 0 "$TRACELET" convert t.spool existing.pb
check "by the trace" cmp made-by-run.pb existing.pb
check_run "a file onto itself" 0 sh -c 'cp t.spool self && "$TRACELET" convert --to perfetto self self'
check "is a trace then" cmp made-by-run.pb self

# ---- rejected ----

# refused DESCRIPTION TEXT ARGUMENTS...: one line with this text, a non-zero status, no output.
refused() {
	local description=$1 text=$2
	shift 2
	check_run "$description: refused" 2 "$TRACELET" convert "$@"
	check_lines "$description: one line" 1 "$stderr"
	check_match "$description: that says so" "$text" "$stderr"
	check_lines "$description: nothing on stdout" 0 "$stdout"
	check_not "$description: no output, no temporary file" sh -c 'ls refused.pb* 2>/dev/null'
}
fresh
ln -s "$good/t.spool" t.spool
refused "a missing input" "nowhere.spool: cannot be read: No such file" nowhere.spool refused.pb
refused "a folder" "cannot be read: Is a directory" . refused.pb
: >empty
refused "an empty file" "empty: the file is empty" empty refused.pb
refused "an empty file said to be a spool" "empty: not a tracelet spool" --from spool empty refused.pb
python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(1).randbytes(100000))' >noise
refused "noise" "noise: not in a format that tracelet reads" noise refused.pb
refused "noise said to be a spool" "noise: not a tracelet spool" --from spool noise refused.pb
(head -c 8 t.spool; printf '\377\377\377\377'; tail -c +13 t.spool) >other-version
refused "a spool of another version" "version" other-version refused.pb
head -c 20 t.spool >stump
refused "less than a header" "stump: not a tracelet spool .too short" stump refused.pb
refused "an unknown input format" "nothing: unknown input format.*spool" --from nothing t.spool refused.pb
refused "an unknown output format" "nothing: unknown output format.*perfetto" --to nothing t.spool refused.pb
refused "a name that tells no format" "refused: cannot infer the format from its name.*--to.*perfetto" t.spool refused
refused "a folder that is not there" "nowhere/out.pb: cannot be written: No such file" t.spool nowhere/out.pb
mkdir folder.pb
refused "a folder for an output" "folder.pb: cannot be written: Is a directory" t.spool folder.pb
check_run "too few words" 2 "$TRACELET" convert t.spool
check_run "too many" 2 "$TRACELET" convert t.spool a.pb b.pb
echo old >existing.pb
run "$TRACELET" convert noise existing.pb
check_equal "a failed conversion leaves the old output as it was" old "$(cat existing.pb)"
if [ -w /dev/full ]; then
	check_run "an output that takes nothing" 2 "$TRACELET" convert --to perfetto t.spool /dev/full
	check_match "is reported" "/dev/full: cannot be written: No space left" "$stderr"
	check_run "also on stdout" 2 sh -c '"$TRACELET" convert --to perfetto t.spool - >/dev/full'
	check_match "is reported" "cannot be written: No space left" "$stderr"
fi
mkdir small
run unshare -m sh -c 'mount -t tmpfs -o size=4k small small && ! "$TRACELET" convert t.spool small/refused.pb && ls -A small'
check_equal "a full disk: nothing is left on it" "0 " "$status $(cat "$stdout")"
chmod 000 stump
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work_root" "$work"
	cp "$TRACELET" tracelet
	check_run "an input that this user may not read" 2 setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all \
		./tracelet convert stump "$work/refused.pb"
	check_match "is reported" "stump: cannot be read: Permission denied" "$stderr"
	check_lines "in one line" 1 "$stderr"
fi

terminal() {
	"$scripts/terminal.py" "$@"
}
check_run "binary to a terminal is refused" 2 terminal -- "$TRACELET" convert --to perfetto t.spool -
check_match "with the reason" "terminal" "$stdout"
check_lines "in one line" 1 "$stdout"
check_run "by its name as well" 2 terminal -- "$TRACELET" convert --to perfetto t.spool /dev/tty
check_lines "in one line" 1 "$stdout"

# ---- an incomplete recording ----

fresh
size=$(stat -c %s "$good/t.spool")
well=0 tried=0
for part in 40 60 80 95 99; do
	for odd in 0 1 3 7; do
		tried=$((tried + 1))
		head -c $((size * part / 100 + odd)) "$good/t.spool" >cut.spool
		"$TRACELET" convert cut.spool cut.pb 2>cut.err && "$TRACELET" check --quiet cut.pb && [ "$(wc -l <cut.err)" -le 1 ] &&
			well=$((well + 1))
	done
done
check_equal "cut anywhere, it converts to a good trace, with a line at most" $tried $well
check "with what was written" grep -q -a early-mark cut.pb
head -c $((size - 3)) "$good/t.spool" >cut.spool
run "$TRACELET" convert cut.spool cut.pb
check_match "and says what is left out" "cut.spool: truncated inside a block; ignoring the last [0-9]+ bytes" "$stderr"

# Bytes changed here and there: the result is a trace or one line, never a crash, never an invalid trace.
well=0 tried=0
for seed in {1..40}; do
	tried=$((tried + 1))
	cp "$good/t.spool" corrupt.spool
	for n in 1 2 3 4 5 6 7 8; do
		at=$(((seed * 7919 + n * 104729) % size))
		printf "\\x$(printf %02x $(((seed * n * 37 + 255) % 256)))" | dd of=corrupt.spool bs=1 seek=$at conv=notrunc status=none
	done
	rm -f corrupt.pb
	"$TRACELET" convert corrupt.spool corrupt.pb 2>corrupt.err
	status=$?
	case $status in
	0) [ -e corrupt.pb ] && "$TRACELET" check --quiet corrupt.pb ;;
	2) [ ! -e corrupt.pb ] && [ "$(wc -l <corrupt.err)" = 1 ] ;;
	*) false ;;
	esac && well=$((well + 1)) || note "seed $seed: status $status: $(head -n 3 corrupt.err; "$TRACELET" check corrupt.pb 2>&1 | head -n 3)"
done
check_equal "corrupt, it converts to a good trace or is refused in one line" $tried $well

done_testing
