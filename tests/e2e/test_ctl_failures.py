#!/usr/bin/python3 -B
"""lorchctl's exit statuses: each kind of failure has its own, a sentence on standard error, and no output."""

import os
import socket
import struct
import tempfile
import threading

import daemon as fixture
from daemon import Daemon, lorch
import models
from tap import check, contains, done, equal, point, skip


def fails(status, *words, of=fixture.ctl, parts=(), **options):
    result = of(*words, **options)
    error = result.stderr.decode()
    equal((result.returncode, result.stdout), (status, b""), "%s: %s" % (words, error))
    check(error.startswith("lorchctl"), "the sentence is %r" % error)
    for part in parts:
        contains(error, part)
    return error


with Daemon(models.DEMO) as daemon:

    @point("64: wrong usage")
    def _():
        for words in ((), ("--no-such",), ("run", "--no-such"), ("run", "a", "b"), ("run", "-n", "many", "x"),
                      ("run", "-t", "hot", "x"), ("run", "--seed", "-1", "x"), ("run", "--tokens", "1,x"),
                      ("run", "--logit-bias", "x", "y"), ("run", "--logit-bias", "1", "y"), ("status", "word"),
                      ("ping", "-c", "0"), ("bench", "-p", "x"), ("bench", "-n", "1"), ("bench", "-r", "0"),
                      ("detokenize", "x"), ("run", "-n"), ("tokenize", "a", "b"), ("version", "word")):
            fails(64, *words, of=daemon.ctl)

    @point("64: an unknown command, with what was probably meant")
    def _():
        for wrong, meant in (("rnu", "run"), ("stauts", "status"), ("tokenise", "tokenize"), ("pin", "ping")):
            fails(64, wrong, parts=("'%s'" % wrong, "did you mean '%s'?" % meant))
        check("did you mean" not in fails(64, "conversation"), "a guess that is far away")

    @point("65: a value that the server refuses, with all of its faults")
    def _():
        fails(65, "run", "-t", 3, "x", of=daemon.ctl, parts=("temperature", "invalid_request"))
        error = fails(65, "run", "-t", 3, "--top-p", 7, "x", of=daemon.ctl)
        contains(error, "temperature")
        contains(error, "top_p")

    @point("65: a prompt that is too long, with both numbers")
    def _():
        fails(65, "run", "--tokens", ",".join(["5"] * 1024), of=daemon.ctl, parts=("1024", "context_overflow"))

    @point("66: a file, or a model, that is not there")
    def _():
        fails(66, "run", "-f", daemon.directory + "/none", of=daemon.ctl, parts=("none",))
        fails(66, "run", "--model", "other", "x", of=daemon.ctl, parts=("demo-model",))

    @point("124: the deadline went by")
    def _():
        error = fixture.ctl("-H", daemon.path, "run", "--deadline-ms", 1, "-n", 1000, "--ignore-eos", "x" * 500)
        equal(error.returncode, 124)
        contains(error.stderr.decode(), "deadline_exceeded")

    @point("74: standard output that cannot be written")
    def _():
        with open("/dev/full", "wb") as full:
            for words in (["--help"], ["-H", daemon.path, "status"], ["-H", daemon.path, "run", "-n", "5", "One"]):
                process = fixture.subprocess.run([fixture.LORCHCTL, *words], stdin=fixture.subprocess.DEVNULL,
                                                 stdout=full, stderr=fixture.subprocess.PIPE, check=False,
                                                 timeout=fixture.LIMIT)
                equal(process.returncode, 74, repr(words))
                contains(process.stderr.decode(), "standard output")

@point("68: nobody listens, nowhere, or at a dead socket")
def _():
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/s"
        for words in (("status",), ("run", "x"), ("ping",), ("props",), ("tokenize", "x"), ("detokenize", "1"),
                      ("bench",)):
            fails(68, "-H", path, *words, parts=(path, "LORCH_SOCKET"))
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(path)
            dead.listen()
        fails(68, "-H", path, "status", parts=(path,))

@point("64: a path that no socket can have")
def _():
    fails(64, "-H", "/" + "x" * 200, "status", parts=("107",))

if os.geteuid() == 0:
    skip("77: no permission", "root may do everything")
else:

    @point("77: no permission")
    def _():
        with Daemon(models.DEMO) as locked:
            os.chmod(locked.path, 0)
            fails(77, "status", of=locked.ctl, parts=("permission",))
        with tempfile.NamedTemporaryFile() as file:
            os.chmod(file.name, 0)
            fails(77, "run", "-f", file.name, of=locked.ctl)


class Server(threading.Thread):
    """One connection that is read once, answered with these bytes, and closed."""

    def __init__(self, path, answer):
        super().__init__()
        self.answer = answer
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.start()

    def run(self):
        peer, _ = self.listener.accept()
        with peer, self.listener:
            peer.recv(65536)
            peer.sendall(self.answer)


def frame(body):
    return struct.pack(">I", len(body)) + body


@point("74, 75, 76: what a server says that goes away, is busy, or speaks otherwise")
def _():
    busy = {"type": "error", "id": 1, "code": "queue_full", "error_type": "rate_limit_error", "status": 429,
            "message": "too many", "retryable": True}
    for status, answer in ((74, b""), (74, frame(b"\x81\xa1x\x01")[:6]), (75, frame(lorch.pack(busy))),
                           (75, frame(lorch.pack({**busy, "code": "loading"}))),
                           (76, frame(lorch.pack({**busy, "code": "from_the_future"}))),
                           (76, struct.pack(">I", 1 << 30)), (76, frame(b"\xc1")), (76, b"\0\0\0\0"),
                           (70, frame(lorch.pack({**busy, "code": "internal"})))):
        with tempfile.TemporaryDirectory() as directory:
            path = directory + "/s"
            server = Server(path, answer)
            fails(status, "-H", path, "run", "x")
            server.join()

done()
