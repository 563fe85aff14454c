#!/usr/bin/python3 -B
"""Every code of proto/errors.def that a test can provoke, with class, number and retryable as in the table.

Not provoked from outside: internal (a fault of the program or lack of memory).
"""

import os
import re
import struct
import tempfile

from daemon import SRCDIR, Daemon, lorch
import models
from tap import check, done, equal, point

ROW = re.compile(r"^ERROR\(\w+,\s*(\w+),\s*(\w+),\s*(\d+),\s*(true|false),", re.M)
ELSEWHERE = {"internal", "loading", "model_unusable"}  # test_bad_models.py, test_loading.py


def table():
    with open(os.path.join(SRCDIR, "proto/errors.def"), encoding="utf-8") as file:
        return {row[0]: (row[1], int(row[2]), row[3] == "true") for row in ROW.findall(file.read())}


ROWS = table()
seen = set()


def is_error(frame, code, **details):
    """Checks an error frame against its row."""
    equal((frame["type"], frame.get("code")), ("error", code))
    equal((frame["error_type"], frame["status"], frame["retryable"]), ROWS[code])
    check(len(frame["message"]) > 10, "the message is %r" % frame["message"])
    for key, value in details.items():
        equal(frame["detail"][key], value)
    seen.add(code)


def last(client, **fields):
    return list(client.frames(client.submit(**fields)))[-1]


with tempfile.TemporaryDirectory() as directory:
    model = models.stretched(directory, models.DEMO, 50000)
    with Daemon(model, "--context", 50000, "--max-queue", 3, "--max-user-jobs", 3) as daemon:
        endless = {"tokens": [0], "max_tokens": 49000, "ignore_eos": True, "stream": False}

        @point("of a request: invalid_request, unknown_field, not_found, context_overflow, deadline_exceeded")
        def _():
            with daemon.connect() as client:
                is_error(last(client, tokens=[0], temperature=3), "invalid_request", n_faults=1)
                is_error(last(client, tokens=[0], grammar="x"), "unknown_field", n_faults=1)
                is_error(last(client, tokens=[0], model="another"), "not_found")
                is_error(last(client, tokens=[0] * 50000), "context_overflow", n_prompt=50000, n_ctx=50000)
                is_error(last(client, deadline_ms=1, **endless), "deadline_exceeded")

        @point("a prompt of text is refused before it is tokenized if it cannot fit")
        def _():
            with daemon.connect() as client:
                error = last(client, prompt="word " * 2000000)
                is_error(error, "context_overflow", n_ctx=50000)
                check(50000 <= error["detail"]["n_prompt"] <= 2000001, "%r" % error["detail"])

        @point("a done that a frame cannot hold is refused with both numbers")
        def _():
            with daemon.connect() as client:
                client.hello(max_frame=16384)
                error = last(client, **{**endless, "logprobs": True, "top_logprobs": 20})
                is_error(error, "invalid_request", limit=16384)
                check(error["detail"]["got"] > 16384, "got %d" % error["detail"]["got"])
                equal(error["param"], "max_tokens")
                error = last(client, tokens=[0] * 8000, max_tokens=0, prompt_logprobs=True)
                is_error(error, "invalid_request", limit=16384)

        @point("of a connection: protocol_error, frame_too_large, version")
        def _():
            for data, code in ((b"\0\0\0\1\xc1", "protocol_error"), (struct.pack(">I", 2**31), "frame_too_large")):
                with daemon.connect() as client:
                    client.send_bytes(data)
                    is_error(client.recv(), code)
            with daemon.connect() as client:
                client.send({"type": "hello", "protocol": 99})
                is_error(client.recv(), "version")

        @point("uid_limit when one user has too many jobs, whatever the connection")
        def _():
            with daemon.connect() as one, daemon.connect() as other:
                for _ in range(3):
                    equal(one.recv_for(one.submit(**endless))["type"], "accepted")
                is_error(last(other, **endless), "uid_limit")
            with daemon.connect() as client:
                daemon.wait_status(client, jobs_running=0, jobs_waiting=0)
                equal(client.run(tokens=[0], max_tokens=1)["type"], "done")

    with Daemon(model, "--context", 50000, "--max-queue", 2, "--drain-seconds", 0) as daemon:

        @point("queue_full when as many wait as may")
        def _():
            with daemon.connect() as client:
                jobs = [client.submit(**endless) for _ in range(3)]  # one runs, two wait
                is_error(last(client, **endless), "queue_full")
                client.cancel(jobs[1])
                equal(client.wait(jobs[1])["finish_reason"], "cancelled")
                equal(client.recv_for(client.submit(**endless))["type"], "accepted")

        @point("draining at the end, for what runs, waits and comes")
        def _():
            with daemon.connect() as client:
                daemon.wait_status(client, jobs_running=0, jobs_waiting=0)
                jobs = [client.submit(**endless) for _ in range(2)]
                daemon.wait_status(client, jobs_running=1)
                daemon.stop()
                frames = []
                while (frame := client.recv()) is not None:
                    frames.append(frame)
                for job in jobs:
                    is_error([f for f in frames if f.get("id") == job][-1], "draining")

with Daemon(models.GOLDEN) as daemon, daemon.connect() as client:

    @point("not_supported by a model without tokenizer")
    def _():
        is_error(last(client, prompt="text"), "not_supported")

with tempfile.TemporaryDirectory() as directory:
    model = models.stretched(directory, models.GOLDEN, 20000)
    with Daemon(model, "--context", 20000, "--max-output", 65536) as daemon, daemon.connect() as client:

        @point("slow_client when an answer is not read")
        def _():
            # Nothing is read here before the job has ended: the kernel and lorchd cannot keep all of it.
            job = client.submit(tokens=[5], max_tokens=19000, ignore_eos=True, logprobs=True, top_logprobs=20)
            with daemon.connect() as other:
                daemon.wait_status(other, jobs_running=0, jobs_waiting=0, prompt_tokens=1)
            is_error(list(client.frames(job))[-1], "slow_client")

with tempfile.TemporaryDirectory() as directory:
    # One infinite weight in the final norm makes every logit infinite or no number.
    for name in ("config.json", "model.safetensors"):
        with open(os.path.join(models.GOLDEN, name), "rb") as source:
            data = bytearray(source.read())
        if name == "model.safetensors":
            n = struct.unpack("<Q", data[:8])[0]
            header = lorch.json.loads(data[8 : 8 + n])
            at = 8 + n + header["model.norm.weight"]["data_offsets"][0]
            data[at : at + 4] = struct.pack("<f", float("inf"))
        with open(os.path.join(directory, name), "wb") as target:
            target.write(data)
    try:
        with Daemon(directory) as daemon, daemon.connect() as client:

            @point("non_finite where the model computes no number")
            def _():
                is_error(last(client, tokens=[5], max_tokens=3), "non_finite")
                is_error(last(client, tokens=[5, 6], max_tokens=0, prompt_logprobs=True), "non_finite")

    except AssertionError as error:  # refused while it was loaded

        @point("non_finite where the model computes no number")
        def _(error=error):
            raise error


@point("no code of the table is left out")
def _():
    equal(sorted(set(ROWS) - seen - ELSEWHERE), [])


done()
