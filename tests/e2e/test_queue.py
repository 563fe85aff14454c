#!/usr/bin/python3 -B
"""Many jobs: order, positions, progress of those that wait, deadlines, and each one's own answer."""

import tempfile

from daemon import Daemon
import models
from tap import check, done, equal, point

N_CTX = 60000

with tempfile.TemporaryDirectory() as directory:
    model = models.stretched(directory, models.GOLDEN, N_CTX)
    with Daemon(model, "--context", N_CTX) as daemon, daemon.connect() as client, daemon.connect() as other:
        golden = models.read_tensors(models.GOLDEN + "/golden.safetensors")
        GREEDY = {"tokens": golden["input_ids"][0], "max_tokens": 16, "temperature": 0, "ignore_eos": True}
        ENDLESS = {"tokens": [7], "max_tokens": N_CTX - 10, "ignore_eos": True, "stream": False}

        @point("jobs wait in the order in which they came, from every connection")
        def _():
            first = client.submit(**ENDLESS)
            equal(client.recv_for(first)["position"], 0)
            jobs = []
            for position, who in enumerate((client, other, other, client), 1):
                jobs.append((who, who.submit(**GREEDY)))
                equal(who.recv_for(jobs[-1][1])["position"], position)
            status = daemon.wait_status(other, jobs_running=1, jobs_waiting=4)
            check(status["kv_pages_free"] < status["kv_pages"], "no page is in use")
            client.cancel(first)
            for who, job in jobs:
                equal(who.wait(job)["tokens"], golden["greedy"][0])

        @point("return_progress tells how far up the queue a job is")
        def _():
            ahead = [client.submit(**ENDLESS) for _ in range(3)]
            equal([client.recv_for(job)["position"] for job in ahead], [0, 1, 2])
            job = other.submit(**GREEDY, return_progress=True)
            equal(other.recv_for(job)["position"], 3)
            seen = []
            for i, before in enumerate(ahead):
                while not seen or seen[-1] != 3 - i:
                    frame = other.recv_for(job)
                    equal((frame["type"], frame["phase"]), ("progress", "queued"))
                    seen.append(frame["position"])
                client.cancel(before)
                client.wait(before)
            frames = list(other.frames(job))
            equal(frames[-1]["type"], "done")
            check(any(f.get("phase") == "prefill" for f in frames), "no prefill was shown")
            equal(seen, [3, 2, 1])

        @point("a deadline counts in the queue, in prefill and in decode")
        def _():
            blocker = other.submit(**ENDLESS)
            daemon.wait_status(other, jobs_running=1)
            waiting = client.submit(**GREEDY, deadline_ms=20)
            frames = list(client.frames(waiting))
            equal((frames[0]["type"], frames[-1].get("code")), ("accepted", "deadline_exceeded"))
            equal(len(frames), 2)
            other.cancel(blocker)
            other.wait(blocker)
            for milliseconds in (100, 1000, 10000):  # the longer ones for slow machines
                job = client.submit(tokens=[7] * (N_CTX - 10), max_tokens=0, deadline_ms=100)
                equal(list(client.frames(job))[-1].get("code"), "deadline_exceeded")
                job = client.submit(**{**ENDLESS, "stream": True}, deadline_ms=milliseconds)
                frames = list(client.frames(job))
                equal(frames[-1].get("code"), "deadline_exceeded")
                if len(frames) > 2:
                    break
            equal({frame["type"] for frame in frames[1:-1]}, {"token"})

        @point("a deadline that is far enough changes nothing")
        def _():
            equal(client.run(**GREEDY, deadline_ms=2**31 - 1)["tokens"], golden["greedy"][0])

        @point("thirty jobs on one connection are each answered with their own")
        def _():
            ids = golden["input_ids"][0]
            jobs = [client.submit(tokens=ids[: 3 + i % 20], max_tokens=8, seed=i, temperature=1, ignore_eos=True)
                    for i in range(30)]
            got = [client.wait(job)["tokens"] for job in jobs]
            for i in range(30):
                equal(got[i], client.run(tokens=ids[: 3 + i % 20], max_tokens=8, seed=i, temperature=1,
                                         ignore_eos=True)["tokens"])
            check(len({tuple(tokens) for tokens in got}) > 15, "the answers are too much alike")

done()
