#!/usr/bin/python3 -B
"""The socket of --listen: its mode, never in place of a live one, in place of a dead one, removed at the end."""

import os
import signal
import socket
import stat
import tempfile

import daemon as fixture
from daemon import Daemon, lorch
import models
from tap import check, contains, done, equal, point


def refused(path, status):
    """lorchd does not start there: one sentence, this status."""
    result = fixture.run("--model", models.DEMO, "--listen", path)
    equal(result.returncode, status, result.stderr)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("#")]
    equal(len(lines), 1, result.stderr)
    contains(lines[0], path if len(path) < 100 else "bytes")
    return lines[0]


def dead_socket(path):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
        dead.listen()


with tempfile.TemporaryDirectory() as directory:
    old_mask = os.umask(0)
    with Daemon(models.DEMO) as daemon:
        os.umask(old_mask)

        @point("its mode is 0600, whatever the mask")
        def _():
            equal(oct(os.stat(daemon.path).st_mode & 0o777), "0o600")
            check(stat.S_ISSOCK(os.stat(daemon.path).st_mode), "it is no socket")

        @point("a live one is not replaced, and its clients notice nothing")
        def _():
            with daemon.connect() as client:
                before = os.stat(daemon.path).st_ino
                contains(refused(daemon.path, 73), "another process listens")
                equal(os.stat(daemon.path).st_ino, before)
                equal(client.run(tokens=[0], max_tokens=1)["type"], "done")
                daemon.connect().close()

        @point("it is removed at the end")
        def _():
            equal(daemon.stop(), 0)
            equal(os.path.exists(daemon.path), False)

    @point("a dead one is replaced")
    def _():
        with Daemon(models.DEMO) as first:
            first.signal(signal.SIGKILL)
            first.wait_exit()
            check(os.path.exists(first.path), "the killed one has removed its socket")
            first.want = -signal.SIGKILL
            with Daemon(models.DEMO, listen=first.path) as second, second.connect() as client:
                equal(client.run(tokens=[0], max_tokens=1)["type"], "done")

    @point("what is not a socket is not replaced")
    def _():
        path = os.path.join(directory, "file")
        with open(path, "w", encoding="utf-8") as file:
            file.write("precious")
        contains(refused(path, 73), "not a socket")
        with open(path, encoding="utf-8") as file:
            equal(file.read(), "precious")
        target = os.path.join(directory, "target.sock")
        dead_socket(target)
        link = os.path.join(directory, "link")
        os.symlink(target, link)
        contains(refused(link, 73), "not a socket")
        check(os.path.islink(link) and os.path.exists(target), "the link or its target is gone")

    @point("one that has taken its place meanwhile is not removed")
    def _():
        with Daemon(models.DEMO) as daemon:
            os.unlink(daemon.path)
            dead_socket(daemon.path)
            equal(daemon.stop(), 0)
            check(os.path.exists(daemon.path), "somebody else's socket was removed")

    @point("a directory that is not there, and a path that is too long")
    def _():
        refused(os.path.join(directory, "none/lorchd.sock"), 73)
        contains(refused(os.path.join(directory, "x" * 120), 73), "107")
        refused("", 73)

    @point("an inherited socket is neither removed nor shut down")
    def _():
        path = os.path.join(directory, "inherited.sock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            os.chmod(path, 0o660)
            listener.listen()
            for _ in range(2):  # the second one finds it as the first one did
                with Daemon(models.DEMO, inherit=[listener]), lorch.Client(path) as client:
                    equal(client.run(tokens=[0], max_tokens=1)["type"], "done")
                equal(oct(os.stat(path).st_mode & 0o777), "0o660")
            with lorch.Client(path) as late:  # waits in the queue for the next one
                with Daemon(models.DEMO, inherit=[listener]):
                    equal(late.run(tokens=[0], max_tokens=1)["type"], "done")

    @point("several inherited sockets and one of its own are all served")
    def _():
        listeners = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        paths = [os.path.join(directory, "%d.sock" % i) for i in range(3)]
        own = os.path.join(directory, "own.sock")
        for listener, path in zip(listeners, paths):
            listener.bind(path)
            listener.listen()
        with Daemon(models.DEMO, "--listen", own, inherit=listeners):
            for path in paths + [own]:
                with lorch.Client(path) as client:
                    equal(client.ping(1)["t"], 1)
        equal([os.path.exists(path) for path in paths + [own]], [True, True, True, False])
        for listener in listeners:
            listener.close()

done()
