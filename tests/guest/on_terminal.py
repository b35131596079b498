"""on_terminal.py COMMAND...: runs it in the foreground of a terminal of its own, its files as they are; types Ctrl-C when
it gets SIGUSR1. The exit status is the command's, as a shell gives it."""

import fcntl
import os
import signal
import sys
import termios

master, slave = os.openpty()
signal.signal(signal.SIGUSR1, lambda number, frame: os.write(master, b"\x03"))
child = os.fork()
if child == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    os.execvp(sys.argv[1], sys.argv[1:])
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.exit(status if status >= 0 else 128 - status)
