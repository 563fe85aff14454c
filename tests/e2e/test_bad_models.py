#!/usr/bin/python3 -B
"""What can be wrong with a model: one sentence on standard error, its exit status, and clients are told."""

import json
import os
import shutil
import socket
import struct
import tempfile

import daemon as fixture
from daemon import Daemon
import models
from tap import check, contains, done, equal, point, skip

with open(models.GOLDEN + "/model.safetensors", "rb") as file:
    WEIGHTS = file.read()
N_HEADER = struct.unpack("<Q", WEIGHTS[:8])[0]
HEADER = json.loads(WEIGHTS[8 : 8 + N_HEADER])
CONFIG = models.read_json(models.GOLDEN + "/config.json")


def weights(change):
    """The file with a changed header."""
    header = json.loads(json.dumps(HEADER))
    change(header)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + WEIGHTS[8 + N_HEADER :]


def config(**changes):
    return json.dumps({k: v for k, v in {**CONFIG, **changes}.items() if v != "absent"}).encode()


def gpt_oss(**changes):
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "truncate": False}
    return config(**{"model_type": "gpt_oss", "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 8,
                     "rope_scaling": yarn, **changes})


def misshapen(header):
    header["model.layers.1.mlp.up_proj.weight"]["shape"] = [64, 96]


def missing(header):
    header["model.other.weight"] = header.pop("model.norm.weight")


def other_type(header):
    header["model.norm.weight"]["dtype"] = "I32"


def beyond(header):
    header["model.norm.weight"]["data_offsets"][1] += 1 << 40


def overlapping(header):
    header["lm_head.weight"]["data_offsets"] = header["model.embed_tokens.weight"]["data_offsets"]


def poisoned():
    """The file with a NaN in a matrix."""
    data = bytearray(WEIGHTS)
    at = 8 + N_HEADER + HEADER["model.layers.1.mlp.up_proj.weight"]["data_offsets"][0]
    data[at + 4 * (64 + 5) : at + 4 * (64 + 6)] = struct.pack("<f", float("nan"))
    return bytes(data)


# Files that replace those of a good model, options, the exit status, and parts of the sentence.
CASES = (
    ("config.json is missing", {"config.json": None}, (), 66, ("config.json",)),
    ("no weights", {"model.safetensors": None}, (), 66, ("safetensors",)),
    ("config.json is empty", {"config.json": b""}, (), 65, ("config.json", "empty")),
    ("config.json is no JSON", {"config.json": b'{"model_type": "llama",}'}, (), 65, ("config.json", "line 1")),
    ("config.json is an array", {"config.json": b"[]"}, (), 65, ("config.json",)),
    ("an unknown architecture", {"config.json": config(model_type="mamba", architectures=["MambaForCausalLM"])},
     (), 65, ("mamba", "llama")),
    ("a size is missing", {"config.json": config(hidden_size="absent")}, (), 65, ("hidden_size",)),
    ("a size is zero", {"config.json": config(num_hidden_layers=0)}, (), 65, ("num_hidden_layers",)),
    ("a size is negative", {"config.json": config(vocab_size=-1)}, (), 65, ("vocab_size",)),
    ("a size is huge", {"config.json": config(intermediate_size=2**40)}, (), 65, ("intermediate_size",)),
    ("2^31 layers", {"config.json": config(num_hidden_layers=2**31)}, (), 65, ("num_hidden_layers", "2147483648", "4096")),
    ("a window that is negative", {"config.json": config(model_type="mistral", sliding_window=-5)}, (), 65,
     ("sliding_window", "-5")),
    ("kinds of layers that are too few", {"config.json": config(model_type="qwen2", layer_types=["full_attention"])},
     (), 65, ("layer_types", "1", "3")),
    ("experts that are missing", {"config.json": config(model_type="mixtral", num_local_experts=4,
                                                        num_experts_per_tok=2)}, (), 65,
     ("block_sparse_moe", "missing")),
    ("biases that are missing", {"config.json": gpt_oss()}, (), 65, ("self_attn.q_proj.bias", "missing")),
    ("a clamp of another height", {"config.json": gpt_oss(swiglu_limit=6.5)}, (), 65, ("swiglu_limit", "6.5", "7")),
    ("weights of another quantization", {"config.json": gpt_oss(quantization_config={"quant_method": "awq"})}, (), 65,
     ("awq", "mxfp4")),
    ("gpt-oss without RoPE scaling", {"config.json": gpt_oss(rope_scaling="absent")}, (), 65, ("rope_scaling",)),
    ("LongRoPE without its lists", {"config.json": config(model_type="phi3", rope_scaling={"type": "longrope"})}, (),
     65, ("short_factor",)),
    ("a size is text", {"config.json": config(hidden_size="64")}, (), 65, ("hidden_size",)),
    ("heads that cannot be grouped", {"config.json": config(num_key_value_heads=3)}, (), 65, ("3", "4")),
    ("more layers than there are", {"config.json": config(num_hidden_layers=4)}, (), 65, ("layers.3",)),
    ("fewer layers than there are", {"config.json": config(num_hidden_layers=2)}, (), 65, ("layers.2",)),
    ("a RoPE scaling that is not known", {"config.json": config(rope_scaling={"rope_type": "spiral"})}, (), 65,
     ("spiral",)),
    ("a vocabulary of another size", {"config.json": config(vocab_size=321)}, (), 65, ("321", "320")),
    ("a tensor of another shape", {"model.safetensors": weights(misshapen)}, (), 65,
     ("model.layers.1.mlp.up_proj.weight", "96", "64")),
    ("a tensor is missing", {"model.safetensors": weights(missing)}, (), 65, ("model.norm.weight",)),
    ("tensors too many", {"config.json": config(num_hidden_layers=2)}, (), 65, ("model.layers.2.",)),
    ("a tensor of another type", {"model.safetensors": weights(other_type)}, (), 65, ("model.norm.weight", "I32")),
    ("offsets beyond the file", {"model.safetensors": weights(beyond)}, (), 65, ("model.norm.weight",)),
    ("tensors that overlap", {"model.safetensors": weights(overlapping)}, (), 65, ()),
    ("weights cut in the middle", {"model.safetensors": WEIGHTS[:-1000]}, (), 65, ("model.safetensors",)),
    ("weights cut in the header", {"model.safetensors": WEIGHTS[:100]}, (), 65, ("model.safetensors",)),
    ("weights of seven bytes", {"model.safetensors": WEIGHTS[:7]}, (), 65, ("model.safetensors", "7 bytes")),
    ("weights that are empty", {"model.safetensors": b""}, (), 65, ("model.safetensors",)),
    ("a header that is longer than the file", {"model.safetensors": struct.pack("<Q", 2**63) + WEIGHTS[8:]}, (), 65,
     ("model.safetensors",)),
    ("a header that is no JSON", {"model.safetensors": WEIGHTS[:8] + b"x" + WEIGHTS[9:]}, (), 65,
     ("model.safetensors",)),
    ("a tokenizer that is no JSON", {"tokenizer.json": b"{"}, (), 65, ("tokenizer.json",)),
    ("a tokenizer of an unknown kind", {"tokenizer.json": b'{"model": {"type": "Magic"}}'}, (), 65,
     ("tokenizer.json", "Magic")),
    ("a weight that is no number", {"model.safetensors": poisoned()}, ("--verify",), 65,
     ("model.layers.1.mlp.up_proj.weight", "NaN", "[1,5]")),
    ("a context longer than the model's", {}, ("--context", 257), 78, ("257", "256")),
    ("a device that this build lacks", {}, ("--device", "cuda"), 78, ("cuda",)),
    ("a device that nobody knows", {}, ("--device", "abacus"), 78, ("abacus",)),
)


def model_with(directory, files):
    """A copy of the good model with these files changed, new or (None) absent."""
    target = tempfile.mkdtemp(dir=directory)
    contents = {"config.json": config(), "model.safetensors": WEIGHTS, **files}
    for name, content in contents.items():
        if content is not None:
            with open(os.path.join(target, name), "wb") as file:
                file.write(content)
    return target


def sentence(result, status):
    """The one sentence on standard error."""
    lines = result.stderr.splitlines()
    equal((result.returncode, len(lines)), (status, 1), result.stderr)
    check(lines[0].startswith("lorchd: "), "the sentence is %r" % lines[0])
    return lines[0]


with tempfile.TemporaryDirectory() as directory:
    for name, files, options, status, words in CASES:

        @point(name)
        def _():
            model = model_with(directory, files)
            found = sentence(fixture.run("--check", "--model", model, *options), status)
            for word in words:
                contains(found, word)
            listen = os.path.join(model, "s")
            served = fixture.run("--model", model, "--listen", listen, *(o for o in options if o != "--check"))
            equal(sentence(served, status), found)
            check(not os.path.exists(listen), "the socket was left")

    @point("a directory that is not there, a file instead of one, an empty one")
    def _():
        contains(sentence(fixture.run("--check", "--model", directory + "/none"), 66), directory + "/none")
        path = os.path.join(directory, "file")
        with open(path, "wb") as file:
            file.write(b"not a model, but long enough to be looked at")
        contains(sentence(fixture.run("--check", "--model", path), 65), path)
        os.mkdir(directory + "/empty")
        contains(sentence(fixture.run("--check", "--model", directory + "/empty"), 66), directory + "/empty")

    for part in ("self_attn.sinks", "mlp.router.bias", "mlp.experts.gate_up_proj", "mlp.experts.down_proj_bias"):
        if not models.TESTDATA:
            skip("gpt-oss without " + part, "LORCH_TESTDATA is not set")
            continue

        @point("gpt-oss without " + part)
        def _():
            golden = models.TESTDATA + "/golden/gpt_oss"
            name = "model.layers.2." + part
            with open(golden + "/model.safetensors", "rb") as file:
                data = file.read()
            n_header = struct.unpack("<Q", data[:8])[0]
            check(data[8 : 8 + n_header].count(b'"%s"' % name.encode()) == 1, "the model has no " + name)
            other = b'"%s"' % ("x" * len(name)).encode()
            data = data[: 8 + n_header].replace(b'"%s"' % name.encode(), other) + data[8 + n_header :]
            with open(golden + "/config.json", "rb") as file:
                model = model_with(directory, {"config.json": file.read(), "model.safetensors": data})
            contains(sentence(fixture.run("--check", "--model", model), 65), "tensor '%s' is missing" % name)

    @point("a pipe instead of the weights is not waited for")
    def _():
        model = model_with(directory, {"model.safetensors": None})
        os.mkfifo(model + "/model.safetensors")
        contains(sentence(fixture.run("--check", "--model", model), 65), "model.safetensors")

    @point("a tokenizer with more ids than the model has rows")
    def _():
        model = model_with(directory, {})
        shutil.copy(models.DEMO + "/tokenizer.json", model)
        found = sentence(fixture.run("--check", "--model", model), 65)
        contains(found, "1023")
        contains(found, "320")

    if os.geteuid() == 0:
        skip("a file without permission", "root may read everything")
    else:

        @point("a file without permission")
        def _():
            model = model_with(directory, {})
            os.chmod(model + "/model.safetensors", 0)
            contains(sentence(fixture.run("--check", "--model", model), 77), "model.safetensors")

    @point("clients that wait are told, and the exit status is kept")
    def _():
        path = os.path.join(directory, "waiting.sock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            with fixture.lorch.Client(path) as client:
                client.send({"type": "hello", "id": 1})
                job = client.submit(tokens=[1], max_tokens=1)
                model = model_with(directory, {"model.safetensors": weights(missing)})
                with Daemon(model, inherit=[listener], ready=False, want=65) as daemon:
                    frames = []
                    while (frame := client.recv()) is not None:
                        frames.append(frame)
                    equal(daemon.wait_exit(), 65)
        equal((frames[-1]["type"], frames[-1]["code"]), ("error", "model_unusable"))
        equal(frames[-1]["retryable"], False)
        check(all(directory not in str(frame) for frame in frames), "a path of the server went to a client")
        check("READY=1" not in daemon.manager.heard, "it said that it is ready")
        equal(job, 1)

done()
