#!/usr/bin/env bash
# A trace made while its test runs equals one made afterwards, and nothing of it is visible before it is
# complete.
. "$(dirname "$0")/lib.sh"
need_root

followed="^tracelet: the trace was converted while the test ran"
# Half a megabyte of events and more, then a moment of rest: the converting thread has the lowest priority.
busy='dd if=/dev/zero of=/dev/null bs=1 count=40000 2>dd.txt; sleep 0.3; dd if=/dev/zero of=/dev/null bs=1 count=40000 2>dd.txt'

check_run "a test with many events" 0 "$TRACELET" run --verbose --keep-spool --profile system-calls -- bash -c "$busy"
check_match "its trace is made while it runs" "$followed" "$stderr"
check "and is a good one" "$TRACELET" check tracelet-out/bash_*.pb
check_run "its spool, converted afterwards" 0 "$TRACELET" convert tracelet-out/bash_*.spool after.pb
check "is the same" cmp tracelet-out/bash_*.pb after.pb
check_equal "nothing else is left" 3 "$(find tracelet-out -type f | wc -l)" # trace, spool, manifest

fresh
check_run "with samples" 0 "$TRACELET" run --verbose --keep-spool --sample --profile system-calls -- bash -c "$busy"
check_match "it is made while it runs, too" "$followed" "$stderr"
stacks() { # FILE: the programs' frames, with their times (our own programs in the kernel lose their names)
	"$TRACELET" fold "$1" 2>/dev/null | sed -E "s/;(entry_|asm_|bpf_prog_|\\[+kernel|__pi_)[^ ]* / /" | awk "{ n = \$NF; \$NF = \"\"; s[\$0] += n } END { for (k in s) print k s[k] }" | sort
}
check "its stacks have names" grep -q 'dd;.*read' <(stacks tracelet-out/bash_*.pb)
stacks tracelet-out/bash_*.pb >followed.txt
stacks tracelet-out/bash_*.spool >afterwards.txt
check "the same as afterwards" diff followed.txt afterwards.txt
check "and there is a picture" test -s tracelet-out/bash_*.svg

# A trace that may not be kept is not made early.
fresh
check_run "a test that passes, with --keep failed" 0 "$TRACELET" run --verbose --keep failed --profile system-calls -- bash -c "$busy"
check_not "is not followed" grep -q "$followed" "$stderr"
check_run "nor is a recording of everything" 0 "$TRACELET" run --verbose --scope system -- bash -c "$busy"
check_not "in which we would be ourselves" grep -q "$followed" "$stderr"

# Marks may begin cases, each with its own trace from its beginning on.
fresh
check_run "a test that makes a mark in its last moment" 0 "$TRACELET" run --verbose --profile system-calls -- \
	bash -c "$busy; \"\$TRACELET\" mark late"
check_not "is converted afterwards" grep -q "$followed" "$stderr"
check "and the mark is in it" grep -q -a late tracelet-out/bash_*.pb

# A killed tracer leaves what was recorded, and no partial trace.
fresh
"$TRACELET" run --name killed --profile system-calls -- bash -c "$busy; read -r line <go" 2>stderr &
tracelet=$!
mkfifo go
wait_until() { # COMMAND...: within half a minute
	local try
	for try in $(seq 300); do
		"$@" && return
		sleep 0.1
	done
	return 1
}
check "a test in its middle" wait_until sh -c '[ "$(stat -c %s tracelet-out/*.spool 2>/dev/null || echo 0)" -gt 500000 ]'
tracer=$(pgrep -P "$tracelet" tracelet-trace)
check "has no trace yet" test -z "$(find tracelet-out -name '*.pb*')"
kill -KILL "$tracer"
echo >go
wait "$tracelet"
check_equal "the tracer is killed: the test is not" 0 "$?"
check_equal "the spool is there, and no more" 1 "$(find tracelet-out -type f | wc -l)"
check "it converts" "$TRACELET" convert tracelet-out/killed_*.spool out.pb

done_testing
