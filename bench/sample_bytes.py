#!/usr/bin/env python3
"""sample_bytes.py SPOOL: prints the number of samples in a spool, their bytes including
block and batch headers, and how many of them are copied stacks."""

import struct
import sys

BLOCK_BATCH, RECORD_SAMPLE, STACK_COPIED = 1, 12, 8
BATCH_HEADER = 32

with open(sys.argv[1], "rb") as file:
    data = file.read()
at = struct.unpack_from("<16sII", data, 0)[2]
samples = size_of_samples = copied = 0
while at + 8 <= len(data):
    kind, size = struct.unpack_from("<II", data, at)
    padded = 8 + (size + 7 & ~7)
    if kind == BLOCK_BATCH:
        _, record, flags, _ = struct.unpack_from("<IBBH", data, at + 8 + BATCH_HEADER)
        if record == RECORD_SAMPLE:
            samples += 1
            size_of_samples += padded
            copied += bool(flags & STACK_COPIED)
    at += padded
print(samples, size_of_samples, copied)
