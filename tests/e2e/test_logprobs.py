#!/usr/bin/python3 -B
"""Log-probabilities: those of prompt and answer equal the softmax of the reference's logits."""

from daemon import Daemon
import models
from tap import check, done, equal, near, point

BOUND = 2e-3

with Daemon(models.GOLDEN) as daemon, daemon.connect() as client:
    golden = models.read_tensors(models.GOLDEN + "/golden.safetensors")
    prompt, greedy = golden["input_ids"][0], golden["greedy"][0]

    def order(row):
        return sorted(range(len(row)), key=lambda i: (-row[i], i))

    @point("prompt_logprobs are those of the reference, one for each token but the first")
    def _():
        got = client.run(tokens=prompt, max_tokens=0, prompt_logprobs=True)["prompt_logprobs"]
        equal(len(got), len(prompt) - 1)
        for i, logprob in enumerate(got):
            near(logprob, models.log_softmax(golden["logits"][i])[prompt[i + 1]], BOUND, "token %d" % (i + 1))
        near(sum(got), sum(models.log_softmax(golden["logits"][i])[id] for i, id in enumerate(prompt[1:])), BOUND)

    @point("logprobs and top_logprobs of a greedy answer are those of the reference")
    def _():
        for stream in (True, False):
            result = client.run(tokens=prompt, max_tokens=16, temperature=0, ignore_eos=True, stream=stream,
                                logprobs=True, top_logprobs=20)
            equal(result["tokens"], greedy)
            equal([entry["id"] for entry in result["logprobs"]], greedy)
            for row, entry in zip(golden["greedy_logits"], result["logprobs"]):
                want = models.log_softmax(row)
                near(entry["logprob"], want[entry["id"]], BOUND)
                equal(len(entry["top"]), 20)
                equal(entry["top"][0], {"id": entry["id"], "logprob": entry["logprob"]})
                for top, id in zip(entry["top"], order(row)):
                    near(top["logprob"], want[id], BOUND, "a top logprob")
                    near(top["logprob"], want[top["id"]], BOUND, "the id of a top logprob")

    @point("they are of the raw logits: neither bias nor temperature nor penalties change them")
    def _():
        plain = client.run(tokens=prompt, max_tokens=1, temperature=0, logprobs=True, top_logprobs=20)
        top = plain["logprobs"][0]["top"]
        for fields in ({"temperature": 0.5, "top_k": 3}, {"temperature": 2.0, "frequency_penalty": 2.0},
                       {"logit_bias": [[top[1]["id"], 50.0]]}, {"repeat_penalty": 2.0}, {"min_p": 0.9}):
            result = client.run(tokens=prompt, max_tokens=1, logprobs=True, top_logprobs=20, seed=1, **fields)
            equal(result["logprobs"][0]["top"], top, repr(fields))

    @point("without top_logprobs there is no top, without logprobs nothing")
    def _():
        result = client.run(tokens=prompt, max_tokens=2, temperature=0, logprobs=True)
        equal([sorted(entry) for entry in result["logprobs"]], [["id", "logprob"]] * 2)
        result = client.run(tokens=prompt, max_tokens=2, temperature=0)
        check("logprobs" not in result and "prompt_logprobs" not in result, "logprobs that nobody asked for")

    @point("a prompt of one token has an empty array of prompt_logprobs")
    def _():
        equal(client.run(tokens=prompt[:1], max_tokens=0, prompt_logprobs=True)["prompt_logprobs"], [])

    @point("prompt_logprobs of a prompt in several steps are those of one by one")
    def _():
        ids = [1 + 7 * i % 319 for i in range(250)]
        long = client.run(tokens=ids, max_tokens=0, prompt_logprobs=True)["prompt_logprobs"]
        for n in (2, 65, 130, 249):
            short = client.run(tokens=ids[:n], max_tokens=0, prompt_logprobs=True)["prompt_logprobs"]
            equal([models.bits(x) for x in short], [models.bits(x) for x in long[: n - 1]])

with Daemon(models.DEMO) as daemon, daemon.connect() as client:
    CASE = models.demo_cases()[1]

    @point("gaps between the two best are those of the demo model's reference")
    def _():
        result = client.run(tokens=CASE["prompt_ids"], temperature=0, logprobs=True, top_logprobs=2,
                            ignore_eos=True, max_tokens=len(CASE["ids"]))
        gaps = [entry["top"][0]["logprob"] - entry["top"][1]["logprob"] for entry in result["logprobs"]]
        for i, (got, want) in enumerate(zip(gaps, CASE["gaps"])):
            near(got, want, BOUND, "token %d" % i)
        equal(len(gaps), len(CASE["gaps"]))

    @point("bytes of tokens are there, and are the text; the end that stops has no entry")
    def _():
        result = client.run(tokens=CASE["prompt_ids"], temperature=0, logprobs=True)
        equal(b"".join(entry["bytes"] for entry in result["logprobs"]).decode(), CASE["text"])
        equal(len(result["logprobs"]), result["usage"]["completion_tokens"] - 1)

done()
