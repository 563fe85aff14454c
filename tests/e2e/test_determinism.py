#!/usr/bin/python3 -B
"""The same job gives the same bits: alone, after and among others, with any number of threads, in any steps."""

from daemon import Daemon
import models
from tap import done, equal, point

IDS = [1 + 11 * i % 1000 for i in range(300)]
JOBS = (
    {"tokens": IDS, "max_tokens": 60, "temperature": 0},
    {"tokens": IDS[:7], "max_tokens": 120, "temperature": 1, "seed": 42, "top_p": 1},
    {"tokens": IDS[:65], "max_tokens": 90, "temperature": 2, "seed": 2**64 - 1, "top_k": 200},
)
LEVELS = ("c", "avx2", "avx512")


def fingerprint(result):
    """Everything that depends on arithmetic, bit by bit."""
    logprobs = [(e["id"], models.bits(e["logprob"]), tuple((t["id"], models.bits(t["logprob"])) for t in e["top"]))
                for e in result["logprobs"]]
    return result["content"], logprobs, [models.bits(x) for x in result["prompt_logprobs"]]


def submit(client, job):
    return client.submit(**job, ignore_eos=True, logprobs=True, top_logprobs=20, prompt_logprobs=True)


def answers(client, jobs=JOBS):
    return [fingerprint(client.wait(submit(client, job))) for job in jobs]


def has(level):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = file.read()
    return {"c": True, "avx2": " avx2 " in flags, "avx512": " avx512f " in flags}[level]


for level in filter(has, LEVELS):
    with Daemon(models.DEMO, "--threads", 1, "--cpu-level", level) as daemon, daemon.connect() as client:
        first = answers(client)

        @point("%s: again, and after other jobs" % level)
        def _():
            equal(answers(client), first)
            equal(list(reversed(answers(client, JOBS[::-1]))), first)
            client.run(tokens=IDS[::-1], max_tokens=50, seed=1)
            equal(answers(client), first)
            equal(len({repr(answer) for answer in first}), len(JOBS))

        @point("%s: among others of other connections, and after a cancelled one" % level)
        def _():
            with daemon.connect() as other:
                theirs = [submit(other, job) for job in JOBS * 2]
                mine = [submit(client, job) for job in JOBS]
                gone = submit(other, JOBS[0])
                other.cancel(gone)
                equal([fingerprint(client.wait(job)) for job in mine], first)
                equal([fingerprint(other.wait(job)) for job in theirs], first * 2)
                other.wait(gone)
                equal(answers(client), first)

        @point("%s: token by token as in one prompt" % level)
        def _():
            # What was generated as part of the prompt has the same log-probabilities as while it was generated.
            result = client.wait(submit(client, JOBS[1]))
            ids = JOBS[1]["tokens"] + [e["id"] for e in result["logprobs"]]
            whole = client.run(tokens=ids, max_tokens=0, prompt_logprobs=True)["prompt_logprobs"]
            n = len(JOBS[1]["tokens"])
            equal([models.bits(x) for x in whole[n - 1 :]], [models.bits(e["logprob"]) for e in result["logprobs"]])

    for threads in (2, 3):
        with Daemon(models.DEMO, "--threads", threads, "--cpu-level", level) as daemon, daemon.connect() as client:

            @point("%s: with %d threads" % (level, threads))
            def _():
                equal(client.props()["threads"], threads)
                equal(client.props()["level"], level)
                equal(answers(client), first)

    with Daemon(models.DEMO, "--cpu-level", level, "--context", 700) as daemon, daemon.connect() as client:

        @point("%s: with another context length and as many threads as there are" % level)
        def _():
            equal(answers(client), first)

done()
