#!/usr/bin/python3 -B
"""Requests whose fields cannot be: each kind of fault, all of a request at once, and the connection stays."""

from daemon import Daemon
import models
from tap import check, contains, done, equal, point

OK = {"type": "generate", "tokens": [0], "max_tokens": 1}
HUGE = 2**31

# Fields of a job, and the faults they shall have as (field, constraint).
FAULTY = (
    ({"max_tokens": -1}, "range"),
    ({"max_tokens": HUGE}, "range"),
    ({"max_tokens": 1.0}, "type"),
    ({"max_tokens": None}, "type"),
    ({"max_tokens": "1"}, "type"),
    ({"max_tokens": True}, "type"),
    ({"min_tokens": -1}, "range"),
    ({"temperature": -0.1}, "range"),
    ({"temperature": 2.01}, "range"),
    ({"temperature": float("nan")}, "range"),
    ({"temperature": float("inf")}, "range"),
    ({"temperature": "0"}, "type"),
    ({"top_p": 0}, "range"),
    ({"top_p": 1.5}, "range"),
    ({"top_k": -1}, "range"),
    ({"top_k": 0.5}, "type"),
    ({"min_p": 1.1}, "range"),
    ({"typical_p": 0.0}, "range"),
    ({"repeat_penalty": 0}, "range"),
    ({"repeat_last_n": -2}, "range"),
    ({"presence_penalty": 2.5}, "range"),
    ({"frequency_penalty": -3}, "range"),
    ({"seed": -1}, "range"),
    ({"seed": 1.5}, "type"),
    ({"logprobs": 1}, "type"),
    ({"top_logprobs": 21, "logprobs": True}, "range"),
    ({"top_logprobs": 5}, "conflict"),
    ({"min_tokens": 2}, "conflict"),
    ({"stop": ""}, "length"),
    ({"stop": "x" * 257}, "length"),
    ({"stop": ["x"] * 17}, "count"),
    ({"stop": ["x", 1]}, "type"),
    ({"stop": {"x": 1}}, "type"),
    ({"stop": b"x"}, "type"),
    ({"stop_token_ids": [0] * 65}, "count"),
    ({"stop_token_ids": [-1]}, "range"),
    ({"stop_token_ids": 5}, "type"),
    ({"logit_bias": [[0, 1.0]] * 1025}, "count"),
    ({"logit_bias": [[0, 101]]}, "range"),
    ({"logit_bias": [[-1, 1]]}, "range"),
    ({"logit_bias": [[1]]}, "type"),
    ({"logit_bias": {"1": 1}}, "type"),
    ({"logit_bias": [[1, "x"]]}, "type"),
    ({"deadline_ms": 0}, "range"),
    ({"trace_id": ""}, "length"),
    ({"trace_id": "x" * 129}, "length"),
    ({"model": ""}, "length"),
    ({"invalid_utf8": "ignore"}, "choice"),
    ({"invalid_utf8": 1}, "type"),
    ({"stream": 0}, "type"),
    ({"tokens": [0, 1.0]}, "type"),
    ({"tokens": [0, HUGE]}, "range"),
    ({"tokens": "0"}, "type"),
    ({"optional": "x"}, "type"),
    ({"optional": ["x"] * 65}, "count"),
    ({"optional": ["x" * 65]}, "length"),
    ({"optional": [""]}, "length"),
)

with Daemon(models.DEMO) as daemon, daemon.connect() as client:

    def refused(fields, id=True):
        """The error that a request gets at once."""
        request = dict(fields, id=client.next_id()) if id is True else fields
        client.send(request)
        frame = client.recv()
        equal(frame["type"], "error")
        if id is True:
            equal(frame.get("id"), request["id"])
        equal((frame["status"], frame["error_type"], frame["retryable"]), (400, "invalid_request_error", False))
        faults = frame["detail"]["faults"]
        equal(frame["param"], faults[0]["field"])
        equal(frame["detail"]["n_faults"], max(len(faults), frame["detail"]["n_faults"]))
        return frame

    @point("each value that cannot be is a fault of its own kind, with its field")
    def _():
        for fields, constraint in FAULTY:
            error = refused({**OK, **fields})
            want = [(next(iter(fields)), constraint)]
            equal([(f["field"], f["constraint"]) for f in error["detail"]["faults"]], want, repr(fields)[:80])
            equal(error["code"], "invalid_request")
            equal(error["message"], error["detail"]["faults"][0]["message"])
            contains(error["message"], want[0][0])

    @point("the values at the limits are none")
    def _():
        for fields in ({"temperature": 2}, {"temperature": 0}, {"top_p": 1}, {"top_p": 1e-6}, {"min_p": 1},
                       {"max_tokens": HUGE - 1, "stop_token_ids": list(range(64))}, {"seed": 2**64 - 1},
                       {"top_k": HUGE - 1}, {"repeat_penalty": 2}, {"repeat_last_n": -1}, {"presence_penalty": -2},
                       {"stop": ["x" * 256] * 16}, {"stop_token_ids": [1023] * 64}, {"deadline_ms": HUGE - 1},
                       {"logit_bias": [[1023, 0.001]] * 1024}, {"trace_id": "x" * 128}, {"optional": ["x" * 64] * 64},
                       {"logprobs": True, "top_logprobs": 20}, {"model": "demo-model"}, {"stop": []}):
            equal(client.run(**{"tokens": [0], "max_tokens": 1, **fields})["type"], "done")

    @point("all faults of a request are reported together, in its order")
    def _():
        error = refused({"type": "generate", "temperature": 5, "prompt": "x", "tokens": [0], "stop": "",
                         "no_such": 1, "top_k": "x", "other": 2, "min_tokens": 9, "max_tokens": 3})
        faults = {(f["field"], f["constraint"]) for f in error["detail"]["faults"]}
        equal(faults, {("temperature", "range"), ("stop", "length"), ("no_such", "unknown"), ("top_k", "type"),
                       ("other", "unknown"), ("tokens", "conflict"), ("min_tokens", "conflict")})
        equal((error["code"], error["param"], error["detail"]["n_faults"]), ("invalid_request", "temperature", 7))

    @point("more than 32 faults are counted, 32 are listed")
    def _():
        error = refused({**OK, **{"field_%d" % i: i for i in range(100)}})
        equal(len(error["detail"]["faults"]), 32)
        equal(error["detail"]["n_faults"], 100)

    @point("an unknown field is refused by name, unless optional names it")
    def _():
        error = refused({**OK, "mirostat": 2})
        equal((error["code"], error["param"]), ("unknown_field", "mirostat"))
        contains(error["message"], "mirostat")
        equal(client.run(tokens=[0], max_tokens=1, mirostat=2, optional=["mirostat"])["type"], "done")
        error = refused({**OK, "mirostat": 2, "other": 1, "optional": ["mirostat"]})
        equal([f["field"] for f in error["detail"]["faults"]], ["other"])
        # What is known is not made unknown by being optional.
        equal(refused({**OK, "temperature": 9, "optional": ["temperature"]})["param"], "temperature")

    @point("every verb refuses fields that are not its own")
    def _():
        for verb in ("status", "props", "tokenize", "detokenize", "hello", "ping", "cancel"):
            needed = {"tokenize": {"content": ""}, "detokenize": {"tokens": []}, "cancel": {"job": 1}}
            request = {"type": verb, "temperature": 1, **needed.get(verb, {})}
            error = refused(request, verb not in ("hello", "ping", "cancel"))
            equal((error["code"], error["param"]), ("unknown_field", "temperature"))

    @point("what must be given, must be given; what excludes each other, does")
    def _():
        for fields, want in (({"type": "generate"}, ("prompt", "missing")),
                             ({"type": "tokenize"}, ("content", "missing")),
                             ({"type": "detokenize"}, ("tokens", "missing")),
                             ({"type": "generate", "prompt": "x", "tokens": [1]}, ("tokens", "conflict"))):
            fault = refused(fields)["detail"]["faults"][0]
            equal((fault["field"], fault["constraint"]), want)
        for fields, constraint in (({}, "missing"), ({"id": 3, "job": 4}, "conflict")):
            equal(refused({"type": "cancel", **fields}, False)["detail"]["faults"][0]["constraint"], constraint)

    @point("an unknown type, none at all, and one that is no string are faults with the id")
    def _():
        for fields in ({"type": "embed"}, {}, {"type": 7}, {"type": None}, {"type": ""}):
            equal(refused(fields)["param"], "type")

    @point("errors of hello, ping and cancel have no id")
    def _():
        for verb in ("hello", "ping", "cancel"):
            client.send({"type": verb, "id": 5, "no_such": 1})
            frame = client.recv()
            equal((frame["code"], "id" in frame), ("unknown_field", False))

    @point("ids beyond the vocabulary are refused by field, with both numbers")
    def _():
        for fields, field in (({"tokens": [0, 1024]}, "tokens"), ({"stop_token_ids": [1024]}, "stop_token_ids"),
                              ({"logit_bias": [[1024, 1]]}, "logit_bias")):
            error = list(client.frames(client.submit(**{"tokens": [0], **fields})))[-1]
            equal((error["code"], error["param"]), ("invalid_request", field))
            equal((error["detail"]["got"], error["detail"]["limit"]), (1024, 1023))

    @point("no tokens is a fault")
    def _():
        error = list(client.generate(tokens=[]))[-1]
        equal((error["code"], error["param"]), ("invalid_request", "tokens"))

    @point("trace_id comes back with a fault")
    def _():
        equal(refused({**OK, "temperature": 3, "trace_id": "abc"})["trace_id"], "abc")

    @point("after all of that the connection still serves")
    def _():
        equal(client.run(tokens=[0], max_tokens=1)["type"], "done")

done()
