# `view --perfetto` serves a recording on loopback, where every user of the machine can connect: only who has the link
# gets it, and nobody else keeps the browser from its turn for long.
. "$(dirname "$0")/lib.sh"
need_root
need_command curl python3
python3 "$source/tests/attack/helpers/hostile.py" make || exit 1
chmod 600 hostile.pb
! curl -s -o /dev/null http://127.0.0.1:9001/ || skip_all "port 9001 is in use"

"$TRACELET" view --perfetto hostile.pb >link.txt 2>served.txt &
server=$!
wait_until test -s link.txt
address=$(sed -nE 's|.*[?]url=(http://127\.0\.0\.1:9001/[0-9a-f/]*trace\.pb)&.*|\1|p' link.txt)
secret=$(printf %s "$address" | sed -nE 's|.*:9001/([0-9a-f]{32})/trace\.pb|\1|p')
check "the link has a secret" test -n "$secret"

# get WORDS...: the status of an answer to another user, who says that he is Perfetto's page
get() { as_attacker curl -s --max-time 20 -o /dev/null -w '%{http_code}' -H 'Origin: https://ui.perfetto.dev' "$@"; }
for path in /trace.pb / //trace.pb "/${secret:0:31}/trace.pb" "/$(printf '0%.0s' {1..32})/trace.pb" "/x$secret/trace.pb" \
	"/$secret/trace.pb/" "/../$secret" "/${secret^^}./trace.pb"; do
	check_equal "another user: $path" 404 "$(get --path-as-is "http://127.0.0.1:9001$path")"
done
check_equal "with another name of the machine" 403 "$(get -H 'Host: evil.example' "$address")"
check_equal "from another page" 403 "$(curl -s -o /dev/null -w '%{http_code}' -H 'Origin: https://evil.example' "$address")"
check_not "the secret is in no list of processes" grep -aq "${secret:-none}" "/proc/$server/cmdline" "/proc/$server/environ"

# A client that sends a byte now and then.
as_attacker /usr/bin/python3 - >slow.out <<'END2' &
import socket, time
with socket.create_connection(("127.0.0.1", 9001)) as slow:
    print("connected", flush=True)
    for byte in b"GET / HTTP/1.1\r\n" * 8:
        try:
            slow.send(bytes([byte]))
        except OSError:
            break
        time.sleep(1)
END2
slow=$!
wait_until test -s slow.out # it has its turn
check_equal "the browser gets the trace in spite of a slow client" 200 \
	"$(curl -s --max-time 30 -o fetched.pb -w '%{http_code}' -H 'Origin: https://ui.perfetto.dev' "$address")"
kill $slow 2>/dev/null
wait $server
check_equal "and that is the end" 0 $?
check "the trace is good" "$TRACELET" check fetched.pb
done_testing
