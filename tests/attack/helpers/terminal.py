#!/usr/bin/env python3
"""terminal.py COMMAND...: runs it on a terminal of its own, whose output it passes on, as a shell would be there.
Then prints what somebody typed there, and the exit status."""
import array, fcntl, os, pty, sys, termios

pid, master = pty.fork()
if pid == 0:
    # What a shell would read next is what was typed while the command ran.
    settings = termios.tcgetattr(0)
    settings[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(0, termios.TCSANOW, settings)
    status = os.waitstatus_to_exitcode(os.waitpid(os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ), 0)[1])
    count = array.array("i", [0])
    fcntl.ioctl(0, termios.FIONREAD, count)
    print(f"typed {count[0]}, status {status}", flush=True)
    os._exit(0)
while True:
    try:
        data = os.read(master, 4096)
    except OSError:
        break
    if not data:
        break
    os.write(1, data)
os.waitpid(pid, 0)
