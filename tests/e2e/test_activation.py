#!/usr/bin/python3 -B
"""Started by a socket: the first connection starts it; what it is handed is checked; what it tells its manager."""

import os
import shutil
import socket
import subprocess
import tempfile

import daemon as fixture
from daemon import Daemon
import models
from tap import check, contains, done, equal, point, skip


def start(fds=(), **variables):
    """lorchd with its own LISTEN_PID and these descriptors from 3 on; returns what became of it."""
    moves = " ".join("%d<&%d" % (3 + i, fd) for i, fd in enumerate(fds))
    shell = 'LISTEN_PID=${LISTEN_PID:-$$} exec "$0" "$@" ' + moves
    env = fixture.environment(**variables)
    return subprocess.run(["/bin/sh", "-c", shell, fixture.LORCHD, "--model", models.DEMO], env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          pass_fds=fds, timeout=fixture.LIMIT)


def refused(status, words, *fds, **variables):
    result = start(fds, **variables)
    equal(result.returncode, status, result.stderr)
    contains(result.stderr, words)
    equal(len(result.stderr.splitlines()), 1, result.stderr)


if shutil.which(fixture.ACTIVATE):
    with Daemon(models.DEMO, activated=True) as daemon:

        @point("the first connection starts it, and is answered")
        def _():
            equal(daemon.manager.hear(), None)  # nothing runs yet
            with daemon.connect() as client:
                client.send({"type": "hello", "id": 1})
                equal(client.recv()["server"], "lorchd")
                daemon.wait_notify("READY=1")
                case = models.demo_cases()[2]
                equal(client.run(tokens=case["prompt_ids"], temperature=0)["content"], case["text"])

        @point("the socket stays when it ends")
        def _():
            equal(daemon.stop(), 0)
            check(os.path.exists(daemon.path), "the socket is gone")
            check("STOPPING=1" in daemon.manager.heard or daemon.manager.hear() is not None, "no word of the end")
else:
    skip("the first connection starts it, and is answered", fixture.ACTIVATE + " is not installed")

with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as listener:
    listener.bind(os.path.join(directory, "a.sock"))
    listener.listen()

    @point("a descriptor that is no listening Unix stream socket is refused by number and name")
    def _():
        with open("/dev/null", "rb") as null, socket.socket(socket.AF_UNIX) as plain, \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram, socket.socket() as internet:
            datagram.bind(os.path.join(directory, "b.sock"))
            internet.listen()
            for other in (null, plain, datagram, internet):
                refused(78, "descriptor 3", other.fileno(), LISTEN_FDS="1")
                refused(78, "descriptor 4 ('spare')", listener.fileno(), other.fileno(), LISTEN_FDS="2",
                        LISTEN_FDNAMES="jobs:spare")

    @point("variables that are no numbers, or do not agree, are refused")
    def _():
        for value in ("x", "-1", "1x", "", "99999999999999999999"):
            refused(78, "LISTEN_FDS", listener.fileno(), LISTEN_FDS=value)
        refused(78, "LISTEN_FDNAMES", listener.fileno(), LISTEN_FDS="1", LISTEN_FDNAMES="a:b")
        refused(78, "LISTEN_PID", listener.fileno(), LISTEN_FDS="1", LISTEN_PID="x")
        refused(78, "WATCHDOG_USEC", listener.fileno(), LISTEN_FDS="1", WATCHDOG_USEC="soon")
        refused(78, "NOTIFY_SOCKET", listener.fileno(), LISTEN_FDS="1", NOTIFY_SOCKET="relative")

    @point("sockets meant for another process are none: then there is nowhere to listen")
    def _():
        refused(64, "nowhere to listen", listener.fileno(), LISTEN_FDS="1", LISTEN_PID="1")
        refused(64, "nowhere to listen", LISTEN_FDS="0")
        refused(64, "nowhere to listen")

    @point("with WATCHDOG_USEC signs of life come, in time, idle or busy")
    def _():
        with Daemon(models.DEMO, env={"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}) as daemon:
            check("WATCHDOG=1" not in daemon.manager.heard, "signs of life for another process")
        with Daemon(models.DEMO, env={"WATCHDOG_USEC": "300000"}) as daemon, daemon.connect() as client:
            for _ in range(3):
                daemon.manager.heard.clear()
                daemon.wait_notify("WATCHDOG=1")
            daemon.manager.heard.clear()
            job = client.submit(tokens=[0], max_tokens=1000, ignore_eos=True)
            daemon.wait_notify("WATCHDOG=1")
            client.wait(job)

    @point("STATUS tells what goes on, STOPPING that it ends")
    def _():
        with Daemon(models.DEMO) as daemon:
            check(any(line.startswith("STATUS=") for line in daemon.manager.heard), "no STATUS")
            with daemon.connect() as client:
                client.run(tokens=[0], max_tokens=1)
                daemon.wait_notify("STATUS=0 running, 0 waiting, 1 connections")
            equal(daemon.stop(), 0)
            daemon.wait_notify("STOPPING=1")

done()
