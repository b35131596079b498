# Sourced after lib.sh by the tests of what profiles record.
need_root
need_command jq
tp=$source/tests/perfetto/tp
cause=$TRACELET_HELPERS/sources

# profile KEYWORD... [STACKS]: writes a file with only these; STACKS has a blank before each stack.
profile() {
	local stacks=
	case ${!#} in
	\ *)
		stacks=$(printf '<Stack Value="%s"/>' ${!#})
		set -- "${@:1:$#-1}"
		;;
	esac
	echo '<WindowsPerformanceRecorder Version="1.0"><Profiles><SystemCollector Id="SC" Name="NT Kernel Logger"/>'
	echo '<SystemProvider Id="SP"><Keywords>'
	printf '<Keyword Value="%s"/>\n' "$@"
	echo "</Keywords>${stacks:+<Stacks>$stacks</Stacks>}</SystemProvider>"
	echo '<Profile Id="P.Verbose.File" Name="P" DetailLevel="Verbose" LoggingMode="File">'
	echo '<Collectors><SystemCollectorId Value="SC"><SystemProviderId Value="SP"/></SystemCollectorId>'
	echo '</Collectors></Profile></Profiles></WindowsPerformanceRecorder>'
}

# traced PROFILE COMMAND...: sets $trace and $status; the command's output is in $stdout.
traced() {
	rm -rf out
	run "$TRACELET" run --quiet --output-dir out --profile "$@"
	trace=$(echo out/*.pb)
}

# counted DESCRIPTION EXPECTED COUNTER PROFILE KIND COUNT: EXPECTED equals what COUNTER prints for such a trace. Some
# kernels run no BPF program while certain processes of the machine are on the CPU. So the counted events happen in
# the test's own context, in a kernel worker, or while a known process is on the CPU (sources.c).
counted() {
	traced "$4" -- "$cause" "$5" "$6"
	if [ "$status" = 77 ]; then
		skip "$1" "$(cat "$stderr")"
	else
		check_equal "$1" "$2" "$("$3")"
	fi
}

# counted_distant: the same, while a separate process is on the CPU whenever the test is not.
counted_distant() {
	rm -f spins
	"$cause" spin 1 2>/dev/null &
	counted "$@"
	kill $! 2>/dev/null
	wait $! 2>/dev/null
}
