#!/usr/bin/python3 -B
"""While the model loads: hello, ping and status answer, jobs are queued, what cannot wait is told loading.

The requests wait in the socket before lorchd starts, and the context is long enough that committing its pages
takes some time; should a machine be too fast for that all the same, it is tried again with a longer one.
"""

import os
import socket
import tempfile

from daemon import Daemon, lorch
import models
from tap import check, done, equal, point

TRIES = (300000, 600000, 1200000)  # tokens of context; 768 bytes each
GOLDEN = models.read_tensors(models.GOLDEN + "/golden.safetensors")
JOB = {"tokens": GOLDEN["input_ids"][0], "max_tokens": 16, "temperature": 0, "ignore_eos": True}


def load(n_ctx):
    """All that is answered to a client that was there first; its first frame; the daemon's last status."""
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as listener:
        path = os.path.join(directory, "lorchd.sock")
        listener.bind(path)
        listener.listen()
        with lorch.Client(path) as client:
            client.send({"type": "hello", "id": 1})
            client.send({"type": "ping", "id": 2})
            client.send({"type": "status", "id": 3})
            client.send({"type": "props", "id": 4, "trace_id": "t"})
            client.send({"type": "tokenize", "id": 5, "content": "x"})
            client.send({"type": "detokenize", "id": 6, "tokens": [1]})
            client.send({"type": "generate", "id": 7, "return_progress": True, **JOB})
            client.send({"type": "generate", "id": 8, **JOB})
            client.send({"type": "cancel", "id": 8})
            model = models.stretched(directory, models.GOLDEN, n_ctx)
            with Daemon(model, "--context", n_ctx, inherit=[listener], ready=False) as daemon:
                client.shutdown()
                frames = []
                while (frame := client.recv()) is not None:
                    frames.append(frame)
                daemon.wait_notify("READY=1")
                with lorch.Client(path) as later:
                    return frames, later.hello(), daemon.manager.heard


for n_ctx in TRIES:
    frames, hello, heard = load(n_ctx)
    if frames[0]["state"] == "loading":
        break


def answer(id):
    return [frame for frame in frames if frame.get("id") == id]


@point("hello says loading, and nothing that only the model knows")
def _():
    first = frames[0]
    equal((first["type"], first["id"], first["state"]), ("hello", 1, "loading"))
    check("model" not in first and "defaults" not in first, "it tells about a model that is not loaded")
    check("n_ctx" not in first["limits"], "it knows the context already")


@point("ping and status answer")
def _():
    equal([(f["type"], f["state"]) for f in answer(2)], [("pong", "loading")])
    status = answer(3)[0]
    equal((status["type"], status["state"]), ("result", "loading"))
    check(0 <= status["load_fraction"] <= 1, "load_fraction is %r" % status["load_fraction"])
    check(isinstance(status["load_phase"], str), "load_phase is no string")


@point("props, tokenize and detokenize are told loading, and to try again")
def _():
    for id in (4, 5, 6):
        equal([(f["type"], f["code"], f["status"], f["retryable"]) for f in answer(id)],
              [("error", "loading", 503, True)])
    equal(answer(4)[0]["trace_id"], "t")


@point("a job is accepted, waits, and is answered when the model is there")
def _():
    got = answer(7)
    equal((got[0]["type"], got[0]["position"]), ("accepted", 0))
    equal([i for f in got for i in f.get("tokens", [])], GOLDEN["greedy"][0])
    equal(got[-1]["finish_reason"], "length")


@point("return_progress shows the load")
def _():
    phases = [f["phase"] for f in answer(7) if f["type"] == "progress"]
    equal((phases[0], phases[-1]), ("loading", "prefill"))


@point("a job can be cancelled while it waits for the model")
def _():
    equal([f.get("finish_reason", f["type"]) for f in answer(8)], ["accepted", "cancelled"])


@point("later clients find it ready; the manager was told how far it was")
def _():
    equal((hello["state"], hello["limits"]["n_ctx"]), ("ready", n_ctx))
    check(any(line.startswith("STATUS=loading ") for line in heard), "no STATUS=loading")
    check(any(line.startswith("EXTEND_TIMEOUT_USEC=") for line in heard), "no EXTEND_TIMEOUT_USEC")
    check(heard.index("READY=1") > 0, "READY came first")


done()
