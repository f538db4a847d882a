# SPDX-License-Identifier: Apache-2.0
# on_terminal.py COLUMNS COMMAND…: runs it on a terminal of its own; what it wrote, standard error included, is on standard output.
import fcntl, os, pty, struct, sys, termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
try:
    while block := os.read(terminal, 65536):
        sys.stdout.buffer.write(block)
except OSError:  # its end
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
