#!/usr/bin/env python3
"""large_elf.py COUNT > FILE: an ELF file whose one segment has code at 0x1000, and which has COUNT symbols, one
for each of its bytes."""

import struct
import sys

count = int(sys.argv[1])
names = b"\0large\0"
section_names = b"\0.symtab\0.strtab\0.shstrtab\0.text\0"
text_at, text_size = 0x1000, 0x1000
symbols_at = text_at + text_size
symbols = bytes(24) + b"".join(
    struct.pack("<IBBHQQ", 1, 0x12, 0, 4, 0x1000 + i, 1) for i in range(count))
names_at = symbols_at + len(symbols)
section_names_at = names_at + len(names)
sections_at = (section_names_at + len(section_names) + 7) & ~7
header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
    "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, sections_at, 0, 64, 56, 1, 64, 5, 3)
segment = struct.pack("<IIQQQQQQ", 1, 5, text_at, 0x1000, 0x1000, text_size, text_size, 0x1000)


def section(name, kind, at, size, link=0, entry=0, address=0):
    return struct.pack("<IIQQQQIIQQ", name, kind, 0, address, at, size, link, 1, 1, entry)


out = bytearray(header + segment)
out += bytes(symbols_at - len(out)) + symbols + names + section_names
out += bytes(sections_at - len(out))
out += section(0, 0, 0, 0)
out += section(1, 2, symbols_at, len(symbols), 2, 24)
out += section(9, 3, names_at, len(names))
out += section(17, 3, section_names_at, len(section_names))
out += section(27, 1, text_at, text_size, address=0x1000)
sys.stdout.buffer.write(out)
