#!/usr/bin/python3
"""Golden bytes of every frame, made and checked by python3-msgpack, which shares no code with the server.

    golden_frames.py            compares tests/data/golden-frames with the frames below; speaks TAP
    golden_frames.py --write    writes them

tests/unit/test_golden.c checks the same files with the C code in both directions.
"""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys

here = pathlib.Path(os.environ.get("srcdir", ".")) / "tests/data/golden-frames"


class Float32(float):
    """A float that travels in 32 bits."""


MODEL = dict(id="demo-model", arch="llama", weight_type="BF16", n_params=15191712, n_ctx_train=1024,
             n_vocab=4096,
             tokenizer=True, chat_template=True, fingerprint="0123456789abcdef")
LIMITS = dict(max_frame=64 << 20, max_frame_out=16 << 20, max_depth=32, max_elements=1000000, queue=100,
              max_jobs=32,
              n_ctx=1024)
DEFAULTS = dict(max_tokens=2048, temperature=0.75, top_k=0, top_p=1.0, min_p=0.0, typical_p=1.0,
                repeat_penalty=1.0,
                repeat_last_n=-1, presence_penalty=0.0, frequency_penalty=0.0)
USAGE = dict(prompt_tokens=5, completion_tokens=3, total_tokens=8)
TIMINGS = dict(queue_ms=0.25, prompt_n=5, prompt_ms=12.5, predicted_n=3, predicted_ms=30.0)
CONVERSATION = dict(
    messages=[
        dict(role="system", content="Be kind.", name="rules"),
        dict(role="user", content=[dict(type="text", text="Wie sp\u00e4t"), dict(type="text", text=" ist es?")]),
        dict(role="assistant", content=None, reasoning_content="a clock", tool_calls=[
            dict(id="call-1", type="function", function=dict(name="clock", arguments='{"zone": "UTC"}'))]),
        dict(role="tool", content="12:00", tool_call_id="call-1")],
    tools=[dict(type="function", function=dict(name="clock", description="the time", parameters={}))],
    tool_choice="auto", add_generation_prompt=True, continue_final_message=False, chat_template_kwargs={},
    reasoning_effort="low")
JOB = dict(
    max_tokens=300, min_tokens=1, stop=["\n\n", "END"], stop_token_ids=[0, 70000], ignore_eos=True,
    temperature=0.5, top_k=40, top_p=0.875, min_p=0, typical_p=1, repeat_penalty=1.125, repeat_last_n=-1,
    presence_penalty=-2, frequency_penalty=Float32(0.25), logit_bias=[[5, -100], [6, 1.5]],
    seed=0xFFFFFFFFFFFFFFFF, logprobs=True, top_logprobs=2, prompt_logprobs=True, return_tokens=True,
    return_special=True, return_progress=True, stream=False, deadline_ms=60000)
LOGPROBS = [
    dict(id=260, logprob=Float32(-0.5), bytes=b" a",
         top=[dict(id=260, logprob=Float32(-0.5), bytes=b" a"), dict(id=7, logprob=Float32(-1.25),
                                                                     bytes=b"\xc3")]),
    dict(id=7, logprob=Float32(-1.25), bytes=b"\xc3", top=[]),
]

CALLS = [dict(index=0, id="call-1", name="clock", arguments='{"zone": '), dict(index=0, arguments='"UTC"}')]

# Name of the file: (tag of proto/verbs.def, fields).
FRAMES = {
    "hello": ("HELLO", dict(type="hello", id=1, protocol=1, client="golden 1", features=["x-one", "x-two"],
                            max_frame=1 << 20, optional=["color"], color="red")),
    "generate": ("GENERATE", dict(
        type="generate", id=7, trace_id="t-1", model="demo-model", prompt="Es war \u00e4 \U0001f600",
        add_special=False, parse_special=True, invalid_utf8="error", **JOB)),
    "generate-tokens": ("GENERATE", dict(type="generate", id=2**63 - 1, tokens=[1, 128, 256, 65536,
                                                                                2**31 - 1],
                                         stop="x")),
    "generate-bin": ("GENERATE", dict(type="generate", id=8, prompt=b"a\xffb", invalid_utf8="replace",
                                      seed=0)),
    "chat": ("CHAT", dict(type="chat", id=11, trace_id="t-7", model="demo-model", **CONVERSATION,
                          add_special=False, **JOB)),
    "chat-trees": ("CHAT", dict(
        type="chat", id=12, messages=[dict(role="assistant", weight=0.5, tool_calls=[
            dict(function=dict(name="f", arguments=dict(a=[1, -1.5, None, True, dict(b="c")])))])],
        chat_template_kwargs=dict(enable_thinking=False, date="1 Jan"))),
    "apply_template": ("APPLY_TEMPLATE", dict(type="apply_template", id=13, trace_id="t-8", **CONVERSATION,
                                              add_special=True, return_tokens=True)),
    "count-messages": ("COUNT", dict(type="count", id=14, **CONVERSATION)),
    "cancel": ("CANCEL", dict(type="cancel", id=7)),
    "cancel-job": ("CANCEL", dict(type="cancel", job=123456)),
    "ping": ("PING", dict(type="ping", id=3, t=-1000)),
    "status": ("STATUS", dict(type="status", id=4, trace_id="t-2")),
    "props": ("PROPS", dict(type="props", id=5, trace_id="t-3")),
    "tokenize": ("TOKENIZE", dict(type="tokenize", id=6, trace_id="t-4", content="Once", add_special=True,
                                  parse_special=False, invalid_utf8="error", with_pieces=True)),
    "detokenize": ("DETOKENIZE", dict(type="detokenize", id=9, trace_id="t-5", tokens=[1, 403],
                                      return_special=True)),
    "count": ("COUNT", dict(type="count", id=10, trace_id="t-6", content=b"Once", add_special=False,
                            parse_special=True, invalid_utf8="replace")),

    "hello-reply": ("HELLO_REPLY", dict(type="hello", id=1, protocol=1, server="lorchd", version="0.1.0",
                                        features=[],
                                        state="ready", limits=LIMITS, model=MODEL, defaults=DEFAULTS)),
    "accepted": ("ACCEPTED", dict(type="accepted", id=7, trace_id="t-1", job=123456, position=0, n_prompt=5)),
    "progress": ("PROGRESS", dict(type="progress", id=7, phase="prefill", position=0, processed=512,
                                  total=2000,
                                  time_ms=99.5)),
    "token": ("TOKEN", dict(type="token", id=7, index=0, content=" \u00e4")),
    "token-logprobs": ("TOKEN", dict(type="token", id=7, index=1, content=" a\ufffd", tokens=[260, 7],
                                     logprobs=LOGPROBS)),
    "token-call": ("TOKEN", dict(type="token", id=11, index=2, reasoning_content="a clock",
                                 tool_calls=CALLS)),
    "done-calls": ("DONE", dict(type="done", id=11, finish_reason="tool_calls", stop_type="eos", content="",
                                reasoning_content="a clock", tool_calls=CALLS, usage=USAGE, timings=TIMINGS,
                                seed=42)),
    "done": ("DONE", dict(type="done", id=7, trace_id="t-1", finish_reason="stop", stop_type="word",
                          stopping_word="END", usage=USAGE, timings=TIMINGS, seed=0xFFFFFFFFFFFFFFFF)),
    "done-whole": ("DONE", dict(type="done", id=7, finish_reason="length", stop_type="limit",
                                content=" a\ufffd",
                                tokens=[260, 7], logprobs=LOGPROBS,
                                prompt_logprobs=[Float32(-x / 8) for x in range(17)], usage=USAGE,
                                timings=TIMINGS,
                                seed=42)),
    "done-cancelled": ("DONE", dict(type="done", id=7, finish_reason="cancelled", usage=USAGE,
                                    timings=TIMINGS,
                                    seed=42)),
    "error": ("ERROR", dict(type="error", id=7, trace_id="t-1", code="invalid_request",
                            error_type="invalid_request_error", status=400,
                            message="top_p is 2, must be above 0 and at most 1 (and 1 more)", retryable=False,
                            param="top_p",
                            detail=dict(faults=[dict(field="top_p", constraint="range",
                                                     message="top_p is 2, must be above 0 and at most 1"),
                                                dict(field="colour", constraint="unknown",
                                                     message="colour is not a field of generate")],
                                                     n_faults=2))),
    "error-context": ("ERROR", dict(type="error", id=7, code="context_overflow",
                                    error_type="exceed_context_size_error", status=400,
                                    message="the prompt has 2000 tokens, the context 1024", retryable=False,
                                    param="prompt", detail=dict(n_prompt=2000, n_ctx=1024))),
    "error-queue": ("ERROR", dict(type="error", id=7, code="queue_full", error_type="rate_limit_error",
                                  status=429,
                                  message="100 jobs wait, at most 100 may", retryable=True,
                                  detail=dict(got=100, limit=100))),
    "error-protocol": ("ERROR", dict(type="error", code="protocol_error", error_type="invalid_request_error",
                                     status=400, message="byte 0: the frame is not a map", retryable=False)),
    "status-result": ("STATUS_RESULT", dict(
        type="result", id=4, trace_id="t-2", state="loading", load_fraction=0.5, load_phase="weights",
        version="0.1.0",
        uptime_ms=90000, connections=2, jobs_running=1, jobs_waiting=3, jobs_done=10, jobs_failed=1,
        jobs_cancelled=2,
        prompt_tokens=5000, generated_tokens=70000, kv_pages=64, kv_pages_free=60, engine_idle_ms=0)),
    "props-result": ("PROPS_RESULT", dict(
        type="result", id=5, trace_id="t-3", model=MODEL,
        shape=dict(n_layer=6, n_head=6, n_kv_head=6, head_dim=48, dim=288, ff_dim=768),
        memory=dict(weight_bytes=30383424, kv_bytes=7077888, scratch_bytes=1 << 20, available_bytes=8 << 30),
        limits=LIMITS, defaults=DEFAULTS, end_ids=[0, 2], device="cpu", level="avx512", threads=2)),
    "tokenize-result": ("TOKENIZE_RESULT", dict(type="result", id=6, trace_id="t-4", tokens=[1, 9038],
                                                pieces=[b"", b"Once"])),
    "detokenize-result": ("DETOKENIZE_RESULT", dict(type="result", id=9, trace_id="t-5", content="a\u00e4")),
    "count-result": ("COUNT_RESULT", dict(type="result", id=10, trace_id="t-6", n_tokens=300)),
    "apply_template-result": ("APPLY_TEMPLATE_RESULT", dict(type="result", id=13, trace_id="t-8",
                                                            prompt="<|user|>", n_tokens=1, tokens=[3])),
    "pong": ("PONG", dict(type="pong", id=3, t=-1000, state="ready", engine_idle_ms=12)),
}

# Which part a field of maps is made of.
PARTS = dict(model="MODEL", shape="SHAPE", memory="MEMORY", limits="LIMITS", defaults="DEFAULTS",
             logprobs="LOGPROB",
             top="LOGPROB", usage="USAGE", timings="TIMINGS", detail="DETAIL", faults="FAULT",
             messages="MESSAGE", content="TEXT_PART", tools="TOOL")
# Where that depends on the map around it.
PARTS_IN = {("MESSAGE", "tool_calls"): "CALL", ("CALL", "function"): "CALLED", ("TOOL", "function"): "FUNCTION",
            ("TOKEN", "tool_calls"): "TOOL_CALL", ("DONE", "tool_calls"): "TOOL_CALL"}


def encode(value, msgpack):
    """As msgpack.packb, but with floats of 32 bits where the frame has them."""
    packer = msgpack.Packer(use_bin_type=True, autoreset=True)
    if isinstance(value, dict):
        head = packer.pack_map_header(len(value))
        return head + b"".join(encode(k, msgpack) + encode(v, msgpack) for k, v in value.items())
    if isinstance(value, list):
        return packer.pack_array_header(len(value)) + b"".join(encode(v, msgpack) for v in value)
    if isinstance(value, Float32):
        return msgpack.Packer(use_single_float=True).pack(float(value))
    return packer.pack(value)


def frame_bytes(value, msgpack):
    body = encode(value, msgpack)
    return struct.pack(">I", len(body)) + body


def write(msgpack):
    here.mkdir(parents=True, exist_ok=True)
    for name, (_, value) in FRAMES.items():
        data = frame_bytes(value, msgpack)
        lines = [data[i:i + 32].hex(" ") for i in range(0, len(data), 32)]
        (here / (name + ".hex")).write_text("\n".join(lines) + "\n")


def fields_of(tag, value, seen):
    """Notes (tag, key) of a frame and of the parts in it."""
    for key, inner in value.items():
        seen.add((tag, key))
        part_tag = PARTS_IN.get((tag, key), PARTS.get(key))
        for part in inner if isinstance(inner, list) else [inner]:
            if part_tag and isinstance(part, dict):
                fields_of(part_tag, part, seen)


def table_fields():
    """(tag, key) of every row of proto/fields.def."""
    program = os.path.join(os.environ.get("builddir", "."), "tests/list_protocol")
    rows = subprocess.run([program, "--fields"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.splitlines()
    return {(tag, key) for tag, _, key in (row.split("\t") for row in rows)}


def page_example():
    """The frames of the page's first example as (what is written out, bytes)."""
    page = (here / "../../../man/lorch-protocol.7").read_text()
    block = "\n\n".join(re.findall(r"^\.Bd -literal[^\n]*\n(\{.*?)\n\.Ed", page, re.M | re.S))
    texts = block.split("\n\n")
    hexes = ["".join(line[:47] for line in text.splitlines()) for text in texts[1::2]]
    return [(json.loads(text), bytes.fromhex(digits)) for text, digits in zip(texts[0::2], hexes)]


def test(msgpack):
    results = []
    example = page_example()
    results.append((len(example) == 4 and all(frame_bytes(value, msgpack) == data for value, data in example),
                    "the bytes in lorch-protocol(7)"))
    for name, (_, value) in FRAMES.items():
        path = here / (name + ".hex")
        data = bytes.fromhex(path.read_text()) if path.exists() else b""
        decoded = msgpack.unpackb(data[4:], raw=False) if data else None
        results.append((data == frame_bytes(value, msgpack) and decoded == value and
                        struct.unpack(">I", data[:4])[0] == len(data) - 4, "the bytes of " + name))
    files = {path.stem for path in here.glob("*.hex")}
    results.append((files == set(FRAMES), "no file without a frame"))
    seen = set()
    for tag, value in FRAMES.values():
        fields_of(tag, value, seen)
    missing = {(tag, key) for tag, key in table_fields() if (tag, key) not in seen and key != "optional"}
    results.append((not missing, "every field occurs somewhere %s" % (sorted(missing) or "")))
    print("1..%d" % len(results))
    for i, (ok, what) in enumerate(results, 1):
        print("%s %d - %s" % ("ok" if ok else "not ok", i, what))
    return all(ok for ok, _ in results)


def main():
    try:
        import msgpack
    except ImportError:
        print("1..1\nok 1 - golden frames # SKIP python3-msgpack is not installed")
        return 0
    if sys.argv[1:] == ["--write"]:
        write(msgpack)
        return 0
    return 0 if test(msgpack) else 1


if __name__ == "__main__":
    sys.exit(main())
