"""Models that the tests serve, and what they have to answer."""

import json
import math
import os
import struct

from daemon import SRCDIR

DEMO = os.path.join(SRCDIR, "contrib/demo-model")
GOLDEN = os.path.join(SRCDIR, "tests/data/golden/llama")
TESTDATA = os.environ.get("LORCH_TESTDATA")

N_VOCAB = 1024  # of the demo model
BEGIN, END, USER, ASSISTANT = 0, 1, 3, 4  # its special tokens


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def demo_cases():
    """Greedy answers of the demo model: prompt, prompt_ids, ids, text."""
    cases = read_json(os.path.join(DEMO, "reference.json"))["cases"]
    for case in cases:
        if "messages" in case:
            case["prompt"] = render(case["messages"])
    return cases


def render(messages):
    """A conversation as the demo model's template writes it."""
    turns = ["<|%s|>%s<|end|>" % (m["role"], m["content"].strip()) for m in messages]
    return "<|begin|>" + "".join(turns) + "<|assistant|>"


def read_tensors(path):
    """Tensors of a safetensors file as lists of rows."""
    with open(path, "rb") as file:
        data = file.read()
    n = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, about in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            code = {"F32": "f", "I32": "i", "I64": "q"}[about["dtype"]]
            width = struct.calcsize("<" + code)
            flat = struct.unpack("<%d%s" % ((end - begin) // width, code), data[8 + n + begin : 8 + n + end])
            row = about["shape"][-1]
            tensors[name] = [list(flat[i : i + row]) for i in range(0, len(flat), row)]
    return tensors


def log_softmax(logits):
    top = max(logits)
    total = math.log(math.fsum(math.exp(x - top) for x in logits)) + top
    return [x - total for x in logits]


def bits(value):
    """The bits of a float32, to compare exactly."""
    return struct.pack("<f", value)


def stretched(directory, source, n_ctx):
    """A copy of a model that claims a longer context, so that a job can run for as long as a test wants.

    The weights are those of source. n_ctx must still be asked for with --context.
    """
    config = read_json(os.path.join(source, "config.json"))
    config["max_position_embeddings"] = n_ctx
    target = os.path.join(directory, "stretched")
    os.mkdir(target)
    for name in os.listdir(source):
        if name != "config.json":
            os.symlink(os.path.join(source, name), os.path.join(target, name))
    with open(os.path.join(target, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    return target
