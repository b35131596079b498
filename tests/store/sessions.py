#!/usr/bin/env python3
"""sessions.py COUNT [--tests N] [--runs N] [--seed S] [--artifacts DIR]: lines of a manifest, made up.

The same arguments make the same bytes. The sessions spread over some months, branches, machine classes and
statuses; some have waits, functions, metrics of the user's own, or come from a fork. With --artifacts every 50th
session has a file in that folder.
"""

import argparse
import hashlib
import json
import random
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("count", type=int)
parser.add_argument("--tests", type=int, default=40)
parser.add_argument("--runs", type=int, default=25)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--days", type=int, default=70)
parser.add_argument("--artifacts", type=Path)
options = parser.parse_args()
dice = random.Random(options.seed)
START = 1790000000000  # ms: 2026-09-21
NAMES = ["Suite/Case<int>/0", "parses 'quotes' \\ and \"more\"", "naïve – ünïcode ✓", "test_p[4]", "'); DROP TABLE sessions; --",
         "tab\tand\nnewline"]


def uuid7(milliseconds):
    value = milliseconds << 80 | 0x7 << 76 | dice.getrandbits(12) << 64 | 0x2 << 62 | dice.getrandbits(62)
    return str(uuid.UUID(int=value))


def stamp(milliseconds):
    text = datetime.fromtimestamp(milliseconds // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{milliseconds % 1000:03}Z"


runs = [str(uuid.UUID(int=dice.getrandbits(128), version=4)) for _ in range(options.runs)]
for number in range(options.count):
    run = number * options.runs // options.count
    test = dice.randrange(options.tests)
    started = START + options.days * 86400000 * run // options.runs + dice.randrange(3600000)
    status = dice.choices(["passed", "failed", "crashed", "timed-out", "skipped"], [90, 6, 1, 1, 2])[0]
    wall = round((1 + test % 17) * 0.01 * (1.5 if run > options.runs // 2 and test % 9 == 0 else 1) * dice.lognormvariate(0, 0.05), 6)
    line = {"version": 2, "session": uuid7(started), "run": runs[run], "attempt": 1 + (dice.random() < 0.02),
            "test": f"t{test}", "name": NAMES[test // 3 % len(NAMES)] + f" {test}" if test % 3 == 0 else f"case_{test}",
            "suite": f"suite{test % 4}", "project": "widget" if test % 5 else "gadget", "kind": "test", "status": status,
            "result": status, "started": stamp(started), "wall_seconds": wall, "cpu_seconds": round(wall * 0.7, 6),
            "source": {"commit": hashlib.sha1(str(run).encode()).hexdigest(), "branch": "main" if run % 3 else "topic"},
            "machine_class": "fast" if dice.random() < 0.8 else "slow"}
    if dice.random() < 0.03:
        line["source"]["fork"] = True
    metrics = {"cpu_user_ns": int(wall * 6e8), "cpu_system_ns": int(wall * 1e8), "ready_ns": dice.randrange(10**6),
               "blocked_ns": int(wall * 2e8), "io_ns": dice.randrange(10**6), "lock_ns": dice.randrange(10**5),
               "switches": dice.randrange(500), "faults": dice.randrange(3000), "max_rss": 4096 * dice.randrange(1000, 9000)}
    if dice.random() < 0.3:
        metrics["requests"] = dice.randrange(1000)
    line["metrics"] = metrics
    if dice.random() < 0.3:
        line["waited"] = {"futex": [dice.randrange(1, 9), dice.randrange(10**8), dice.randrange(10**7)], "disk": [1, 5, 5]}
    if dice.random() < 0.2:
        line["functions"] = {"samples": 100, "self": {f"std::f{i}<'x'>(int)": dice.randrange(1, 20) for i in range(6)}}
    if options.artifacts and number % 50 == 0:
        content = f"trace {number} of seed {options.seed}\n".encode() * 20
        (options.artifacts / f"t{number}.pb").write_bytes(content)
        line["artifacts"] = [{"kind": "perfetto", "path": f"elsewhere/t{number}.pb", "size": len(content),
                              "sha256": hashlib.sha256(content).hexdigest()}]
    sys.stdout.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
