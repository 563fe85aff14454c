#!/usr/bin/python3 -B
"""lorchd's command line: --help, --version, --check, and what is refused."""

import os
import re

import daemon as fixture
from daemon import SRCDIR, Daemon
import models
from tap import check, contains, done, equal, point, skip


def usage_error(*words):
    result = fixture.run(*words)
    equal((result.returncode, result.stdout), (64, ""), result.stderr)
    contains(result.stderr, "lorchd")
    return result.stderr


@point("--help names every option of the table, and needs nothing else")
def _():
    with open(os.path.join(SRCDIR, "src/lorchd/options.def"), encoding="utf-8") as file:
        names = re.findall(r'^(?:FLAG|TEXT|COUNT)\(\w+, "([^"]+)"', file.read(), re.M)
    check(len(names) > 10, "only %d options were found" % len(names))
    for word in ("--help", "-h"):
        result = fixture.run(word)
        equal((result.returncode, result.stderr), (0, ""))
        for name in names:
            contains(result.stdout, "--" + name)


@point("--version says the version")
def _():
    for word in ("--version", "-V"):
        result = fixture.run(word)
        equal((result.returncode, result.stderr), (0, ""))
        check(re.fullmatch(r"lorchd \(lorch\) \d+\.\d+\.\d+\S*\n", result.stdout), result.stdout)


@point("an unknown option, a missing value and a stray word are usage errors")
def _():
    contains(usage_error("--no-such"), "no-such")
    usage_error("--model")
    usage_error("-x")
    contains(usage_error("word"), "word")


@point("numbers out of range are refused with the range")
def _():
    for option, values in (("--threads", ("0", "1025", "x", "", "1.5", "-1", "99999999999999999999")),
                           ("--context", ("0", "-5", "16777217")), ("--max-queue", ("0",)),
                           ("--drain-seconds", ("-1", "86401")), ("--max-output", ("1",))):
        for value in values:
            text = usage_error("--model", models.DEMO, "--listen", "/nowhere/s", "%s=%s" % (option, value))
            contains(text, option)
            contains(text, " to ")


@point("words that are none of the choices are refused")
def _():
    contains(usage_error("--log-level", "loud", "--check"), "loud")
    result = fixture.run("--check", "--model", models.DEMO, "--cpu-level", "mmx")
    equal(result.returncode in (64, 78), True, result.stderr)
    contains(result.stderr, "mmx")


@point("without a socket there is nowhere to listen")
def _():
    contains(usage_error("--model", models.DEMO).splitlines()[-1], "--listen")


@point("--check tells what it found, and ends")
def _():
    result = fixture.run("--check", "--model", models.DEMO)
    equal((result.returncode, result.stderr), (0, ""))
    for words in ("demo-model", "llama", "4 layers", "2623744", "BF16", "5247488 bytes", "1024", "template       for conversations", "context"):
        contains(result.stdout, words)
    result = fixture.run("--check", "--model", models.GOLDEN, "--context", 100, "--threads", 1, "--cpu-level", "c")
    contains(result.stdout, "served by ids")
    contains(result.stdout, "template       none: the model has no")
    contains(result.stdout, "context        100 of 256")
    contains(result.stdout, "kernels: c, threads: 1")
    parts = {name: float(n) for name, n in re.findall(r"^  (\w[\w ]*?) +([\d.]+) MiB$", result.stdout, re.M)}
    equal(list(parts), ["weights", "KV pool", "scratch", "together", "available"])
    check(abs(parts["weights"] + parts["KV pool"] + parts["scratch"] - parts["together"]) < 0.16, parts)
    result = fixture.run("--check", "--verify", "--model", models.GOLDEN)
    equal((result.returncode, result.stderr), (0, ""))


POINT = "--check tells experts and windows"
if not models.TESTDATA:
    skip(POINT, "LORCH_TESTDATA is not set")
else:
    @point(POINT)
    def _():
        for name, words in (
                ("mixtral", "experts        4, of which a token takes 2, inner width 96, in 3 of 3 layers\n"),
                ("qwen2_moe-mixed", "experts        6, of which a token takes 3, inner width 32, in 1 of 3 layers\n"),
                ("gemma3", "window         8 tokens, in 5 of 7 layers\n"),
                ("mistral-window", "window         8 tokens, in 3 of 3 layers\n"),
                ("gpt_oss", "experts        4, of which a token takes 2, inner width 96, in 3 of 3 layers\n"
                            "window         8 tokens, in 2 of 3 layers\n")):
            out = fixture.run("--check", "--model", os.path.join(models.TESTDATA, "golden", name)).stdout
            contains(out, words)
            equal(("experts" in out, "window" in out), ("experts" in words, "window" in words))

    @point("--check tells which weights are copied, --verify looks at them")
    def _():
        result = fixture.run("--check", "--verify", "--model", models.TESTDATA + "/golden/gpt_oss-mxfp4")
        equal((result.returncode, result.stderr), (0, ""))
        contains(result.stdout, "types          BF16 165424 bytes, MXFP4 117504 bytes\n")
        contains(result.stdout, "weights             0.3 MiB\n   copied             0.1 MiB\n")


@point("LORCH_MODEL names the model where --model does not")
def _():
    with Daemon(env={"LORCH_MODEL": models.GOLDEN}) as daemon, daemon.connect() as client:
        equal(client.hello()["model"]["id"], "llama")
    with Daemon(models.DEMO, env={"LORCH_MODEL": models.GOLDEN}) as daemon, daemon.connect() as client:
        equal(client.hello()["model"]["id"], "demo-model")


@point("without either it serves the demo model, and says so")
def _():
    for variables in ({}, {"LORCH_MODEL": ""}):
        # It is installed or not: either way the log says which model was meant.
        result = fixture.run("--check", env=fixture.environment(**variables))
        contains(result.stderr, "demo model")
        if result.returncode != 0:
            equal(result.returncode, 66)
            contains(result.stderr, "/lorch/demo-model")


@point("no message shows a prompt or an answer, whatever the log level")
def _():
    with Daemon(models.DEMO, "--log-level", "debug") as daemon, daemon.connect() as client:
        case = models.demo_cases()[0]
        client.run(case["prompt"], parse_special=True, temperature=0)
        client.tokenize("a secret of mine")
    for word in ("Mia", "kite", "secret", "Ruby"):
        check(word not in daemon.log, "'%s' is in the log" % word)
    contains(daemon.log, "job 1")


done()
