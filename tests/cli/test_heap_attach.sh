# What a running process allocates, seen from outside: programs with exactly known allocations.
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "stacks can be walked only on x86-64"
need_root
need_command python3

# A name that no other process has: some checks look for it on the whole machine.
name=heap$$
cp "$TRACELET_HELPERS/heap_server" "$work_root/$name"
server=$work_root/$name

# serve COMMAND...: runs in the background as $pid; `ask WORD...` sends it a request and waits for the answer.
# begin() does not wait until the program runs: before that it is a shell.
serve() {
	begin "$@"
	ask hello
}

begin() {
	rm -f questions answers
	mkfifo questions answers
	"$@" <questions >answers &
	pid=$!
	exec 7>questions 8<answers
}

ask() {
	local word answer
	for word; do
		echo "$word" >&7
		read -r -t 120 answer <&8 || note "no answer to $word"
	done
}

dismiss() {
	exec 7>&- 8<&-
	wait "$pid"
	ended=$?
}

# attach OPTIONS...: returns once it records. `detach` ends it.
attach() {
	rm -f profile.json messages
	"$TRACELET" heap -o profile.json "$@" 2>messages 7>&- 8<&- &
	recorder=$!
	for _ in $(seq 3000); do
		grep -q watching messages 2>/dev/null && return
		kill -0 "$recorder" 2>/dev/null || break
		sleep 0.02
	done
	note "it does not record: $(cat messages)"
}

detach() {
	kill -INT "$recorder"
	wait "$recorder"
	status=$?
}

# sums FUNCTION METRIC...: over all stacks that contain the function.
sums() {
	local function=$1 metric
	shift
	for metric; do
		"$TRACELET" fold --metric "$metric" profile.json |
			awk -v name=";$function;" 'index(";" substr($0, 1, length($0) - length($NF) - 1) ";", name) { sum += $NF } END { print sum + 0 }'
	done | paste -sd ' '
}

serve "$server"
ask plain # before it is watched
attach -p "$pid"
if ! grep -q watching messages; then
	dismiss
	skip_all "no uprobes here: $(head -n 1 messages)"
fi
ask plain leaks resized all-ways release threads
detach
check_equal "the window ends with 0" 0 "$status"
check_match "it says what it watches" "watching [0-9]+ functions in /.*libc" messages
check_match "and what it found" "[0-9]+ bytes in [0-9]+ blocks, of which [0-9]+ bytes were not freed" messages
check_not "nothing is lost" grep -q 'warning' messages
check_equal "every block is counted" "1000 10000 0" "$(sums plain blocks allocated leaked)"
check_equal "as most, and at the peak of all" "10000 1000 0 0" "$(sums plain most most-blocks peak peak-blocks)"
check_equal "what is left" "7 700 2 200" "$(sums leaks blocks allocated leaked-blocks leaked)"
check_equal "a block that is resized counts again, where it came from" "3 24036 1 12" "$(sums "resized;give" blocks allocated leaked-blocks leaked)"
check_equal "all ways to allocate" "8 723 0" "$(sums all_ways blocks allocated leaked)"
check_equal "blocks from before are passed over" "0 0" "$(sums release blocks allocated)"
check_equal "threads" "20000 960000 0" "$(sums in_thread blocks allocated leaked)"
check_equal "stacks are whole" "1018" "$(sums _start blocks | awk '{ print $1 - 1 - 4 }')"
check_match "frames have lines" '0x[0-9A-F]+: give \(heap_ways\.h:[0-9]+\)' profile.json
check "there are no two places with the same stack" python3 -c '
import json
stacks = [tuple(place["fs"]) for place in json.load(open("profile.json"))["pps"]]
assert len(set(stacks)) == len(stacks)'

check_run "to standard output" 0 "$TRACELET" heap --quiet -p "$pid" -d 0.01
check_match "which has the profile and nothing else" '^\{"dhatFileVersion":2,.*' "$stdout"
check "and can be read" "$TRACELET" info "$stdout"
check_equal "quietly" "" "$(cat "$stderr")"
attach -n $name -d 0.2
wait "$recorder"
check_equal "by name, for a time" 0 $?
check_equal "in which it did nothing" 0 "$(sums main blocks)"

# ---- which process ----

check_run "no such process" 2 "$TRACELET" heap -p 4194303 -o none.json
check_match "says so" 'no such process' "$stderr"
check_run "none of that name" 2 "$TRACELET" heap -n no-such-name -o none.json
check_match "lists what runs" "no process is named 'no-such-name'; running: .*$name \($pid\)" "$stderr"
"$server" <questions >/dev/null 7>&- 8<&- &
second=$!
until [ "$(cat "/proc/$second/comm" 2>/dev/null)" = $name ]; do sleep 0.01; done
check_run "several of that name" 2 "$TRACELET" heap -n $name -o none.json
check_match "says so" "2 processes are named '$name'" "$stderr"
check_match "lists them" "[:,] $second \(.*$name\)" "$stderr"
kill "$second"
check_run "both" 2 "$TRACELET" heap -n $name -p "$pid" -o none.json
check_run "a kernel's thread" 2 "$TRACELET" heap -p 2 -o none.json
check_not "nothing was written" test -e none.json
check_run "--reset is for those that count" 2 "$TRACELET" heap --reset -p "$pid" -o none.json
check_run "to a terminal" 2 script -qec "$TRACELET heap -p $pid" /dev/null
check_run "to where nothing can be written" 2 "$TRACELET" heap -p "$pid" -d 0.01 -o no/such/folder.json

# ---- forks, a second watcher, a container ----

attach -p "$pid"
"$TRACELET" heap -p "$pid" -o second.json 2>second 7>&- 8<&- &
other=$!
until grep -q watching second || ! kill -0 "$other" 2>/dev/null; do sleep 0.02; done
ask leaks forks
kill -INT "$other"
wait "$other"
detach
check_equal "the parent of a fork is counted, not the child" "7 700 0" "$(sums leaks blocks allocated) $(sums plain blocks)"
mv second.json profile.json
check_equal "two may look at once" "7 700 0" "$(sums leaks blocks allocated) $(sums plain blocks)"
check_equal "nothing of us stays in the kernel" "" "$(grep tracelet /sys/kernel/tracing/uprobe_events 2>/dev/null)"

dismiss

if unshare -m true 2>/dev/null; then
	mkdir apart
	begin unshare -m sh -c 'mount -t tmpfs none apart && cp "$0" apart/in_container && exec apart/in_container' "$server"
	ask hello
	attach -n in_container
	ask leaks
	detach
	dismiss
	check_equal "in a container, whose files are elsewhere" "7 700" "$(sums leaks blocks allocated)"
else
	skip "in a container, whose files are elsewhere" "none can be made"
fi

serve "$server"
attach -p "$pid"
ask leaks become plain
wait "$recorder"
check_equal "an exec ends the window" 0 $?
check_match "as reported" 'the process exec.d another program' messages
check_equal "there is what was before" "7 700 0" "$(sums leaks blocks allocated) $(sums plain blocks)"
attach -p "$pid"
ask leaks
echo killed >&7
wait "$recorder"
check_equal "the death of the process ends it, too" 0 $?
dismiss
check_equal "with what there was" "137 7 700" "$ended $(sums leaks blocks allocated)"

# ---- the end of the process ----

serve "$server"

attach -p "$pid"
ask leaks
dismiss
wait "$recorder"
check_equal "the process ends in the window: that is no error" 0 $?
check_match "but reported" 'the process ended' messages
check_equal "there is what it had until then" "7 700" "$(sums leaks blocks allocated)"
check_equal "and it has not noticed" 0 "$ended"

# ---- a process that counts itself ----

serve "$TRACELET" run --quiet --heap -- "$server"
ask plain
counted=$(pgrep -P "$pid" -x $name | head -n 1)
check_run "our library is asked, at any time" 0 "$TRACELET" heap -p "$counted" -o profile.json
check_equal "it knows what came before" "1000 10000 0" "$(sums plain blocks allocated leaked)"
check_run "a window" 0 "$TRACELET" heap -p "$counted" --reset -o profile.json
check_equal "all until here" "1000" "$(sums plain blocks)"
ask leaks
check_run "the next" 0 "$TRACELET" heap -p "$counted" --reset -o profile.json
check_equal "what came since" "0 7 700 2 200" "$(sums plain blocks) $(sums leaks blocks allocated leaked-blocks leaked)"
check_run "once more" 0 "$TRACELET" heap -p "$counted" --reset -o profile.json
check_equal "nothing twice" "0" "$(sums leaks blocks)"
check_run "and all of it" 0 "$TRACELET" heap -p "$counted" -o profile.json
check_equal "is still there" "1000 7" "$(sums plain blocks) $(sums leaks blocks)"
dismiss
check_equal "it has not noticed" 0 "$ended"

# ---- other allocators ----

serve "$TRACELET_HELPERS/heap_server_static"
attach -p "$pid"
ask plain all-ways
detach
dismiss
check_equal "a static program" "1000 10000 8 723" "$(sums plain blocks allocated) $(sums all_ways blocks allocated)"

for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2.0; do
	if [ -n "${ASAN_OPTIONS-}" ] || [ ! -e "/usr/lib/x86_64-linux-gnu/$library" ]; then
		skip "$library" "it is not here, or tried elsewhere"
		continue
	fi
	serve env LD_PRELOAD="/usr/lib/x86_64-linux-gnu/$library" "$server"
	ask plain
	attach -p "$pid"
	ask plain all-ways leaks
	detach
	dismiss
	check_match "$library: it is what is watched" "watching [0-9]+ functions in .*${library%%.*}" messages
	check_equal "$library: every block" "1000 10000 0 8 723 0 2 200" \
		"$(sums plain blocks allocated leaked) $(sums all_ways blocks allocated leaked) $(sums leaks leaked-blocks leaked)"
done

if command -v musl-gcc >/dev/null && [ -z "${ASAN_OPTIONS-}" ]; then
	musl-gcc -O1 -g -fasynchronous-unwind-tables -D_GNU_SOURCE -o musl_server "$source/tests/cli/helpers/heap_server.c"
	serve ./musl_server
	attach -p "$pid"
	ask plain leaks
	detach
	dismiss
	check_equal "musl" "1000 10000 2 200" "$(sums plain blocks allocated) $(sums leaks leaked-blocks leaked)"
else
	skip "musl" "there is no musl-gcc"
fi

gofmt=$(command -v gofmt || ls /usr/lib/go*/bin/gofmt 2>/dev/null | head -n 1)
if [ -n "$gofmt" ]; then
	begin "$gofmt"
	until [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = gofmt ]; do sleep 0.01; done
	check_run "Go has an allocator of its own" 2 "$TRACELET" heap -p "$pid" -o none.json
	check_match "as reported" 'is a Go program, whose allocator cannot be watched' "$stderr"
	dismiss
else
	skip "Go has an allocator of its own" "there is no gofmt"
fi
# ---- the manifest ----

fresh
serve "$server"
attach -p "$pid" --output-dir noted --run r1
ask plain
detach
dismiss
check_equal "a line in the manifest: what was allocated" "[\"heap\",\"$name\",\"r1\",\"recorded\",true,true]" \
	"$(jq -c '[.kind, .name, .run, .status, .metrics.heap_total > 0, .metrics.heap_peak > 0]' noted/manifest.jsonl)"
run "$TRACELET" history --json --output-dir noted --metric heap_total "$name"
check_equal "which the history follows" '[".",true]' "$(jq -c '.series[0].commits[0] | [.outcomes, .heap_total > 0]' "$stdout")"

done_testing
