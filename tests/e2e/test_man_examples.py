#!/usr/bin/python3 -B
"""The examples of the manual pages do what the pages say."""

import os
import re
import shutil
import struct
import subprocess
import sys

import daemon as fixture
from daemon import SRCDIR, Daemon, lorch
import models
from tap import check, contains, done, equal, point


def page(name):
    """The text of a page's EXAMPLES."""
    with open(os.path.join(SRCDIR, "man", name), encoding="utf-8") as file:
        return file.read().split(".Sh EXAMPLES")[1].split("\n.Sh ")[0]


def displays(text):
    """What stands in literal displays."""
    unescaped = text.replace(r"\e", "\\").replace(r"\(dq", '"').replace(r"\-", "-").replace(r"\&", "")
    return [d.strip("\n") for d in re.findall(r"\.Bd [^\n]*\n(.*?)\n\.Ed", unescaped, re.S)]


with Daemon(models.DEMO) as daemon:
    shell = fixture.environment(LORCH_SOCKET=daemon.path,
                                PATH=os.path.dirname(os.path.abspath(fixture.LORCHCTL)) + ":" + os.environ["PATH"])

    @point("lorchctl(1): every command of its examples works")
    def _():
        with open(os.path.join(daemon.directory, "notes.txt"), "w", encoding="utf-8") as file:
            file.write("One day Mia went to the garden.")
        with open(os.path.join(daemon.directory, "questions.txt"), "w", encoding="utf-8") as file:
            file.write("Tell me a story about a fox.\nWho is the story about?\n")
        commands = re.findall(r"^\.Dl *\$ *(lorchctl .*)$", page("lorchctl.1").replace(r"\-", "-"), re.M)
        check(len(commands) >= 4, "only %s was found" % commands)
        for command in commands:
            result = subprocess.run(["/bin/sh", "-c", command.replace(r"\(dq", '"')], env=shell, cwd=daemon.directory,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    timeout=fixture.LIMIT, check=False)
            equal((result.returncode, result.stderr), (0, b""), command)
            check(result.stdout, "%s prints nothing" % command)
            if "detokenize" in command:
                equal(result.stdout, b"One day")

    @point("lorch-protocol(7): the bytes of the request are its frame, those of the replies are frames")
    def _():
        rows = re.findall(r"^((?:[0-9a-f]{2} )+)", page("lorch-protocol.7").replace("  ", " ") + "\n", re.M)
        data = bytes.fromhex("".join(rows))
        frames = []
        while data:
            n = 4 + struct.unpack(">I", data[:4])[0]
            frames.append(lorch.unpack(data[4:n]))
            data = data[n:]
        equal([frame["type"] for frame in frames], ["generate", "accepted", "token", "done"])
        with daemon.connect() as client:
            client.send(frames[0])
            got = []
            while not got or got[-1]["type"] != "done":
                got.append(client.recv())
        equal([frame["type"] for frame in got], ["accepted", "token", "done"])
        for ours, theirs in zip(got, frames[1:]):
            equal(set(ours), set(theirs))
        equal(got[-1]["usage"], frames[-1]["usage"])

    @point("lorch-protocol(7): the client in Python runs as it stands there")
    def _():
        program = next(d for d in displays(page("lorch-protocol.7")) if d.startswith("import socket"))
        result = subprocess.run([sys.executable, "-c", program, daemon.path], stdin=subprocess.DEVNULL, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=fixture.LIMIT)
        equal((result.returncode, result.stderr), (0, b""))
        check(len(result.stdout) > 10, "the story is %r" % result.stdout)

    @point("contrib/python/lorch.py tells a story from a shell")
    def _():
        case = models.demo_cases()[6]
        result = subprocess.run([sys.executable, "-B", lorch.__file__, daemon.path, case["prompt"], "temperature=0"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=fixture.LIMIT)
        equal((result.returncode, result.stderr, result.stdout.decode()), (0, b"", case["text"] + "\n"))

if shutil.which(fixture.ACTIVATE):

    @point("lorchd(8): started by the first client that connects")
    def _():
        contains(page("lorchd.8").replace("\n", " "), fixture.ACTIVATE + " -l lorchd.sock")
        with Daemon(models.DEMO, activated=True) as daemon:
            result = daemon.ctl("run", "-t", 0, "-n", 5, "One day")
            equal((result.returncode, result.stderr), (0, b""))

done()
