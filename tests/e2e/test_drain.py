#!/usr/bin/python3 -B
"""SIGTERM and SIGINT: what runs ends as it would, what waits or comes is told draining; a second one ends at once."""

import os
import signal
import tempfile

from daemon import Daemon
import models
from tap import check, done, equal, point

N_CTX = 60000
ENDLESS = {"tokens": [7], "max_tokens": N_CTX - 10, "ignore_eos": True, "stream": False}


def rest(client):
    """All frames up to the end of the connection."""
    frames = []
    while (frame := client.recv()) is not None:
        frames.append(frame)
    return frames


def last_of(frames, job):
    last = [frame for frame in frames if frame.get("id") == job][-1]
    return last.get("code", last.get("finish_reason"))


def running(daemon, client, **fields):
    """A job of which it is certain that it runs."""
    job = client.submit(**fields)
    equal(client.recv_for(job)["type"], "accepted")
    with daemon.connect() as other:
        daemon.wait_status(other, jobs_running=1)
    return job


with tempfile.TemporaryDirectory() as directory:
    model = models.stretched(directory, models.GOLDEN, N_CTX)
    options = ("--context", N_CTX)

    for number in (signal.SIGTERM, signal.SIGINT):
        with Daemon(model, *options) as daemon, daemon.connect() as client:

            @point("%s: the running job ends normally, waiting and new ones are told draining" % number.name)
            def _():
                run = running(daemon, client, tokens=[7], max_tokens=6000, ignore_eos=True, seed=1, stream=False)
                wait = client.submit(**ENDLESS)
                equal(client.recv_for(wait)["type"], "accepted")
                daemon.signal(number)
                daemon.wait_notify("STOPPING=1")
                late = client.submit(**ENDLESS)
                client.send({"type": "ping", "t": 1})
                status = client.next_id()
                client.send({"type": "status", "id": status})
                frames = rest(client)
                equal(last_of(frames, run), "length")
                equal(len([f for f in frames if f.get("id") == run][-1]["tokens"]), 6000)
                equal([last_of(frames, job) for job in (wait, late)], ["draining", "draining"])
                equal([f["state"] for f in frames if f["type"] == "pong"], ["draining"])
                equal([f["state"] for f in frames if f.get("id") == status], ["draining"])
                equal(daemon.wait_exit(), 0)
                check(not os.path.exists(daemon.path), "the socket file is still there")

    with Daemon(model, *options) as daemon, daemon.connect() as client:

        @point("nobody can connect any more while it drains")
        def _():
            job = running(daemon, client, **ENDLESS)
            daemon.signal(signal.SIGTERM)
            daemon.wait_notify("STOPPING=1")
            equal(client.ping()["state"], "draining")
            try:
                daemon.connect()
                check(False, "it let a client in")
            except (FileNotFoundError, ConnectionRefusedError):
                pass
            client.cancel(job)
            equal(last_of(rest(client), job), "cancelled")
            equal(daemon.wait_exit(), 0)

    with Daemon(model, *options) as daemon, daemon.connect() as client:

        @point("a second signal ends the running job with draining, at once")
        def _():
            job = running(daemon, client, **ENDLESS)
            daemon.signal(signal.SIGTERM)
            daemon.wait_notify("STOPPING=1")
            daemon.signal(signal.SIGTERM)
            equal(last_of(rest(client), job), "draining")
            equal(daemon.wait_exit(), 0)

    with Daemon(model, *options, "--drain-seconds", 1) as daemon, daemon.connect() as client:

        @point("so does the end of --drain-seconds")
        def _():
            job = running(daemon, client, **ENDLESS)
            daemon.signal(signal.SIGTERM)
            equal(last_of(rest(client), job), "draining")
            equal(daemon.wait_exit(), 0)

    with Daemon(model, *options) as daemon:

        @point("a client that does not read its last frames does not keep it from ending")
        def _():
            client = daemon.connect()
            client.submit(tokens=[7], max_tokens=9000, ignore_eos=True, logprobs=True, top_logprobs=20)
            with daemon.connect() as other:
                daemon.wait_status(other, jobs_running=0, prompt_tokens=1)
            daemon.signal(signal.SIGTERM)
            daemon.wait_notify("STOPPING=1")
            daemon.signal(signal.SIGTERM)
            equal(daemon.wait_exit(), 0)
            client.close()

with Daemon(models.DEMO) as daemon, daemon.connect() as client:

    @point("idle clients see the end of the connection")
    def _():
        client.ping()
        daemon.signal(signal.SIGTERM)
        equal(rest(client), [])
        equal(daemon.wait_exit(), 0)

done()
