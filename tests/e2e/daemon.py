"""A private lorchd for a test: its own directory, socket and notify socket; ended and examined afterwards.

    with Daemon(models.DEMO) as daemon, daemon.connect() as client:
        client.run("Once", max_tokens=1)

Nothing here waits by the clock: readiness is READY=1 at the notify socket, other events are lines of the log
or frames. LIMIT only bounds how long a broken daemon can keep a test busy; sanitizers and two shared cores
make everything slow, so it is generous.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import tap

SRCDIR = os.environ.get("srcdir") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BUILDDIR = os.environ.get("builddir") or os.getcwd()
sys.path.insert(0, os.path.join(SRCDIR, "contrib/python"))

import lorch  # noqa: E402

LORCHD = os.path.join(BUILDDIR, "lorchd")
LORCHCTL = os.path.join(BUILDDIR, "lorchctl")
LIMIT = 240.0  # seconds
ACTIVATE = "systemd-socket-activate"
STEERING = re.compile("^(LISTEN_|NOTIFY_|WATCHDOG_|JOURNAL_|LORCH_MODEL|LORCH_SOCKET|XDG_RUNTIME_DIR)")
HANDED_ON = ("NOTIFY_SOCKET", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")


def environment(**changes):
    """That of the test without what would steer the daemon."""
    env = {k: v for k, v in os.environ.items() if not STEERING.match(k)}
    env.update(changes)
    return env


def ctl(*arguments, **options):
    """Runs lorchctl to its end; the result has returncode, stdout and stderr."""
    options.setdefault("stdin", None if "input" in options else subprocess.DEVNULL)
    options.setdefault("env", environment())
    return subprocess.run([LORCHCTL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=LIMIT, **{k: v for k, v in options.items() if v is not None})


def run(*arguments, **options):
    """Runs lorchd to its end, for cases in which it ends by itself."""
    options.setdefault("env", environment())
    return subprocess.run([LORCHD, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=LIMIT, text=True, **options)


class Manager:
    """What a service manager hears."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.socket.bind(path)
        self.heard = []

    def hear(self):
        """The next message's lines; None after a tenth of a second without one."""
        self.socket.settimeout(0.1)
        try:
            lines = self.socket.recv(65536).decode().split("\n")
        except socket.timeout:
            return None
        self.heard += lines
        return lines

    def close(self):
        self.socket.close()


class Daemon:
    """lorchd with a model and further options.

    listen: its socket, instead of one in its directory. activated: under systemd-socket-activate, which
    starts lorchd at the first connection. inherit: listening sockets to hand over instead of --listen.
    ready: wait until the model is loaded. env: changes to the environment. want: the exit status that it
    shall end with.
    """

    def __init__(self, model=None, *options, listen=None, activated=False, inherit=(), ready=True, env=None,
                 want=0):
        self.directory = tempfile.mkdtemp(prefix="lorch-")
        self.path = listen or os.path.join(self.directory, "lorchd.sock")
        self.manager = Manager(os.path.join(self.directory, "notify"))
        self.want = want
        self._log = []
        self._more_log = threading.Condition()
        words = [LORCHD] + (["--model", model] if model else []) + list(map(str, options))
        variables = environment(NOTIFY_SOCKET=self.manager.path, **(env or {}))
        if activated:
            # It clears the environment.
            handed = ["-E%s=%s" % (name, variables[name]) for name in HANDED_ON if name in variables]
            words = [ACTIVATE, "-l", self.path] + handed + words
        elif inherit:
            moves = " ".join("%d<&%d" % (3 + i, s.fileno()) for i, s in enumerate(inherit))
            shell = 'LISTEN_PID=$$ LISTEN_FDS=%d exec "$0" "$@" %s' % (len(inherit), moves)
            words = ["/bin/sh", "-c", shell] + words
        else:
            words += ["--listen", self.path]
        self.process = subprocess.Popen(words, env=variables, pass_fds=[s.fileno() for s in inherit],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        self.pid = self.process.pid
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        try:
            if activated:
                self.wait_log("Listening on ")
            elif ready:
                self.wait_notify("READY=1")
        except BaseException:
            self._give_up()
            raise

    # The log.

    def _read_log(self):
        for line in self.process.stderr:
            with self._more_log:
                self._log.append(line.decode(errors="replace").rstrip("\n"))
                self._more_log.notify_all()
        with self._more_log:
            self._log.append("")  # the end
            self._more_log.notify_all()

    @property
    def log(self):
        with self._more_log:
            return "\n".join(self._log)

    def wait_log(self, text):
        """Waits for a line that contains text, and returns it."""
        with self._more_log:
            for _ in self._until("no '%s' in the log" % text):
                for line in self._log:
                    if text in line:
                        return line
                tap.check(self._log[-1:] != [""], "lorchd ended without '%s' in its log" % text)
                self._more_log.wait(1.0)

    # Waiting.

    def _until(self, complaint):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            yield
        raise AssertionError("%s after %g s" % (complaint, LIMIT))

    def wait_notify(self, line):
        """Waits until the manager has been told this line, now or earlier."""
        for _ in self._until("no %s" % line):
            if line in self.manager.heard:
                return
            if self.manager.hear() is None:
                tap.check(self.process.poll() is None, "lorchd ended with status %s" % self.process.returncode)

    def wait_exit(self):
        """Waits until lorchd ends and returns its exit status."""
        status = self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        return status

    # Talking.

    def connect(self):
        return lorch.Client(self.path, timeout=LIMIT)

    def ctl(self, *arguments, **options):
        return ctl("-H", self.path, *arguments, **options)

    def wait_status(self, client, **wanted):
        """Asks until the status has these values; returns it."""
        for _ in self._until("the status has not %s" % wanted):
            status = client.status()
            if all(status[key] == value for key, value in wanted.items()):
                return status

    # Looking.

    def proc(self, name):
        with open("/proc/%d/%s" % (self.pid, name)) as file:
            return file.read()

    def memory(self, key):
        """A row of /proc/PID/status in bytes: VmRSS, VmHWM, VmSize, VmPeak."""
        return int(re.search(r"^%s:\s+(\d+) kB" % key, self.proc("status"), re.M).group(1)) * 1024

    def descriptors(self):
        return sorted(os.listdir("/proc/%d/fd" % self.pid))

    # The end.

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """SIGTERM, and its exit status."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.wait_exit()

    def _give_up(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(LIMIT)
        print(self.log, file=sys.stderr)
        self._clean()

    def _clean(self):
        self.manager.close()
        self.process.stderr.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            status = self.stop()
        except subprocess.TimeoutExpired:
            status = "none after SIGTERM"
        if not tap.report("lorchd ends with status %d" % self.want, status == self.want, "got %s" % status):
            self._give_up()
        elif kind:
            print(self.log, file=sys.stderr)
            self._clean()
        else:
            self._clean()
