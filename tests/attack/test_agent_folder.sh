# An ordinary user prepares /tmp for the agent that root will start: the agent must neither send nor delete
# the files the user aims at, nor accept files that the user puts into its folder.
. "$(dirname "$0")/lib.sh"
need_root
[ -e /tmp/tracelet-agent.operations ] && rm -rf /tmp/tracelet-agent.operations

agent() {
	"$TRACELET" agent --listen "unix:$work/agent" --linger 20 2>agent.log &
	wait_until "$TRACELET" guest --patience 20 "unix:$work/agent" shell true </dev/null
}
guest() { "$TRACELET" guest "unix:$work/agent" "$@"; }
export TRACELET_STATE_DIR=$work/state

mkdir -m 700 treasure
echo secret >treasure/secret.pb
echo more >treasure/keys.txt

as_attacker ln -s "$work/treasure" /tmp/tracelet-agent.operations
agent
run guest start build-step </dev/null
run guest stop build-step </dev/null
check_equal "a link in /tmp: root's files are all there" "keys.txt secret.pb" "$(ls treasure | xargs)"
check_not "and none was sent" test -e tracelet-out/secret.pb
check_not "not one" test -e tracelet-out/keys.txt
rm -f /tmp/tracelet-agent.operations

as_attacker mkdir -m 777 /tmp/tracelet-agent.operations
as_attacker sh -c 'echo planted >/tmp/tracelet-agent.operations/planted.pb'
run guest start other-step </dev/null
check_equal "a folder of his own: the operation starts" 0 "$status"
check_equal "elsewhere" "planted.pb" "$(ls /tmp/tracelet-agent.operations)"
run guest stop other-step </dev/null
check_equal "and stops" 0 "$status"
check "its trace arrives" test -s "$(the_trace other-step)"
check_not "what he planted does not" test -e tracelet-out/planted.pb
check "and is still his" test -e /tmp/tracelet-agent.operations/planted.pb
rm -rf /tmp/tracelet-agent.operations
done_testing
