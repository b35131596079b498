#!/usr/bin/env python3
"""slow_elf.py PROGRAM > FILE: the same program, with 65,000 tables of a million symbols each, which are all the
same bytes. The kernel runs it; reading its symbols one by one takes many minutes."""

import struct
import sys

SECTIONS, SYMBOLS, DYNSYM, STRTAB = 65000, 1 << 20, 11, 3

program = bytearray(open(sys.argv[1], "rb").read())
program += bytes(-len(program) % 8)
symbols_at, symbols_size = len(program), 24 * SYMBOLS
sections_at = symbols_at + symbols_size


def section(kind, at, size, link, entry):
    return struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, at, size, link, 0, 8, entry)


program[0x28:0x30] = struct.pack("<Q", sections_at)
program[0x3A:0x40] = struct.pack("<HHH", 64, SECTIONS, 1)
out = sys.stdout.buffer
out.write(program)
out.write(bytes(symbols_size))
out.write(bytes(64) + section(STRTAB, symbols_at, 8, 0, 0))
out.write(section(DYNSYM, symbols_at, symbols_size, 1, 24) * (SECTIONS - 2))
