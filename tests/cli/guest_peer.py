#!/usr/bin/env python3
"""Peers for test_guest.sh that nobody wants.

guest_peer.py proxy LISTEN TARGET BYTES TIMES  a proxy of Unix sockets that closes each connection after so many
                                               bytes of the guest's, so often, and then lets all pass
guest_peer.py garbage LISTEN                   answers with noise
guest_peer.py silent LISTEN                    takes connections and says nothing
guest_peer.py chaos LISTEN TARGET SEED TIMES    a proxy that cuts so many connections, each after a number of bytes of
                                               either side that the seed tells
guest_peer.py slow LISTEN TARGET BYTES         a proxy that rests for a moment after so many bytes of the guest's
guest_peer.py hybrid LISTEN TARGET PORT        a VMM's socket for vsock: CONNECT PORT, and OK
guest_peer.py serial ONE OTHER                 two ends of a serial line
guest_peer.py version LISTEN                   an agent of another version
guest_peer.py hostile LISTEN CASE...           a guest that speaks the language and means ill, in another way each time
"""

import os
import random
import select
import socket
import struct
import sys
import time
import tty

MAGIC = 0x31464C54
HELLO, DATA, ACK, PING, PONG = 1, 2, 3, 4, 5
CONTROL, FILE = 0, 5
STARTED, FILE_BEGIN, FILE_END, TRACE_BEGIN, RESULT = 5, 6, 7, 8, 9


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def frame(kind, stream, sequence, payload=b"", length=None, version=1, flags=0):
    head = struct.pack("<IBBHIIQI", MAGIC, version, kind, flags, stream, len(payload) if length is None else length, sequence,
                       crc32c(payload))
    return head + struct.pack("<I", crc32c(head)) + payload


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def message(kind, number=0, *words):
    return (varint(kind) + varint(number) + varint(0) * 3 + varint(len(words)) +
            b"".join(word.encode() + b"\0" for word in words))


def listen(path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(path + ".new")
    server.listen(8)
    os.rename(path + ".new", path)  # it is there when it can be connected to
    return server


def proxy(path, target, limit, times):
    server = listen(path)
    limit, times = int(limit), int(times)
    while True:
        host, _ = server.accept()
        guest = socket.socket(socket.AF_UNIX)
        guest.connect(target)
        passed, alive = 0, True
        while alive:
            for ready in select.select([host, guest], [], [])[0]:
                data = ready.recv(65536)
                alive = alive and bool(data)
                if ready is guest and times:
                    data = data[:max(limit - passed, 0)]
                    passed += len(data)
                    alive = alive and passed < limit
                try:
                    (guest if ready is host else host).sendall(data)
                except OSError:
                    alive = False
        if times and passed >= limit:
            times -= 1
            with open(path + ".cuts", "a") as log:
                log.write("cut\n")
        host.close()
        guest.close()


def relay(host, guest, take):
    """Bytes both ways until a side closes or take(from the guest?, bytes) gives fewer than it got."""
    while True:
        for ready in select.select([host, guest], [], [])[0]:
            try:
                data = ready.recv(65536)
                passed = take(ready is guest, data)
                (guest if ready is host else host).sendall(passed)
            except OSError:
                return
            if not data or len(passed) < len(data):
                return


def connect(target):
    guest = socket.socket(socket.AF_UNIX)
    guest.connect(target)
    return guest


def chaos(path, target, seed, times):
    server, dice, times = listen(path), random.Random(int(seed)), int(times)
    while True:
        host, _ = server.accept()
        guest = connect(target)
        left = [int(10**dice.uniform(0, 5.7)) if times else 1 << 60 for _ in range(2)]

        def take(side, data):
            data = data[:left[side]]
            left[side] -= len(data)
            return data

        relay(host, guest, take)
        if 0 in left:
            times -= 1
            with open(path + ".cuts", "a") as log:
                log.write("cut\n")
        host.close()
        guest.close()


def slow(path, target, size):
    server = listen(path)
    host, _ = server.accept()
    passed = 0

    def take(side, data):
        nonlocal passed
        passed += len(data) if side else 0
        if passed > int(size):
            passed = 0
            time.sleep(0.3)
        return data

    relay(host, connect(target), take)


def hybrid(path, target, port):
    server = listen(path)
    while True:
        host, _ = server.accept()
        line = b""
        while not line.endswith(b"\n"):
            line += host.recv(1)
        if line == b"CONNECT %s\n" % port.encode():
            guest = connect(target)
            host.sendall(b"O")
            time.sleep(0.01)
            host.sendall(b"K 1073741824\n")
            relay(host, guest, lambda side, data: data)
            guest.close()
        host.close()


def serial(one, other):
    ends = {}
    for path in (one, other):
        master, slave = os.openpty()
        tty.setraw(slave)
        os.set_blocking(master, False)
        ends[path] = master
        os.symlink(os.ttyname(slave), path + ".new")
    fds = [ends[one], ends[other]]
    waiting = [b"", b""]  # for each end
    for path in (one, other):
        os.rename(path + ".new", path)
    while True:
        readable = [fds[i] for i in range(2) if len(waiting[1 - i]) < 65536]
        writable = [fds[i] for i in range(2) if waiting[i]]
        reads, writes, _ = select.select(readable, writable, [])
        for i in range(2):
            if fds[i] in reads:
                waiting[1 - i] += os.read(fds[i], 4096)
            if fds[i] in writes:
                waiting[i] = waiting[i][os.write(fds[i], waiting[i][:4096]):]


def version(path):
    server = listen(path)
    while True:
        connection, _ = server.accept()
        connection.recv(4096)
        connection.sendall(frame(HELLO, 0, 0, b"x" * 24, version=2))


def read_frame(connection):
    head = b""
    while len(head) < 32:
        more = connection.recv(32 - len(head))
        if not more:
            raise EOFError
        head += more
    _, _, kind, _, stream, length, sequence, _, _ = struct.unpack("<IBBHIIQII", head)
    payload = b""
    while len(payload) < length:
        payload += connection.recv(length - len(payload))
    return kind, stream, sequence, payload


def answer_of(case):
    """What follows a request."""
    begin = {"huge": message(FILE_BEGIN, 64 << 30, "x.pb"), "outside": message(FILE_BEGIN, 5, "../../outside"),
             "absolute": message(FILE_BEGIN, 5, "/tmp/absolute"), "link": message(FILE_BEGIN, 5, "link"),
             "endless": message(FILE_BEGIN, 0, "endless.pb"), "short": message(FILE_BEGIN, 100, "short.pb")}
    frames = [(CONTROL, message(STARTED, 7, "/tmp/guest"))]
    if case in begin:
        frames.append((CONTROL, begin[case]))
        frames += [(FILE, b"x" * (200 if case == "endless" else 5))] * (40 if case == "endless" else 1)
        frames.append((CONTROL, message(FILE_END, 100 if case == "short" else 5)))
    if case == "message":
        frames.append((CONTROL, b"\xff" * 40))
    if case == "nul":
        frames.append((CONTROL, varint(FILE_BEGIN) + varint(1) + varint(0) * 3 + varint(1) + b"a\0b\0"))
    if case == "many":
        frames += [(CONTROL, message(FILE_BEGIN, 0, "f"))] * 4200
    if case == "words":
        frames.append((CONTROL, varint(STARTED) + varint(0) * 4 + varint(1 << 40)))
    if case == "stream":
        frames.append((99, b"x"))
    frames.append((CONTROL, message(RESULT, 0, "\x1b[31mred" if case == "escape" else "")))
    return b"".join(frame(DATA, stream, i, payload) for i, (stream, payload) in enumerate(frames))


def hostile(path, *cases):
    server = listen(path)
    for case in cases:
        connection, _ = server.accept()
        connection.settimeout(20)
        try:
            be_hostile(connection, case)
        except (OSError, EOFError):
            connection.close()


def be_hostile(connection, case):
    while True:
        kind, stream, _, payload = read_frame(connection)
        if kind == HELLO:
            connection.sendall(frame(HELLO, 0, 0, struct.pack("<II", 0, 0) + payload[8:16] + struct.pack("<Q", 0) + b"evil"))
            if case == "damaged":  # headers that are good, over and over, before payloads that are not
                bad = frame(DATA, FILE, 0, b"", 1 << 20)
                connection.sendall(bad * (5 << 15))
            if case == "bomb":
                zeros = bytes.fromhex("28b52ffda0ffff0300")  # a frame of many blocks, each 128 KiB of one byte
                packed = struct.pack("<I", 1 << 20) + zeros + b"\x02\x00\x10\x00" * 200
                connection.sendall(frame(DATA, FILE, 0, packed, flags=1))
            if case == "length":
                connection.sendall(frame(DATA, FILE, 0, b"", 0xFFFFFFFF) + b"x" * (5 << 20))
        elif kind == PING:
            connection.sendall(frame(PONG, 0, 0, payload + b"\xff" * 16))
        elif kind == DATA and case == "ack":
            connection.sendall(frame(ACK, 0, 1 << 60))
        elif kind == DATA and stream == CONTROL:
            connection.sendall(answer_of(case))


def garbage(path):
    server = listen(path)
    connection, _ = server.accept()
    try:
        for i in range(100):
            connection.sendall(bytes((i * j * 7919 >> 3) & 0xFF for j in range(256)) * 256)
    except OSError:
        pass


def silent(path):
    server = listen(path)
    connections = []
    while True:
        connections.append(server.accept())


if __name__ == "__main__":
    try:
        {"proxy": proxy, "garbage": garbage, "hostile": hostile, "silent": silent, "chaos": chaos,
         "slow": slow, "hybrid": hybrid, "serial": serial, "version": version}[sys.argv[1]](*sys.argv[2:])
    except (OSError, KeyboardInterrupt):
        pass
