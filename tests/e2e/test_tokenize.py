#!/usr/bin/python3 -B
"""tokenize and detokenize: round trips, pieces, and independence of whatever is being generated."""

import json
import os
import tempfile

from daemon import Daemon, lorch
import models
from tap import check, contains, done, equal, point, skip

TEXTS = ("One day Mia went to the garden.", "", " two  spaces ", "line\nbreak\r\n\ttab", "caf\u00e9 \u20ac \U0001f600",
         "12345 67.89", "<|end|> is text", "\u0000 zero", "e\u0301 combining", "\u4f60\u597d" * 50)

with Daemon(models.DEMO) as daemon, daemon.connect() as client:

    @point("ids of prompts are those of the reference")
    def _():
        for case in models.demo_cases():
            equal(client.tokenize(case["prompt"], parse_special="messages" in case), case["prompt_ids"])

    @point("text survives the way there and back")
    def _():
        for text in TEXTS:
            ids = client.tokenize(text, add_special=False)
            equal(client.detokenize(ids), text)
            equal(client.tokenize(text), [models.BEGIN] + ids)
            equal(client.detokenize([models.BEGIN] + ids, return_special=True), "<|begin|>" + text)

    @point("pieces are the bytes of each token")
    def _():
        for text in TEXTS:
            reply = client.call("tokenize", content=text, add_special=False, with_pieces=True)
            equal(b"".join(reply["pieces"]).decode(), text)
            equal(len(reply["pieces"]), len(reply["tokens"]))
        check("pieces" not in client.call("tokenize", content="One"), "pieces that nobody asked for")
        equal(client.call("tokenize", content="", with_pieces=True)["pieces"], [b"<|begin|>"])

    @point("count is the length of tokenize")
    def _():
        for text in TEXTS + (b"a\xffb",):
            for fields in ({}, {"add_special": False}, {"parse_special": True}):
                fields = dict(fields, invalid_utf8="replace")
                equal(client.count(text, **fields), len(client.tokenize(text, **fields)))

    @point("the greedy answers' ids are their texts")
    def _():
        for case in models.demo_cases():
            equal(client.detokenize(case["ids"]), case["text"])
            equal(client.detokenize(case["ids"], return_special=True), case["text"] + "<|end|>")

    @point("bytes that are no UTF-8 become U+FFFD on the way out")
    def _():
        ids = client.tokenize("\u20ac", add_special=False)
        equal(client.detokenize(ids[:1]), "\ufffd")
        equal(client.detokenize(ids[1:] + ids), "\ufffd\ufffd\u20ac")

    @point("a megabyte goes through, and pings are answered meanwhile")
    def _():
        text = "".join("%d bottles stand on the wall, \u20ac %d each. " % (i, i * 7) for i in range(30000))
        id = client.next_id()
        client.send({"type": "tokenize", "id": id, "content": text, "add_special": False})
        client.ping()
        equal(client.detokenize(client.recv_for(id)["tokens"]), text)

    @point("an id beyond the vocabulary is refused with both numbers")
    def _():
        try:
            client.detokenize([5, 1024])
            check(False, "it was not refused")
        except lorch.Error as error:
            equal((error.code, error.frame["param"]), ("invalid_request", "tokens"))
            contains(error.frame["message"], "1024")
            contains(error.frame["message"], "1023")

with tempfile.TemporaryDirectory() as directory:
    with Daemon(models.stretched(directory, models.DEMO, 60000), "--context", 60000) as daemon:

        @point("neither waits for a job that runs")
        def _():
            with daemon.connect() as busy, daemon.connect() as client:
                job = busy.submit(tokens=[0] * 59000, max_tokens=0, return_progress=True)
                while busy.recv_for(job).get("processed", 0) == 0:
                    pass
                equal(client.detokenize(client.tokenize("One day")), "One day")
                equal(client.status()["jobs_running"], 1)

if models.TESTDATA:
    tokenizers = os.path.join(models.TESTDATA, "data/stories260K")
    with Daemon(tokenizers) as daemon, daemon.connect() as client:

        @point("greedy stories of a SentencePiece model are those of its reference")
        def _():
            with open(tokenizers + "/expected_greedy.json", encoding="utf-8") as file:
                cases = json.load(file)["cases"]
            for case in cases:
                equal(client.tokenize(case["prompt"]), case["prompt_ids"])
                result = client.run(case["prompt"], temperature=0, max_tokens=len(case["ids"]),
                                    ignore_eos=True, return_tokens=True)
                equal(result["tokens"], case["ids"])
                equal(result["content"], client.detokenize(case["prompt_ids"] + case["ids"])
                      [len(client.detokenize(case["prompt_ids"])):])
else:
    skip("greedy stories of a SentencePiece model are those of its reference", "LORCH_TESTDATA is not set")

done()
