# A user with subordinate ids (subuid(5)) is many users in a namespace of his own, each with a quota of its own: they
# must not take all places of the collector from the others.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/collector.sh"
need_bpf
need_command jq
is_sanitized && skip_all "a sanitizer's program cannot be given to another user"
python=$(PATH=/usr/bin:/bin command -v python3) || skip_all "there is no python3 for all users"
start_collector
export TRACELET_COLLECTOR_SOCKET
mkdir -m 777 out

# Root writes the maps, as newuidmap(1) does for a user; what follows has the rights of those ids only.
cat >crowd.py <<'PYTHON'
import ctypes, os, resource, socket, sys
path, group, users, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
lives = []
for user in range(users):
    (ask, asked), (told, tell) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([group])
        os.close(told)
        if ctypes.CDLL(None, use_errno=True).unshare(0x10000000):
            os._exit(7)
        os.write(tell, b"n")
        os.read(ask, 1)
        os.setgid(0)
        os.setuid(user)
        connected = []
        refused = 0
        for _ in range(count):
            one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            one.settimeout(0.05 if connected else 5)
            try:
                one.connect(path)
                connected.append(one)
                if one.recv(4096):
                    refused += 1
            except OSError:
                pass
        os.write(tell, b"refused" if refused == count else b"served")
        os.read(ask, 1)
        os._exit(0)
    if os.read(told, 1) != b"n":
        sys.exit(77)
    with open(f"/proc/{child}/uid_map", "w") as file:
        file.write("0 300000 100")
    with open(f"/proc/{child}/gid_map", "w") as file:
        file.write("0 300000 100")
    os.write(asked, b"g")
    lives.append((child, told, asked))
print(*sorted({os.read(told, 100).decode() for _, told, _ in lives}), flush=True)
sys.stdin.readline()
PYTHON
mkfifo hold
"$python" crowd.py "$TRACELET_COLLECTOR_SOCKET" $collector_group 6 300 <hold >crowd.out 2>crowd.err &
crowd=$!
exec 7>hold
wait_until sh -c 'test -s crowd.out || ! kill -0 "$1" 2>/dev/null' sh $crowd
[ -s crowd.out ] || skip_all "user namespaces are not allowed here: $(tail -n 1 crowd.err)"
check_equal "nobody in another user namespace is served" refused "$(cat crowd.out)"
check_run "others are, meanwhile" 5 as $first_user "$TRACELET" run --quiet --collector require --output-dir "$work/out" --name honest -- sh -c 'exit 5'
check_equal "by the collector" collector "$(jq -r .backend out/manifest.jsonl)"
exec 7>&-
wait $crowd
stop_collector
check_equal "it ends in peace" 0 $?
done_testing
