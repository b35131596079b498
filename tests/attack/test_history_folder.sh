# The index of the history, where another user can write: SQLite plays back a journal that lies beside a database,
# and a journal names a file to delete. Root must not open a database there.
. "$(dirname "$0")/lib.sh"
need_root
need_command python3
export XDG_CACHE_HOME=$work/cache
mkdir cache out
printf '{"schema":1,"test":"a","result":"passed","started":"2026-10-01T10:00:00Z","seconds":0.01,"artifacts":[]}\n' >out/manifest.jsonl

# plant FOLDER VICTIM: a journal beside the index, in which the name of a file takes the place of a super-journal's.
plant() {
	python3 - "$1/history.db" "$work/$2" <<'PYTHON'
import os, struct, sys
database, victim = sys.argv[1], sys.argv[2].encode()
magic, page, sector = bytes.fromhex("d9d505f920a163d7"), 8192, 512
pages = os.path.getsize(database) // page if os.path.exists(database) else 1
head = magic + struct.pack(">IIIII", 0, 7, pages, sector, page)
tail = struct.pack(">I", 0x40000000 // page + 1) + victim + struct.pack(">II", len(victim), sum(victim)) + magic
with open(database + "-journal", "wb") as journal:
    journal.write(head.ljust(sector, b"\0") + tail)
os.chown(database + "-journal", 65534, 65534)
PYTHON
	install -m 600 /dev/null "$2"
	echo precious >"$2"
}
ask() { run timeout 20 "$TRACELET" history --output-dir "$1" --json; }
fresh_out() {
	rm -rf cache/tracelet out/history.db*
	chown root:root out && chmod 755 out
}

# The control: SQLite does what the journal says, where tracelet believes that the folder is root's alone.
ask out
check "an index in root's own folder" test -s out/history.db
plant out victim
ask out
check_not "a journal there deletes a file" test -e victim

for how in 'chown nobody' 'chmod 777' 'chmod 1777' 'chgrp nogroup out; chmod 775'; do
	fresh_out
	ask out
	eval "$how out"
	plant out victim
	ask out
	check_equal "$how: there is an answer" 0 "$status"
	check "no file is deleted" test -e victim
	check_equal "the index is in the cache" 1 "$(ls cache/tracelet/history-*.db | wc -l)"
done

# The folder is root's, but another user can exchange it.
fresh_out
mkdir theirs && mv out theirs/ && chown nobody theirs
ask theirs/out
check_not "no index below another user's folder" test -e theirs/out/history.db
mv theirs/out . && rmdir theirs

# Nor is root's cache another user's.
fresh_out
chown nobody out
mkdir -p home/.cache/tracelet && chown -R nobody home
name=$(XDG_CACHE_HOME=$work/cache "$TRACELET" history --output-dir out >/dev/null && ls cache/tracelet | grep 'db$')
before=$(ls /var/cache/tracelet 2>/dev/null)
run env -u XDG_CACHE_HOME HOME="$work/home" "$TRACELET" history --output-dir out
check_equal "HOME is another user's: there is an answer" 0 "$status"
check_equal "and nothing in his cache" "" "$(ls home/.cache/tracelet)"
[ -n "$before" ] || rm -rf /var/cache/tracelet
rm -f "/var/cache/tracelet/$name" "/var/cache/tracelet/$name.lock"

# A lock that another user holds does not stop root.
fresh_out
chown nobody out
mkfifo hold
as_attacker sh -c 'exec 9>"$1/history.db.lock"; flock 9; : >"$1/held"; read -r end' sh "$work/out" <hold &
holder=$!
exec 7>hold
wait_until test -e out/held
ask out
check_equal "a lock of another user's" 0 "$status"
exec 7>&-
wait $holder

# An ordinary user without any place gets an answer, too.
fresh_out
chmod 644 out/manifest.jsonl
run as_attacker env -u XDG_CACHE_HOME HOME=/nonexistent "$TRACELET" history --output-dir out
check_equal "without a place for the index" 0 "$status"
check_match "it is made in memory" '1 session' "$stdout"
done_testing
