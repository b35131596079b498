# perf's own recordings: those from other machines by their numbers of samples, and ones made here
# by the call chains of a known program.
. "$(dirname "$0")/lib.sh"
need_command jq
corpus=${TRACELET_CORPUS:-$source/../shared/corpus}/perf-data

# samples FILE: the number of samples, for all events.
samples() {
	"$TRACELET" top --all-events --json --limit 1 "$1" 2>/dev/null | jq .samples
}

# check_same FILE: every verb sees the same samples.
check_same() {
	"$TRACELET" fold "$1" 2>/dev/null >by-fold
	"$TRACELET" convert --quiet --to folded "$1" by-convert 2>/dev/null
	check "$(basename "$1"): fold and convert give the same stacks" cmp by-fold by-convert
	check_equal "$(basename "$1"): top and dump see as many samples" "$(samples "$1")" \
		"$("$TRACELET" dump --json "$1" 2>/dev/null | jq -n '[inputs | select(.provider == "sample")] | length')"
}

# The output of `perf report --stats` for each; for those that perf 6.1 cannot read, that of newer versions.
if [ -d "$corpus" ]; then
	while read -r file expected; do
		check_equal "$file" "$expected" "$(samples "$corpus/$file")"
		check_same "$corpus/$file"
	done <<-'END'
		perf.data.armv7.perf_3.14-3.8 700
		perf.data.callgraph-3.8 1768
		perf.data.callgraph_and_branch-3.4 923
		perf.data.ctx_switch_namespaces-4.14 2
		perf.data.group_desc-4.14 13
		perf.data.hw_and_sw-3.4 4941
		perf.data.hybrid_topology 7
		perf.data.i686-3.4 703
		perf.data.lost_samples-4.4 191
		perf.data.piped.header_features-4.16 2
		perf.data.piped.intel_pt-4.14 11
		perf.data.piped.no_attr_ids-4.14 7
		perf.data.piped.target-3.4 1414
		perf.data.proc.map.timeout-3.18 8
		perf.data.raw-3.4 441
		perf.data.remmap-3.2 198
		perf.data.singleprocess-3.8 13
		perf.data.true.v2 1
		sleep.compressed.data 8
		sleep.compressed.pipe.data 8
		sleep.compressed2.data 7
		sleep.data 7
	END
	check_run "a damaged record costs itself" 0 "$TRACELET" fold "$corpus/perf.data.piped.corrupted.zero_size_sample-3.2"
	check_match "which is reported" 'skipped 1 damaged record$' "$stderr"
	check_equal "the others are there" 227 "$(samples "$corpus/perf.data.piped.corrupted.zero_size_sample-3.2")"
	check_equal "the same event of two kinds of CPUs is one" 'cycles:ppp 7' \
		"$("$TRACELET" info --json "$corpus/perf.data.hybrid_topology" | jq -r '.events | to_entries[] | select(.key | startswith("sample/")) | "\(.key[7:]) \(.value)"')"
	check_equal "how it was recorded" '5.15.68|/usr/bin/perf record -e cycles:ppp -- sleep 1|13th Gen Intel(R) Core(TM) i7-1365U' \
		"$("$TRACELET" info --json "$corpus/perf.data.hybrid_topology" | jq -r '.facts | "\(."perf-version")|\(."perf-command")|\(.cpu)"')"
	check_run "what is left out is reported" 0 "$TRACELET" fold "$corpus/perf.data.piped.intel_pt-4.14"
	check_match "as not supported" 'Intel PT.*not supported' "$stderr"
	file=$corpus/perf.data.callgraph-3.8
	check_run "a file from a pipe" 0 sh -c '"$1" fold - <"$2" >piped' sh "$TRACELET" "$file"
	check "gives the same" cmp piped <("$TRACELET" fold "$file")
	for size in 0 7 8 50 104 300 5000 100000; do
		head -c $size "$file" >cut.data
		run "$TRACELET" fold cut.data
		check "cut off after $size bytes it is read or refused" test "$status" = 0 -o "$status" = 2
	done
else
	skip "recordings of other machines" "there is no $corpus"
fi

command -v perf >/dev/null && command -v gcc >/dev/null || {
	skip "recordings of this machine" "there is no perf or gcc here"
	done_testing
}
cat >chain.c <<'END'
#include <signal.h>
#include <string.h>
volatile double sum;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sum += i; }
__attribute__((noinline)) void big(int n) { char room[3000]; memset(room, n, sizeof(room)); leaf(n); sum += room[5]; }
__attribute__((noinline)) void recurse(int depth, int n) {
	if (depth) recurse(depth - 1, n); else leaf(n);
	sum++;
}
__attribute__((noinline)) void variable(int n) { char room[n % 100 + 10]; memset(room, 1, sizeof(room)); leaf(n); sum += room[3]; }
static void handler(int signal) { leaf(1200000); }
int main(void) {
	signal(SIGUSR1, handler);
	for (int i = 0; i < 25; i++) { big(1200000); recurse(3, 1200000); variable(1200000 + i); raise(SIGUSR1); }
	return 0;
}
END
gcc -O2 -fomit-frame-pointer -fno-inline-functions -fno-optimize-sibling-calls -w chain.c -o chain
if ! perf record -q -F 1999 --call-graph dwarf -o dwarf.data ./chain >/dev/null 2>&1; then
	skip "recordings of this machine" "perf is not allowed to record"
	done_testing
fi
"$TRACELET" fold dwarf.data >dwarf.folded 2>warnings
check_match "a frame of 3000 bytes" '^chain;_start;.*;main;big;leaf ' dwarf.folded
check_match "recursion" ';main;recurse;recurse;recurse;recurse;leaf ' dwarf.folded
check_match "a frame of variable size" ';main;variable;leaf ' dwarf.folded
check_match "a signal handler" ';main;.*;handler;leaf ' dwarf.folded
check_equal "nearly all stacks reach _start" yes \
	"$(awk '{ all += $NF } /^chain;_start;/ { good += $NF } END { print (good > 0.98 * all ? "yes" : "no: " good " of " all) }' dwarf.folded)"
check_equal "each sample is there" "$(perf report --stats -i dwarf.data 2>/dev/null | awk '/SAMPLE events:/ { print $3; exit }')" \
	"$(samples dwarf.data)"

check_same dwarf.data

gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -w chain.c -o chain
perf record -q -F 1999 -g -o - ./chain 2>/dev/null | "$TRACELET" fold >pipe.folded 2>/dev/null
# leaf() has no frame pointer, which hides its caller.
check_match "frame pointers, through a pipe" ';main;recurse;recurse;recurse;leaf ' pipe.folded
if perf record -q -z -F 1999 -g -o packed.data ./chain >/dev/null 2>&1; then
	"$TRACELET" fold packed.data >packed.folded 2>/dev/null
	check_match "compressed" ';main;recurse;recurse;recurse;leaf ' packed.folded
else
	skip "compressed" "this perf cannot"
fi
# Compared with perf's own names: equal except for aliases of one address.
perf record -q -F 1999 -g -o plain.data ./chain >/dev/null 2>&1
perf script --no-inline -i plain.data 2>/dev/null | "$TRACELET" fold | grep -o ';main;.*' | sort >by-perf
"$TRACELET" fold plain.data | grep -o ';main;.*' | sort >by-us
check "the same stacks as perf script" diff by-perf by-us
check_same plain.data
if [ "$(id -u)" = 0 ] && perf sched record -o sched.data -- sleep 0.2 >/dev/null 2>&1; then
	check_run "scheduling becomes a trace" 0 "$TRACELET" convert sched.data sched.pb
	check_run "without defects" 0 "$TRACELET" check sched.pb
fi

# ---- symbols of another machine ----

mkdir -p root"$PWD"
gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -w -Wl,--build-id=sha1 chain.c -o chain
perf record -q -F 1999 -g -o moved.data ./chain >/dev/null 2>&1
mv chain root"$PWD"/chain
export HOME=$PWD # not where perf has kept a copy
check_equal "without the program there are no names" 0 "$("$TRACELET" fold moved.data 2>/dev/null | grep -c ';main;')"
check_match "--symfs has them below a folder" ';main;recurse;' <("$TRACELET" fold --symfs root moved.data)
id=$(readelf -n root"$PWD"/chain | sed -n 's/.*Build ID: //p')
mkdir -p kept/.build-id/"${id:0:2}/${id:2}"
cp root"$PWD"/chain kept/.build-id/"${id:0:2}/${id:2}"/elf
check_match "--buildid-dir has them by build id" ';main;recurse;' <("$TRACELET" fold --buildid-dir kept moved.data)
if [ "$(id -u)" = 0 ] && perf record -q -a -g -F 999 -o kernel.data -- sh -c 'for i in 1 2 3 4 5 6; do cat /proc/self/maps; done' >/dev/null 2>&1 &&
	"$TRACELET" fold --kernel kernel.data 2>/dev/null | grep -q '_\[k\]'; then
	sed 's/ \([tT]\) / \1 other_/; s/other__text$/_text/' /proc/kallsyms >names
	check_match "--kallsyms replaces the names of the kernel" ';other_[a-z_0-9]+_\[k\]' <("$TRACELET" fold --kernel --kallsyms names kernel.data)
	printf '.text\n.globl everything\n.type everything, @function\neverything: .zero 0x2000000\n.size everything, .-everything\n' >vmlinux.s
	gcc -nostdlib -static -Wl,-Ttext=0xffffffff81000000 -o vmlinux vmlinux.s 2>/dev/null &&
		check_match "and so does --vmlinux" ';everything_\[k\]' <("$TRACELET" fold --kernel --vmlinux vmlinux kernel.data)
	check_run "a file that is not one" 0 "$TRACELET" fold --vmlinux names kernel.data
	check_match "is reported" 'names: not an ELF file' "$stderr"
fi

# ---- tracepoints ----

cp "$(command -v sleep)" napping
if [ "$(id -u)" = 0 ] && perf record -q -a -m 4M -e 'sched:*' -e 'raw_syscalls:*' -e 'irq:softirq_*' -e 'kmem:kmalloc' -e 'signal:*' \
	-o points.data -- sh -c './napping 0.05; cat /etc/passwd >/dev/null; ./napping 0.05' >/dev/null 2>&1; then
	"$TRACELET" dump --json points.data 2>/dev/null >points.jsonl
	perf script -i points.data -F comm,pid,tid,time,event,trace --ns 2>/dev/null >points.script
	count() { jq -r "select($1) | .event" points.jsonl | wc -l; }
	for event in raw_syscalls:sys_enter kmem:kmalloc irq:softirq_raise sched:sched_stat_runtime sched:sched_process_exit; do
		check_equal "$event: as many as perf has" "$(grep -c " $event: " points.script)" \
			"$(count ".provider == \"${event%:*}\" and .event == \"${event#*:}\"")"
	done
	check_equal "switches have perf's fields" \
		"$(sed -n 's/.* sched:sched_switch: .* prev_pid=\([0-9]*\) .* next_pid=\([0-9]*\) next_prio=\([0-9]*\)$/\1 \2 \3/p; s/.* sched:sched_switch: .*:\([0-9]*\) \[[0-9]*\] [^ ]* ==> .*:\([0-9]*\) \[\([0-9]*\)\]$/\1 \2 \3/p' points.script | sort | md5sum)" \
		"$(jq -r 'select(.provider == "sched" and .event == "switch") | "\(.tid) \(.fields.next_tid) \(.fields.next_priority)"' points.jsonl | sort | md5sum)"
	# Of the same time, they are in any order.
	check_equal "system calls, too" \
		"$(sed -n 's/.* raw_syscalls:sys_enter: NR \([0-9]*\) (.*/\1/p' points.script | sort | uniq -c)" \
		"$(jq -r 'select(.provider == "raw_syscalls" and .event == "sys_enter") | .fields.id' points.jsonl | sort | uniq -c)"
	check_equal "events of other tracepoints have their fields" \
		"$(sed -n 's/.* sched:sched_stat_runtime: .* pid=\([0-9]*\) runtime=\([0-9]*\) .*/\1 \2/p' points.script | sort | md5sum)" \
		"$(jq -r 'select(.event == "sched_stat_runtime") | "\(.fields.pid) \(.fields.runtime)"' points.jsonl | sort | md5sum)"
	check_run "why works on a recording of perf" 0 "$TRACELET" why --thread napping points.data
	check_match "and says what a thread waited for" '^napping.*waited' "$stdout"
	check_run "and so do tables" 0 "$TRACELET" table --csv points.data system-calls
	check_match "with the names of system calls" ',(wait4|read|openat|clock_nanosleep),' "$stdout"
	check_run "they become a trace" 0 "$TRACELET" convert --quiet points.data points.pb
	check_run "without defects" 0 "$TRACELET" check points.pb
fi
if [ "$(id -u)" = 0 ] && perf record -q -a -e sched:sched_wakeup -e sched:sched_switch -o wakeup.data -- sleep 0.1 >/dev/null 2>&1; then
	check_equal "a sched_wakeup is a wakeup, if there is no sched_waking" yes \
		"$("$TRACELET" info --json wakeup.data 2>/dev/null | jq -r 'if .events["sched/waking"] > 0 and .events["sched/waking"] == .events["sample/sched:sched_wakeup"] then "yes" else "no" end')"
fi
if perf record -q -a --switch-events -e cpu-clock -o switches.data -- sleep 0.1 >/dev/null 2>&1; then
	check_equal "perf's own records of switches" \
		"$(perf script --show-switch-events -i switches.data 2>/dev/null | grep -c 'PERF_RECORD_SWITCH_CPU_WIDE OUT')" \
		"$("$TRACELET" info --json switches.data | jq '.events["sched/switch"]')"
fi

# Tasks from before the recording have no time: they are not its first events.
if [ "$(id -u)" = 0 ] && perf record -q -a -o machine.data ./chain >/dev/null 2>&1; then
	check_run "the whole machine becomes a trace" 0 "$TRACELET" convert machine.data machine.pb
	check_run "without defects" 0 "$TRACELET" check machine.pb
	check_equal "it begins with the recording, not with the machine" yes \
		"$("$TRACELET" info --json machine.data | jq -r 'if .span_ns < 60e9 and .events["sample/cpu-clock"] + .events["sample/cpu-clock:ppp"] + .events["sample/cycles"] + .events["sample/cycles:P"] + .events["sample/cycles:ppp"] > 0 then "yes" else . end')"
fi

# ---- folders ----

gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -w chain.c -o chain
if perf record -q --threads -F 1999 -g -o threads ./chain >/dev/null 2>&1 && [ -e threads/data.0 ]; then
	check_equal "a folder of perf record --threads: each sample is there" \
		"$(perf report --stats -i threads 2>/dev/null | awk '/SAMPLE events:/ { print $3; exit }')" "$(samples threads)"
	perf script --no-inline -i threads 2>/dev/null | "$TRACELET" fold | grep -o ';main;.*' | sort >by-perf
	"$TRACELET" fold threads | grep -o ';main;.*' | sort >by-us
	check "with the same stacks as perf script's" diff by-perf by-us
	check_run "it becomes a trace" 0 "$TRACELET" convert threads threads.pb
	check_run "without defects" 0 "$TRACELET" check threads.pb
	rm -rf hostile && cp -r threads hostile && rm -f hostile/data.* && mkfifo hostile/data.0
	check_run "nothing but regular files is read from it" 0 timeout 20 "$TRACELET" info hostile
	rm -f hostile/data && mkfifo hostile/data
	check_run "not even the first" 2 timeout 20 "$TRACELET" info hostile
	check_match "which is reported" 'hostile: cannot be read: Is a directory' "$stderr"
	if perf record -q -z --threads -F 1999 -g -o packed-threads ./chain >/dev/null 2>&1 && [ -e packed-threads/data.0 ]; then
		check_equal "compressed, too" "$(perf report --stats -i packed-threads 2>/dev/null | awk '/SAMPLE events:/ { print $3; exit }')" \
			"$(samples packed-threads)"
	fi
else
	skip "a folder of perf record --threads" "this perf cannot"
fi
if [ "$(id -u)" = 0 ] && grep -q ' T schedule$' /proc/kallsyms &&
	perf record -q -a -g -F 999 -o core.data -- sh -c 'for i in 1 2 3 4 5 6; do cat /proc/self/maps; done' >/dev/null 2>&1 &&
	"$TRACELET" fold core.data 2>/dev/null | grep -q _x64_sys; then
	mkdir -p kcore/kcore_dir && cp core.data kcore/data
	sed 's/__x64_sys_/__kept_sys_/' /proc/kallsyms >kcore/kcore_dir/kallsyms
	"$TRACELET" fold kcore >kcore.folded 2>/dev/null
	check_match "a folder of --kcore has the kernel's names" '__kept_sys_' kcore.folded
	check_equal "and no others" 0 "$(grep -c __x64_sys_ kcore.folded || true)"
fi

# ---- addresses ----

perf record -q -F 1999 -g -o addresses.data ./chain >/dev/null 2>&1
perf script -D -i addresses.data 2>/dev/null | awk '/^\.\.\.\.\. +[0-9]+: / { raw = $3; sub(/^0*/, "0x", $3); if ($3 == "0x") $3 = "0x0"
		if (raw !~ /^fffffffffffff/ && raw != last) printf "%s%s", open++ ? "," : "", $3; last = raw; next }
	open { print ""; open = 0; last = "" } END { if (open) print "" }' | sort >by-perf
"$TRACELET" dump --json --addresses addresses.data 2>/dev/null | jq -r 'select(.provider == "sample") | .addresses | reduce .[] as $one ([];
	if .[-1] == $one then . else . + [$one] end) | join(",")' | sort >by-us
check "dump --addresses prints the addresses in the file" diff by-perf by-us
check_equal "the first is where the sample was" true \
	"$("$TRACELET" dump --json --addresses addresses.data 2>/dev/null | jq -n '[inputs | select(.provider == "sample") | .ip == .addresses[0]] | all')"
"$TRACELET" dump --addresses --provider sample addresses.data 2>/dev/null >addresses.txt
check_match "also as text" ' ip=0x[0-9a-f]* addresses=0x[0-9a-f]*,0x' addresses.txt

# ---- groups ----

if perf record -q -e '{cpu-clock,task-clock}:S' -F 1999 -g -o group.data ./chain >/dev/null 2>&1; then
	perf script -i group.data -F event,period -G 2>/dev/null | awk '{ sub(":", "", $2); print $2, $1 }' | sort >by-perf
	"$TRACELET" dump --json group.data 2>/dev/null | jq -r 'select(.provider == "sample") | "\(.event) \(.fields.weight)"' | sort >by-us
	check "each event of a group that is read at samples has its counts" diff by-perf by-us
else
	skip "groups" "this perf cannot"
fi
done_testing
