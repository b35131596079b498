# `tracelet why` on programs as people write them, in several languages, which it was not made for.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/why.sh"

causes=$TRACELET_HELPERS/strangers

# says PROGRAM EXPRESSION: its answer has this.
says() {
	"$TRACELET" why "$1" >why.txt
	check_match "$1: in words" "$2" why.txt
}

# asked PROGRAM "THREAD REASON FUNCTION" EXPRESSION COMMAND...: as `named`, for another program. The first one is an
# expression, too: interpreters may have no symbols.
asked() {
	local name=$1 cause=$2 expression=$3
	shift 3
	explain_whole "$name" "$TRACELET" run --quiet --sample --name "$name" -- "$@"
	if hidden; then
		skip "$name" "this kernel did not report some switches in any of eight recordings"
		return
	fi
	check_equal "$name: it passes" 0 "$status"
	check_match "$name: cause, thread and function" "^$cause$" \
		<(jq -r '[.segments[] | select(.state == "waits" and .reason != "page-fault")][0] | "\(.thread) \(.reason) \(.function)"' why.json)
	says "$name" "$expression"
}

named several_waiters "opener sleep nap" "waiter condition await_gate"
says several_waiters 'opener slept in nap\(\).*, called by warm_up\(\)\. For this, waiter waited for a condition variable in await_gate\(\)'
named fault_lock "builder page-fault build_table" "strangers mutex look_up"
named fork_server "job sleep nap" "server child serve"
says fork_server 'called by run_job\(\)\. For this, server waited for a child process in serve\(\).*, and for that, strangers waited for a pipe in ask_server\(\)'
named record_lock "writer sleep nap" "strangers kernel-lock lock_part"
says record_lock 'called by write_part\(\)\. For this, strangers waited for a file lock in lock_part\(\)'
named sysv_semaphore "maker sleep nap" "strangers semaphore take_unit"
named full_queue "consumer sleep nap" "strangers other post_message"
says full_queue 'called by digest_message\(\), 3 times for up to 1[0-9.]+ ms\. For this, strangers waited for a message queue in post_message\(\)'
named wait_id "worker cpu compute" "strangers child watch"
named nested_locks "inner sleep nap" "middle mutex take_second"
says nested_locks 'called by save_all\(\)\. For this, middle waited for a mutex in take_second\(\).*, and for that, strangers waited for a mutex in take_first\(\)'
named ping_pong "peer sleep nap" "strangers socket ping"
says ping_pong 'called by think\(\), 20 times for up to [0-9.]+ ms\. For this, strangers waited for a socket in ping\(\)'
named named_pipe "reader sleep nap" "strangers pipe open_pipe"

# ---- other languages ----

cat >async.cc <<'END'
#include <chrono>
#include <future>
#include <thread>
__attribute__((noinline)) int fetch_price() {
	std::this_thread::sleep_for(std::chrono::milliseconds(200));
	return 7;
}
__attribute__((noinline)) int total() {
	std::future<int> price = std::async(std::launch::async, fetch_price);
	return price.get();
}
int main() { return total() == 7 ? 0 : 1; }
END
if c++ -g -O1 -pthread -o async async.cc 2>/dev/null; then
	asked async "async sleep fetch_price" 'async slept in fetch_price\(\) \(async.cc:5\)\. For this, async waited .* in total\(\) \(async.cc:10\)' ./async
else
	skip "async" "no C++ compiler here"
fi

cat >channel.go <<'END'
package main

import "time"

//go:noinline
func compute(results chan int) {
	time.Sleep(200 * time.Millisecond)
	results <- 7
}

func main() {
	results := make(chan int)
	go compute(results)
	if <-results != 7 {
		panic("wrong")
	}
}
END
if GO111MODULE=off GOCACHE=$PWD/cache go build -o channel channel.go 2>/dev/null; then
	asked channel "channel timeout null" 'channel had no goroutine to run' ./channel
else
	skip "channel" "no Go here"
fi

cat >pipeline.sh <<'END'
produce() { sleep 0.3; echo done; }
produce | { read -r line; [ "$line" = done ]; }
END
asked pipeline "sleep sleep clock_nanosleep" 'sleep slept .* For this, bash waited for (a child process|a pipe)' bash pipeline.sh

cat >jobs.py <<'END'
import queue, threading, time
jobs = queue.Queue()
def load():
    time.sleep(0.3)
    jobs.put(1)
threading.Thread(target=load).start()
jobs.get()
END
cat >busy.py <<'END'
import sqlite3, threading, time
sqlite3.connect("busy.db").execute("create table if not exists t (x)").connection.close()
locked = threading.Event()
def migrate():
    database = sqlite3.connect("busy.db", isolation_level=None)
    database.execute("begin exclusive")
    locked.set()
    time.sleep(0.4)
    database.execute("commit")
thread = threading.Thread(target=migrate)
thread.start()
locked.wait()
sqlite3.connect("busy.db", timeout=10, isolation_level=None).execute("insert into t values (1)")
thread.join()
END
if [ -x /usr/bin/python3 ]; then # in a shim, a shell would come first
	asked jobs "python3 sleep .*" 'python3 slept.* For this, python3 waited for a semaphore' /usr/bin/python3 jobs.py
	asked busy "python3 sleep .*" 'python3 slept.*, [0-9]+ times for up to 10[0-9.]* ms\. Meanwhile, for [34][0-9.]+ ms, python3 slept' /usr/bin/python3 busy.py
else
	skip "jobs, busy" "no Python here"
fi

done_testing
