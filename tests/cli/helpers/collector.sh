# Sourced after words.sh by the tests of the collector.
# shellcheck shell=bash

# Users that only exist as numbers, in the group that may connect.
first_user=61001 second_user=61002 collector_group=61000 admin_group=61003
export TRACELET_COLLECTOR_SOCKET=

# as USER COMMAND...: with that user's rights and no others; files may give it more.
as() {
	local user=$1
	shift
	setpriv --reuid "$user" --regid "$user" --groups "$collector_group" --inh-caps=-all "$@"
}

# as_admin USER COMMAND...: the same in the group that sees all users.
as_admin() {
	local user=$1
	shift
	setpriv --reuid "$user" --regid "$user" --groups "$collector_group,$admin_group" --inh-caps=-all "$@"
}

# start_collector OPTIONS...: in the background; leaves $collector, its process, and the file collector.log. A
# client may connect at once.
start_collector() {
	TRACELET_COLLECTOR_SOCKET=$work_root/collector.sock
	"$TRACELET" collector --listen "$TRACELET_COLLECTOR_SOCKET" --group "$collector_group" --admin-group "$admin_group" "$@" 2>"$work_root/collector.log" &
	collector=$!
	wait_until "$TRACELET" status --collector || note "$(cat "$work_root/collector.log")"
}

# collector_counter NAME
collector_counter() {
	"$TRACELET" status --collector --json | jq -r ".$1"
}

# stop_collector: as systemd does; its exit status is that of the collector.
stop_collector() {
	kill -TERM "$collector"
	wait "$collector"
}

# backend_of NAME: what recorded the test, from the manifest.
backend_of() {
	jq -r "select(.test == \"$1\") | .backend" tracelet-out/manifest.jsonl
}

# lives TRACE: the life of all tasks, in order, without process ids.
lives() {
	"$TRACELET" dump --json "$1" | jq -c 'select(.provider == "task" and (.event == "fork" or .event == "exec" or .event == "exit" or .event == "rename"))
		| [.event, .process, .fields.name, .fields.file, .fields.arguments, .fields.code]'
}
