#!/usr/bin/python3 -B
"""A model without tokenizer is served by ids: exact greedy answers, and no text anywhere."""

import os
import tempfile

from daemon import Daemon, lorch
import models
from tap import check, done, equal, point

GOLDEN = models.read_tensors(models.GOLDEN + "/golden.safetensors")
PROMPT, GREEDY = GOLDEN["input_ids"][0], GOLDEN["greedy"][0]

with Daemon(models.GOLDEN) as daemon, daemon.connect() as client:

    def refused(type, **fields):
        try:
            client.call(type, **fields)
        except lorch.Error as error:
            equal((error.code, error.frame["status"]), ("not_supported", 501))
            return error.frame.get("param")
        raise AssertionError("it was not refused")

    @point("hello says so")
    def _():
        model = client.hello()["model"]
        equal((model["tokenizer"], model["chat_template"]), (False, False))

    @point("greedy ids are the reference's, streamed and whole")
    def _():
        for stream in (True, False):
            result = client.run(tokens=PROMPT, temperature=0, max_tokens=16, ignore_eos=True, stream=stream)
            equal(result["tokens"], GREEDY)
            check("content" not in result, "text from a model without tokenizer")

    @point("each prefix of the greedy answer as prompt gives the rest")
    def _():
        for n in range(1, 16):
            result = client.run(tokens=PROMPT + GREEDY[:n], temperature=0, max_tokens=16 - n, ignore_eos=True)
            equal(result["tokens"], GREEDY[n:])

    @point("prompt, stop, tokenize and detokenize are not supported")
    def _():
        for fields in ({"prompt": "text"}, {"prompt": b"bin"}, {"tokens": [1], "stop": "x"}):
            job = client.submit(**fields, max_tokens=1)
            last = list(client.frames(job))[-1]
            equal((last["type"], last.get("code")), ("error", "not_supported"))
            equal(last["param"], "prompt" if "prompt" in fields else "stop")
        equal(refused("tokenize", content="text"), "content")
        refused("detokenize", tokens=[1])
        for verb in ("count", "apply_template"):
            equal(refused(verb, messages=[{"role": "user", "content": "x"}]), "messages")

    @point("stop ids work")
    def _():
        result = client.run(tokens=PROMPT, temperature=0, stop_token_ids=[GREEDY[5]])
        equal(result["tokens"], GREEDY[: GREEDY.index(GREEDY[5])])
        equal(result["stop_type"], "eos")

with tempfile.TemporaryDirectory() as directory:
    for name in ("golden.safetensors", "model.safetensors"):
        os.symlink(os.path.join(models.GOLDEN, name), os.path.join(directory, name))
    os.symlink(models.GOLDEN + "/config.v5.json", directory + "/config.json")
    os.unlink(directory + "/golden.safetensors")
    with Daemon(directory) as daemon, daemon.connect() as client:

        @point("the newer spelling of config.json is the same model")
        def _():
            equal(client.run(tokens=PROMPT, temperature=0, max_tokens=16, ignore_eos=True)["tokens"], GREEDY)

ROPE = models.GOLDEN + "-rope-llama3"
with Daemon(ROPE) as daemon, daemon.connect() as client:

    @point("a model with scaled RoPE gives its reference's ids and log-probabilities")
    def _():
        golden = models.read_tensors(ROPE + "/golden.safetensors")
        ids = golden["input_ids"][0]
        result = client.run(tokens=ids, temperature=0, max_tokens=16, ignore_eos=True, prompt_logprobs=True)
        equal(result["tokens"], golden["greedy"][0])
        for row, id, logprob in zip(golden["logits"], ids[1:], result["prompt_logprobs"]):
            check(abs(models.log_softmax(row)[id] - logprob) < 2e-3, "a log-probability is %g" % logprob)

done()
