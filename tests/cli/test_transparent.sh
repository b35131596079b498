# Whatever a test can find out about itself is the same with and without tracelet: in many surroundings, what
# helpers/transparent.c prints is compared line by line. Every line is a comparison, and so is every exit
# status; the last check counts them.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_root

compared=0
seen=$work_root/seen out=$work_root/out
# The shell's own variables change with the command.
clean=(env -i PATH="$PATH" A=1 'B=two words' EMPTY= LANG=C)
# What a traced test has in addition: where it finds the memory for marks and for heap counts.
added='environment (TRACELET_MARKS|TRACELET_HEAP|LD_PRELOAD|ASAN_OPTIONS): '
# What differs between any two runs in these surroundings.
differs=none

# look FILE COMMAND...: what the helper finds when this command starts it.
look() {
	local file=$1
	shift
	rm -f "$seen"
	"$@" "$helpers/transparent" "$seen" 'an argument' '' '*'
	grep -Ev "^($added|$differs)" "$seen" | sed 's,/dev/pts/[0-9]*,/dev/pts/N,' >"$file"
}

compare() { # DESCRIPTION
	local lines
	lines=$(wc -l <"$work_root/plain")
	check "$1" diff "$work_root/plain" "$work_root/traced"
	check "$1: there is much to compare" test "$lines" -gt 200
	compared=$((compared + lines))
}

# same DESCRIPTION [OPTION...] -- COMMAND...: it is the same when this command starts the helper, and when it
# starts `tracelet run` with these options, which starts the helper.
same() {
	local description=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	input | look "$work_root/plain" "${clean[@]}" "$@" >"$work_root/shown" 2>&1
	input | look "$work_root/traced" "${clean[@]}" "$@" \
		"$TRACELET" run --quiet --output-dir "$out" "${options[@]}" -- >"$work_root/shown" 2>&1
	compare "$description"
}
input() { printf 'one\ntwo\n'; }

# ---- surroundings ----

same "as it comes" --
same "other limits" -- prlimit --core=0 --stack=4000000 --nofile=512 --fsize=100000000 --nproc=40000 --memlock=1000000
same "no limits" -- prlimit --core=unlimited --stack=unlimited --fsize=unlimited
same "another niceness" -- nice -n 3
same "another folder" -- env -C /
same "another umask" -- sh -c 'umask 027; exec "$@"' sh
same "more descriptors" -- bash -c 'exec 5</dev/null 9>>"$0" 11<>"$0" 200<"$0"; exec "$@"' "$work/file"
same "signals ignored" -- env --ignore-signal=PIPE,INT,QUIT,CHLD,HUP,USR1,TSTP,TTOU,WINCH,CONT
same "signals blocked" -- env --block-signal=TERM,CHLD,INT,USR2,ALRM,CONT,WINCH
same "all signals ignored" -- env --ignore-signal
same "all signals blocked" -- env --block-signal
same "one processor" -- taskset -c "$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')"
same "batch scheduling" -- chrt -b 0
same "idle scheduling" -- chrt -i 0
same "idle input and output" -- ionice -c 3
same "no random addresses" -- setarch -R
same "another place when memory runs out" -- choom -n 500 --
same "no new privileges" -- setpriv --no-new-privs
same "fewer capabilities" -- setpriv --bounding-set=-net_raw,-mknod
same "other groups" -- setpriv --groups 1,2,3
differs='process group|session|/proc/self/status [0-9]+: NS|/proc/self/autogroup'
same "a session of its own" -- setsid -w sh -c '"$@"; exit' sh # tracelet leads nothing that the test would lead
differs=none

# ---- namespaces ----

# hold OPTION...: namespaces of their own, held by a process whose id is in $holder.
hold() {
	rm -f holder
	unshare "$@" sh -c 'readlink /proc/self >holder; exec sleep 1000' &
	unshared=$!
	wait_until test -s holder
}
if unshare -u -i -n true 2>/dev/null; then
	hold -u -i -n
	same "other namespaces for host name, messages and network" -- nsenter -t "$unshared" -u -i -n
	kill "$unshared"
	wait "$unshared" 2>/dev/null
else
	skip "other namespaces" "they cannot be made here"
fi

# ---- streams ----

input() { cat /dev/null; }
same "an empty pipe" --
printf 'one\ntwo\nthree\n' >lines
for way in plain traced; do
	command=("${clean[@]}")
	[ $way = plain ] || command+=("$TRACELET" run --quiet --output-dir "$out" --)
	look "$work_root/$way" "${command[@]}" <lines >written 2>errors
done
compare "files"
for way in plain traced; do
	command=("${clean[@]}")
	[ $way = plain ] || command+=("$TRACELET" run --quiet --output-dir "$out" --)
	look "$work_root/$way" "${command[@]}" <&- >&- 2>&-
done
compare "closed streams"
if "$scripts/terminal.py" -- true >/dev/null 2>&1; then
	differs='process group|session|/proc/self/status [0-9]+: NS|/proc/self/autogroup'
	for way in plain traced; do
		command=("${clean[@]}")
		[ $way = plain ] || command+=("$TRACELET" run --quiet --output-dir "$out" --)
		look "$work_root/$way" "$scripts/terminal.py" -- sh -c '"$@"; exit' sh "${command[@]}" >/dev/null 2>&1
	done
	compare "a terminal"
	differs=none
else
	skip "a terminal" "there is none to be had here"
fi
input() { printf 'one\ntwo\n'; }

# ---- options ----

same "samples" --sample --
same "stacks of waits" --sample --off-cpu --
same "a heap profile" --heap --
same "a time limit" --timeout 600 --
same "waiting for all processes" --wait-tree=600 --
same "a flight recorder" --type memory --
same "the whole system" --scope system --
same "nothing is kept" --keep never --
same "not traced" --enabled no --
same "the user that it is" --user root --
if id nobody >/dev/null 2>&1; then
	chmod 711 "$work_root"
	mkdir "$work_root/theirs" && chmod 777 "$work_root/theirs"
	seen=$work_root/theirs/seen
	# Another user has another home, and becomes its user in the way of all tools.
	added="$added|environment (HOME|USER|LOGNAME): "
	input | look "$work_root/plain" "${clean[@]}" setpriv --reuid nobody --regid "$(id -g nobody)" --init-groups >/dev/null 2>&1
	input | look "$work_root/traced" "${clean[@]}" "$TRACELET" run --quiet --output-dir "$out" --user nobody -- >/dev/null 2>&1
	compare "another user"
	seen=$work_root/seen
else
	skip "another user" "there is no nobody here"
fi

# ---- each ----

# The streams of a case are collected.
differs='descriptor [012]:|terminal|input:'
look "$work_root/plain" "${clean[@]}" </dev/null >/dev/null 2>&1
look "$work_root/traced" "${clean[@]}" "$TRACELET" each --quiet --output-dir "$out" -- </dev/null >/dev/null 2>&1
compare "a program that 'each' runs"
differs=none

# ---- how it ends ----

statuses() { # COMMAND...: the status of each way to end
	local code signal
	for code in 0 1 2 3 42 63 64 77 99 100 124 125 126 127 128 129 137 139 143 254 255; do
		"$@" sh -c "exit $code" 2>/dev/null
		echo "exit $code: $?"
	done
	for signal in HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT XCPU XFSZ VTALRM PROF IO PWR SYS RTMIN; do
		"$@" sh -c "ulimit -c 0; kill -$signal \$\$" 2>/dev/null
		echo "signal $signal: $?"
	done
}
statuses env --default-signal 2>/dev/null >"$work_root/plain"
statuses env --default-signal "$TRACELET" run --quiet --output-dir "$out" -- >"$work_root/traced" 2>/dev/null
check "exit statuses and signals" diff "$work_root/plain" "$work_root/traced"
compared=$((compared + $(wc -l <"$work_root/plain")))

note "$compared comparisons"
check "there are very many comparisons" test $compared -gt 5000
done_testing
