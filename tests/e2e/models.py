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



class Scripted:
    """A model that says what it is told to say: see scripted."""

    def __init__(self, path, end):
        self.path = path
        self.end = end  # the id that it says at last


def unique_pieces(text, n=3):
    """The text in pieces of n characters or more, no two alike."""
    pieces = []
    while text:
        length = n
        while text[:length] in pieces and length < len(text):
            length += 1
        if text[:length] in pieces:
            pieces[-1] += text
            break
        pieces.append(text[:length])
        text = text[length:]
    return pieces


def scripted(directory, pieces, template, special=()):
    """A model that answers any prompt by these pieces, one token each, and an end id that its files do not name.

    Its layers add nothing, so that a token's embedding, one number of many, decides on the next token: the next
    piece, and after all that is no piece the first one. Pieces that are in `special` are special tokens.
    """
    printable = [chr(c) for c in range(33, 127)] + ["\u0120", "\u010a"]  # space and line feed, as GPT-2 has them
    spelled = [p.replace(" ", "\u0120").replace("\n", "\u010a") for p in pieces]
    words = ["<|bos|>"] + [p if p in special else s for p, s in zip(pieces, spelled)] + ["<|over|>"]
    words += [c for c in printable if c not in words]
    added = [(0, "<|bos|>")] + [(i + 1, p) for i, p in enumerate(pieces) if p in special]
    end, n = len(pieces) + 1, len(words)
    tokenizer = {
        "version": "1.0", "normalizer": None, "post_processor": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {w: i for i, w in enumerate(words)}, "merges": []},
        "added_tokens": [{"id": id, "content": content, "special": True, "normalized": False, "lstrip": False,
                          "rstrip": False, "single_word": False} for id, content in added]}
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": n,
        "intermediate_size": 8, "max_position_embeddings": 2048, "num_attention_heads": 1, "head_dim": 8,
        "num_hidden_layers": 1, "num_key_value_heads": 1, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "tie_word_embeddings": False, "torch_dtype": "float32", "vocab_size": n, "bos_token_id": 0}

    def rows(shape, ones):
        data = bytearray(4 * shape[0] * (shape[1] if len(shape) > 1 else 1))
        for at in ones:
            data[4 * at : 4 * at + 4] = struct.pack("<f", 1.0)
        return shape, bytes(data)

    follows = [i + 1 if i < end else 1 for i in range(n)]
    layer = "model.layers.0."
    tensors = {"model.embed_tokens.weight": rows([n, n], [i * n + i for i in range(n)]),
               "lm_head.weight": rows([n, n], [follows[i] * n + i for i in range(n)]),
               "model.norm.weight": rows([n], range(n)),
               layer + "input_layernorm.weight": rows([n], range(n)),
               layer + "post_attention_layernorm.weight": rows([n], range(n)),
               layer + "self_attn.o_proj.weight": rows([n, 8], []),
               layer + "mlp.down_proj.weight": rows([n, 8], [])}
    for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj"):
        tensors[layer + name + ".weight"] = rows([8, n], [])
    header, body = {}, b""
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header).encode()
    with open(os.path.join(directory, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + body)
    files = {"config.json": config, "tokenizer.json": tokenizer, "tokenizer_config.json": {"bos_token": "<|bos|>"}}
    for name, value in files.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            json.dump(value, file)
    with open(os.path.join(directory, "chat_template.jinja"), "w", encoding="utf-8") as file:
        file.write(template)
    return Scripted(directory, end)
