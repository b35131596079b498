#!/usr/bin/env python3
"""terminal.py [expect=REGEX | send=TEXT]... -- COMMAND ARGS...

Runs a command on a terminal of its own, types at it and reads what it writes:
`expect` waits until the output that follows the last match has the pattern,
`send` types (\\x03 is Ctrl-C). Then waits for the command's end. Prints all that
was written; exits as the command did, 128 + n for signal n, 99 when something
expected did not come.
"""
import os
import pty
import re
import select
import signal
import sys
import time

LIMIT = 30  # seconds without the expected text: it will not come


def main(words):
    split = words.index("--")
    steps, command = words[:split], words[split + 1:]
    pid, terminal = pty.fork()
    if pid == 0:
        # As in a shell, even if our parent ignored them.
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    written = b""
    start = 0

    def read_more(deadline):
        nonlocal written
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            return False
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the last process with the terminal open has ended
            piece = b""
        written += piece
        return piece != b""

    def finish(status):
        sys.stdout.buffer.write(written.replace(b"\r\n", b"\n"))
        return status

    for step in steps:
        what, _, text = step.partition("=")
        text = text.encode().decode("unicode_escape").encode("latin-1")
        if what == "send":
            os.write(terminal, text)
            continue
        deadline = time.monotonic() + LIMIT
        while not (match := re.compile(text).search(written, start)):
            if not read_more(deadline):
                os.kill(pid, signal.SIGKILL)
                print(f"did not come: {step}", file=sys.stderr)
                return finish(99)
        start = match.end()
    deadline = time.monotonic() + LIMIT
    while read_more(deadline):
        pass
    if time.monotonic() >= deadline:
        os.kill(pid, signal.SIGKILL)
        print("the command did not end", file=sys.stderr)
        return finish(99)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return finish(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
