#!/usr/bin/python3 -B
"""lorchctl chat at a terminal: editing, completion, history, Ctrl-C, and what is shown how."""

import os
import socket
import stat
import struct
import tempfile
import threading

import daemon as fixture
from daemon import Daemon, lorch
import models
from tap import check, contains, done, equal, point
from terminal import CTRL_A, CTRL_C, CTRL_D, TAB, UP, Terminal, plain

N_CTX = 60000
FOX = "Tell me a story about a fox."

with tempfile.TemporaryDirectory() as directory:
    history = os.path.join(directory, "folder", "history")
    model = models.stretched(directory, models.DEMO, N_CTX)

    with Daemon(model, "--context", N_CTX) as daemon, daemon.connect() as client:

        def chat(*options):
            return Terminal([fixture.LORCHCTL, "-H", daemon.path, "chat", *options], LORCH_HISTFILE=history)

        @point("it greets, answers, and leaves with Ctrl-D")
        def _():
            want = client.chat([{"role": "user", "content": FOX}], temperature=0)["content"]
            with chat("-t", 0) as terminal:
                contains(terminal.wait("> "), "stretched. /help lists commands")
                terminal.type(FOX + "\n")
                contains(plain(terminal.wait("\n> ")), "\n%s\n" % want)
                terminal.type(CTRL_D)
                equal(terminal.wait_exit(), 0)

        @point("lines can be edited, characters of several bytes too")
        def _():
            with chat() as terminal:
                terminal.wait("> ")
                terminal.type("ystem hé☃\x7f\x7fello" + CTRL_A + "/s\n")
                terminal.wait("\n")
                terminal.type("/system\n")
                contains(plain(terminal.wait("hello\r\n")), "/system")

        @point("the tabulator completes commands and settings")
        def _():
            with chat() as terminal:
                terminal.wait("> ")
                terminal.type("/sy" + TAB)
                contains(plain(terminal.wait("stem ")), "/sy")
                terminal.type("ok\n")
                terminal.wait("> ")
                terminal.type("/s" + TAB)
                for name in ("/save", "/set", "/stats", "/system"):
                    terminal.wait(name)
                terminal.type("et max" + TAB)
                terminal.wait("_tokens ")
                terminal.type("7\n")
                terminal.wait("> ")
                terminal.type("/set\n")
                terminal.wait("max_tokens = 7\r\n")
                terminal.type("/set no" + TAB + "thing 1\n")
                terminal.wait("no setting 'nothing'")

        @point("lines that were entered come back, in this conversation and the next")
        def _():
            with chat() as terminal:
                terminal.wait("> ")
                terminal.type("/set seed 41\n")
                terminal.wait("> ")
                terminal.type(UP + "\x7f2\n")
                terminal.wait("> ")
                terminal.type("/set\n")
                terminal.wait("seed = 42\r\n")
                terminal.type("/quit\n")
                equal(terminal.wait_exit(), 0)
            equal(stat.S_IMODE(os.stat(history).st_mode), 0o600)
            with chat() as terminal:
                terminal.wait("> ")
                terminal.type(3 * UP + "\n")  # before /quit and /set
                terminal.wait("> ")
                terminal.type("/set\n")
                terminal.wait("seed = 42\r\n")

        @point("--no-history neither reads nor writes the file")
        def _():
            with open(history, encoding="utf-8") as file:
                before = file.read()
            with chat("--no-history") as terminal:
                terminal.wait("> ")
                terminal.type(UP + "/set seed 5\n")
                terminal.wait("> ")
                terminal.type("/set\n")
                terminal.wait("seed = 5\r\n> ")
                terminal.type(CTRL_D)
                equal(terminal.wait_exit(), 0)
            with open(history, encoding="utf-8") as file:
                equal(file.read(), before)

        @point("a text of several lines; Ctrl-C takes it back")
        def _():
            with chat() as terminal:
                terminal.wait("> ")
                terminal.type('/system """\none\n')
                terminal.wait("... ")
                terminal.wait("... ")
                terminal.type('two"""\n')
                terminal.wait("> ")
                terminal.type("/system\n")
                terminal.wait("\none\r\ntwo\r\n")
                terminal.wait("> ")
                terminal.type('"""lost')
                terminal.wait("lost")
                terminal.type("\n")
                terminal.wait("... ")
                terminal.type(CTRL_C)
                terminal.wait("> ")
                terminal.type("/retry\n")
                terminal.wait("nothing was asked yet")

        @point("Ctrl-C takes back what was typed; on an empty line twice, it leaves")
        def _():
            with chat() as terminal:
                terminal.wait("> ")
                terminal.type("half a quest")
                terminal.wait("quest")
                terminal.type(CTRL_C)
                check("once more" not in terminal.wait("> "), "it counts as a wish to leave")
                terminal.type(CTRL_C)
                terminal.wait("once more leaves")
                terminal.wait("> ")
                terminal.type(CTRL_C)
                equal(terminal.wait_exit(), 130)

        @point("Ctrl-C stops an answer, whose part is kept; pressed again, it leaves")
        def _():
            path = os.path.join(directory, "talk.json")
            cancelled = client.status()["jobs_cancelled"]
            with chat("--ignore-eos", "-n", N_CTX) as terminal:
                terminal.wait("> ")
                terminal.type(FOX + "\n")
                terminal.wait(".")
                terminal.wait(". ")
                terminal.type(CTRL_C)
                terminal.wait("once more leaves")
                terminal.wait("> ")
                daemon.wait_status(client, jobs_running=0, jobs_cancelled=cancelled + 1)
                terminal.type("/save %s\n" % path)
                terminal.wait("2 messages")
                answer = models.read_json(path)["messages"][1]
                equal(answer["role"], "assistant")
                check(answer["content"], "nothing was kept")
                for line in ("Hi\n", "/retry\n"):
                    terminal.type(line)
                    terminal.wait(". ")
                    terminal.type(CTRL_C)
                    terminal.wait("once more leaves")
                    terminal.wait("> ")
                terminal.type(CTRL_C)
                equal(terminal.wait_exit(), 130)

        @point("a terminal that changes its size or was given away in between goes on")
        def _():
            with chat() as terminal:
                terminal.wait("> ")
                terminal.type("/sys")
                terminal.wait("/sys")
                terminal.resize(10, 40)
                terminal.process.send_signal(fixture.signal.SIGCONT)
                terminal.wait("/sys")
                terminal.type("tem\n")
                terminal.wait("there is no system prompt")

    with tempfile.TemporaryDirectory() as scripted:
        pieces = ["<think>", "Hm.", "</think>", "Yes", "\x1b[2J", "\x07."]
        model = models.scripted(scripted, pieces, "{{ bos_token }}{# <think> #}{% for m in messages %}{% endfor %}")
        with Daemon(model.path) as daemon:

            @point("thoughts are dimmed, and what could steer the terminal is not passed on")
            def _():
                words = [fixture.LORCHCTL, "-H", daemon.path, "chat", "--no-history", "-t", 0, "--stop-token-ids", model.end]
                for env, dim, end in (({}, "\x1b[2m", "\x1b[0m"), ({"NO_COLOR": "1"}, "", "")):
                    with Terminal(words, **env) as terminal:
                        terminal.wait("> ")
                        terminal.type("Well?\n")
                        contains(terminal.wait("\n> "), dim + "Hm." + end + "\r\n\r\nYes?[2J?.\r\n")

            @point("nor does run pass it on to a terminal")
            def _():
                with Terminal([fixture.LORCHCTL, "-H", daemon.path, "run", "-t", 0, "--stop-token-ids", model.end, "x"]) as terminal:
                    contains(terminal.wait("?.\r\n"), "Yes?[2J?.\r\n")
                    equal(terminal.wait_exit(), 0)

def serve(listener, frames):
    """A server whose model is still being loaded; it answers a question with these frames, and then closes."""
    for answer in ([{"type": "hello", "protocol": 1, "state": "loading"}], frames):
        connection = listener.accept()[0]
        with connection, connection.makefile("rwb") as file:
            file.read(struct.unpack(">I", file.read(4))[0])
            for frame in answer:
                body = lorch.pack(frame)
                file.write(struct.pack(">I", len(body)) + body)


@point("what goes wrong in an answer is told on a line of its own, and not dimmed")
def _():
    token, thought = {"type": "token", "id": 1, "content": "Half"}, {"type": "token", "id": 1, "reasoning_content": "Hm"}
    error = {"type": "error", "id": 1, "code": "internal", "message": "it broke"}
    closed = "lorchctl: the server closed the connection\r\n> "
    for frames, want in (([token], "\r\nHalf\r\n" + closed), ([], "\r\n" + closed),
                         ([thought], "\x1b[2mHm\x1b[0m\r\n" + closed),
                         ([dict(token, content="Half\n")], "\r\nHalf\r\n" + closed),
                         ([token, error], "\r\nHalf\r\nlorchctl: it broke (internal)\r\n> ")):
        with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as listener:
            path = os.path.join(directory, "socket")
            listener.bind(path)
            listener.listen()
            threading.Thread(target=serve, args=(listener, frames), daemon=True).start()
            with Terminal([fixture.LORCHCTL, "-H", path, "chat", "--no-history"]) as terminal:
                contains(terminal.wait("> "), "The model is being loaded. /help")
                terminal.type("Well?\n")
                contains(terminal.wait(want[-20:]), want)


done()
