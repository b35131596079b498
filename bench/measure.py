#!/usr/bin/env python3
"""measure.py ROUNDS NAME=COMMAND...: runs each command in turn, ROUNDS times over,
and prints a line per name: NAME WALL CPU RSS NUMBER LEAST. WALL and CPU are the median
times in seconds, RSS is the largest resident size in kB. NUMBER and LEAST are the median
and the minimum of the last number that the command printed on a line with "usecs/op" (or
0); the minimum is useful because other load makes times longer, never shorter.

The CPU time includes processes that the command leaves behind: orphans (a tracer that
ends after its test) are adopted and waited for.
"""

import ctypes
import os
import re
import statistics
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def measure(command):
    begin = time.monotonic()
    process = subprocess.Popen(["bash", "-c", "exec " + command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout.read().decode(errors="replace")
    wall = cpu = largest = 0
    while True:
        try:
            pid, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        if pid == process.pid:
            wall = time.monotonic() - begin
            largest = usage.ru_maxrss
        cpu += usage.ru_utime + usage.ru_stime
    process.returncode = 0
    number = re.findall(r"([0-9.]+) usecs/op", output)
    return wall, cpu, largest, float(number[-1]) if number else 0.0


def main():
    rounds = int(sys.argv[1])
    commands = dict(argument.split("=", 1) for argument in sys.argv[2:])
    results = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            results[name].append(measure(command))
    for name, values in results.items():
        wall, cpu, largest, number = zip(*values)
        print(name, f"{statistics.median(wall):.6f} {statistics.median(cpu):.6f} {max(largest)} {statistics.median(number):.6f} {min(number):.6f}")


main()
