#!/usr/bin/env python3
"""perf_data.py MODULE BEGIN ADDRESS,... [ADDRESS,...] > FILE: a recording as `perf
record -o -` would make it of a process "a" that has mapped MODULE at BEGIN, with a
sample for each list of addresses (hexadecimal, innermost first)."""

import struct
import sys

IP, TID, TIME, CALLCHAIN, PERIOD = 1, 2, 4, 32, 256
COMM, MMAP, SAMPLE, ATTR = 3, 1, 9, 64
USER = 2  # misc
CALLERS_OF_USER = 2**64 - 512


def record(kind, body, misc=USER):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def text(value):
    value = value.encode() + b"\0"
    return value + bytes(-len(value) % 8)


def trailer(time):
    return struct.pack("<IIQ", 5, 5, time)


module, begin, chains = sys.argv[1], int(sys.argv[2], 16), sys.argv[3:]
attr = struct.pack("<IIQQQQQ", 1, 112, 0, 4000, IP | TID | TIME | CALLCHAIN | PERIOD, 0, 1 << 10 | 1 << 18)
out = struct.pack("<8sQ", b"PERFILE2", 16)
out += record(ATTR, attr + bytes(112 - len(attr)) + struct.pack("<Q", 7), 0)
out += record(COMM, struct.pack("<II", 5, 5) + text("a") + trailer(1))
out += record(MMAP, struct.pack("<IIQQQ", 5, 5, begin, 1 << 24, 0) + text(module) + trailer(2))
for time, chain in enumerate(chains, 3):
    addresses = [int(address, 16) for address in chain.split(",")]
    body = struct.pack("<QIIQQQ", addresses[0], 5, 5, time, 1000, len(addresses) + 1)
    out += record(SAMPLE, body + struct.pack(f"<{len(addresses) + 1}Q", CALLERS_OF_USER, *addresses))
sys.stdout.buffer.write(out)
