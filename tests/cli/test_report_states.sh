# The states of threads in a page against Perfetto's own table thread_state, row for row.
. "$(dirname "$0")/lib.sh"
need_root
need_command node
perfetto=$source/tests/perfetto
"$perfetto/setup" >/dev/null 2>&1 || skip_all "Perfetto's importer is not here"
demo=$(dirname "$TRACELET")/demo

# The pseudo tasks for other tests' time have one number for each CPU in a trace, and none in a page. Wakers in interrupts
# are not compared: Perfetto names the task that was interrupted, a page only a task that raised the softirq itself.
compare() {
	"$TRACELET" report -o page.html "$1" >/dev/null || return
	node "$source/tests/browser/states.mjs" page.html | awk -F'|' '$3 < 4194304' >ours.txt
	"$perfetto/tp" "$1" "select ts, dur, tid, state, ifnull(thread_state.cpu, ''),
		case when irq_context then '*' else ifnull((select w.tid from thread w where w.utid = waker_utid), '') end
		from thread_state join thread using (utid) where tid < 4194304 order by ts, tid" >theirs.txt
	# Times count from the first row of each.
	for list in ours theirs; do
		awk -F'|' -v OFS='|' '{ t[NR] = $1; l[NR] = $2 OFS $3 OFS $4 OFS $5 OFS $6 } END { for (i = 1; i <= NR; i++) printf "%d|%s\n", t[i] - t[1], l[i] }' \
			$list.txt | sort >$list.rows
	done
	awk -F'|' -v OFS='|' 'NR == FNR { if ($6 == "*") irq[$1 OFS $2 OFS $3] = 1; next } ($1 OFS $2 OFS $3) in irq { $6 = "*" } 1' \
		theirs.rows ours.rows >ours.sorted && mv ours.sorted ours.rows
}

for test in forks sleeps contends reads fails; do
	for option in --waits=no --off-cpu; do
		"$TRACELET" run --keep always --output-dir "$test$option" $option -- "$demo/$test" >/dev/null 2>&1
		compare "$(echo "$test$option"/*.pb)"
		check "$test $option: $(wc -l <ours.rows) rows are the same" cmp -s ours.rows theirs.rows
		cmp -s ours.rows theirs.rows || note "$(diff ours.rows theirs.rows | head -n 20)"
		check "... and there are some" test -s ours.rows
	done
done
done_testing
