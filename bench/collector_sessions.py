#!/usr/bin/env python3
"""Many sessions of the collector without many tracers: collector_sessions.py SOCKET WORD...

open N        opens N sessions one after the other; prints the median time of one in microseconds
at-once N     opens N sessions, sending all requests before reading an answer; prints milliseconds for all
hold N [HZ]   holds N sessions, with HZ samples a second, each of which follows a process that sleeps; prints "held", ends with standard input
first         prints "ready", connects as soon as it can and opens a session; prints the time of day in microseconds
"""

import array
import os
import resource
import signal
import socket
import statistics
import struct
import sys
import time

OPEN, FOLLOW, OPENED, FOLLOWED = 1, 2, 100, 102


def send(connection, kind, pidfd, samples=0, waits=True):
    packet = struct.pack("<HHIQQQII", 1, kind, 40, 7 | (16 if samples else 0), 0, 1000000 if waits else 0, samples, 0)
    connection.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [pidfd]))])


def expect(connection, kind):
    while True:
        packet = connection.recv(1 << 17)
        got = struct.unpack_from("<HH", packet)[1]
        if got == kind:
            return
        if got == 101 or not packet:
            sys.exit("refused: %d" % struct.unpack_from("<I", packet, 8))


def connect(path):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(path)
    return connection


def main():
    path, word = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    samples = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    own = os.pidfd_open(os.getpid())
    connections = []
    if word == "open":
        times = []
        for _ in range(count):
            begin = time.perf_counter()
            connection = connect(path)
            send(connection, OPEN, own)
            expect(connection, OPENED)
            times.append(time.perf_counter() - begin)
            connection.close()
        print("%.1f" % (statistics.median(times) * 1e6))
    elif word == "at-once":
        begin = time.perf_counter()
        for _ in range(count):
            connections.append(connect(path))
            send(connections[-1], OPEN, own)
        for connection in connections:
            expect(connection, OPENED)
        print("%.1f" % ((time.perf_counter() - begin) * 1e3))
    elif word == "hold":
        children = []
        for _ in range(count):
            child = os.fork()
            if child == 0:
                signal.pause()
                os._exit(0)
            children.append(child)
            connections.append(connect(path))
            send(connections[-1], OPEN, own, samples)
            expect(connections[-1], OPENED)
            pidfd = os.pidfd_open(child)
            send(connections[-1], FOLLOW, pidfd)
            expect(connections[-1], FOLLOWED)
            os.close(pidfd)
        print("held", flush=True)
        sys.stdin.read()
        for child in children:
            os.kill(child, signal.SIGKILL)
    elif word == "first":
        print("ready", flush=True)
        while True:
            try:
                connection = connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.0005)
        send(connection, OPEN, own)
        expect(connection, OPENED)
        print("%d" % (time.time() * 1e6))


main()
