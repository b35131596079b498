#!/usr/bin/env bash
# Tables from the events of Windows' kernel: system calls, power, heap, pool, handles.
. "$(dirname "$0")/lib.sh"
need_command jq
make_etl=$(dirname "$TRACELET")/tests/etl/make_etl

# rows FILE TABLE COLUMNS: the rows one by one, as text.
rows() {
	"$TRACELET" table --json "$1" "$2" --group-by none | jq -r ".[] | [$3] | map(. // \"-\") | join(\" \")"
}

for width in '' 32; do
	"$make_etl" tables.etl tables
	[ -z "$width" ] || "$make_etl" tables.etl tables 32
	check_equal "system calls have their thread, place, result and duration $width" 'app.exe 44 ntoskrnl.exe+0x400 - 0 5
app.exe 44 ntoskrnl.exe+0x400 0xc0000034 -1073741772 1
app.exe 44 0x70000000 - 0 0.5' "$(rows tables.etl system-calls '.process, .tid, .call, .error, .result, .duration_us')"
	check_equal "idle states have their residence $width" 'IdleStateEnter 2 -
IdleStateExit 2 50' "$(rows tables.etl power '.event, .state, .duration_us')"
	check_equal "blocks have their size and life $width" 'app.exe Alloc 0x501000 100 -
app.exe ReAlloc 0x502000 300 10
app.exe Free 0x502000 300 20
app.exe Free 0x509000 - -' "$(rows tables.etl heap '.process, .operation, .address, .size, .lifetime_us')"
	check_equal "blocks of pools have their tag $width" 'PoolAllocation Mine 64 -
PoolFree Mine 64 70' "$(rows tables.etl pool '.operation, .tag, .size, .lifetime_us')"
	check_equal "handles have the name of their type, which comes last in the trace $width" 'CreateHandle Mutant 0x84 \BaseNamedObjects\Lock -
CloseHandle Mutant 0x84  90' "$(rows tables.etl handles '.operation, .type, .handle, .name, .open_us')"
done
"$make_etl" tables.etl tables
check_equal "by default they are added up" 'Mine,PoolAllocation,1,64' "$("$TRACELET" table --csv tables.etl pool | sed -n 2p)"
"$make_etl" waits.etl waits
for table in system-calls power heap pool handles; do
	check_run "$table without such events" 0 "$TRACELET" table waits.etl $table
	check_match "says what would record them" 'the recording has no .*; the keywords? .* records? them' "$stderr"
done
done_testing
