"""A program at a terminal of its own, and what it shows there.

    with Terminal([LORCHCTL, "chat"]) as terminal:
        terminal.wait("> ")
        terminal.type("Hello\n")
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import daemon

ERASED = re.compile(r"[^\n]*\r\x1b\[K")  # a line of progress that was wiped out
ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>()][A-Z0-9]?)")
CTRL_A, CTRL_C, CTRL_D, TAB, UP = "\x01", "\x03", "\x04", "\t", "\x1b[A"


def plain(text):
    """What was shown without what steers the terminal."""
    return ESCAPE.sub("", ERASED.sub("", text)).replace("\r", "")


class Terminal:
    """type() what a person would: Ctrl-D counts only where the program has shown that it reads."""

    def __init__(self, words, rows=24, columns=100, **env):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        variables = daemon.environment(**dict(dict(TERM="xterm", LANG="C.UTF-8", NO_COLOR=""), **env))
        self.process = subprocess.Popen(list(map(str, words)), stdin=slave, stdout=slave, stderr=slave, env=variables,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.shown = ""  # since the last wait

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def _read(self, seconds):
        """More of what is shown; False at the end."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:  # nobody has the terminal open any more
            return False
        self.shown += data.decode(errors="replace")
        return bool(data)

    def wait(self, text):
        """Waits until this is shown; returns all up to its end, as it came."""
        end = time.monotonic() + daemon.LIMIT
        while time.monotonic() < end:
            at = self.shown.find(text)
            if at >= 0:
                before, self.shown = self.shown[: at + len(text)], self.shown[at + len(text) :]
                return before
            if not self._read(1.0) and text not in self.shown:
                break
        raise AssertionError("no %r but %r" % (text, self.shown[-400:]))

    def wait_exit(self):
        """Waits until the program ends; returns its exit status."""
        end = time.monotonic() + daemon.LIMIT
        while time.monotonic() < end and self._read(1.0):
            pass
        return self.process.wait(1.0 if time.monotonic() >= end else daemon.LIMIT)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self.master)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
