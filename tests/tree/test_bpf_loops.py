#!/usr/bin/env python3
"""The loops of the BPF programs, in TAP: kernels before 6.8 accept a loop only if a jump leads back to its beginning.

The compiler is free to place the end of a loop's body right before its beginning, so that the body runs on into it. Newer
kernels do not mind; older ones refuse the program ("back-edge from insn"). Which it is can change with any change of
the code, so every function is walked here as those kernels walk it.
"""

import struct
import sys
from pathlib import Path

JUMPS = {0x05, 0x06}  # classes of instructions
JUMP_ALWAYS, EXIT, CALL = 0x05, 0x95, 0x85
WIDE = 0x18  # takes the place of two


class Object:
    """The parts of an ELF file that are needed: little-endian, 64 bits."""

    def __init__(self, data):
        self.data = data
        offset, = struct.unpack_from("<Q", data, 0x28)
        size, count, _ = struct.unpack_from("<HHH", data, 0x3a)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]

    def text(self, section, offset):
        begin = self.sections[section][4] + offset
        return self.data[begin:self.data.index(b"\0", begin)].decode()

    def functions(self):
        """The name and the instructions of each."""
        for table in self.sections:
            if table[1] != 2:  # symbols
                continue
            for at in range(table[4], table[4] + table[5], 24):
                name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
                if info & 15 == 2 and 0 < section < len(self.sections):
                    begin = self.sections[section][4] + value
                    yield self.text(table[6], name), self.data[begin:begin + size]


def edges(code, at):
    """Where an instruction leads to, in the order in which the kernel goes there; and whether it may lead back."""
    operation, _, offset = struct.unpack_from("<BBh", code, at * 8)
    if operation == EXIT:
        return [], True
    if operation == JUMP_ALWAYS:
        return [at + 1 + offset], True
    if operation & 7 in JUMPS and operation != CALL:
        return [at + 1, at + 1 + offset], True
    return [at + (2 if operation == WIDE else 1)], False


def bad_loop(code):
    """The instruction that runs on into one that led to it, or None."""
    on_the_way, done, stack = {0}, set(), [(0, 0)]
    while stack:
        at, taken = stack.pop()
        nexts, may_lead_back = edges(code, at)
        if taken == len(nexts):
            on_the_way.discard(at)
            done.add(at)
            continue
        stack.append((at, taken + 1))
        following = nexts[taken]
        if following in on_the_way and not may_lead_back:
            return at
        if following not in done and following not in on_the_way:
            on_the_way.add(following)
            stack.append((following, 0))
    return None


def instruction(operation, offset=0):
    return struct.pack("<BBhi", operation, 0, offset, 0)


# The same loop twice: over its end into its middle, as old kernels refuse it, and from its beginning.
REFUSED = instruction(0x05, 1) + instruction(0xb7) + instruction(0x15, -2) + instruction(EXIT)
ACCEPTED = instruction(0xb7) + instruction(0x15, -2) + instruction(EXIT)


def main():
    functions = list(Object(Path(sys.argv[1]).read_bytes()).functions())
    bad = [f"{name}, instruction {at}" for name, code in functions if (at := bad_loop(code)) is not None]
    results = [("a loop that old kernels refuse is found", bad_loop(REFUSED) == 1 and bad_loop(ACCEPTED) is None),
               ("the object has functions", any(name == "heap_enter" for name, _ in functions)),
               ("no function has such a loop", not bad)]
    print(f"1..{len(results)}")
    for number, (what, good) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {what}")
    for line in bad:
        print(f"# {line}")
    return 0 if all(good for _, good in results) else 1


sys.exit(main())
