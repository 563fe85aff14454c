#!/usr/bin/python3 -B
"""lorchctl status, props, ping, version, tokenize, detokenize, bench: as text and as JSON."""

import json
import re

import daemon as fixture
from daemon import Daemon
import models
from tap import check, contains, done, equal, point

with Daemon(models.DEMO) as daemon, daemon.connect() as client:

    def text(*words, **options):
        result = daemon.ctl(*words, **options)
        equal((result.returncode, result.stderr.decode()), (0, ""), repr(words))
        return result.stdout.decode()

    def parsed(*words, **options):
        result = json.loads(text(*words, **options))
        equal(result.pop("format"), 1)
        return result

    @point("status: the frame of the protocol as JSON, its figures as a table")
    def _():
        client.run(tokens=[0, 5], max_tokens=3, ignore_eos=True)
        status = parsed("status", "--json")
        equal((status["state"], status["jobs_done"], status["generated_tokens"]), ("ready", 1, 3))
        equal(set(status), set(client.status()) - {"type", "id"})
        rows = dict(re.split(r"  +", line, maxsplit=1) for line in text("status").splitlines())
        equal((rows["state"], rows["jobs done"], rows["prompt tokens"]), ("ready", "1", "2"))
        check(re.fullmatch(r"\d+\.\d{3} s", rows["uptime"]), "%r are no seconds" % rows["uptime"])

    @point("props: the model's figures")
    def _():
        equal(parsed("props", "--json"), {k: v for k, v in client.props().items() if k not in ("type", "id")})
        table = text("props")
        for line in ("id +demo-model", "n params +2623744", "n ctx +1024", "max frame +64.0 MiB", r"weight +5\.0 MiB", "temperature +0.7",
                     "tokenizer +yes"):
            check(re.search("^ +%s$" % line, table, re.M), "no '%s' in %s" % (line, table))

    @point("ping: state and round trip, as often as asked for")
    def _():
        check(re.fullmatch(r"ready, \d+ us\n", text("ping")), "a ping prints something else")
        equal(len(text("ping", "-c", 3).splitlines()), 3)
        lines = [json.loads(line) for line in text("ping", "--json", "--count", 2).splitlines()]
        equal([(line["format"], line["state"]) for line in lines], [(1, "ready")] * 2)
        check(all(line["round_trip_us"] > 0 for line in lines), "no time went by")

    @point("version: of both, or of lorchctl alone where nobody listens")
    def _():
        version = parsed("version", "--json")
        equal((version["server"], version["protocol"]), (client.hello()["version"], 1))
        contains(text("version"), "lorchd " + version["server"])
        result = fixture.ctl("-H", "/nowhere", "version")
        equal(result.returncode, 0)
        contains(result.stdout.decode(), "nothing listens")
        equal(json.loads(fixture.ctl("-H", "/nowhere", "version", "--json").stdout)["server"], None)
        result = fixture.ctl("--version")
        equal(result.stdout.decode(), "lorchctl (lorch) %s\n" % version["version"])

    @point("tokenize: ids on a line, with --pieces each on its own, and JSON")
    def _():
        ids = client.tokenize("One day")
        equal(text("tokenize", "One day"), " ".join(map(str, ids)) + "\n")
        equal(text("tokenize", input=b"One day"), " ".join(map(str, ids)) + "\n")
        equal(text("tokenize", "--no-add-special", "One day"), " ".join(map(str, ids[1:])) + "\n")
        equal(parsed("tokenize", "--json", "One day"), {"tokens": ids})
        pieces = parsed("tokenize", "--json", "-p", "--no-add-special", "a \u20ac\n")
        parts = [piece.encode() if isinstance(piece, str) else bytes(piece) for piece in pieces["pieces"]]
        equal(b"".join(parts).decode(), "a \u20ac\n")
        check(any(isinstance(piece, list) for piece in pieces["pieces"]), "half a character is shown as text")
        lines = [line.split("\t") for line in text("tokenize", "-p", "One day").splitlines()]
        equal([int(line[0]) for line in lines], ids)
        equal("".join(json.loads(line[1]) for line in lines), "<|begin|>One day")

    @point("detokenize: ids as arguments or from standard input, however they are separated")
    def _():
        ids = client.tokenize("One \u20ac day", add_special=False)
        words = [str(id) for id in ids]
        equal(text("detokenize", *words), "One \u20ac day")
        equal(text("detokenize", ",".join(words)), "One \u20ac day")
        for separator in (" ", ", ", "\n"):
            equal(text("detokenize", input=separator.join(words).encode()), "One \u20ac day")
        equal(text("detokenize", input=json.dumps(ids).encode()), "One \u20ac day")
        equal(parsed("detokenize", "--json", *words), {"content": "One \u20ac day"})
        equal(text("detokenize", "--return-special", 0, *words), "<|begin|>One \u20ac day")
        equal(text("detokenize", input=text("tokenize", "a\nb").encode()), "a\nb")

    @point("bench: a row for each length, as a table and as JSON")
    def _():
        table = text("bench", "-p", "16,32", "-n", "8", "-r", 1, "-d", 4)
        contains(table, "demo-model: llama, BF16")
        for row in ("prompt 16", "prompt 32", "decode 8 after 4"):
            check(re.search(r"^\| %s \| [0-9.]+ \| [0-9.]+ - [0-9.]+ \|" % row, table, re.M), "no row %s" % row)
        result = parsed("bench", "--json", "-p", "16", "-n", "8,9", "-r", 2)
        equal([(r["test"], r["n"], r["depth"]) for r in result["results"]],
              [("prompt", 16, 0), ("decode", 8, 1), ("decode", 9, 1)])
        for row in result["results"]:
            check(0 < row["min"] <= row["tokens_per_second"] <= row["max"], "%r" % row)
        equal(result["weight_bytes"], client.props()["memory"]["weight_bytes"])
        equal(parsed("bench", "--json", "-p", "0", "-n", "0")["results"], [])

    @point("--help tells every command, and of each command every option")
    def _():
        commands = re.findall(r"^  (\w+) ", fixture.ctl("--help").stdout.decode(), re.M)
        equal(set(commands) >= {"run", "status", "props", "ping", "tokenize", "detokenize", "bench", "version"}, True)
        for command in commands:
            result = fixture.ctl(command, "--help")
            equal((result.returncode, result.stderr), (0, b""))
            contains(result.stdout.decode(), "--socket")
        for option in ("--max-tokens", "--logit-bias", "--no-add-special", "--json"):
            contains(fixture.ctl("run", "--help").stdout.decode(), option)

done()
