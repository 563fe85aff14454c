#!/usr/bin/python3 -B
"""lorchctl chat as a script: what is said line by line, its commands, and what is wrong with them."""

import json
import os
import tempfile

import daemon as fixture
from daemon import Daemon
import models
from tap import check, contains, done, equal, point

ASKED = [case for case in models.demo_cases() if "messages" in case]
FOX = "Tell me a story about a fox."
GREEDY = ("-t", 0)


def said(*messages):
    """Messages as they are saved."""
    return [{"role": role, "content": content} for role, content in messages]


with Daemon(models.DEMO) as daemon, daemon.connect() as client, tempfile.TemporaryDirectory() as directory:
    saved = os.path.join(directory, "talk.json")

    def chat(script, *options, want=0, **more):
        """What a script prints; its standard error, where it shall fail."""
        data = script if isinstance(script, bytes) else script.encode()
        result = daemon.ctl("chat", *options, input=data, **more)
        out, err = result.stdout.decode(), result.stderr.decode()
        equal((result.returncode, err if not want else ""), (want, ""), err)
        return err if want else out

    def load():
        return models.read_json(saved)

    def answer(*messages, **fields):
        return client.chat(said(*messages), temperature=0, **fields)["content"]

    @point("each line is a question; the answers are all that is printed")
    def _():
        cases = [case for case in ASKED if [m["role"] for m in case["messages"]] == ["user"]]
        check(cases, "the reference has no single questions")
        for case in cases:
            equal(chat(case["messages"][0]["content"], *GREEDY, "-n", len(case["ids"])), case["text"] + "\n")
        equal(chat("\n\n", *GREEDY), "")

    @point("what was said before is part of the next question")
    def _():
        first = answer(("user", FOX))
        second = answer(("user", FOX), ("assistant", first), ("user", "Who is the story about?"))
        equal(chat(FOX + "\nWho is the story about?\n/save %s\n" % saved, *GREEDY), first + "\n" + second + "\n")
        equal(load(), {"format": 1, "messages": said(("user", FOX), ("assistant", first),
                                                    ("user", "Who is the story about?"), ("assistant", second))})

    @point("a saved conversation goes on, by option and by command")
    def _():
        more = answer(*[(m["role"], m["content"]) for m in load()["messages"]], ("user", "Hi"))
        equal(chat("Hi", *GREEDY, "--load", saved), more + "\n")
        equal(chat("something else\n/load %s\nHi" % saved, "-n", 1, *GREEDY).split("\n")[1:], [more.split()[0][:1] and
              client.chat(load()["messages"] + said(("user", "Hi")), temperature=0, max_tokens=1)["content"], ""])

    @point("texts of several lines stand between quotes, also those of commands")
    def _():
        script = '"""one\n  "two"\n"""\n"""three"""\n/system """\nBe kind.\n\nBe brief.\n"""\n"""/help"""\n/save %s\n' % saved
        chat(script, "-n", 0)
        equal([(m["role"], m["content"]) for m in load()["messages"]],
              [("system", "Be kind.\n\nBe brief."), ("user", 'one\n  "two"'), ("assistant", ""), ("user", "three"),
               ("assistant", ""), ("user", "/help"), ("assistant", "")])

    @point("the system prompt is shown, replaced and taken away")
    def _():
        equal(chat('/system\n/system Be brief.\n/system\n/system ""\n/system\n', "--system", "Be kind."),
              "Be kind.\nBe brief.\nthere is no system prompt\n")
        equal(chat(FOX, "--system", "Be kind.", *GREEDY), answer(("system", "Be kind."), ("user", FOX)) + "\n")

    @point("settings are fields of the request, given by option and changed by /set")
    def _():
        script = "/set\n/set max-tokens 5\n/set ignore_eos true\n/set\n/set max_tokens\n/set ignore_eos false\n/set\n"
        equal(chat(script, *GREEDY), "temperature = 0\ntemperature = 0\nmax_tokens = 5\nignore_eos = true\n"
              "temperature = 0\n")
        equal(chat("/set\n"), "nothing is set\n")
        equal(chat("/set temperature 0\n/set max_tokens 4\n/set stop xyz\n%s\n" % FOX), answer(("user", FOX),
              max_tokens=4) + "\n")

    @point("/retry asks again, /clear forgets all but the system prompt")
    def _():
        first = answer(("user", FOX))
        equal(chat(FOX + "\n/retry\n/save %s\n" % saved, *GREEDY), 2 * (first + "\n"))
        equal(load()["messages"], said(("user", FOX), ("assistant", first)))
        chat(FOX + "\n/clear\n/save %s\n" % saved, "--system", "Be kind.")
        equal(load()["messages"], said(("system", "Be kind.")))

    @point("/stats tells of the last answer, /help of all commands, /quit ends")
    def _():
        lines = chat("/stats\n%s\n/stats\n/quit\nnever asked\n" % FOX, *GREEDY).split("\n")
        equal((lines[0], len(lines)), ("nothing was answered yet", 4))
        usage = client.chat(said(("user", FOX)), temperature=0)["usage"]
        contains(lines[2], "prompt %d tokens" % usage["prompt_tokens"])
        contains(lines[2], "answer %d tokens" % usage["completion_tokens"])
        for name in ("/clear", "/help", "/load FILE", "/quit", "/retry", "/save FILE", "/set", "/stats", "/system"):
            contains(chat("/help"), "\n  " + name if name != "/clear" else name)

    @point("a script ends with its first failure, and with its status")
    def _():
        for line, status, reason in (
                ("/nothing", 64, "no command '/nothing'"),
                ("/save", 64, "/save takes FILE"),
                ("/quit now", 64, "/quit takes nothing more"),
                ("/set nothing 1", 64, "no setting 'nothing'"),
                ("/set temperature warm", 64, "a number, not 'warm'"),
                ("/set ignore_eos maybe", 64, "true or false, not 'maybe'"),
                ("/set chat_template_kwargs [1]", 64, "a JSON object"),
                ("/retry", 64, "nothing was asked yet"),
                ("/load /nowhere/at/all", 66, "cannot open /nowhere/at/all"),
                ("/save /nowhere/at/all", 73, "cannot create /nowhere/at/all"),
                ("/set temperature 9\nHi", 65, "temperature"),
                ("/set model another\nHi", 66, "the model served is")):
            result = daemon.ctl("chat", input=(line + "\n/help\n").encode())
            equal((result.returncode, result.stdout), (status, b""), line)
            contains(result.stderr.decode(), reason)
        contains(chat(b"caf\xe9\n", want=65), "no UTF-8 at byte 3")

    @point("what a file lacks to be a conversation is told with line and column")
    def _():
        for text, reason in (
                ("", "line 1"),
                ("[]", "a saved conversation is an object, not an array"),
                ("{}", "\"messages\" are missing"),
                ('{"format": 2, "messages": []}', "another lorchctl wrote this"),
                ('{"messages": [],\n "more": 1}', "line 2 column 2"),
                ('{"messages": [{"content": "x"}]}', "the message has no role"),
                ('{"messages": [{"role": "king", "content": "x"}]}', "system, user or assistant"),
                ('{"messages": [{"role": "user", "content": 1}]}', "a message's text is a string"),
                ('{"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]}', "speaks first"),
                ('{"messages": [{"role": "user", "content": "a", "name": "b"}]}', "not 'name'"),
                ('{"messages": []} x', "")):
            with open(saved, "w", encoding="utf-8") as file:
                file.write(text)
            err = chat("/help", "--load", saved, want=65)
            contains(err, saved)
            contains(err, reason)

    @point("variables of the template are a JSON object")
    def _():
        text = '{"enable_thinking": false, "n": [1, 2.5, null, {"a": "b"}]}'
        equal(chat(FOX, *GREEDY, "--chat-template-kwargs", text), answer(("user", FOX)) + "\n")
        chat(FOX, "--chat-template-kwargs", '{"a": ' + 9 * "[" + 9 * "]" + "}", want=64)
        chat(FOX, "--chat-template-kwargs", '{"": 1}', want=64)

    @point("a line that no request can carry is refused")
    def _():
        contains(chat("x" * (64 << 20) + "x\n", want=65), "longer than the 67108864 bytes")

    @point("a tilde is the home")
    def _():
        home = os.path.join(directory, "home")
        os.mkdir(home)
        result = daemon.ctl("chat", input=b"/system Be kind.\n/save ~/talk.json\n/load ~/talk.json\n/system\n",
                            env=fixture.environment(HOME=home))
        equal((result.returncode, result.stdout, result.stderr), (0, b"Be kind.\n", b""))
        equal(os.listdir(home), ["talk.json"])

    @point("arguments are refused, and a server that is not there is told at once")
    def _():
        contains(chat("", "Hello", want=64), "line by line")
        equal(fixture.ctl("-H", os.path.join(directory, "none"), "chat", input=b"Hi").returncode, 68)

with Daemon(models.GOLDEN) as daemon:

    @point("a model without chat template is no partner")
    def _():
        result = daemon.ctl("chat", input=b"Hi\n")
        equal((result.returncode, result.stdout), (69, b""))
        contains(result.stderr.decode(), "no chat template")

with tempfile.TemporaryDirectory() as directory:
    pieces = models.unique_pieces("<think>\nHm.\n</think>\n\nYes, of course.")
    model = models.scripted(directory, pieces, "{{ bos_token }}{# <think> #}{% for m in messages %}{% endfor %}")
    with Daemon(model.path) as daemon:

        @point("thoughts are not printed, but kept")
        def _():
            path = os.path.join(directory, "talk.json")
            result = daemon.ctl("chat", "-t", 0, "--stop-token-ids", model.end, input=b"Well?\n/save %s\n" % path.encode())
            equal((result.returncode, result.stdout, result.stderr), (0, b"Yes, of course.\n", b""))
            answer = models.read_json(path)["messages"][1]
            equal((answer["role"], answer["content"], answer["reasoning_content"].strip()),
                  ("assistant", "Yes, of course.", "Hm."))

done()
