#!/usr/bin/python3 -B
"""lorchctl with a tokenizer and no server: tokenize, detokenize, count, for a text and line by line."""

import json
import os
import subprocess

import models
from tap import check, contains, done, equal, point

LORCHCTL = os.path.join(os.environ.get("builddir", "."), "lorchctl")
TEXTS = ("One day Mia went to the garden.", "", "line\nbreak \u20ac \U0001f600", "<|end|> is text", "\0zero")


def lorchctl(command, *arguments, stdin=b"", status=0):
    """Output of a command that uses the demo model's tokenizer."""
    result = subprocess.run([LORCHCTL, command, "--tokenizer", models.DEMO, *arguments], input=stdin,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(result.returncode, status)
    return result.stdout if status == 0 else result.stderr.decode()


def lines(command, rows, *arguments):
    stdin = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    return [json.loads(line) for line in
            lorchctl(command, "--jsonl", *arguments, stdin=stdin.encode()).decode().splitlines()]


@point("ids of prompts are those of the reference")
def _():
    for case in models.demo_cases():
        flags = ["--parse-special"] if "messages" in case else []
        out = lorchctl("tokenize", *flags, "-", stdin=case["prompt"].encode())
        equal([int(id) for id in out.split()], case["prompt_ids"])


@point("lines give the ids that single texts give, and back the texts")
def _():
    rows = [{"content": text, "add_special": False} for text in TEXTS]
    for text, answer in zip(TEXTS, lines("tokenize", rows)):
        single = json.loads(lorchctl("tokenize", "--json", "--no-add-special", "-", stdin=text.encode()))
        equal(answer, {"tokens": single["tokens"]})
        equal(lines("detokenize", [answer]), [{"content": text}])
        equal(lines("count", [{"content": text, "add_special": False}]), [{"n_tokens": len(answer["tokens"])}])
        given = " ".join(str(id) for id in answer["tokens"])
        equal(lorchctl("detokenize", stdin=given.encode()), text.encode())


@point("the options of the command hold where a line is silent")
def _():
    rows = [{"content": "<|user|>"}, {"content": "<|user|>", "add_special": True, "parse_special": False}]
    special, plain = lines("tokenize", rows, "--no-add-special", "--parse-special")
    equal(len(special["tokens"]), 1)
    equal(plain["tokens"][0], models.BEGIN)
    check(len(plain["tokens"]) > 2, "the name of a special token is text")
    equal(lines("detokenize", [special], "--return-special"), [{"content": "<|user|>"}])
    equal(lines("detokenize", [dict(special, return_special=False)], "--return-special"), [{"content": ""}])


@point("a line that is wrong is answered, and the next one too")
def _():
    wrong = ["", "{", "[]", "{}", '{"content": 1}', '{"content": "a", "colour": 2}', '{"content": "a"} x',
             '{"content": "a", "add_special": 1}', "nothing", '{"content": "\\x"}']
    for command in ("tokenize", "count"):
        answers = lines(command, [row for bad in wrong for row in (bad, {"content": ""})])
        equal([list(answer) for answer in answers[::2]], [["error"]] * len(wrong))
        equal(len(set(json.dumps(answer) for answer in answers[1::2])), 1)
        check("error" not in answers[1], "a good line fails")
    wrong = ["{}", '{"tokens": 1}', '{"tokens": [-1]}', '{"tokens": [1.0]}', '{"tokens": [1024]}']
    equal([list(answer) for answer in lines("detokenize", wrong)], [["error"]] * len(wrong))
    contains(lines("detokenize", ['{"tokens": [5, 1024]}'])[0]["error"], "1024")


@point("pieces are the bytes of each token")
def _():
    answer, = lines("tokenize", [{"content": "\u20ac", "add_special": False}], "--pieces")
    pieces = answer["pieces"]
    equal(b"".join(piece.encode() if isinstance(piece, str) else bytes(piece) for piece in pieces).decode(),
          "\u20ac")


@point("what cannot work is told")
def _():
    contains(lorchctl("tokenize", "-", stdin=b"a\xff", status=65), "UTF-8")
    equal(lorchctl("count", "--no-add-special", "--invalid-utf8", "replace", "-", stdin=b"a\xffb"),
          lorchctl("count", "--no-add-special", "a\ufffdb"))
    contains(lorchctl("detokenize", "1024", status=65), "1024")
    for command in ("tokenize", "detokenize", "count"):
        result = subprocess.run([LORCHCTL, command, "--jsonl"], stdin=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)
        equal(result.returncode, 64)
        result = subprocess.run([LORCHCTL, command, "-T", "/nowhere", "1"], stderr=subprocess.PIPE)
        equal(result.returncode, 66)


done()
