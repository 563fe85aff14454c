#!/usr/bin/python3 -B
"""--trace-tensors: a file a step, which contrib/compare-tensors compares with what the reference computed."""

import os
import stat
import subprocess
import sys
import tempfile

from daemon import SRCDIR, Daemon
import models
from tap import check, contains, done, equal, point

REFERENCE = models.GOLDEN + "/golden.safetensors"
PROMPT = models.read_tensors(REFERENCE)["input_ids"][0]


def compare(*files):
    return subprocess.run([sys.executable, os.path.join(SRCDIR, "contrib/compare-tensors"), *files, REFERENCE],
                          capture_output=True, text=True)


def compared(result):
    """Rows by tensor."""
    rows = {}
    for line in result.stdout.splitlines():
        words = line.split()
        if len(words) > 1:
            rows[words[0]] = rows.get(words[0], 0) + int(words[1])
    return rows


with tempfile.TemporaryDirectory() as directory:
    trace = os.path.join(directory, "trace")

    def steps():
        return sorted(os.path.join(trace, name) for name in os.listdir(trace))

    with Daemon(models.GOLDEN, "--trace-tensors", trace) as daemon, daemon.connect() as client:
        client.run(tokens=PROMPT, temperature=0, max_tokens=3, ignore_eos=True)
        first = steps()
        client.run(tokens=[1, 2, 3], max_tokens=1)
        second = steps()[len(first):]

    @point("a file for each step, numbered, for its owner alone")
    def _():
        equal([os.path.basename(path) for path in first],
              ["step-%06d.safetensors" % i for i in range(len(first))])
        for path in first:
            equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)

    @point("every row of the prompt has the reference's hidden states, its last one the logits")
    def _():
        result = compare(*first)
        equal(result.returncode, 0, result.stdout + result.stderr)
        n = len(PROMPT)
        equal(compared(result), {"input_ids": n, "hidden.0": n, "hidden.1": n, "hidden.2": n, "hidden.3": 1,
                                 "logits": 1})

    @point("a step of one token has one row at its position")
    def _():
        step = models.read_tensors(first[-1])
        equal(step["positions"], [[len(PROMPT) + 1]])
        equal((len(step["attn_norm.0"]), len(step["logits"])), (1, 1))

    @point("another prompt's step is told apart, at its first difference")
    def _():
        result = compare(*second)
        equal(result.returncode, 1)
        contains(result.stdout.splitlines()[0], "above the bound")

    @point("a directory that cannot be made is refused at the start")
    def _():
        with Daemon(models.GOLDEN, "--trace-tensors", os.path.join(directory, "none/trace"), ready=False, want=66) as daemon:
            equal(daemon.wait_exit(), 66)
            contains(daemon.log, "none/trace")

    @point("a file that cannot be written ends the server")
    def _():
        os.mkdir(os.path.join(directory, "full"))
        os.symlink("/dev/full", os.path.join(directory, "full/step-000000.safetensors"))
        with Daemon(models.GOLDEN, "--trace-tensors", os.path.join(directory, "full"), want=71) as daemon:
            with daemon.connect() as client:
                job = client.submit(tokens=PROMPT, max_tokens=1)
                equal(list(client.frames(job))[-1]["code"], "internal")
            equal(daemon.wait_exit(), 71)

done()
