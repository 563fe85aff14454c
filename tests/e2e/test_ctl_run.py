#!/usr/bin/python3 -B
"""lorchctl run: where the prompt comes from, what is printed in each form, and what goes to standard error."""

import json
import os
import re
import subprocess

import daemon as fixture
from daemon import Daemon
import models
from tap import check, contains, done, equal, point

CASES = models.demo_cases()
TOLD = CASES[6]  # "Once upon a time"
ASKED = CASES[2]
GREEDY = ("-t", 0)

with Daemon(models.DEMO) as daemon:

    def run(*arguments, **options):
        result = daemon.ctl("run", *arguments, **options)
        equal((result.returncode, result.stderr.decode()), (0, ""))
        return result.stdout.decode()

    @point("the prompt is an argument, standard input, '-' or a file; the answer is all that is printed")
    def _():
        equal(run(*GREEDY, TOLD["prompt"]), TOLD["text"])
        equal(run(*GREEDY, input=TOLD["prompt"].encode()), TOLD["text"])
        equal(run(*GREEDY, "-", input=TOLD["prompt"].encode()), TOLD["text"])
        path = os.path.join(daemon.directory, "prompt.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TOLD["prompt"])
        equal(run(*GREEDY, "-f", path), TOLD["text"])
        equal(run(*GREEDY, "--file", path, "--no-add-special", "--max-tokens", 0), "")

    @point("a prompt that begins with a dash stands after '--'")
    def _():
        equal(run(*GREEDY, "-n", 3, "--", "-x"), run(*GREEDY, "-n", 3, input=b"-x"))

    @point("a conversation with --parse-special")
    def _():
        equal(run(*GREEDY, "--parse-special", ASKED["prompt"]), ASKED["text"])

    @point("--json is one object with what happened")
    def _():
        result = json.loads(run(*GREEDY, "--json", TOLD["prompt"]))
        equal(result["format"], 1)
        equal((result["content"], result["tokens"]), (TOLD["text"], TOLD["ids"][:-1]))
        equal((result["finish_reason"], result["stop_type"]), ("stop", "eos"))
        n, n_answer = len(TOLD["prompt_ids"]), len(TOLD["ids"])
        equal(result["usage"], {"prompt_tokens": n, "completion_tokens": n_answer, "total_tokens": n + n_answer})
        equal(set(result["timings"]), {"queue_ms", "prompt_n", "prompt_ms", "predicted_n", "predicted_ms"})
        check(0 <= result["seed"] < 2**53, "a drawn seed of %d" % result["seed"])
        check("type" not in result and "id" not in result, "it shows the frame's own fields")

    @point("--jsonl is every frame as a line, as it came")
    def _():
        frames = [json.loads(line) for line in run(*GREEDY, "--jsonl", TOLD["prompt"]).splitlines()]
        equal((frames[0]["type"], frames[-1]["type"]), ("accepted", "done"))
        equal({frame["type"] for frame in frames[1:-1]}, {"token"})
        equal("".join(frame["content"] for frame in frames[1:-1]), TOLD["text"])

    @point("--stats goes to standard error and tells the seed")
    def _():
        result = daemon.ctl("run", *GREEDY, "-s", "--seed", 2**64 - 1, TOLD["prompt"])
        equal((result.returncode, result.stdout.decode()), (0, TOLD["text"]))
        line = result.stderr.decode()
        check(re.fullmatch(r"prompt 5 tokens, .*; answer 83 tokens, .*; seed 18446744073709551615\n", line), line)

    @point("options are fields of the job")
    def _():
        stop = json.loads(run(*GREEDY, "--json", "--stop", "xyz", "--stop", "attic", TOLD["prompt"]))
        equal((stop["stopping_word"], stop["content"]), ("attic", TOLD["text"][: TOLD["text"].index("attic")]))
        equal(run(*GREEDY, "-n", 3, "--logit-bias", "999=50", "--logit-bias", "999=50", "One"),
              run(*GREEDY, "-n", 3, "--logit-bias", "999=100", "One"))
        forced = json.loads(run("--json", "-n", 4, "--logit-bias", "5=-1,999=100", "--ignore-eos", "One"))
        equal(forced["tokens"], [999] * 4)
        equal(json.loads(run("--json", "-n", 9, "--stop-token-ids", "5,999", "--logit-bias", "999=100", "One"))
              ["stop_type"], "eos")
        seeds = [run("--seed", seed, "-n", 40, "--temperature", 1, "--top-p", 1, "One day") for seed in (5, 5, 6)]
        check(seeds[0] == seeds[1] != seeds[2], "the seed does not matter")
        equal(json.loads(run("--json", "--trace-id", "me", "-n", 1, "x"))["trace_id"], "me")
        special = run(*GREEDY, "-n", 2, "--return-special", "--logit-bias", "3=100", "One")
        equal(special, "<|user|>" * 2)
        equal(run(*GREEDY, "-n", 1, "-n", 2, TOLD["prompt"]), run(*GREEDY, "-n", 2, TOLD["prompt"]))

    @point("log-probabilities in JSON are numbers, bytes that are no text arrays")
    def _():
        result = json.loads(run(*GREEDY, "--json", "-n", 2, "--logprobs", "--top-logprobs", 2, "--prompt-logprobs",
                                TOLD["prompt"]))
        equal(len(result["prompt_logprobs"]), len(TOLD["prompt_ids"]) - 1)
        equal(bytes(result["logprobs"][0]["bytes"]).decode(), " there")
        equal([entry["id"] for entry in result["logprobs"]], TOLD["ids"][:2])
        equal([len(entry["top"]) for entry in result["logprobs"]], [2, 2])

    @point("bytes that are no UTF-8 reach the server as such")
    def _():
        equal(daemon.ctl("run", "-n", 1, input=b"a\xffb").returncode, 65)
        equal(run(*GREEDY, "-n", 9, "--invalid-utf8", "replace", input=b"a\xffb"),
              run(*GREEDY, "-n", 9, "a\ufffdb"))

    @point("a reader that closes early ends it quietly")
    def _():
        with subprocess.Popen([fixture.LORCHCTL, "-H", daemon.path, "run", "-n", "900", "--ignore-eos", "One"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
            check(process.stdout.read(1), "nothing was printed")
            process.stdout.close()
            equal(process.stderr.read(), b"")
            process.wait(fixture.LIMIT)
        with daemon.connect() as client:
            daemon.wait_status(client, jobs_running=0, connections=1)

    @point("the socket may be named before or after the command, or by LORCH_SOCKET")
    def _():
        for words, env in ((["--socket", daemon.path, "run"], {}), (["--socket=" + daemon.path, "run"], {}),
                           (["run", "-H", daemon.path], {}), (["run"], {"LORCH_SOCKET": daemon.path}),
                           (["-H", daemon.path, "run"], {"LORCH_SOCKET": "/nowhere"})):
            result = fixture.ctl(*words, *GREEDY, TOLD["prompt"], env=fixture.environment(**env))
            equal((result.returncode, result.stdout.decode()), (0, TOLD["text"]), repr(words))

    @point("and is found in XDG_RUNTIME_DIR")
    def _():
        os.mkdir(daemon.directory + "/lorch")
        os.symlink(daemon.path, daemon.directory + "/lorch/lorchd.sock")
        result = fixture.ctl("ping", env=fixture.environment(XDG_RUNTIME_DIR=daemon.directory))
        equal(result.returncode, 0)
        contains(result.stdout.decode(), "ready")

with Daemon(models.GOLDEN) as daemon:

    @point("a model without tokenizer is run by ids, and ids come back")
    def _():
        golden = models.read_tensors(models.GOLDEN + "/golden.safetensors")
        ids = ",".join(map(str, golden["input_ids"][0]))
        result = daemon.ctl("run", "--tokens", ids, *GREEDY, "-n", 16, "--ignore-eos")
        equal((result.returncode, result.stderr), (0, b""))
        equal([int(id) for id in result.stdout.decode().split(",")], golden["greedy"][0])
        result = daemon.ctl("run", "--json", "--tokens", ids, *GREEDY, "-n", 16, "--ignore-eos")
        equal(json.loads(result.stdout)["tokens"], golden["greedy"][0])
        result = daemon.ctl("run", "text")
        equal(result.returncode, 69)
        contains(result.stderr.decode(), "not_supported")

done()
