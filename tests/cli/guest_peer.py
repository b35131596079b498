#!/usr/bin/env python3
"""Bad peers for test_guest.sh.

guest_peer.py proxy LISTEN TARGET BYTES TIMES  a proxy of Unix sockets that closes each connection after so many
                                               bytes of the guest's, so often, and then lets all pass
guest_peer.py garbage LISTEN                   answers with noise
guest_peer.py silent LISTEN                    takes connections and says nothing
guest_peer.py chaos LISTEN TARGET SEED TIMES    a proxy that cuts so many connections, each after a number of bytes of
                                               either side that the seed tells
guest_peer.py damage LISTEN TARGET BYTE        a proxy that flips one bit of this byte of the guest's, once
guest_peer.py slow LISTEN TARGET BYTES         a proxy that rests for a moment after so many bytes of the guest's
guest_peer.py hybrid LISTEN TARGET PORT        a VMM's socket for vsock: CONNECT PORT, and OK
guest_peer.py serial ONE OTHER                 two ends of a serial line
guest_peer.py version LISTEN                   an agent of another version
guest_peer.py stranger PORT COMMAND FLOOD      a host on TCP without the token, which wants COMMAND run; then so many
                                               connections that say hello and stay. Prints the types of the answers, and
                                               "flooded"; ends with its input
guest_peer.py impostor PORT CASE               an agent on TCP that does not know the token: "none" does not ask for it,
                                               "wrong" does and proves nothing, "mirror" and "echo" send back what the
                                               host proved, or its challenge
guest_peer.py thief PORT AGENT COMMAND         passes one host's connection on to the agent at port AGENT, and keeps its proof;
                                               then wants COMMAND run, with that proof. Prints the types of the answers
guest_peer.py hostile LISTEN CASE...           a hostile guest that speaks the protocol, with another attack each time
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
    if path.startswith("tcp:"):
        server = socket.create_server(("127.0.0.1", int(path[4:])))
        open(path, "w").close()  # it can be connected to
        return server
    server = socket.socket(socket.AF_UNIX)
    server.bind(path + ".new")
    server.listen(8)
    os.rename(path + ".new", path)  # it appears only once it accepts connections
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
    """Copies bytes both ways until a side closes or take(from the guest?, bytes) returns fewer than it got."""
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
    if target.startswith("tcp:"):
        return socket.create_connection(("127.0.0.1", int(target[4:])))
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


def damage(path, target, position):
    server = listen(path)
    host, _ = server.accept()
    passed, position = 0, int(position)

    def take(from_guest, data):
        nonlocal passed
        if not from_guest:
            return data
        at, passed = position - passed, passed + len(data)
        if not 0 <= at < len(data):
            return data
        with open(path + ".flips", "a") as log:
            log.write("flipped\n")
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]

    relay(host, connect(target), take)


def noisy(path, target, every):
    """Flips a bit of each so many bytes, in both directions."""
    server, every = listen(path), int(every)
    while True:
        host, _ = server.accept()
        passed = [0, 0]

        def take(side, data):
            data = bytearray(data)
            for at in range(every - 1 - passed[side] % every, len(data), every):
                data[at] ^= 1 << at % 8
                with open(path + ".flips", "a") as log:
                    log.write("flipped\n")
            passed[side] += len(data)
            return data

        guest = connect(target)
        relay(host, guest, take)
        host.close()
        guest.close()


def gag(path, target, size):
    """Passes so many bytes of the guest's, and nothing from then on; the connection stays."""
    server, left = listen(path), int(size)
    host, _ = server.accept()
    guest = connect(target)
    while True:
        for ready in select.select([host, guest], [], [])[0]:
            data = ready.recv(65536)
            if ready is host:
                guest.sendall(data)
            elif left > 0:
                host.sendall(data[:left])
                left -= len(data)
            if not data:
                return


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


def hostile_manifest():
    """Lines about files and tests that are not the guest's."""
    start = '"started":"2020-01-01T00:00:00Z","wall_seconds":1,"backend":"bpf","artifacts":['
    files = ",".join('{"kind":"perfetto","path":"%s","size":5}' % path
                     for path in ("/etc/passwd", "/tmp/guest/../../etc/passwd", "/tmp/guest/precious.pb", "precious.pb",
                                  "/tmp/guest/mine.pb", "/tmp/guest/mine.pb"))
    lines = ['{"deleted":[{"test":"other","kind":"perfetto","path":"precious.pb","size":5}],"why":"max-age","when":"2020-01-01T00:00:00Z"}',
             '{"test":"other","kind":"machine","result":"failed","guest_failed":"it burnt",' + start + "]}",
             '{"test":"other","kind":"case","result":"passed",' + start + "]}", '{"test":"other","torn', "no JSON",
             '{"test":"other","command":["rm"],"kind":"test","result":"passed\\u001b[31m","exit":0,"repro":true,"unknown":{"a":1},' +
             '"guest":"elsewhere","guest_failed":"never","variant":{"a":1},"variant_hash":"x","status":"\\u001b",' +
             '"explanation":"x slept.\\n::error::pwned\\u001b[31m\\u009b31m","profile":"\\u001b","cpu":"\\u001b","outlived":["\\u001b"],' +
             '"time_digest":{"wall_ns":1,"segments":[{"role":"\\u001b[31m","reason":"cpu","function":"\\n::error::","ns":1}]},' +
             '"parent":"p","project":"theirs","suite":"s","machine_class":"m","metrics":{"x":1},"waited":{"a":"\\u001b\\n[31m\\\\"},"functions":{"\\u0085":[1]},' +
             '"session":"\\u001b","run":"\\u001b","source":{"branch":"\\u001b","fork":true},' + start + files +
             '],"cases":[{"name":"c","result":"passed","trace":"/etc/passwd"}]}']
    return "\n".join(lines).encode()


def sent_file(name, data):
    return [(CONTROL, message(FILE_BEGIN, len(data), name)), (FILE, data), (CONTROL, message(FILE_END, len(data)))]


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
    if case == "manifest":
        frames += sent_file("mine.pb", b"x" * 5) + sent_file("manifest.jsonl", hostile_manifest())
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
            if case == "damaged":  # valid headers, over and over, before invalid payloads
                bad = frame(DATA, FILE, 0, b"", 1 << 20)
                connection.sendall(bad * (5 << 15))
            if case == "bomb":
                zeros = bytes.fromhex("28b52ffda0ffff0300")  # a frame of many blocks, each 128 KiB of one byte
                packed = struct.pack("<I", 1 << 20) + zeros + b"\x02\x00\x10\x00" * 200
                connection.sendall(frame(DATA, FILE, 0, packed, flags=1))
            if case == "length":
                connection.sendall(frame(DATA, FILE, 0, b"", 0xFFFFFFFF) + b"x" * (5 << 20))
            if case in ("mute", "forgets"):
                be_of_no_use(connection, case == "forgets")
        elif kind == PING:
            connection.sendall(frame(PONG, 0, 0, payload + b"\xff" * 16))
        elif kind == DATA and case == "ack":
            connection.sendall(frame(ACK, 0, 1 << 60))
        elif kind == DATA and stream == CONTROL:
            connection.sendall(answer_of(case))


def be_of_no_use(connection, answers_pings):
    """Takes everything, and answers pings or nothing: other hellos than the first, too, stay without an answer."""
    connection.settimeout(None)
    while True:
        kind, _, _, payload = read_frame(connection)
        if kind == PING and answers_pings:
            connection.sendall(frame(PONG, 0, 0, payload + b"\0" * 16))


def garbage(path):
    server = listen(path)
    connection, _ = server.accept()
    try:
        for i in range(100):
            connection.sendall(bytes((i * j * 7919 >> 3) & 0xFF for j in range(256)) * 256)
    except OSError:
        pass


def hello(session):
    return frame(HELLO, 0, 0, struct.pack("<IIQQ", 0, 1, session, 0) + b"x")


def answers(connection, seconds):
    connection.settimeout(seconds)
    try:
        while True:
            yield read_frame(connection)
    except (OSError, EOFError):
        pass


def stranger(port, command, flood):
    target = ("127.0.0.1", int(port))
    one = socket.create_connection(target)
    one.sendall(hello(7) + frame(PING, 0, 0, bytes(8)) + frame(DATA, CONTROL, 0, message(1, 2, "sh", "-c", command)) +
                frame(10, 0, 0, bytes(72)))
    print(*(got[0] for got in answers(one, 2)))
    held = []
    for number in range(int(flood)):
        held.append(socket.create_connection(target))
        held[-1].sendall(hello(100 + number))
    print("flooded", flush=True)
    sys.stdin.read()


def impostor(port, case):
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", int(port)))
    server.listen()
    connection, _ = server.accept()
    payload = read_frame(connection)[3]
    if case == "none":
        connection.sendall(frame(HELLO, 0, 0, struct.pack("<II", 0, 0) + payload[8:16] + struct.pack("<Q", 0) + b"evil"))
    else:
        connection.sendall(frame(9, 0, 0, bytes(32)))
        proof = read_frame(connection)[3] if case != "wrong" else bytes(64)
        connection.sendall(frame(10, 0, 0, proof[-32:] if case == "mirror" else proof[:32]))
    connection.settimeout(5)
    try:
        while connection.recv(4096):
            pass
    except OSError:
        pass


def thief(port, agent, command):
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", int(port)))
    server.listen()
    host, _ = server.accept()
    there = socket.create_connection(("127.0.0.1", int(agent)))
    kept = bytearray()

    def take(from_guest, data):
        if not from_guest:
            kept.extend(data)
        return data

    relay(host, there, take)
    frames = {}
    while len(kept) >= 32 and len(frames) < 2:
        length = 32 + struct.unpack_from("<I", kept, 12)[0]
        frames.setdefault(kept[5], bytes(kept[:length]))
        del kept[:length]
    order = frame(DATA, CONTROL, 0, message(1, 2, "sh", "-c", command))
    for first in (frames[HELLO], hello(8)):
        again = socket.create_connection(("127.0.0.1", int(agent)))
        again.sendall(first)
        kind = read_frame(again)[0]
        again.sendall(frames[10] + order)
        print(kind, *(got[0] for got in answers(again, 2)))


def silent(path):
    server = listen(path)
    connections = []
    while True:
        connections.append(server.accept())


if __name__ == "__main__":
    try:
        {"proxy": proxy, "garbage": garbage, "hostile": hostile, "silent": silent, "chaos": chaos,
         "damage": damage, "noisy": noisy, "gag": gag, "slow": slow, "hybrid": hybrid, "serial": serial, "stranger": stranger,
         "impostor": impostor, "thief": thief, "version": version}[sys.argv[1]](*sys.argv[2:])
    except (OSError, KeyboardInterrupt):
        pass
