"""Small recordings that unpack to a lot; written into the current folder."""
import gzip
import struct
import subprocess
import zipfile
import zlib

MIB = 1 << 20


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def data(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def zstd(content):
    return subprocess.run(["zstd", "-q", "-c"], input=content, stdout=subprocess.PIPE, check=True).stdout


def write(name, content):
    with open(name, "wb") as file:
        file.write(content)


PACKET = data(1, varint(8 << 3) + varint(5) + varint(10 << 3) + varint(1))  # a time and a sequence
mebibyte = PACKET * (MIB // len(PACKET))

write("plain.pb", PACKET * 100)
write("small.gz", gzip.compress(PACKET * 100))
write("bomb.gz", gzip.compress(mebibyte) * 8)
write("large.gz", gzip.compress(mebibyte * 40) * 15)
write("packets.pb", PACKET + data(1, data(50, zlib.compress(mebibyte * 3))) * 3)
write("zstd.pb", PACKET + data(1, data(133, zstd(mebibyte * 3))) * 3)

# perf.data from a pipe: one event, then compressed records of a type that is skipped.
attribute = struct.pack("<IIQQQQQ", 1, 112, 0, 4000, 1 | 2 | 4, 0, 1 << 18)
perf = struct.pack("<8sQ", b"PERFILE2", 16)
perf += struct.pack("<IHH", 64, 0, 8 + 112 + 8) + attribute + bytes(112 - len(attribute)) + struct.pack("<Q", 7)
packed = zstd(struct.pack("<IHH", 200, 0, 4096) .ljust(4096, b"\0") * (8 * MIB // 4096))
perf += struct.pack("<IHH", 81, 0, 8 + len(packed)) + packed
write("zstd.perf", perf)

with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("x.etl", bytes(8 * MIB))
