#!/usr/bin/python3 -B
"""A client that does not read its answers: its job ends with slow_client, a fast one next to it is served."""

import tempfile

from daemon import Daemon, lorch
import models
from tap import check, done, equal, point

N_CTX = 60000
MAX_OUTPUT = 1 << 20
MANY_BYTES = {"tokens": [5], "max_tokens": N_CTX - 10, "ignore_eos": True, "logprobs": True, "top_logprobs": 20}

with tempfile.TemporaryDirectory() as directory:
    model = models.stretched(directory, models.GOLDEN, N_CTX)
    with Daemon(model, "--context", N_CTX, "--max-output", MAX_OUTPUT) as daemon, daemon.connect() as fast:
        golden = models.read_tensors(models.GOLDEN + "/golden.safetensors")

        @point("the fast one is answered while the slow one's output piles up, and is right")
        def _():
            memory = daemon.memory("VmRSS")
            with daemon.connect() as slow:
                slow_job = slow.submit(**MANY_BYTES)
                daemon.wait_status(fast, jobs_running=1)
                job = fast.submit(tokens=golden["input_ids"][0], max_tokens=16, temperature=0, ignore_eos=True)
                equal(fast.recv_for(job)["position"], 1)
                equal(fast.wait(job)["tokens"], golden["greedy"][0])
                # What waited was bounded.
                grown = daemon.memory("VmHWM") - memory
                check(grown < 16 * MAX_OUTPUT, "memory grew by %d bytes" % grown)
                frame = list(slow.frames(slow_job))[-1]
                equal((frame["type"], frame.get("code")), ("error", "slow_client"))

        @point("the connection of the slow one serves again once it reads")
        def _():
            with daemon.connect() as slow:
                first = slow.submit(**MANY_BYTES)
                daemon.wait_status(fast, jobs_running=1)
                daemon.wait_status(fast, jobs_running=0, jobs_waiting=0)
                second = slow.submit(tokens=golden["input_ids"][0], max_tokens=16, temperature=0, ignore_eos=True)
                equal(list(slow.frames(first))[-1]["code"], "slow_client")
                equal(slow.wait(second)["tokens"], golden["greedy"][0])

        @point("one that reads a little at a time, in time, gets all")
        def _():
            with daemon.connect() as client:
                job = client.submit(tokens=golden["input_ids"][0], max_tokens=16, temperature=0, ignore_eos=True)
                data, frame, tokens = bytearray(), {}, []
                while frame.get("type") != "done":
                    data += client.sock.recv(7)
                    n = 4 + int.from_bytes(data[:4], "big")
                    if 4 < len(data) >= n:
                        frame = lorch.unpack(bytes(data[4:n]))
                        tokens += frame.get("tokens", [])
                        del data[:n]
                equal(frame["id"], job)
                equal(tokens, golden["greedy"][0])

        @point("requests beyond what may wait are not read, and nobody else notices")
        def _():
            with daemon.connect() as flood:
                body = lorch.pack({"type": "props", "id": 1})
                frame = len(body).to_bytes(4, "big") + body
                flood.sock.setblocking(False)
                sent = 0
                try:
                    while sent < 64 * MAX_OUTPUT:
                        sent += flood.sock.send(frame * 1000)
                        fast.ping()
                except BlockingIOError:
                    pass
                check(sent < 64 * MAX_OUTPUT, "the server took %d bytes of requests" % sent)
                equal(fast.ping(1)["t"], 1)
            daemon.wait_status(fast, connections=1)

done()
