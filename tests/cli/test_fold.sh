# Folded stacks from perf script text: equal to the output of stackcollapse-perf.pl and inferno for
# their own test files, and right where those are wrong. docs/flame-graphs.md lists the differences.
. "$(dirname "$0")/lib.sh"
corpus=${TRACELET_CORPUS:-$source/../shared/corpus}/perf-script

# folds DESCRIPTION EXPECTED [OPTION...]: folds the text on standard input.
folds() {
	local description=$1 expected=$2
	shift 2
	cat >input
	run "$TRACELET" fold "$@" input
	check_equal "$description" "$expected" "$(cat "$stdout")"
}

# same FILE RESULT [OPTION...]: as in an upstream test.
same() {
	local file=$1 result=$2
	shift 2
	"$TRACELET" fold "$@" "$file" 2>/dev/null >folded
	case $file in
	*rust*) rust_names <"$result" | LC_ALL=C sort >spelled ;; # the script leaves them half demangled
	*) cp "$result" spelled ;;
	esac
	check "$(basename "$file") $*" diff folded spelled
}

# Names of Rust as their authors wrote them, but for the quotes, which folded stacks do not have.
rust_names() {
	sed -E 's/::h[0-9a-f]{16}//g; s/(^|;|::)_\$/\1$/g; s/\$LT\$/</g; s/\$GT\$/>/g; s/\$u20\$/ /g; s/\$C\$/,/g
		s/\$RF\$/\&/g; s/\$BP\$/*/g; s/\$LP\$/(/g; s/\$RP\$/)/g; s/\.\./::/g
		s/\$u7b\$/{/g; s/\$u7d\$/}/g; s/\$u5b\$/[/g; s/\$u5d\$/]/g; s/\$u27\$//g'
}

if [ -d "$corpus" ]; then
	for file in "$corpus"/flamegraph/*.txt; do
		name=$(basename "$file" .txt)
		# We count the last sample of a file without a blank line after it, the script does
		# not: give both a blank line.
		awk -v RS= -v ORS='\n\n' '{ if (held) print held; held = $0 } END { if (whole) print held }' \
			whole="$(tail -c 2 "$file" | od -An -tx1 | grep -c '0a 0a')" "$file" >"$name.txt"
		for option in pid tid kernel jit all addrs; do
			case $name-$option in
			perf-java-stacks-02-[pt]id) continue ;; # older than the script itself
			esac
			same "$name.txt" "$corpus/flamegraph/results/$name-collapsed-$option.txt" --$option
		done
	done
	for result in "$corpus"/inferno/results/*-collapsed.txt; do
		name=$(basename "$result" -collapsed.txt)
		same "$corpus/inferno/$name.txt" "$result"
	done
else
	skip "the test files of stackcollapse-perf.pl and inferno" "there is no $corpus"
fi

folds "the last sample counts without a blank line behind it" "a;main 7" <<'END'
a 1 [000] 1.5:          7 cycles:
	401000 main+0x1 (/bin/a)
END
folds "a sample without frames counts" "a 7" <<'END'
a 1 [000] 1.5:          7 cycles:

END
folds "frames behind a blank line belong to the header before it" "a;main 7" <<'END'
a 1 [000] 1.5:          7 cycles:

	401000 main+0x1 (/bin/a)
END
folds "a task without an id keeps its name" ":-1--1/-1;main 7" --tid <<'END'
:-1 -1/-1 [000] 1.5:          7 cycles:
	401000 main+0x1 (/bin/a)
END
folds "numbers in a task's name stay there" "tokio_1_2-?/77;main 7" --tid <<'END'
tokio 1 2    77 [000] 1.5:          7 cycles:
	401000 main+0x1 (/bin/a)
END
folds "template and generic arguments keep their parentheses" \
	"a;<fn(i32) -> u8 as core::ops::Fn<(i32,)>>::call;std::function<int (int)>::get;main::{lambda(int)#1}::operator 7" <<'END'
a 1 [000] 1.5:          7 cycles:
	401000 main::{lambda(int)#1}::operator()(int) const+0x1 (/bin/a)
	401000 std::function<int (int)>::get(int)+0x1 (/bin/a)
	401000 <fn(i32) -> u8 as core::ops::Fn<(i32,)>>::call+0x1 (/bin/a)
END
folds "operators are not brackets, nor calls of inlined functions" \
	"a;X::operator<<int;X::operator-> 7" <<'END'
a 1 [000] 1.5:          7 cycles:
	401000 X::operator->() const+0x1 (/bin/a)
	401000 X::operator<<int(std::ostream&)+0x1 (/bin/a)
END
folds "what is in an anonymous namespace has a name" "a;(anonymous namespace)::f 7" <<'END'
a 1 [000] 1.5:          7 cycles:
	401000 (anonymous namespace)::f(int)+0x1 (/bin/a)
END
folds "a module that was deleted" "a;[lib.so (deleted)];f 7" <<'END'
a 1 [000] 1.5:          7 cycles:
	401000 f+0x1 (/tmp/lib.so (deleted))
	401000 [unknown] (/tmp/lib.so (deleted))
END
folds "an address without a name is named after its module" "a;[lib.so] 7" <<'END'
a 1 [000] 1.5:          7 cycles:
	401000 (/tmp/lib.so)
END
folds "samples of one line" "b;g 1
dd;f 9" <<'END'
              dd  1234 [001]    12.300000:          7 cycles:      ffffffff81000000 f+0x1 ([kernel.kallsyms])
              dd  1234 [001]    12.400000:          2 cycles:      ffffffff81000000 f+0x9 ([kernel.kallsyms])
               b  1234 [001]    12.500000:          1 cycles:      ffffffff81000000 g ([kernel.kallsyms])
END
folds "only the names: -F comm,ip,sym" "my_task;main;f 2" --quiet <<'END'
my task 
	          401000 f
	          401000 main

my task 
	          401000 f
	          401000 main

END
folds "a tracepoint's own fields are not its stack" "a;main 1" <<'END'
a 1 [000] 1.5: sched:sched_switch: prev_comm=a prev_pid=1 prev_state=S ==> next_comm=b (x)
	401000 main+0x1 (/bin/a)

END
folds "lines of the source are no frames: -F +srcline" "a;main;f 7" <<'END'
a 1 [000] 1.5:          7 cycles:
	401000 f+0x1 (/bin/a)
  f.c:12
	401000 main+0x1 (/bin/a)
  main.c:7

END
folds "and none after samples of one line" "a;f 7
a;g 2" <<'END'
a 1 [000] 1.5:          7 cycles:           401000 f+0x1 (/bin/a)
  f.c:12
a 1 [000] 1.6:          2 cycles:           401010 g+0x1 (/bin/a)
  f.c:13
END
check_lines "without a warning" 0 "$stderr"
folds "data after the event is no frame: -F +addr" "a;main;f 14" <<'END'
a 1 [000] 1.5:          7 cycles:                0
	401000 f+0x1 (/bin/a)
	401100 main+0x1 (/bin/a)

a 1 [000] 1.6:          7 page-faults:u:     7ffd1c0a9f80 [unknown] ([stack])
	401000 f+0x1 (/bin/a)
	401100 main+0x1 (/bin/a)

a 1 [000] 1.7:          7 cycles:u:     7ffd1c0a9f80
	401000 f+0x1 (/bin/a)
	401100 main+0x1 (/bin/a)

END
check_match "and no event has lost its name" "only samples of cycles are counted; 1 of other" "$stderr"
cat >modifiers <<'END'
a 1 [000] 1.5:          7 cycles:u:           401000 f+0x1 (/bin/a)
a 1 [000] 1.6:          5 cycles:k:           401000 f+0x1 (/bin/a)
a 1 [000] 1.7:          3 cycles:           401000 f+0x1 (/bin/a)
a 1 [000] 1.8:          2 instructions:u:           401000 f+0x1 (/bin/a)
END
folds "cycles, cycles:u and cycles:k are one event" "a;f 15" <modifiers
folds "also if it is asked for" "a;f 15" --event-filter cycles <modifiers
folds "one of them, if asked for with its modifier" "a;f 7" --event-filter cycles:u <modifiers
folds "the kernel is known by its addresses" "a;main;f_[k] 7" --kernel <<'END'
a 1 [000] 1.5:          7 cycles: 
	ffffffff81000000 f
	          401000 main

END
folds "unless they are asked for" "a;main:main.c:7;f:f.c:12 7" --context <<'END'
a 1 [000] 1.5:          7 cycles:
	401000 f+0x1 (/bin/a)
  f.c:12
	401000 main+0x1 (/bin/a)
  /src/main.c:7

END
folds "records that are no samples: --show-mmap-events" "a;f 7" <<'END'
a 1 [000] 1.4: PERF_RECORD_MMAP2 1/1: [0x400000(0x1000) @ 0 08:01 1 1]: r-xp /bin/a
a 1 [000] 1.5:          7 cycles:
	401000 f+0x1 (/bin/a)
END
cat >two <<'END'
a 1 [000] 1.5:          7 cycles:
	401000 f+0x1 (/bin/a)

a 1 [000] 1.5:          9 faults:
	401000 g+0x1 (/bin/a)
END
folds "the first event counts" "a;f 7" <two
check_match "and the others are reported" "1 of other events" "$stderr"
folds "or the one that is asked for" "a;g 9" --event-filter faults <two
folds "or all" "a;f 7
a;g 9" --all-events <two
check_equal "standard input is read" "a;f 7" "$("$TRACELET" fold <two 2>/dev/null)"
check_equal "several files add up" "a;f 14" "$("$TRACELET" fold two two 2>/dev/null)"
# Recordings of several CPUs, one after the other: the earliest comes first.
sed 's/1.5:          7 cycles/2.5:          7 cycles/' two >late
folds "the first event in time counts" "a;g 9" <late
check_equal "for convert, too" "a;g 9" "$("$TRACELET" convert --quiet --to folded late - 2>/dev/null)"
printf 'a;f(int) 3\na;g 4.6\n' >stacks.folded
check_equal "folded stacks stay as they are" "a;f(int) 3
a;g 5" "$("$TRACELET" fold stacks.folded)"

: >empty
check_run "an empty input gives an empty output" 0 "$TRACELET" fold empty
check_lines "without a line" 0 "$stdout"
check_run "a file that is missing" 2 "$TRACELET" fold missing
check_lines "is reported in one line" 1 "$stderr"
head -c 100000 /dev/zero >zeros
check_run "bytes that are no text" 2 "$TRACELET" fold zeros
check_lines "are reported in one line" 1 "$stderr"
head -c 3000000 /dev/zero | tr '\0' x >long
check_run "a line without end" 2 "$TRACELET" fold -o out long
check_lines "is reported in one line" 1 "$stderr"
check_not "and nothing is left" ls out*
done_testing
