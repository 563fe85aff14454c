#!/usr/bin/python3 -B
"""lorchctl template: where templates are found, what conversations may say, and what published templates render."""

import json
import os
import struct
import tempfile

import daemon as fixture
import models
from tap import check, contains, done, equal, point, skip

DATA = os.environ.get("LORCH_TESTDATA")
TALK = [{"role": "user", "content": "Hi"}]
ECHO = "{{ bos_token }}{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}" \
       "{% if tools %}{{ tools | length }} tools{% endif %}{% if add_generation_prompt %}>{% endif %}"


def template(*arguments, stdin=b"", status=0):
    result = fixture.ctl("template", *arguments, input=stdin)
    equal(result.returncode, status, result.stderr.decode())
    return result.stdout.decode() if status == 0 else result.stderr.decode()


def lines(rows, *arguments):
    stdin = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows).encode()
    return [json.loads(line) for line in template("--jsonl", *arguments, stdin=stdin).splitlines()]


def write(directory, name, data):
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode() if isinstance(data, str) else json.dumps(data).encode())
    return path


def gguf(values):
    """A GGUF file of string and integer values and arrays of strings."""
    def text(s):
        return struct.pack("<Q", len(s.encode())) + s.encode()
    out = b"GGUF" + struct.pack("<IQQ", 3, 0, len(values))
    for key, value in values.items():
        out += text(key)
        if isinstance(value, str):
            out += struct.pack("<I", 8) + text(value)
        elif isinstance(value, int):
            out += struct.pack("<II", 4, value)
        else:
            out += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    return out + bytes(-len(out) % 32)


with tempfile.TemporaryDirectory() as directory:
    echo = write(directory, "echo.jinja", ECHO)

    @point("a file is a template, a conversation an array or an object")
    def _():
        equal(template("--template", echo, json.dumps(TALK)), "[user:Hi]>")
        equal(template("--template", echo, stdin=json.dumps({"messages": TALK, "tools": [{}], "add_generation_prompt": False,
              "chat_template_kwargs": {"bos_token": "<s>"}}).encode()), "<s>[user:Hi]1 tools")
        equal(template("--template", echo, json.dumps({"messages": TALK, "continue_final_message": True})), "[user:Hi")

    @point("a directory's template and special tokens; chat_template.jinja wins; no tokenizer is needed")
    def _():
        model = os.path.join(directory, "model")
        write(model, "tokenizer_config.json", {"chat_template": ECHO, "bos_token": {"content": "<b>"}})
        equal(template("-T", model, json.dumps(TALK)), "<b>[user:Hi]>")
        named = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "with tools"}]
        write(model, "tokenizer_config.json", {"chat_template": named})
        write(model, "special_tokens_map.json", {"bos_token": "<m>"})
        equal(lines([{"messages": TALK}, {"messages": TALK, "tools": [{}]}], "-T", model),
              [{"prompt": "plain"}, {"prompt": "with tools"}])
        write(model, "chat_template.jinja", "{{ bos_token }} from the file")
        equal(template("-T", model, "[]"), "<m> from the file")

    @point("a GGUF file's templates and special tokens")
    def _():
        path = write(directory, "vocab.gguf", gguf({
            "tokenizer.chat_template": ECHO, "tokenizer.chat_template.tool_use": "tools", "tokenizer.ggml.bos_token_id": 1,
            "tokenizer.ggml.tokens": ["<unk>", "<g>"]}))
        equal(lines([{"messages": TALK}, {"messages": TALK, "tools": []}], "-T", path),
              [{"prompt": "<g>[user:Hi]>"}, {"prompt": "tools"}])

    @point("--now is the time that templates see")
    def _():
        clock = write(directory, "clock.jinja", "{{ strftime_now('%A %d %B %Y %H:%M %j') }}")
        for now in ("2025-03-09 17:04:05", "2025-03-09T17:04:05"):
            equal(template("--template", clock, "--now", now, "[]"), "Sunday 09 March 2025 17:04 068")
        equal(template("--template", clock, "--now", "2024-02-29", "[]"), "Thursday 29 February 2024 00:00 060")
        for now in ("soon", "2025-13-01", "2025-03-09 17", ""):
            contains(template("--template", clock, "--now", now, "[]", status=64), "--now")

    @point("a wrong line is answered with its error, and the next one too")
    def _():
        wrong = ["", "[", "1", "{}", '{"messages": 1}', '{"messages": [], "colour": 1}', '{"messages": [], "tools": {}}',
                 '{"messages": [], "add_generation_prompt": 1}', '{"messages": [], "chat_template_kwargs": []}',
                 '{"messages": [], "continue_final_message": true}',
                 '{"messages": [], "continue_final_message": true, "add_generation_prompt": true}', "[" * 1000]
        answers = lines([row for bad in wrong for row in (bad, {"messages": TALK})], "--template", echo)
        equal([list(answer) for answer in answers[::2]], [["error"]] * len(wrong))
        equal(answers[1::2], [{"prompt": "[user:Hi]>"}] * len(wrong))
        for n in (63, 64, 65, 200):
            equal(lines([{"k" * n: "value", "messages": []}], "--template", echo)[0]["error"],
                  "'%s' is not a known member" % ("k" * min(n, 63)))

    @point("an error of a template has its file, line and column")
    def _():
        bad = write(directory, "bad.jinja", "one\n{% if %}")
        contains(template("--template", bad, "[]", status=65), "bad.jinja: line 2 column 7")
        raises = write(directory, "raises.jinja", "\n {{ raise_exception('only ' ~ messages[0].role) }}")
        contains(template("--template", raises, json.dumps(TALK), status=65), "line 2 column 20: only user")
        contains(lines([TALK], "--template", raises)[0]["error"], "only user")
        endless = write(directory, "endless.jinja", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}")
        contains(template("--template", endless, "[]", status=65), "line 1")

    @point("so has one of the conversation, which is named")
    def _():
        contains(template("--template", echo, '[{"role": "user",\n "content"}]', status=65),
                 "lorchctl: the conversation: line 2 column 11")

    @point("what is missing is named")
    def _():
        contains(template("[]", status=64), "--tokenizer or --template")
        contains(template("-T", directory, "--template", echo, "[]", status=64), "one of them")
        contains(template("--template", directory + "/none", "[]", status=66), "/none")
        contains(template("-T", directory + "/none", "[]", status=66), "/none")
        empty = os.path.join(directory, "empty")
        os.mkdir(empty)
        contains(template("-T", empty, "[]", status=66), "there is no chat template: neither chat_template.jinja")
        write(empty, "tokenizer_config.json", {"chat_template": 7})
        contains(template("-T", empty, "[]", status=65), "chat_template is a number")


@point("the demo model's template gives the reference's prompts")
def _():
    cases = [case for case in models.demo_cases() if "messages" in case]
    check(cases, "there are none")
    for case in cases:
        equal(template("-T", models.DEMO, json.dumps(case["messages"])), case["prompt"])


def published():
    with open(os.path.join(DATA, "data/chat_templates/expected.json"), encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    for case in cases:
        path, _, key = os.path.join(DATA, "data", case["template"]).partition("#")
        source = ("-T", os.path.dirname(path)) if key else ("--template", path)
        kwargs = dict(case["context"])
        row = {"messages": case["messages"], "add_generation_prompt": case["add_generation_prompt"],
               "tools": kwargs.pop("tools", None), "chat_template_kwargs": kwargs}
        answer, = lines([row], *source)
        if "error" in case["expected"]:
            check("error" in answer, "%s renders what must be refused" % case["template"])
        else:
            equal(answer, {"prompt": case["expected"]["text"]}, case["template"])
    check(len(cases) >= 88, "only %d cases" % len(cases))


if DATA:
    point("published templates render as Jinja2 does")(published)
else:
    skip("published templates render as Jinja2 does", "LORCH_TESTDATA is not set")

done()
