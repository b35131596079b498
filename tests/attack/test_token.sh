# Any user of a machine can connect to a TCP port on it. The agent, which is root, does nothing for clients
# without its token, and they do not take connections from those that have it.
. "$(dirname "$0")/lib.sh"
need_root
need_command python3
port=$((20000 + $$ % 20000))
there=tcp:127.0.0.1:$port
peer() { python3 "$source/tests/cli/guest_peer.py" "$@"; }
guest() { timeout 30 "$TRACELET" guest --patience 5 "$@"; }
(umask 077 && head -c 32 /dev/urandom >token && head -c 32 /dev/urandom >other && echo short >short)
install -m 644 token open
install -m 600 -o nobody token theirs

check_run "TCP without a token" 1 timeout 5 "$TRACELET" agent --listen "$there"
check_lines "is refused with one line" 1 "$stderr"
check_match "that says what to do" 'token-file' "$stderr"
for bad in open short theirs /dev/zero missing; do
	check_run "a token from $bad" 1 timeout 5 "$TRACELET" agent --listen "$there" --token-file "$bad"
	check_match "is refused" "^tracelet: (error: )?--token-file $bad: " "$stderr"
done

"$TRACELET" agent --listen "$there" --listen "unix:$work/agent" --token-file token 2>agent.log &
agent=$!
wait_until test -S agent
wait_until guest --token-file token "$there" shell true </dev/null
check_run "with the token" 7 guest --token-file token "$there" shell sh -c 'exit 7'
check_run "without" 125 guest "$there" shell touch "$work/ran"
check_match "one line says why" 'the agent wants a token' "$stderr"
check_run "with another" 125 guest --token-file other "$there" shell touch "$work/ran"
check_match "one line says why" 'the agent refused: the host has another token' "$stderr"
check_run "a Unix socket has its mode" 0 guest "unix:$work/agent" shell true
check_run "with or without a token" 0 guest --token-file token "unix:$work/agent" shell true

# A stranger with a custom client: not even pings are answered, and 100 connections block no one.
mkfifo hold
peer stranger "$port" "touch $work/ran" 100 <hold >stranger.out 2>&1 &
stranger=$!
exec 9>hold
wait_until grep -q flooded stranger.out
check_equal "is asked for a proof, and refused" "9 7" "$(head -1 stranger.out)"
check_run "meanwhile the host gets in" 3 guest --token-file token "$there" shell sh -c 'exit 3'
check_not "nothing ran for strangers" test -e ran
# A host with a long request keeps its connection while they come and go.
check_run "and stays in" 4 guest --token-file token "$there" shell sh -c "
	echo | python3 '$source/tests/cli/guest_peer.py' stranger $port 'touch $work/ran' 40 >/dev/null; exit 4"
open_sockets() { find "/proc/$agent/fd" -lname 'socket:*' | wc -l; }
none_left() { [ "$(open_sockets)" -le 3 ]; } # two listeners; a connection of ours may be closing
check "clients without a token are disconnected, even if they hold on" wait_until none_left
exec 9>&-
wait "$stranger"

# A proof that was overheard is of no use in another connection.
elsewhere=$((port + 1))
listening() { grep -q ":$(printf '%04X' "$1") 00000000:0000 0A" /proc/net/tcp; }
peer thief $elsewhere "$port" "touch $work/ran" >thief.out 2>&1 &
thief=$!
wait_until listening $elsewhere
check_run "a host whose bytes are overheard" 6 guest --token-file token "tcp:127.0.0.1:$elsewhere" shell sh -c 'exit 6'
wait "$thief"
check_equal "is asked for another proof, and the old one refused, twice" "9 7 9 7" "$(xargs <thief.out)"
check_not "nothing ran for the thief" test -e ran
kill "$agent"
wait "$agent"

# A fake agent: the host sends it no command.
for case in none wrong mirror echo; do
	peer impostor "$port" "$case" &
	impostor=$!
	wait_until listening "$port"
	check_run "an impostor ($case)" 125 guest --token-file token "$there" shell true
	check_match "is found out" 'the agent (did not ask for|does not know) the token' "$stderr"
	wait "$impostor"
done
done_testing
