#!/usr/bin/python3 -B
"""Ctrl-C in lorchctl run: the job is cancelled, its end awaited, and the status is 130."""

import json
import signal
import subprocess
import tempfile

import daemon as fixture
from daemon import Daemon
import models
from tap import check, done, equal, point

N_CTX = 60000

with tempfile.TemporaryDirectory() as directory:
    model = models.stretched(directory, models.DEMO, N_CTX)
    with Daemon(model, "--context", N_CTX) as daemon, daemon.connect() as watcher:

        def start(*words):
            return subprocess.Popen([fixture.LORCHCTL, "-H", daemon.path, "run", "-n", str(N_CTX), "--ignore-eos",
                                     *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)

        def interrupted(process, n_cancelled):
            """Presses Ctrl-C; what was printed."""
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=fixture.LIMIT)
            equal((process.returncode, err), (130, b""))
            daemon.wait_status(watcher, jobs_cancelled=n_cancelled, jobs_running=0, connections=1)
            return out

        @point("while it generates: what came by then is printed")
        def _():
            process = start("One day")
            first = process.stdout.read(20)
            check((first + interrupted(process, 1)).decode().strip(), "nothing was printed")

        @point("with --json the object tells that it was cancelled")
        def _():
            process = start("--json", "One day")
            daemon.wait_status(watcher, jobs_running=1)
            result = json.loads(interrupted(process, 2))
            equal(result["finish_reason"], "cancelled")
            equal(len(result["tokens"]), result["usage"]["completion_tokens"])

        @point("while it waits in the queue")
        def _():
            job = watcher.submit(tokens=[0], max_tokens=N_CTX - 10, ignore_eos=True, stream=False)
            daemon.wait_status(watcher, jobs_running=1)
            process = start("--jsonl", "One day")
            equal(json.loads(process.stdout.readline())["type"], "accepted")
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=fixture.LIMIT)
            equal(process.returncode, 130)
            equal([json.loads(line)["finish_reason"] for line in out.splitlines()], ["cancelled"])
            equal(watcher.status()["jobs_running"], 1)
            watcher.cancel(job)
            watcher.wait(job)

        @point("SIGTERM ends it, and the hang-up cancels the job")
        def _():
            n_cancelled = watcher.status()["jobs_cancelled"]
            process = start("One day")
            check(process.stdout.read(5), "nothing was printed")
            process.terminate()
            process.communicate(timeout=fixture.LIMIT)
            equal(process.returncode, -signal.SIGTERM)
            daemon.wait_status(watcher, jobs_cancelled=n_cancelled + 1, jobs_running=0, connections=1)

done()
