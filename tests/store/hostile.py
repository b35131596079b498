#!/usr/bin/env python3
"""hostile.py: lines of a manifest that nobody should write. On stderr: how many of them are sessions of their own."""

import json
import sys

out = sys.stdout.buffer
sessions = 0


def session(number, **members):
    line = {"version": 2, "session": f"01a0c462-9baa-708d-8f89-{number:012x}", "test": "t", "name": f"n{number}",
            "kind": "test", "status": "passed", "started": "2026-10-01T00:00:00.000Z", "wall_seconds": 1}
    line.update(members)
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogateescape")


def good(line):
    global sessions
    sessions += 1
    out.write(line + b"\n")


good(session(1))
good(session(2, name="NUL \0 inside"))
good(session(3, name="'); DROP TABLE sessions; --", project="\\'\t\n\r\b", run="x'); SELECT sleep(3); --"))
good(session(4, name="x" * 1000000))
good(session(5, name="\udcff\udcfe bytes"))
good(session(6, started="2099-12-31T23:59:59.999Z"))
out.write(session(21, started="9999-12-31T23:59:59.999Z") + b"\n")  # no time of ours
good(session(7, started="1970-01-02T00:00:00.000Z"))
good(session(8, metrics={"wall_ns": 2**64, "max_rss": -5, "own": 2**63 - 1, "a'b": 3, "syscalls": 1e300}))
good(session(9, wall_seconds=1e300, cpu_seconds=-1, attempt=2**63))
good(session(10, waited={"'": [1, 2, 3], "f": "x", "g": [2**70, -1]}, functions={"samples": 3, "self": {"'[],\\": 2, "b\t": 1}}))
good(session(11, source={"commit": "\x1b[2J", "branch": "../../etc", "ci": ["x"]}, machine_class="\\N"))
good(session(12, artifacts=[{"kind": "perfetto", "path": "../../../etc/passwd", "size": 5, "sha256": "0" * 64},
                            {"kind": "x", "path": "link", "size": 5, "sha256": "a" * 64},
                            {"kind": "x", "path": "fifo", "size": 5, "sha256": "b" * 64},
                            {"kind": "x", "path": "ok", "size": 5, "sha256": "../../../../tmp/x"}]))
good(session(13, status="no such status", result=7))
good(session(14, name="\\N", suite="\\", branch="\\t"))
out.write(session(1) + b"\n")                      # the same line
out.write(session(1, name="another one") + b"\n")  # the same id
out.write(b'{"deleted":[],"why":"max-age","when":"2026-02-02T03:04:05Z"}\n')  # no session
out.write(b"not JSON\n" + b"\0\0\0\n" + b"[" * 100000 + b"\n" + session(20)[:-9] + b"\n\n")
out.write(b'{"test":"' + b"y" * (17 << 20) + b'"}\n')
good(session(15))
print(sessions, file=sys.stderr)
