#!/usr/bin/python3 -B
"""Answers of chats in parts: thoughts, content and calls of tools, by a model that says what it is told to say."""

import json
import tempfile

from daemon import Daemon
import models
from tap import check, contains, done, equal, point

TOOLS = [{"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}]
HERMES = "{{ bos_token }}{# <think> <tool_call> #}"
CALL = '<tool_call>\n{"name": "clock", "arguments": {"zone": "UTC"}}\n</tool_call>'
USER = [{"role": "user", "content": "What time is it?"}]


def ask(pieces, template=HERMES, special=(), **fields):
    """What the model answers, streamed and whole, which must be the same but for how it came."""
    with tempfile.TemporaryDirectory() as directory:
        model = models.scripted(directory, pieces, template, special)
        with Daemon(model.path) as daemon, daemon.connect() as client:
            results = []
            for stream in (True, False):
                result = client.chat(USER, temperature=0, seed=5, stream=stream, stop_token_ids=[model.end],
                                     **dict(dict(tools=TOOLS), **fields))
                for key in ("id", "timings", "type"):
                    result.pop(key)
                result.pop("tokens", None)
                results.append(result)
            equal(results[0], results[1])
            return results[0]


@point("a call comes with its name, id and arguments")
def _():
    result = ask(models.unique_pieces(CALL))
    equal((result["finish_reason"], result["stop_type"], result["content"]), ("tool_calls", "eos", ""))
    (call,) = result["tool_calls"]
    equal((call["name"], json.loads(call["arguments"])), ("clock", {"zone": "UTC"}))
    check(len(call["id"]) == 9 and call["id"].isalnum(), "the id is %r" % call["id"])


@point("thoughts, text and several calls keep apart")
def _():
    result = ask(models.unique_pieces("<think>\nA clock?\n</think>\nWell.\n" + CALL + "\n" + CALL.replace("UTC", "CET")))
    equal(result["reasoning_content"].strip(), "A clock?")
    equal(result["content"].strip(), "Well.")
    equal([call["name"] for call in result["tool_calls"]], ["clock", "clock"])
    check(result["tool_calls"][0]["id"] != result["tool_calls"][1]["id"], "two calls have one id")


@point("marks that are special tokens count, and stay out of the text")
def _():
    pieces = ["<think>", "hm", "</think>", "so"]
    for special in ((), ("<think>", "</think>")):
        for fields in ({}, {"return_special": True}):
            result = ask(pieces, special=special, **fields)
            equal((result["reasoning_content"], result["content"]), ("hm", "so"))
            equal(result["finish_reason"], "stop")


@point("thoughts that the template began go on")
def _():
    result = ask(["hm", "</think>", "so"], template="{{ bos_token }}{# <tool_call> #}{{ '<think>\\n' }}")
    equal((result["reasoning_content"], result["content"]), ("hm", "so"))


@point("without tools there are no calls, and broken ones are text")
def _():
    text = CALL
    equal(ask(models.unique_pieces(CALL), tools=[])["content"], text)
    equal(ask(models.unique_pieces(CALL), tool_choice="none")["content"], text)
    broken = text.replace("{", "(")
    result = ask(models.unique_pieces(broken))
    equal((result["content"], result["finish_reason"]), (broken, "stop"))
    check("tool_calls" not in result, "a call of broken text")


@point("stop strings, limits and log-probabilities work on the text before it is taken apart")
def _():
    result = ask(["<think>", "hm STOP", " more"], stop="STOP")
    equal((result["reasoning_content"], result["stopping_word"]), ("hm ", "STOP"))
    result = ask(models.unique_pieces("so <tool_c"), max_tokens=4)
    equal((result["content"], result["finish_reason"]), ("so <tool_c"[:12], "length"))
    result = ask(["<think>", "hm", "</think>", "so"], logprobs=True)
    equal(len(result["logprobs"]), 4)


@point("other models' calls")
def _():
    llama = "{{ bos_token }}{# <|python_tag|> #}"
    result = ask(models.unique_pieces('{"name": "clock", "parameters": {"zone": "UTC"}}'), template=llama)
    equal(json.loads(result["tool_calls"][0]["arguments"]), {"zone": "UTC"})
    result = ask(["<|python_tag|>"] + models.unique_pieces("clock.call(zone='UTC', n=2)"), template=llama, special=["<|python_tag|>"])
    contains(result["tool_calls"][0]["name"], "clock")
    equal(json.loads(result["tool_calls"][0]["arguments"]), {"zone": "UTC", "n": 2})
    result = ask(["[TOOL_CALLS]"] + models.unique_pieces('[{"name": "clock", "arguments": {"zone": "UTC"}}]'),
                 template="{{ bos_token }}{# [TOOL_CALLS] #}", special=["[TOOL_CALLS]"])
    equal(json.loads(result["tool_calls"][0]["arguments"]), {"zone": "UTC"})


@point("a chat that is cancelled tells what it had")
def _():
    with tempfile.TemporaryDirectory() as directory:
        model = models.scripted(directory, ["<think>", "hm", "</think>", "so"], HERMES)
        with Daemon(model.path) as daemon, daemon.connect() as client:
            job = client.submit_chat(USER, temperature=0, ignore_eos=True, max_tokens=900)
            for frame in client.frames(job):
                if frame["type"] == "token":
                    client.cancel(job)
                last = frame
            equal((last["type"], last["finish_reason"]), ("done", "cancelled"))


@point("a flood of calls ends the answer")
def _():
    for first, pieces, last, template in (("[f()", [", f()" * n for n in range(40, 48)], "]", "<|python_tag|>"),
                                          ("<tool_call>[", ['{"name": "f", "arguments": {"a": %d}},' % n * 30
                                                            for n in range(9)], "]", "<tool_call>")):
        result = ask([first] + pieces + [last], template="{{ bos_token }}{# %s #}" % template)
        equal((len(result["tool_calls"]), result["finish_reason"]), (128, "length"))
        equal({call["name"] for call in result["tool_calls"]}, {"f"})
        equal(len({call["id"] for call in result["tool_calls"]}), 128)


done()
