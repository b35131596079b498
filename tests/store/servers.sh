# shellcheck shell=bash
# Sourced by the tests of stores, after tests/cli/lib.sh: ClickHouse servers on loopback, run by an ordinary user with
# folders of their own. The test gets a network of its own where that is allowed, so that its ports are free.
#
#   clickhouse_extra=XML          more of its configuration, with @ for its number
#   clickhouse_start 1            a server, number 1; again after clickhouse_kill: with the same data
#   clickhouse_url 1 DATABASE     its address for --to
#   clickhouse_kill 1             kill -9
#   clickhouse_end                all of them, before done_testing

need_command clickhouse-server python3 setpriv curl
is_sanitized && export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1}

if [ -z "${STORE_TEST_NETWORK:-}" ]; then
	if unshare --net true 2>/dev/null; then
		export STORE_TEST_NETWORK=own
		cd / && rm -rf "$work_root"
		trap - EXIT
		exec unshare --net bash "$source/tests/store/$(basename "$0")" "$@"
	fi
	STORE_TEST_NETWORK=shared
fi
if [ "$STORE_TEST_NETWORK" = own ]; then
	python3 - <<'END' || skip_all "the loopback interface cannot be started"
import fcntl, socket, struct
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
END
fi
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
unset "${!TRACELET_STORE@}" TRACELET_OBJECTS "${!AWS_@}"
chmod 711 "$work_root"

# free_ports NUMBER: that many, of the system's choice.
free_ports() {
	python3 -c '
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in held: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in held])' "$1"
}

declare -A clickhouse_pid clickhouse_http
clickhouse_ports=()

# All servers know each other as the cluster "pair". 18.16 has no option for the folder of its logs but the console.
clickhouse_configure() {
	local number=$1 folder=$work_root/clickhouse-$1 password=${2:-} extra=${clickhouse_extra:-}
	mkdir -p "$folder"
	[ ${#clickhouse_ports[@]} -gt 0 ] || read -ra clickhouse_ports <<<"$(free_ports 6)"
	clickhouse_http[$number]=${clickhouse_ports[$((number * 3 - 3))]}
	cat >"$folder/config.xml" <<END
<yandex>
 <logger><level>warning</level><console>1</console></logger>
 <http_port>${clickhouse_ports[$((number * 3 - 3))]}</http_port>
 <tcp_port>${clickhouse_ports[$((number * 3 - 2))]}</tcp_port>
 <interserver_http_port>${clickhouse_ports[$((number * 3 - 1))]}</interserver_http_port>
 <listen_host>127.0.0.1</listen_host>
 <path>$folder/data/</path><tmp_path>$folder/tmp/</tmp_path><user_files_path>$folder/files/</user_files_path>
 <users_config>users.xml</users_config><default_profile>default</default_profile>
 <default_database>default</default_database><timezone>UTC</timezone>
 <mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>8388608</uncompressed_cache_size>
 <remote_servers><pair>
  <shard><replica><host>127.0.0.1</host><port>${clickhouse_ports[1]}</port></replica></shard>
  <shard><replica><host>127.0.0.1</host><port>${clickhouse_ports[4]}</port></replica></shard>
 </pair></remote_servers>
 ${extra//@/$number}
</yandex>
END
	cat >"$folder/users.xml" <<END
<yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
<users><default><password>$password</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></default></users><quotas><default/></quotas></yandex>
END
	[ "$(id -u)" != 0 ] || chown -R 65534:65534 "$folder"
}

# In a user namespace of one user, that user is called root.
clickhouse_start() {
	local number=$1 folder=$work_root/clickhouse-$1 as=()
	[ -e "$folder/config.xml" ] || clickhouse_configure "$@"
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	"${as[@]}" clickhouse-server --config-file="$folder/config.xml" >>"$folder/log" 2>&1 &
	clickhouse_pid[$number]=$!
	until curl -fs -o "$work_root/ping" "http://127.0.0.1:${clickhouse_http[$number]}/ping"; do
		if ! kill -0 "${clickhouse_pid[$number]}" 2>/dev/null; then
			note "$(tail -5 "$folder/log")"
			skip_all "clickhouse-server does not start here"
		fi
		read -rt 0.05 <> <(:) || :
	done
}

clickhouse_url() {
	echo "clickhouse+http://127.0.0.1:${clickhouse_http[$1]}/$2"
}

clickhouse_kill() {
	kill -9 "${clickhouse_pid[$1]}"
	wait "${clickhouse_pid[$1]}" 2>/dev/null
	unset "clickhouse_pid[$1]"
}

clickhouse_end() {
	local number
	for number in "${!clickhouse_pid[@]}"; do
		clickhouse_kill "$number"
	done
}

sessions() {
	python3 "$source/tests/store/sessions.py" "$@"
}

# value QUERY: one value from $TRACELET_STORE.
value() {
	"$TRACELET" store sql --format TabSeparated "$1"
}
