#!/usr/bin/python3 -B
"""Ids: which requests need one, what happens without, with an improper one, and with one that is in use."""

from daemon import Daemon
import models
from tap import check, contains, done, equal, point

LONG = {"type": "generate", "tokens": [0], "max_tokens": 1000, "ignore_eos": True, "stream": False}

with Daemon(models.DEMO) as daemon:

    def closed_after(*requests):
        """The message of the protocol_error, without id, with which the connection ends."""
        with daemon.connect() as client:
            for request in requests:
                client.send(request)
            frames = []
            while (frame := client.recv()) is not None:
                frames.append(frame)
        equal((frames[-1]["type"], frames[-1].get("code")), ("error", "protocol_error"))
        check("id" not in frames[-1], "the error has an id")
        return frames[-1]["message"]

    @point("a missing, zero, negative or improper id is a protocol_error, and the connection closes")
    def _():
        for verb in ("generate", "status", "props", "tokenize", "detokenize", "no_such_verb"):
            contains(closed_after({"type": verb}), "no id")
            for id in (0, -1, -(2**63)):
                contains(closed_after({"type": verb, "id": id}), str(id))
            for id in (1.0, "1", None, True, [1]):
                contains(closed_after({"type": verb, "id": id}), "must be an integer")

    @point("the largest id is one")
    def _():
        with daemon.connect() as client:
            equal(client.run(tokens=[0], max_tokens=1, id=2**63 - 1)["id"], 2**63 - 1)

    @point("an id that is in use is a protocol_error, whatever the second request is")
    def _():
        for second in (LONG, {"type": "status"}, {"type": "props"}, {"type": "tokenize", "content": ""},
                       {"type": "no_such_verb"}, {"type": "generate", "no_such": 1}):
            contains(closed_after({**LONG, "id": 7}, {**second, "id": 7}), "7")

    @point("ping, hello and cancel may have any id meanwhile")
    def _():
        with daemon.connect() as client:
            client.send({**LONG, "id": 7})
            equal(client.recv()["type"], "accepted")
            client.send({"type": "ping", "id": 7})
            client.send({"type": "hello", "id": 7})
            client.send({"type": "cancel", "id": 8})
            kinds = [client.recv()["type"] for _ in range(3)]
            equal(sorted(kinds), ["done", "hello", "pong"])

    @point("an id can be used again after done, error and result")
    def _():
        with daemon.connect() as client:
            for _ in range(3):
                equal(client.run(tokens=[0], max_tokens=1, id=5)["finish_reason"], "length")
                equal(list(client.generate(tokens=[5000], id=5))[-1]["type"], "error")
                equal(client.call("status", id=5)["type"], "result")
                equal(client.call("tokenize", content="", id=5)["type"], "result")
                client.send({"type": "generate", "id": 5, "tokens": [0], "no_such": 1})
                equal(client.recv()["code"], "unknown_field")

    @point("two connections do not share ids")
    def _():
        with daemon.connect() as one, daemon.connect() as other:
            one.send({**LONG, "id": 1})
            other.send({**LONG, "id": 1})
            equal([client.wait(1)["finish_reason"] for client in (one, other)], ["length", "length"])

done()
