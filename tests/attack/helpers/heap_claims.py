"""A test that claims to have filled the tables of its heap profile, in several areas, and has written 20 bytes to each.

heap_claims.py AREAS FILE [CASE]: as a test of `tracelet run --heap`; see src/format/heap_format.h for the numbers.
The bytes of memory that all of it took in the end are written to FILE. CASE: what else is in the tables.
far: one page at the end of each, after a hole. loops: nodes that are their own parents, and each other's. wild: bytes of
chance. moving: the same, changed again and again until the tracer ends.
"""
import os
import random
import select
import struct
import sys

HEAD = 1 << 16
MODULES, FRAMES, NODES, POINTS = 1 << 10, 1 << 20, 1 << 22, 1 << 20
COUNT_AT, OWNERS_AT, COUNTS_AT = 32, 48, 48

AREA = 48 + 16 + 24 + 16 + 64 + 512 + 472 + MODULES * 512 + FRAMES * 16 + NODES * 16 + POINTS * (120 + 16)
AREA = (AREA + HEAD - 1) // HEAD * HEAD

areas = int(sys.argv[1])
heap = os.open(os.environ["TRACELET_HEAP"], os.O_RDWR)
assert os.fstat(heap).st_size == HEAD + 1024 * AREA, "the format has changed"
os.pwrite(heap, struct.pack("I", areas), COUNT_AT)
for i in range(areas):
    os.pwrite(heap, struct.pack("QI", 1, 1000000 + i), OWNERS_AT + 16 * i)
    os.pwrite(heap, struct.pack("I", 1000000 + i), HEAD + i * AREA)
    os.pwrite(heap, struct.pack("4I", MODULES, FRAMES, NODES, POINTS), HEAD + i * AREA + COUNTS_AT)

AREA_TABLES = 48 + 16 + 24 + 16 + 64 + 512 + 472
TABLES = ((MODULES, 512), (FRAMES, 16), (NODES, 16), (POINTS, 120), (POINTS, 16))
case = sys.argv[3] if len(sys.argv) > 3 else ""
dice = random.Random(1)


def tables(area):
    at = HEAD + area * AREA + AREA_TABLES
    for count, size in TABLES:
        yield at, count, size
        at += count * size


def fill(area):
    """The first entries of each table; small numbers, so that many are almost right."""
    for at, count, size in tables(area):
        words = [dice.choice((0, 1, 2, 3, 7, 255, dice.getrandbits(12), 0xFFFFFFFF, dice.getrandbits(32))) for _ in range(size * 64 // 4)]
        os.pwrite(heap, struct.pack("%dI" % len(words), *words), at)


for i in range(areas):
    if case == "far":
        for at, count, size in tables(i):
            os.pwrite(heap, b"\1", at + count * size - 1)
    elif case == "loops":
        nodes = b"".join(struct.pack("4I", (j + 1) % 4096 if j % 3 else j, 1 + j % 50, 1 + j % 1000, 0) for j in range(4096))
        points = b"".join(struct.pack("2I14Q", 0, j % 5000, *[1 << 40] * 14) for j in range(2000))
        places = list(tables(i))
        os.pwrite(heap, nodes, places[2][0])
        os.pwrite(heap, points, places[3][0])
    elif case:
        fill(i)

# When the tracer is gone, a child notes how much memory the file takes: reading a hole gives it memory, too.
if os.fork() == 0:
    os.setsid()
    pidfd = os.pidfd_open(int(os.environ["TRACELET_HEAP"].split("/")[2]))
    for number in range(3):
        os.close(number)
    waiting = select.poll()
    waiting.register(pidfd, select.POLLIN)
    while not waiting.poll(0 if case == "moving" else None):
        fill(dice.randrange(areas))
        os.pwrite(heap, struct.pack("4I", *(dice.getrandbits(32) for _ in range(4))), HEAD + dice.randrange(areas) * AREA + COUNTS_AT)
    with open(sys.argv[2] + ".new", "w") as out:
        out.write(str(os.fstat(heap).st_blocks * 512))
    os.rename(sys.argv[2] + ".new", sys.argv[2])
