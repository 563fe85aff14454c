#!/usr/bin/python3 -B
"""Sampling: every parameter has the effect it is described with, checked against the model's own logits."""

import collections
import math

from daemon import Daemon
import models
from tap import check, done, equal, point

N_DRAW = 300

with Daemon(models.DEMO) as daemon, daemon.connect() as client:
    PROMPT = models.demo_cases()[0]["prompt_ids"]

    def first_tokens(n=N_DRAW, **fields):
        """How often each id comes first, over seeds 0 to n - 1."""
        fields = {"temperature": 1, "top_p": 1, "max_tokens": 1, "return_tokens": True, "ignore_eos": True,
                  "stream": False, **fields}
        count, jobs = collections.Counter(), []
        for seed in range(n):
            jobs.append(client.submit(tokens=PROMPT, seed=seed, **fields))
            if len(jobs) == 30:
                count.update(client.wait(job)["tokens"][0] for job in jobs)
                jobs = []
        count.update(client.wait(job)["tokens"][0] for job in jobs)
        return count

    def top(n=20, **fields):
        """The most likely first tokens as (id, probability)."""
        result = client.run(tokens=PROMPT, max_tokens=1, temperature=0, logprobs=True, top_logprobs=n)
        return [(entry["id"], math.exp(entry["logprob"])) for entry in result["logprobs"][0]["top"]]

    BEST = top()

    def greedy(**fields):
        fields = {"temperature": 0, "max_tokens": 20, "ignore_eos": True, "return_tokens": True, **fields}
        return client.run(tokens=PROMPT, **fields)["tokens"]

    def deviation(count, probability, n=N_DRAW):
        """Of a frequency from its expectation, in standard deviations."""
        return abs(count - n * probability) / math.sqrt(n * probability * (1 - probability))

    @point("tokens are drawn as often as they are likely")
    def _():
        count = first_tokens()
        check(len(count) > 2, "only %s were drawn" % dict(count))
        for id, probability in BEST[:3]:
            check(deviation(count[id], probability) < 4, "%d came %d times at %.3f" % (id, count[id], probability))

    @point("temperature divides the logits")
    def _():
        count = first_tokens(temperature=0.5)
        squares = [p * p for _, p in BEST]  # all that matters of the softmax at half the temperature
        for (id, _), square in list(zip(BEST, squares))[:2]:
            probability = square / sum(squares)
            check(deviation(count[id], probability) < 4, "%d came %d times at %.3f" % (id, count[id], probability))

    @point("top_k keeps the k most likely")
    def _():
        for k in (1, 2, 3):
            equal(set(first_tokens(top_k=k)), {id for id, _ in BEST[:k]})

    @point("top_p keeps the most likely that reach it")
    def _():
        for n in (1, 2, 3):
            below, sum_n = sum(p for _, p in BEST[: n - 1]), sum(p for _, p in BEST[:n])
            equal(set(first_tokens(top_p=(below + sum_n) / 2)), {id for id, _ in BEST[:n]})

    @point("min_p keeps those with that share of the best one")
    def _():
        for n in (1, 2, 3):
            share = (BEST[n - 1][1] + BEST[n][1]) / 2 / BEST[0][1]
            equal(set(first_tokens(min_p=share)), {id for id, _ in BEST[:n]})

    @point("typical_p keeps the most typical, which need not be the best")
    def _():
        result = client.run(tokens=PROMPT, max_tokens=1, temperature=0, logprobs=True, top_logprobs=20)
        likely = [(e["id"], e["logprob"]) for e in result["logprobs"][0]["top"]]
        entropy = -sum(math.exp(l) * l for _, l in likely)
        typical = min(likely, key=lambda entry: abs(-entry[1] - entropy))[0]
        equal(set(first_tokens(typical_p=1e-6, n=20)), {typical})

    @point("logit_bias forces a token, forbids one, and adds up")
    def _():
        equal(set(greedy(logit_bias=[[999, 100.0]])), {999})
        equal(set(first_tokens(n=20, logit_bias=[[998, 60], [998, 60.0]])), {998})
        best = BEST[0][0]
        equal(greedy(max_tokens=1, logit_bias=[[best, -100]]), [BEST[1][0]])
        equal(greedy(max_tokens=1, logit_bias=[[best, -50], [best, 50]]), [best])
        gap = math.log(BEST[0][1] / BEST[1][1])
        equal(greedy(max_tokens=1, logit_bias=[[BEST[1][0], gap + 0.01]]), [BEST[1][0]])
        equal(greedy(max_tokens=1, logit_bias=[[BEST[1][0], gap - 0.01]]), [best])

    @point("a bias against everything but the end leaves the end")
    def _():
        bias = [[id, -100.0] for id in range(models.N_VOCAB) if id != models.END]
        result = client.run(tokens=PROMPT, temperature=0, max_tokens=5, logit_bias=bias)
        equal((result["stop_type"], result["usage"]["completion_tokens"]), ("eos", 1))

with Daemon(models.GOLDEN) as daemon, daemon.connect() as client:
    golden = models.read_tensors(models.GOLDEN + "/golden.safetensors")
    prompt = golden["input_ids"][0]

    def repeat(logits, seen, penalty):
        """The best id after repeat_penalty."""
        after = [x if i not in seen else x * penalty if x < 0 else x / penalty for i, x in enumerate(logits)]
        return max(range(len(after)), key=after.__getitem__)

    @point("repeat_penalty divides or multiplies the logits of prompt tokens within repeat_last_n")
    def _():
        changed = 0
        for n in range(1, len(prompt) + 1):
            for last_n, penalty in ((-1, 1.9), (-1, 0.5), (3, 1.9), (3, 0.5), (0, 0.5), (1000, 1.9)):
                logits = golden["logits"][n - 1]
                seen = prompt[:n] if last_n < 0 else prompt[:n][-last_n:] if last_n else []
                want = repeat(logits, seen, penalty)
                got = client.run(tokens=prompt[:n], temperature=0, max_tokens=1, ignore_eos=True,
                                 repeat_penalty=penalty, repeat_last_n=last_n)["tokens"]
                equal(got, [want], "%d tokens, penalty %g, last %d" % (n, penalty, last_n))
                changed += want != repeat(logits, [], penalty)
        check(changed > 10, "only %d choices are changed: the test is useless" % changed)

    @point("and those of the answer")
    def _():
        changed = 0
        for last_n, penalty in ((1, 0.5), (2, 0.5), (4, 0.7), (-1, 1.9), (-1, 0.5)):
            want = []
            for logits, plain in zip(golden["greedy_logits"], golden["greedy"][0]):
                seen = prompt + want if last_n < 0 else (prompt + want)[-last_n:]
                want.append(repeat(logits, seen, penalty))
                changed += want[-1] != plain and want[-1] in want[:-1]
                if want[-1] != plain:
                    break  # from here on the reference has no logits
            got = client.run(tokens=prompt, temperature=0, max_tokens=len(want), ignore_eos=True,
                             repeat_penalty=penalty, repeat_last_n=last_n)["tokens"]
            equal(got, want, "penalty %g, last %d" % (penalty, last_n))
        check(changed > 0, "no choice is changed because of the answer: the test is useless")

    def first_change(cost):
        """The greedy answer up to where a penalty first changes it. cost: of an id's count."""
        plain = client.run(tokens=prompt, max_tokens=200, temperature=0, logprobs=True, top_logprobs=20,
                           ignore_eos=True)
        count, ids = collections.Counter(), []
        for entry in plain["logprobs"]:
            ids.append(max(entry["top"], key=lambda top: top["logprob"] - cost(count[top["id"]]))["id"])
            if ids[-1] != entry["id"]:
                return ids
            count[ids[-1]] += 1
        raise AssertionError("the penalty would change nothing: the test is useless")

    @point("a presence penalty takes off once from what was generated before")
    def _():
        for penalty in (2.0, 0.5, 0.05, -2.0, -0.3):
            want = first_change(lambda count: penalty * (count > 0))
            equal(client.run(tokens=prompt, max_tokens=len(want), temperature=0, ignore_eos=True,
                             presence_penalty=penalty)["tokens"], want)

    @point("a frequency penalty takes off as often as it was generated")
    def _():
        for penalty in (2.0, 0.5, 0.05, 0.01, -2.0, -0.3):
            want = first_change(lambda count: penalty * count)
            equal(client.run(tokens=prompt, max_tokens=len(want), temperature=0, ignore_eos=True,
                             frequency_penalty=penalty)["tokens"], want)
        # Forced by a bias until it came so often that the penalty has used that up.
        forced = {"logit_bias": [[300, 40.0]], "temperature": 0, "ignore_eos": True, "max_tokens": 60}
        n = client.run(tokens=prompt, frequency_penalty=2.0, **forced)["tokens"].count(300)
        check(18 <= n <= 22, "%d times" % n)
        equal(client.run(tokens=prompt, presence_penalty=2.0, **forced)["tokens"], [300] * 60)

done()
