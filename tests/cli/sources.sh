# Sourced by the tests of what profiles record, after lib.sh.
need_root
need_command jq
tp=$source/tests/perfetto/tp
cause=$TRACELET_HELPERS/sources

# profile KEYWORD... [STACKS]: a file with these and nothing else; STACKS begins with a blank, and has one before each.
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

# traced PROFILE COMMAND...: leaves $trace, what the command printed in $stdout, and $status.
traced() {
	rm -rf out
	run "$TRACELET" run --quiet --output-dir out --profile "$@"
	trace=$(echo out/*.pb)
}

# counted DESCRIPTION EXPECTED COUNTER PROFILE KIND COUNT: $EXPECTED and what COUNTER prints of such a trace
# are the same. Some kernels run no BPF program while certain processes of the machine are on the CPU, so
# what is answered in an interrupt at such a time is not seen: hence a second look, and a third.
counted() {
	local try got=
	for try in 1 2 3 4 5; do
		traced "$4" -- "$cause" "$5" "$6"
		[ "$status" = 77 ] && break
		got=$("$3")
		[ "$got" = "$2" ] && break
	done
	if [ "$status" = 77 ]; then
		skip "$1" "$(cat "$stderr")"
	else
		check_equal "$1" "$2" "$got"
	fi
}
