#!/usr/bin/python3 -B
"""lorchctl inspect: headers of safetensors and GGUF files and of directories, without a server."""

import json
import os
import struct
import subprocess
import tempfile

import models
from tap import check, contains, done, equal, point

LORCHCTL = os.path.join(os.environ.get("builddir", "."), "lorchctl")
WEIGHTS = os.path.join(models.GOLDEN, "model.safetensors")

with open(WEIGHTS, "rb") as file:
    N_HEADER = struct.unpack("<Q", file.read(8))[0]
    HEADER = json.loads(file.read(N_HEADER))


def inspect(*arguments, status=0):
    result = subprocess.run([LORCHCTL, "inspect", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(result.returncode, status, str(result.stderr))
    return result.stdout if status == 0 else result.stderr.decode()


def string(text):
    text = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(text)) + text


def gguf(name):
    """Two metadata values of each interesting kind and two tensors."""
    words = struct.pack("<IQ", 8, 10) + b"".join(string("w%d" % i) for i in range(10))
    values = (("general.architecture", 8, string("llama")), ("a.number", 5, struct.pack("<i", -7)),
              ("a.float", 6, struct.pack("<f", 0.25)), ("a.flag", 7, b"\1"), ("some.words", 9, words), (name, 4, b"\5\0\0\0"),
              ("bytes", 8, string(b"\xff\x00")))
    tensors = (("one", (4, 2), 0, 0), ("two", (32,), 8, 32))
    data = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    data += b"".join(string(key) + struct.pack("<I", kind) + value for key, kind, value in values)
    for tensor, dims, kind, at in tensors:
        data += string(tensor) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims)
        data += struct.pack("<IQ", kind, at)
    data += bytes(-len(data) % 32)
    return data + bytes(32 + 34)


@point("a safetensors file: every tensor with type, shape and bytes")
def _():
    found = json.loads(inspect("--json", WEIGHTS))
    wanted = {name: (about["dtype"], about["shape"], about["data_offsets"][1] - about["data_offsets"][0])
              for name, about in HEADER.items() if name != "__metadata__"}
    equal({t["name"]: (t["type"], t["shape"], t["bytes"]) for t in found["tensors"]}, wanted)
    equal((found["kind"], found["n_tensors"]), ("safetensors", len(wanted)))
    equal(found["bytes"], sum(bytes for _, _, bytes in wanted.values()))
    equal({m["key"]: m["value"] for m in found["metadata"]}, HEADER.get("__metadata__", {}))
    text = inspect(WEIGHTS).decode()
    for name in wanted:
        contains(text, name)
    contains(text, "[320,64]")


@point("a directory: the same tensors, and the type of model")
def _():
    found = json.loads(inspect("--json", models.GOLDEN))
    equal((found["kind"], found["model_type"]), ("directory", "llama"))
    equal(sorted(t["name"] for t in found["tensors"]), sorted(n for n in HEADER if n != "__metadata__"))
    contains(inspect(models.GOLDEN).decode(), "of a model of type llama")


with tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, "model.gguf")

    @point("a GGUF file: values of every kind, tensors outermost dimension first")
    def _():
        with open(path, "wb") as file:
            file.write(gguf("plain"))
        found = json.loads(inspect("--json", path))
        equal((found["kind"], found["version"], found["n_tensors"], found["bytes"]), ("GGUF", 3, 2, 32 + 34))
        values = {m["key"]: m["value"] for m in found["metadata"]}
        equal(values, {"general.architecture": "llama", "a.number": -7, "a.float": 0.25, "a.flag": True,
                       "some.words": ["w%d" % i for i in range(10)], "plain": 5, "bytes": [255, 0]})
        equal([(t["name"], t["type"], t["shape"], t["bytes"]) for t in found["tensors"]],
              [("one", "F32", [2, 4], 32), ("two", "Q8_0", [32], 34)])
        text = inspect(path).decode()
        for words in ("general.architecture = llama", "10 of string: w0, w1", "w7, ...", "a.flag = true", "[2,4]"):
            contains(text, words)
        check(", w8" not in text, "long arrays are cut for people")

    @point("nothing in a file reaches the terminal as it is")
    def _():
        with open(path, "wb") as file:
            file.write(gguf("\x1b[31mred\r\x7f"))
        text = inspect(path)
        check(not any(c < 32 and c != 10 or c == 127 for c in text), "control characters: %r" % text)
        equal(json.loads(inspect("--json", path))["metadata"][5]["key"], "\x1b[31mred\r\x7f")

    @point("what is no model is refused as a server would refuse it")
    def _():
        contains(inspect(os.path.join(directory, "none"), status=66), "none")
        with open(path, "wb") as file:
            file.write(gguf("plain")[:-40])
        contains(inspect(path, status=65), "model.gguf")
        with open(path, "wb") as file:
            file.write(b"neither")
        contains(inspect(path, status=65), "model.gguf")
        contains(inspect(directory, status=66), "config.json")
        inspect(status=64)
        inspect("a", "b", status=64)

done()
