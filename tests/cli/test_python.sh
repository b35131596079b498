# Samples and waits of Python programs have the functions of the program, in place of the interpreter's. Other versions
# than the system's: TRACELET_PYTHON=/path/to/python3.13 bash tests/cli/test_python.sh
. "$(dirname "$0")/lib.sh"
need_root
[ "$(uname -m)" = x86_64 ] || skip_all "Python's frames are read only on x86-64"
python=${TRACELET_PYTHON:-$(PATH=/usr/bin:/bin command -v python3)} || skip_all "there is no python3 here"
"$python" -c 'import sys; sys.exit(not (3, 8) <= sys.version_info < (3, 14))' || skip_all "the layout of this Python is not known"

record=run
recorded() { # NAME OPTION... -- ARGUMENT...: of Python; its stacks are in samples.folded
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	$record "$TRACELET" run "${options[@]}" --keep-spool --name "$name" -- "$python" "$@"
	check_equal "$name is recorded" 0 "$status"
	"$TRACELET" fold --context ${event:+--event-filter "$event"} tracelet-out/"$name"_*.spool >samples.folded
}
share() { # PATTERN [OF]: its percentage of the samples with OF, to one decimal
	awk -v pattern="$1" -v of="${2:-.}" '$0 ~ of { weight = $NF; all += weight; if ($0 ~ pattern) matching += weight }
		END { printf "%.1f\n", all ? matching * 100 / all : 0 }' samples.folded
}
near() { # DESCRIPTION EXPECTED ACTUAL: within two points
	check "$1: $2 %, measured $3 %" awk -v a="$2" -v b="$3" 'BEGIN { exit !(a - b < 2 && b - a < 2) }'
}

# ---- shares that the program itself measures ----

cat >shares.py <<'END'
import sys, time

spent = {}

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(i * i for i in range(300))

class Half:
    def run(self):
        burn(0.5)

def comprehension():
    return [burn(0.25) for _ in range(1)]

def callback():
    sorted([1], key=lambda _: burn(0.15))

def recursion(depth=40):
    return recursion(depth - 1) if depth else burn(0.1)

def measured(function):
    begin = time.process_time()
    function()
    spent[function.__name__] = time.process_time() - begin

def every():
    for function in Half().run, comprehension, callback, recursion:
        measured(function)

def warm_up(): # stacks have C functions until the tracer has looked at a new program
    burn(0.4)

warm_up()
every()
total = sum(spent.values())
with open("shares", "w") as out:
    for name, seconds in spent.items():
        print(name, round(100 * seconds / total, 1), file=out)
END
recorded shares --sample -- shares.py
while read -r name percent; do
	near "$name" "$percent" "$(share ";([A-Za-z]*\\.)?$name:" ';every:')"
done <shares
check "nearly all samples have Python's functions" awk -v share="$(share ';(warm_up|every):shares.py')" 'BEGIN { exit !(share > 85) }'
check_match "outer functions come before inner ones, with their lines" \
	';<module> shares.py:shares.py:36;(.*;)?every:shares.py:30;(.*;)?measured:shares.py:25;(.*;)?([A-Za-z]*\.)?run:shares.py:12;(.*;)?burn:shares.py:8' samples.folded
check_match "C functions that call Python stay between them" ';callback:shares.py:18;[^<]*;([a-z.<>]*\.)?<lambda>:shares.py:18;' samples.folded
check_equal "a recursion has all its calls" 41 "$(grep -m 1 ';recursion:.*;burn:' samples.folded | tr ';' '\n' | grep -c '^recursion:')"
# One that has just begun or is about to return has no frame of Python's.
check_not "the interpreter's C functions are left only where they run no code" grep -E ';every:.*;_PyEval_EvalFrameDefault.*:shares.py' samples.folded
"$TRACELET" top --sort total tracelet-out/shares_*.pb >top.txt
check_match "top has them with their file" ' every \(.*shares.py\)' top.txt
check_match "so has the flame graph" 'burn' tracelet-out/shares_*.svg

# ---- threads, children, deep recursion ----

cat >many.py <<'END'
import os, sys, threading, time

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(300))

def first():
    burn(0.15)

def second():
    burn(0.15)

def child():
    burn(0.15)

def deep(depth):
    return deep(depth - 1) if depth else burn(0.1)

threads = [threading.Thread(target=work, name=work.__name__) for work in (first, second)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if os.fork() == 0:
    child()
    os._exit(0)
os.wait()
sys.setrecursionlimit(2000)
deep(600)
END
recorded many --sample -- many.py
"$TRACELET" fold --tid tracelet-out/many_*.pb >threads.folded
of_thread() { grep -E ";$1;(.*;)?burn" threads.folded | cut -d ';' -f 1 | sort -u; }
check_equal "each function is in one thread" "1 1 1" "$(of_thread first | wc -l) $(of_thread second | wc -l) $(of_thread child | wc -l)"
check_equal "these are three threads" 3 "$(sort -u <(of_thread first) <(of_thread second) <(of_thread child) | wc -l)"
check_not "no thread has the functions of another one" grep -E ';first;.*;second;|;second;.*;first;|;first;.*;child;' threads.folded
check_not "more calls than are read: never two parts of them mixed up" grep -E ';deep;(.*;)?(first|second|child);' threads.folded

# ---- waits ----

cat >waits.py <<'END'
import threading, time

# It takes a moment until the tracer has looked at a new program.
for _ in range(30):
    time.sleep(0.01)

def first_sleep():
    time.sleep(0.2)

def grüße():
    time.sleep(0.06)

def wait_for_lock(lock):
    with lock:
        pass

first_sleep()
grüße()
lock = threading.Lock()
lock.acquire()
thread = threading.Thread(target=wait_for_lock, args=(lock,))
thread.start()
time.sleep(0.1)
lock.release()
thread.join()
END
event=off-cpu
record=run_whole # a switch that is hidden is a wait that is missing
for options in --waits=1ms --off-cpu; do
	rm -rf tracelet-out
	recorded waits $options -- waits.py
	for line in first_sleep:waits.py:8 grüße:waits.py:11 '<module> waits.py:waits.py:23' wait_for_lock:waits.py:14; do
		check_match "$options: a wait in $line" ";$line;" samples.folded
	done
done
"$TRACELET" why tracelet-out/waits_*.pb >why.txt
check_match "why names the function and its line" 'first_sleep\(\) \(waits.py:8\)' why.txt

# ---- what only looks like Python ----

event=
record=run
python=$work/python3.11
cat >fake.c <<'END'
#include <stdint.h>
#include <time.h>

// Lists that lead to themselves; and nothing is what it seems to be.
uint64_t PyCode_Type[64], _PyRuntime[1024], loop[1024];

void _PyEval_EvalFrameDefault(void) {
	while (clock() < CLOCKS_PER_SEC / 5)
		;
}

int main(void) {
	uint64_t self;
	__asm__("mov %%fs:0, %0" : "=r"(self));
	for (int i = 0; i < 1024; i++)
		_PyRuntime[i] = loop[i] = (uint64_t)loop;
	loop[1] = (uint64_t)PyCode_Type;
	loop[152 / 8] = self;
	_PyEval_EvalFrameDefault();
	return 0;
}
END
gcc -O1 -rdynamic -o "$python" fake.c
recorded fake --sample --
check_match "its own functions stay" ';main;_PyEval_EvalFrameDefault' <(sed 's/:[^;]*\(;\| [0-9]*$\)/\1/g' samples.folded)
check_equal "nothing is lost or damaged" 0 "$(jq -s 'last | .lost // 0' tracelet-out/manifest.jsonl | grep -c '^[1-9]')"
cp "$(command -v sleep)" "$python"
recorded other --sample -- 0.01

done_testing
