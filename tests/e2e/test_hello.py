#!/usr/bin/python3 -B
"""hello and ping: versions, limits, what is served; what is echoed."""

import re

from daemon import SRCDIR, Daemon, lorch
import models
from tap import check, contains, done, equal, point


def package_version():
    with open(SRCDIR + "/configure.ac", encoding="utf-8") as file:
        return re.search(r"AC_INIT\(\[lorch\], *\[([^]]*)\]", file.read()).group(1)


with Daemon(models.DEMO, "--max-queue", 7, "--max-user-jobs", 5) as daemon:

    @point("hello tells server, version, state and limits")
    def _():
        with daemon.connect() as client:
            reply = client.hello()
        equal(reply["type"], "hello")
        equal(reply["protocol"], 1)
        equal(reply["server"], "lorchd")
        equal(reply["version"], package_version())
        equal(reply["features"], [])
        equal(reply["state"], "ready")
        limits = {"max_frame": 64 << 20, "max_frame_out": 16 << 20, "max_depth": 32, "max_elements": 1000000,
                  "queue": 7, "max_jobs": 5, "n_ctx": 1024}
        equal(reply["limits"], limits)

    @point("hello tells the model and its own defaults for sampling")
    def _():
        with daemon.connect() as client:
            reply = client.hello()
        model = reply["model"]
        check(re.fullmatch("[0-9a-f]{16}", model.pop("fingerprint")), "the fingerprint has not 16 digits")
        equal(model, {"id": "demo-model", "arch": "llama", "weight_type": "BF16", "n_params": 2623744,
                      "n_ctx_train": 1024, "n_vocab": 1024, "tokenizer": True, "chat_template": True})
        generation = models.read_json(models.DEMO + "/generation_config.json")
        defaults = {"max_tokens": 2048, "temperature": generation["temperature"], "top_k": 0,
                    "top_p": generation["top_p"], "min_p": 0, "typical_p": 1, "repeat_penalty": 1,
                    "repeat_last_n": -1, "presence_penalty": 0, "frequency_penalty": 0}
        equal(reply["defaults"], defaults)

    @point("the id of hello may be left out, and may come again")
    def _():
        with daemon.connect() as client:
            client.send({"type": "hello"})
            check("id" not in client.recv(), "an id came back that nobody gave")
            equal([client.hello(id=9)["id"] for _ in range(3)], [9, 9, 9])

    @point("hello sets the longest frame of this client only")
    def _():
        with daemon.connect() as client, daemon.connect() as other:
            equal(client.hello(max_frame=16384)["limits"]["max_frame_out"], 16384)
            equal(other.hello()["limits"]["max_frame_out"], 16 << 20)

    @point("another version is refused, and the connection closes")
    def _():
        with daemon.connect() as client:
            client.send({"type": "hello", "id": 1, "protocol": 2})
            error = client.recv()
            equal((error["type"], error["code"], error["status"]), ("error", "version", 400))
            contains(error["message"], "version 2")
            contains(error["message"], "version 1")
            equal(client.recv(), None)

    @point("without hello version 1 holds")
    def _():
        with daemon.connect() as client:
            equal(client.run(tokens=[0], max_tokens=1)["finish_reason"], "length")

    @point("the server does not speak first")
    def _():
        with daemon.connect() as first, daemon.connect() as second:
            second.ping()  # the server has been round since the first one connected
            try:
                check(False, "it said %r" % first.recv(timeout=0.05))
            except lorch.socket.timeout:
                pass

    @point("ping gives back id and number, whatever they are")
    def _():
        with daemon.connect() as client:
            for t in (0, 1, -1, 2**63 - 1, -(2**63)):
                client.send({"type": "ping", "id": 2**63 - 1, "t": t})
                reply = client.recv()
                equal((reply["type"], reply["id"], reply["t"]), ("pong", 2**63 - 1, t))
                equal(reply["state"], "ready")
                check(reply["engine_idle_ms"] >= 0, "engine_idle_ms is negative")
            client.send({"type": "ping"})
            equal(sorted(client.recv()), ["engine_idle_ms", "state", "type"])

    @point("a hundred pings in one write are answered in order")
    def _():
        with daemon.connect() as client:
            pings = b""
            for i in range(1, 101):
                body = lorch.pack({"type": "ping", "id": i, "t": -i})
                pings += len(body).to_bytes(4, "big") + body
            client.send_bytes(pings)
            equal([client.recv()["t"] for _ in range(100)], [-i for i in range(1, 101)])

done()
