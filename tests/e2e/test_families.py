#!/usr/bin/python3 -B
"""Every family as a client sees it: the reference's ids, again after another job, and a context to its last position."""

import os

from daemon import Daemon, lorch
import models
from tap import done, equal, point, skip

CASES = models.TESTDATA and os.path.join(models.TESTDATA, "golden")
N_NEW = 16
GREEDY = {"temperature": 0, "ignore_eos": True, "logprobs": True}


def numbers(result):
    """Ids and the bits of their log-probabilities."""
    return [(entry["id"], models.bits(entry["logprob"])) for entry in result["logprobs"]]


def try_case(name, directory):
    golden = models.read_tensors(os.path.join(directory, "golden.safetensors"))
    prompt, greedy, n_vocab = golden["input_ids"][0], golden["greedy"][0], len(golden["logits"][0])
    with Daemon(directory) as daemon, daemon.connect() as client:
        n_ctx = client.hello()["limits"]["n_ctx"]
        full = [(prompt[i % len(prompt)] + i // len(prompt) * 11) % n_vocab for i in range(n_ctx)]
        head = full[:n_ctx - N_NEW]

        @point(name + ": the reference's ids, and the same bits after another job")
        def _():
            first = client.run(tokens=prompt, max_tokens=N_NEW, **GREEDY)
            equal(first["tokens"], greedy)
            client.run(tokens=head[::-1], max_tokens=N_NEW, **GREEDY)
            equal(numbers(client.run(tokens=prompt, max_tokens=N_NEW, **GREEDY)), numbers(first))

        @point(name + ": %d tokens and none more" % n_ctx)
        def _():
            whole = client.run(tokens=head, max_tokens=n_ctx, **GREEDY)
            equal((whole["stop_type"], len(whole["tokens"])), ("limit", N_NEW))
            for n in (1, N_NEW - 1): # the prompt ends somewhere else: as many positions, the same numbers
                rest = client.run(tokens=head + whole["tokens"][:n], max_tokens=n_ctx, **GREEDY)
                equal((rest["stop_type"], numbers(rest)), ("limit", numbers(whole)[n:]))
            try:
                client.run(tokens=full, max_tokens=1)
            except lorch.Error as error:
                equal((error.code, error.frame["detail"]), ("context_overflow", {"n_prompt": n_ctx, "n_ctx": n_ctx}))
            else:
                raise AssertionError("%d tokens were taken" % n_ctx)


if not CASES:
    skip("families", "LORCH_TESTDATA is not set")
else:
    for name in sorted(os.listdir(CASES)):
        if os.path.exists(os.path.join(CASES, name, "golden.safetensors")):
            try_case(name, os.path.join(CASES, name))

done()
