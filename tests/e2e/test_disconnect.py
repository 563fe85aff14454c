#!/usr/bin/python3 -B
"""A client that goes away cancels its jobs and no others; one that only stops sending gets all its answers."""

import socket
import struct
import tempfile

from daemon import Daemon, lorch
import models
from tap import check, contains, done, equal, point

N_CTX = 100000
PREFILL = {"tokens": [7] * (N_CTX - 10), "max_tokens": 0, "return_progress": True}
DECODE = {"tokens": [7], "max_tokens": N_CTX - 10, "ignore_eos": True}

with tempfile.TemporaryDirectory() as directory:
    model = models.stretched(directory, models.GOLDEN, N_CTX)
    with Daemon(model, "--context", N_CTX) as daemon, daemon.connect() as watcher:

        def gone(n_cancelled):
            """Waits until so many jobs were cancelled and nothing runs."""
            status = daemon.wait_status(watcher, jobs_cancelled=n_cancelled, jobs_running=0, jobs_waiting=0,
                                        connections=1)
            equal(status["kv_pages_free"], status["kv_pages"])

        def cancelled():
            return watcher.status()["jobs_cancelled"]

        def until_prefill(client, job):
            while not client.recv_for(job).get("processed"):
                pass

        @point("closing cancels in prefill, in decode and in the queue")
        def _():
            before = cancelled()
            with daemon.connect() as client:
                until_prefill(client, client.submit(**PREFILL))
                client.recv_for(client.submit(**DECODE))
            gone(before + 2)
            with daemon.connect() as client:
                job = client.submit(**DECODE)
                while client.recv_for(job)["type"] != "token":
                    pass
            gone(before + 3)

        @point("nobody else's job ends with it")
        def _():
            before = cancelled()
            with daemon.connect() as client, daemon.connect() as other:
                mine = client.submit(tokens=[9], max_tokens=3000, ignore_eos=True, seed=1, stream=False)
                client.recv_for(mine)
                for job in [other.submit(**DECODE) for _ in range(3)]:
                    equal(other.recv_for(job)["type"], "accepted")
                waiting = client.submit(tokens=[9], max_tokens=3, ignore_eos=True, seed=1)
                other.close()
                equal(len(client.wait(mine)["tokens"]), 3000)
                equal(len(client.wait(waiting)["tokens"]), 3)
            gone(before + 3)

        @point("a half-close leaves the jobs, and all answers come before the end")
        def _():
            with daemon.connect() as client:
                jobs = [client.submit(tokens=[9], max_tokens=n, ignore_eos=True, temperature=0) for n in range(1, 9)]
                status = client.next_id()
                client.send({"type": "status", "id": status})
                client.shutdown()
                for n, job in enumerate(jobs, 1):
                    equal(len(client.wait(job)["tokens"]), n)
                equal(client.recv_for(status)["type"], "result")
                equal(client.recv(), None)

        @point("as in a pipeline that writes, shuts down and reads")
        def _():
            with socket.socket(socket.AF_UNIX) as pipe:
                pipe.connect(daemon.path)
                body = lorch.pack({"type": "generate", "id": 1, "tokens": [9], "max_tokens": 500, "ignore_eos": True})
                pipe.sendall(struct.pack(">I", len(body)) + body)
                pipe.shutdown(socket.SHUT_WR)
                data = b""
                while part := pipe.recv(65536):
                    data += part
            types = []
            while data:
                n = struct.unpack(">I", data[:4])[0]
                types.append(lorch.unpack(data[4 : 4 + n])["type"])
                data = data[4 + n :]
            equal((types[0], types[-1], set(types[1:-1])), ("accepted", "done", {"token"}))

        @point("a half-close with nothing to answer ends the connection")
        def _():
            with daemon.connect() as client:
                client.shutdown()
                equal(client.recv(), None)

        @point("a half-close and then a close cancels in the middle of a long prompt")
        def _():
            before = cancelled()
            with daemon.connect() as client:
                job = client.submit(**PREFILL)
                until_prefill(client, job)
                client.shutdown()
                # The half-close has arrived when others' later requests are answered; the job runs on.
                watcher.ping()
                until_prefill(client, job)
                equal(cancelled(), before)
            gone(before + 1)

        @point("and with jobs that wait")
        def _():
            before = cancelled()
            with daemon.connect() as client:
                until_prefill(client, client.submit(**PREFILL))
                for job in [client.submit(**DECODE) for _ in range(5)]:
                    equal(client.recv_for(job)["type"], "accepted")
                client.shutdown()
            gone(before + 6)

        @point("a close with unread answers cancels as well")
        def _():
            before = cancelled()
            with daemon.connect() as client:
                had = watcher.status()["generated_tokens"]
                client.submit(**DECODE)
                while watcher.status()["generated_tokens"] < had + 50:
                    pass
            gone(before + 1)

        @point("descriptors that a client sends along are closed")
        def _():
            n = len(daemon.descriptors())
            with daemon.connect() as client:
                body = lorch.pack({"type": "ping", "id": 1})
                with open("/dev/null", "rb") as null:
                    for _ in range(20):
                        socket.send_fds(client.sock, [struct.pack(">I", len(body)) + body], [null.fileno()] * 10)
                equal([client.recv()["type"] for _ in range(20)], ["pong"] * 20)
                equal(len(daemon.descriptors()), n + 1)

done()
