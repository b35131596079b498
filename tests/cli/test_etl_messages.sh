#!/usr/bin/env bash
# Messages of manifests in `dump`: the text of an event, with the values of its fields.
. "$(dirname "$0")/lib.sh"
need_command jq
make_etl=$(dirname "$TRACELET")/tests/etl/make_etl
"$make_etl" clr.etl clr

# manifest MESSAGE: a manifest that words the event of clr.etl so.
manifest() {
	cat >own.man <<-END
		<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
		<provider name="Microsoft-Windows-DotNETRuntime" guid="{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4}" symbol="S" resourceFileName="x" messageFileName="x">
		<tasks><task name="Allocation" value="7" message="\$(string.task)"/></tasks>
		<opcodes><opcode name="Ticked" value="20" message="\$(string.opcode)"/></opcodes>
		<events><event value="10" version="1" symbol="Tick" template="Tick" task="Allocation" opcode="Ticked" message="\$(string.tick)"/></events>
		<maps><valueMap name="Kind"><map value="0" message="\$(string.small)"/></valueMap></maps>
		<templates><template tid="Tick"><data name="Amount" inType="win:UInt32"/><data name="Kind" inType="win:UInt32" map="Kind"/>
		<data name="Clr" inType="win:UInt16"/></template></templates></provider></events></instrumentation>
		<localization><resources culture="en-US"><stringTable><string id="tick" value="$1"/><string id="small" value="Small"/>
		<string id="task" value="${2:-Memory}"/><string id="opcode" value="Tick"/></stringTable></resources>
		</localization></instrumentationManifest>
	END
}

# message: what dump prints for it.
message() {
	"$TRACELET" dump --json --manifest own.man --event Tick clr.etl | jq -c .message
}

manifest '%1!d! bytes of %2 objects (100 %%) in %3, not %4%n'
check_equal "values are in their places" '"100000 bytes of Small objects (100 %) in 9, not %4"' "$(message)"
check_run "also as text" 0 "$TRACELET" dump --manifest own.man --event Tick clr.etl
check_match "in quotes" ' message="100000 bytes of Small objects .100 %. in 9, not %4"$' "$stdout"
manifest 'one%nline%tand%1!'
check_equal "with line breaks" '"one\nline\tand100000!"' "$(message)"
sed -i 's/ symbol="Tick"//' own.man
check_equal "names of tasks and opcodes are those of their messages" '"Memory/Tick"' \
	"$("$TRACELET" dump --json --manifest own.man --event Tick clr.etl | jq -c .event)"
manifest 'x' 'Memory %1'
sed -i 's/ symbol="Tick"//' own.man
check_equal "if they are names" '"Allocation/Tick"' "$("$TRACELET" dump --json --manifest own.man --event Tick clr.etl | jq -c .event)"
manifest '%'
check_equal "a lone percent sign stays" '"%"' "$(message)"
manifest '%99%0%123456789'
check_equal "so do numbers of no field" '"%99%0%123456789"' "$(message)"
manifest ''
check_equal "an empty message is none" null "$(message)"
manifest "$(printf '%%1%.0s' {1..5000})"
check_equal "messages have a limit" 4096 "$(message | jq length)"
check_equal "without a manifest there is none" 0 "$("$TRACELET" dump --json clr.etl | grep -c '"message"' || true)"
done_testing
