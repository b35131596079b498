"""A client of the collector that does as it likes: collector_client.py SOCKET WORDS...

Each word is one thing to do, in order; answers are printed, one line each.
"""

import array
import ctypes
import os
import random
import resource
import signal
import socket
import struct
import sys
import time

HEAD = struct.Struct("<HHI")
TYPES = {"open": 1, "follow": 2, "flush": 3, "stop": 4, "status": 5}
NAMES = {100: "opened", 101: "refused", 102: "followed", 103: "data", 104: "flushed", 105: "end", 106: "going", 107: "counters", 108: "name"}
REFUSALS = "accepted version malformed sources nested quota rate samples full not-yours gone kernel namespace".split()


def request(kind, sources=0, cookie=0, version=1, size=40, long_wait=0, samples=0, flags=0):
    return HEAD.pack(version, kind, size) + struct.pack("<QQQII", sources, cookie, long_wait, samples, flags)


class Client:
    def __init__(self, path):
        self.path = path
        self.all = b""  # data that came
        self.connect()

    def connect(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(30)
        self.socket.connect(self.path)

    def send(self, data, fds=()):
        parts = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([data], parts)

    def answer(self):
        """The next message that is no data, in words."""
        while True:
            try:
                packet = self.socket.recv(1 << 17)
            except ConnectionResetError:
                packet = b""
            if not packet:
                return "closed"
            kind = NAMES.get(HEAD.unpack_from(packet)[1], "unknown")
            if kind in ("data", "name"):
                self.all += packet
                continue
            refusal = struct.unpack_from("<I", packet, 8)[0] if kind in ("refused", "followed") else 0
            return kind + (" " + REFUSALS[refusal] if refusal else "")


def raise_limit():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def send_open(client, sources=7, **more):
    pidfd = os.pidfd_open(os.getpid())
    client.send(request(TYPES["open"], sources, **more), [pidfd])
    os.close(pidfd)


def mixed(path, count):
    """Sessions that end in every way, some at the same time."""
    chance = random.Random(count)
    kept = []
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # it ends with us
        while True:
            time.sleep(0.001)
    for number in range(count):
        one = Client(path)
        way = chance.randrange(8)
        if way == 0:  # nonsense instead
            one.send(bytes(chance.randrange(1, 60)))
        if way == 1:  # does not even wait for the answer
            send_open(one)
        if way >= 2:
            send_open(one)
            if one.answer() != "opened":
                print("not opened:", number, flush=True)
        if way >= 3:  # refused while another session has it
            pidfd = os.pidfd_open(child)
            one.send(request(TYPES["follow"]), [pidfd])
            os.close(pidfd)
        if way == 4:  # the end of nobody's session
            one.send(request(TYPES["stop"]), [0])
        if way >= 5:
            one.send(request(TYPES["flush"]))
            one.send(request(TYPES["stop"]))
        if way == 7:  # stays for a while, and does not read
            kept.append(one)
        if len(kept) > 40:
            kept.pop(0).socket.close()
        if way != 7:
            one.socket.close()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print("done")


def held(path, count):
    """Sessions that each follow a process of their own, which is not idle."""
    raise_limit()
    clients = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            ctypes.CDLL(None).prctl(15, b"second-worker", 0, 0, 0)  # its name
            ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # it ends with us
            while True:
                time.sleep(0.05)
        one = Client(path)
        send_open(one)
        opened = one.answer()
        pidfd = os.pidfd_open(child)
        one.send(request(TYPES["follow"]), [pidfd])
        os.close(pidfd)
        answers = opened, one.answer()
        if answers != ("opened", "followed"):
            print(*answers)
        clients.append(one)
    print("held", flush=True)
    sys.stdin.read()


def do(client, word):
    name, _, value = word.partition("=")
    if name == "open":  # its own process, as it should be
        send_open(client, int(value or 7))
    elif name == "open-samples":  # so many a second
        send_open(client, samples=int(value))
    elif name == "open-stacks":  # all that there are
        send_open(client, 1 << 4 | 7, long_wait=1000000, samples=999)
    elif name == "run":  # a command, as a child
        child = os.fork()
        if child == 0:
            os.execv("/bin/sh", ["sh", "-c", value])
        os.waitpid(child, 0)
        return
    elif name == "kernel-addresses":  # in all data so far; those that stand for names are none
        count = 0
        for at in range(0, len(client.all) - 7, 8):
            word = struct.unpack_from("<Q", client.all, at)[0]
            kernel = 0xFFFF888000000000 <= word < 0xFFFFC90000000000 or 0xFFFFFFFF80000000 <= word < 0xFFFFFFFFC8000000
            if kernel and not 0 <= word - 0xFFFFFFFF81000000 < 8192 * 64:
                count += 1
        print(count)
        return
    elif name == "save":  # all data so far
        with open(value, "wb") as out:
            out.write(client.all)
        return
    elif name == "open-as":  # another process
        client.send(request(TYPES["open"]), [os.pidfd_open(int(value))])
    elif name == "follow":
        client.send(request(TYPES["follow"]), [os.pidfd_open(int(value))])
    elif name == "follow-self":
        client.send(request(TYPES["follow"]), [os.pidfd_open(os.getpid())])
    elif name == "follow-dead":  # a process that has ended, and is waited for: its id can be another's
        child = os.fork()
        if child == 0:
            os._exit(0)
        pidfd = os.pidfd_open(child)
        os.waitpid(child, 0)
        client.send(request(TYPES["follow"]), [pidfd])
    elif name == "follow-file":
        client.send(request(TYPES["follow"]), [os.open("/dev/null", os.O_RDONLY)])
    elif name in ("flush", "stop", "status"):
        client.send(request(TYPES[name]))
    elif name == "descriptors":  # with a request that has none
        fd = os.open("/dev/null", os.O_RDONLY)
        client.send(request(TYPES["status"]), [fd] * int(value))
    elif name == "many-descriptors":  # and again, on new connections
        fd = os.open("/dev/null", os.O_RDONLY)
        for _ in range(int(value)):
            client.send(request(TYPES["open"]), [fd] * 253)
            answer = client.answer()
            if answer != "refused malformed":
                print("unexpected:", answer)
            client.connect()
        return
    elif name == "bytes":
        client.send(bytes(int(value)))
    elif name == "size":  # of a request that says it has another
        client.send(request(TYPES["status"], size=int(value)))
    elif name == "version":
        client.send(request(TYPES["status"], version=int(value)))
    elif name == "type":
        client.send(request(int(value)))
    elif name == "again":
        client.connect()
        return
    elif name == "busy":  # many switches of two threads of a followed process, never reading
        left, right = socket.socketpair()
        child = os.fork()
        if child == 0:
            for _ in range(int(value)):
                right.recv(1)
                right.send(b"x")
            os._exit(0)
        for _ in range(int(value)):
            left.send(b"x")
            left.recv(1)
        os.waitpid(child, 0)
        return
    elif name == "sessions":  # as many as it gets, all open at once
        clients = []
        raise_limit()
        answers = {}
        for _ in range(int(value)):
            one = Client(client.path)
            send_open(one)
            clients.append(one)
        for one in clients:
            answer = one.answer()
            answers[answer] = answers.get(answer, 0) + 1
        print(" ".join(f"{key}: {count}" for key, count in sorted(answers.items())))
        return
    elif name in ("mixed", "held"):
        {"mixed": mixed, "held": held}[name](client.path, int(value))
        return
    elif name == "stall":  # stays, and does not read
        print("stalled", flush=True)
        sys.stdin.read()
        return
    elif name == "quit":
        os._exit(0)
    print(client.answer(), flush=True)


def main():
    client = Client(sys.argv[1])
    for word in sys.argv[2:]:
        try:
            do(client, word)
        except BrokenPipeError:
            print("closed", flush=True)


main()
