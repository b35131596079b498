#!/bin/bash
# A cluster with a real ZooKeeper: `store init --cluster` makes the tables on all servers (ON CLUSTER), sharded and
# replicated, and `gc` drops months on all of them. Only with TRACELET_LONG=1: ZooKeeper and Java are downloaded once
# and not installed.
. "$(dirname "$0")/../cli/lib.sh"
[ -n "${TRACELET_LONG:-}" ] || skip_all "needs ZooKeeper: make test-long runs it"
cache=${TRACELET_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tracelet}
packages=(libzookeeper-java libslf4j-java liblog4j1.2-java libnetty-java libdropwizard-metrics-java libsnappy-java
	libcommons-cli-java libcommons-io-java)
command -v java >/dev/null || packages+=(openjdk-17-jre-headless)
bash "$source/tools/fetch-packages" "$(dpkg --print-architecture)" "$cache/zookeeper-${#packages[@]}" "${packages[@]}" ||
	skip_all "ZooKeeper cannot be downloaded"
zookeeper=$cache/zookeeper-${#packages[@]}
java=$(command -v java || echo "$zookeeper"/usr/lib/jvm/java-17-*/bin/java)
. "$source/tests/store/servers.sh" # from here on without a network

# ---- ZooKeeper and two servers ----

port=$(free_ports 1)
mkdir zookeeper-data
printf '%s\n' tickTime=500 "dataDir=$PWD/zookeeper-data" "clientPort=$port" clientPortAddress=127.0.0.1 admin.enableServer=false >zoo.cfg
"$java" -Xmx128m -cp "$zookeeper/usr/share/java/*" org.apache.zookeeper.server.ZooKeeperServerMain zoo.cfg >zookeeper.log 2>&1 &
zookeeper_pid=$!
until (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
	kill -0 $zookeeper_pid 2>/dev/null || { note "$(tail -3 zookeeper.log)"; skip_all "ZooKeeper does not start here"; }
	read -rt 0.1 <> <(:) || :
done
read -ra clickhouse_ports <<<"$(free_ports 6)"
replica() { echo "<replica><host>127.0.0.1</host><port>$1</port></replica>"; }
clickhouse_extra="<zookeeper><node><host>127.0.0.1</host><port>$port</port></node></zookeeper>
 <distributed_ddl><path>/clickhouse/ddl</path></distributed_ddl>
 <interserver_http_host>127.0.0.1</interserver_http_host>
 <macros><shard>1</shard><replica>@</replica></macros>
 <remote_servers><mirror><shard><internal_replication>true</internal_replication>
  $(replica "${clickhouse_ports[1]}")$(replica "${clickhouse_ports[4]}")</shard></mirror></remote_servers>"
for server in 1 2; do
	clickhouse_configure $server
	# One element for all clusters.
	python3 - "$work_root/clickhouse-$server/config.xml" <<'END'
import re, sys
text = open(sys.argv[1]).read()
open(sys.argv[1], "w").write(re.sub(r"</remote_servers>(.*)<remote_servers>(.*)</remote_servers>", r"\2</remote_servers>\1", text, flags=re.S))
END
	clickhouse_start $server
done
on() { "$TRACELET" store sql --to "$(clickhouse_url "$1" "$2")" --format TabSeparated "$3"; }
mkdir out
sessions 2000 --runs 30 --days 70 >out/manifest.jsonl
"$TRACELET" store export --json --store out >folder.jsonl

# ---- two shards ----

check_run "tables on a cluster" 0 "$TRACELET" store init --cluster pair --to "$(clickhouse_url 1 shards)"
check_equal "both servers have all of them" "10 10" \
	"$(for server in 1 2; do on $server shards "SELECT count() FROM system.tables WHERE database = 'shards'"; done | xargs)"
check_run "again changes nothing" 0 "$TRACELET" store init --cluster pair --to "$(clickhouse_url 2 shards)"
for server in 1 2; do
	on $server shards "SELECT count() FROM system.columns WHERE database = 'shards'"
done | sort -u >columns
check_lines "the same columns" 1 columns
"$TRACELET" store sql --write --to "$(clickhouse_url 1 shards)" "ALTER TABLE shards.sessions ON CLUSTER pair DROP COLUMN digest" >/dev/null
"$TRACELET" store sql --write --to "$(clickhouse_url 1 shards)" "ALTER TABLE shards.sessions_local ON CLUSTER pair DROP COLUMN digest" >/dev/null
check_run "tables of an older version" 0 "$TRACELET" store init --cluster pair --to "$(clickhouse_url 1 shards)"
for server in 1 2; do
	on $server shards "SELECT count() FROM system.columns WHERE database = 'shards'"
done | sort -u >columns.again
check "get their column on both servers" cmp columns columns.again
check_run "a push" 0 "$TRACELET" store push --strict --to "$(clickhouse_url 1 shards)" out
check "both shards have a part" test "$(on 1 shards 'SELECT count() > 0 AND count() < 2000 FROM sessions_local FINAL')" = 1
"$TRACELET" store export --json --store "$(clickhouse_url 2 shards)" >shards.jsonl
check "either server has all sessions" cmp folder.jsonl shards.jsonl
check_run "store check" 0 "$TRACELET" store check --to "$(clickhouse_url 2 shards)"
check_run "gc" 0 "$TRACELET" store gc --session-age 1s --to "$(clickhouse_url 1 shards)"
check_run "gc again, on the other server" 0 "$TRACELET" store gc --session-age 1s --to "$(clickhouse_url 2 shards)"
check_match "finds nothing: the months are gone from both" "deleted 0 months of sessions" "$stdout"

# ---- two replicas ----

mirror1=$(clickhouse_url 1 mirror) mirror2=$(clickhouse_url 2 mirror)
check_run "replicated tables" 0 "$TRACELET" store init --cluster mirror --replicated --to "$mirror1"
check_run "a push to one server" 0 "$TRACELET" store push --strict --to "$mirror1" out
# caught_up SERVER: waits until the server has everything that ZooKeeper knows about. The server itself says when.
caught_up() {
	on "$1" mirror "SYSTEM SYNC REPLICA mirror.sessions_local" >/dev/null 2>&1 ||
		"$TRACELET" store sql --write --to "$(clickhouse_url "$1" mirror)" "SYSTEM SYNC REPLICA mirror.sessions_local" >/dev/null
}
caught_up 2
check_equal "the other one has them all" 2000 "$(on 2 mirror 'SELECT count() FROM sessions_local FINAL')"
clickhouse_kill 1
"$TRACELET" history --store "$mirror2" runs --json >mirror.json
"$TRACELET" history --output-dir out runs --json >folder.json
check "and answers when the first is dead" cmp folder.json mirror.json
sessions 500 --runs 5 --seed 2 >>out/manifest.jsonl
check_run "a push while one is dead" 0 "$TRACELET" store push --strict --to "$mirror2" out
clickhouse_start 1
caught_up 1
check_equal "the other catches up" 2500 "$(on 1 mirror 'SELECT count() FROM sessions_local FINAL')"

clickhouse_end
kill $zookeeper_pid
wait $zookeeper_pid 2>/dev/null
done_testing
