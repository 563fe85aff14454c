#!/usr/bin/python3 -B
"""Text in and out: special tokens, bytes that are no UTF-8, empty prompts, complete characters."""

from daemon import Daemon, lorch
import models
from tap import check, contains, done, equal, point

with Daemon(models.DEMO) as daemon, daemon.connect() as client:
    CASE = models.demo_cases()[0]

    def count(prompt, **fields):
        """Tokens of a prompt, as the job itself counts them."""
        return client.run(prompt, max_tokens=0, **fields)["usage"]["prompt_tokens"]

    def refused(prompt, **fields):
        try:
            client.run(prompt, max_tokens=0, **fields)
        except lorch.Error as error:
            return error.frame
        raise AssertionError("it was not refused")

    @point("add_special adds what the tokenizer adds to a text")
    def _():
        equal(count("One day"), len(client.tokenize("One day", add_special=False)) + 1)
        equal(count("One day", add_special=False), count("One day") - 1)
        with_begin = client.run("One day", max_tokens=0, prompt_logprobs=True)["prompt_logprobs"]
        ids = client.tokenize("One day", add_special=False)
        same = client.run(tokens=[models.BEGIN] + ids, max_tokens=0, prompt_logprobs=True)["prompt_logprobs"]
        equal(with_begin, same)

    @point("special tokens in a prompt are plain text unless parse_special says otherwise")
    def _():
        check(count("<|end|>") > 3, "the name of a special token is one token")
        equal(count("<|end|>", parse_special=True), 2)

    @point("with parse_special a begin that the text has already is not doubled")
    def _():
        equal(count("<|begin|>One", parse_special=True), count("One"))
        equal(count("<|begin|><|begin|>One", parse_special=True), count("One") + 1)
        equal(count("<|begin|>One", parse_special=True, add_special=False), count("One"))

    @point("binary that is UTF-8 is as text")
    def _():
        result = client.run(CASE["prompt"].encode(), parse_special=True, temperature=0)
        equal(result["content"], CASE["text"])

    @point("binary that is not UTF-8 is a fault, or U+FFFD where replace is asked for")
    def _():
        error = refused(b"One \xff day")
        equal((error["code"], error["param"]), ("invalid_request", "prompt"))
        equal([(f["field"], f["constraint"]) for f in error["detail"]["faults"]], [("prompt", "utf8")])
        contains(error["message"], "byte 4")
        equal(refused(b"\xc3", invalid_utf8="error")["param"], "prompt")
        for raw, text in ((b"One \xff day", "One \ufffd day"), (b"\xe2\x82", "\ufffd"), (b"\xc3\x28", "\ufffd("),
                          (b"\xf0\x9f\x92", "\ufffd"), (b"\x80\x80", "\ufffd\ufffd"),
                          (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd")):
            equal(client.tokenize(raw, invalid_utf8="replace"), client.tokenize(text))
            equal(count(raw, invalid_utf8="replace"), count(text), repr(raw))

    @point("an empty prompt is one token where the tokenizer adds it, else a fault")
    def _():
        equal(count(""), 1)
        equal(client.run("", max_tokens=20, temperature=0)["content"],
              client.run(tokens=[models.BEGIN], max_tokens=20, temperature=0)["content"])
        equal(refused("", add_special=False)["code"], "invalid_request")
        equal(refused("", add_special=False)["param"], "prompt")

    @point("a first space of the answer survives")
    def _():
        case = next(c for c in models.demo_cases() if c["text"].startswith(" "))
        equal(client.run(case["prompt"], temperature=0, max_tokens=3)["content"],
              case["text"][: len(client.detokenize(case["ids"][:3]))])

    @point("special tokens are left out of the text unless return_special asks for them")
    def _():
        fields = {"temperature": 0, "max_tokens": 4, "logit_bias": [[models.USER, 100]]}
        equal(client.run("One", **fields).get("content", ""), "")
        result = client.run("One", return_special=True, return_tokens=True, **fields)
        equal(result["content"], "<|user|>" * 4)
        equal(result["tokens"], [models.USER] * 4)

    @point("text is complete UTF-8 whatever bytes the tokens hold")
    def _():
        ids = {id for text in ("\u20ac", "\u00e9", "\U0001f600", "a") for id in
               client.tokenize(text, add_special=False)}
        check(len(ids) > 7, "%d ids" % len(ids))
        fields = {"max_tokens": 40, "temperature": 2, "top_p": 1, "logprobs": True,
                  "logit_bias": [[id, 100] for id in sorted(ids)]}
        whole = 0
        for seed in range(40):
            frames = list(client.generate("One", seed=seed, **fields))
            said = b"".join(e["bytes"] for frame in frames for e in frame.get("logprobs", ()))
            text = "".join(frame.get("content", "") for frame in frames)
            equal(text, said.decode(errors="replace"), "seed %d" % seed)
            equal(client.run("One", seed=seed, stream=False, **fields)["content"], text)
            whole += sum(c > "\x7f" and c != "\ufffd" for c in text)
        check(whole > 10, "only %d characters of several tokens: the test is useless" % whole)

    @point("an answer completes a character that the prompt began")
    def _():
        ids = client.tokenize("\u20ac", add_special=False)
        check(len(ids) == 3, "the euro sign is no longer three tokens: choose another character")
        answer = {"temperature": 0, "max_tokens": 1, "logprobs": True, "return_tokens": True}
        result = client.run(tokens=[models.BEGIN] + ids[:2], logit_bias=[[ids[2], 100]], **answer)
        equal((result["tokens"], result["logprobs"][0]["bytes"]), ([ids[2]], b"\xac"))
        equal(result["content"], "\u20ac")

    @point("an incomplete end becomes U+FFFD")
    def _():
        first = client.tokenize("\u20ac", add_special=False)[0]
        fields = {"temperature": 0, "max_tokens": 3, "logit_bias": [[first, 100]]}
        equal(client.run("One", **fields)["content"], "\ufffd" * 3)
        equal(client.run("One", stream=False, **fields)["content"], "\ufffd" * 3)

done()
