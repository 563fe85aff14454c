#!/usr/bin/python3 -B
"""What ends an answer: end ids, stop strings across tokens, stop ids, and what keeps it from ending."""

from daemon import Daemon
import models
from tap import check, done, equal, point

with Daemon(models.DEMO) as daemon, daemon.connect() as client:
    CASE = models.demo_cases()[0]  # "One day Mia and her friend Ruby met at the garden. There she ..."
    TEXT, IDS = CASE["text"], CASE["ids"]

    def ask(**fields):
        fields = {"temperature": 0, "return_tokens": True, **fields}
        return client.run(tokens=CASE["prompt_ids"], **fields)

    def pieces():
        """The bytes of the answer's tokens."""
        text = [client.detokenize(IDS[:n]) for n in range(len(IDS))]
        return [after[len(before):] for before, after in zip(text, text[1:])]

    @point("the answer ends before a stop string, wherever token borders are")
    def _():
        for stop in ("the orange kite", "r grand", ' "I', "met at", "One", "d", "."):
            for stream in (True, False):
                result = ask(stop=stop, stream=stream)
                equal(result["content"], TEXT[: TEXT.index(stop)], stop)
                equal((result["finish_reason"], result["stop_type"]), ("stop", "word"))
                equal(result["stopping_word"], stop)

    @point("every pair of neighbouring tokens, as a stop string, is found across its border")
    def _():
        parts = pieces()
        for left, right in zip(parts[:40], parts[1:]):
            stop = left[-2:] + right[:2]
            equal(ask(stop=stop)["content"], TEXT[: TEXT.index(stop)], repr(stop))

    @point("of several stop strings the first in the text ends it")
    def _():
        result = ask(stop=["never there", "worried", "garden", "happy"])
        equal(result["stopping_word"], "garden")
        equal(result["content"], TEXT[: TEXT.index("garden")])
        result = ask(stop=["met at the garden. There", "met at"])
        equal(result["stopping_word"], "met at")

    @point("no part of a stop string is sent before it is known that it does not come")
    def _():
        stop = "garden. There she worked"  # all but the last word does come
        result = ask(stop=stop)
        equal(result["content"], TEXT)
        equal((result["stop_type"], result.get("stopping_word")), ("eos", None))
        sent = ""
        held = TEXT.index("garden")
        for frame in client.generate(tokens=CASE["prompt_ids"], temperature=0, stop=stop):
            sent += frame.get("content", "")
            check(not held < len(sent) < held + len("garden. There she w"), "sent %r" % sent[held:])
        equal(sent, TEXT)

    @point("what was held back is sent when the length ends the answer")
    def _():
        n = next(n for n in range(len(IDS)) if client.detokenize(IDS[:n]).endswith(" garden"))
        result = ask(stop="garden of Eden", max_tokens=n)
        equal(result["content"], client.detokenize(IDS[:n]))
        equal(result["finish_reason"], "length")

    @point("a stop string of 256 bytes, and sixteen of them")
    def _():
        stop = TEXT[40:296]
        equal(ask(stop=["x" * 255 + str(i % 10) for i in range(15)] + [stop])["content"], TEXT[:40])

    @point("a stop id ends the answer, is counted and not delivered")
    def _():
        at = 20
        result = ask(stop_token_ids=[IDS[at], models.USER])
        at = IDS.index(IDS[at])
        equal(result["tokens"], IDS[:at])
        equal(result["usage"]["completion_tokens"], at + 1)
        equal((result["finish_reason"], result["stop_type"]), ("stop", "eos"))

    @point("ignore_eos goes on after the model's end, not after a stop id")
    def _():
        result = ask(ignore_eos=True, max_tokens=len(IDS) + 20)
        equal(result["tokens"][: len(IDS)], IDS)
        equal(len(result["tokens"]), len(IDS) + 20)
        equal(result["finish_reason"], "length")
        result = ask(ignore_eos=True, stop_token_ids=[models.END], max_tokens=len(IDS) + 20)
        equal(result["tokens"], IDS[:-1])
        equal(result["stop_type"], "eos")

    @point("min_tokens forbids the end and stop ids before")
    def _():
        n = len(IDS) + 10
        result = ask(min_tokens=n, max_tokens=n + 5)
        equal(result["tokens"][: len(IDS) - 1], IDS[:-1])
        check(models.END not in result["tokens"], "the end was chosen")
        check(len(result["tokens"]) >= n, "%d tokens" % len(result["tokens"]))
        result = ask(min_tokens=5, stop_token_ids=[IDS[2]], max_tokens=9)
        equal(result["tokens"][:2], IDS[:2])
        check(IDS[2] not in result["tokens"][:5], "a stop id was chosen before min_tokens")

    @point("a stop string ends the answer before min_tokens as well")
    def _():
        equal(ask(min_tokens=60, stop="garden")["content"], TEXT[: TEXT.index("garden")])

done()
