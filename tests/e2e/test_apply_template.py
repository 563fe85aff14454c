#!/usr/bin/python3 -B
"""apply_template and count of messages: the prompts of published templates, and what their ids are."""

import json
import os
import tempfile

from daemon import Daemon, lorch
import models
from tap import check, contains, done, equal, point, skip

USER = [{"role": "user", "content": "Hi"}]

with Daemon(models.DEMO) as daemon, daemon.connect() as client:

    @point("the prompt is what the template makes of the messages")
    def _():
        messages = [{"role": "system", "content": " Be brief. "}] + USER
        equal(client.apply_template(messages), "<|begin|><|system|>Be brief.<|end|><|user|>Hi<|end|><|assistant|>")
        equal(client.apply_template(USER, add_generation_prompt=False), "<|begin|><|user|>Hi<|end|>")

    @point("ids come where they are asked for, and count counts them")
    def _():
        check("tokens" not in client.call("apply_template", messages=USER), "ids that nobody asked for")
        result = client.apply_template(USER, return_tokens=True)
        equal(result["tokens"], client.tokenize(result["prompt"], parse_special=True, add_special=False))
        equal((result["n_tokens"], client.count(messages=USER)), (len(result["tokens"]),) * 2)

    @point("add_special adds what the tokenizer adds, and doubles no beginning")
    def _():
        for special in (False, True):
            equal(client.apply_template(USER, return_tokens=True, add_special=special)["tokens"][:2],
                  [models.BEGIN, models.USER])

    @point("count takes a text or messages, not both")
    def _():
        for fields in ({}, {"content": "x", "messages": USER}):
            try:
                client.call("count", **fields)
                check(False, "it was not refused")
            except lorch.Error as error:
                equal(error.code, "invalid_request")

    @point("it waits for no job, and a prompt may be longer than the context")
    def _():
        job = client.submit("One", max_tokens=900, ignore_eos=True)
        long = [{"role": "user", "content": "word " * 30000}]
        contains(client.apply_template(long), "word word")
        check(client.count(messages=long) > 30000, "it has too few ids")
        client.cancel(job)
        equal(list(client.frames(job))[-1]["type"], "done")

    @point("a prompt that no frame can hold is refused")
    def _():
        with daemon.connect() as small:
            small.hello(max_frame=16384)
            try:
                small.apply_template([{"role": "user", "content": "x" * 20000}])
                check(False, "it was not refused")
            except lorch.Error as error:
                equal((error.code, error.frame["detail"]["limit"]), ("invalid_request", 16384))


def template(name):
    """A template of the test data: a file, or one of a JSON file's strings ("FILE#KEY")."""
    path, _, key = os.path.join(models.TESTDATA, "data", name).partition("#")
    with open(path, encoding="utf-8") as file:
        return json.load(file)[key] if key else file.read()


if models.TESTDATA:
    with open(models.TESTDATA + "/data/chat_templates/expected.json", encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    for name in sorted({case["template"] for case in cases}):
        source = template(name)
        with tempfile.TemporaryDirectory() as directory:
            model = models.scripted(directory, ["x"], source)
            with Daemon(model.path) as daemon, daemon.connect() as client:

                @point("the prompts of " + name)
                def _():
                    for case in cases:
                        if case["template"] != name:
                            continue
                        try:
                            got = client.apply_template(case["messages"], chat_template_kwargs=case["context"],
                                                        add_generation_prompt=case["add_generation_prompt"])
                        except lorch.Error as error:
                            equal((error.code, error.frame["param"]), ("invalid_request", "messages"))
                            check("error" in case["expected"], "%s: %s" % (case["conversation"], error))
                        else:
                            equal(got, case["expected"].get("text"), case["conversation"])
else:
    skip("the prompts of published templates", "LORCH_TESTDATA is not set")

done()
