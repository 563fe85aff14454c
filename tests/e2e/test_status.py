#!/usr/bin/python3 -B
"""status and props: counters that count, figures that are those of the model's files."""

import os

from daemon import Daemon
import models
from tap import check, done, equal, point

COUNTERS = ("jobs_done", "jobs_failed", "jobs_cancelled", "prompt_tokens", "generated_tokens")

with Daemon(models.DEMO, "--threads", 2, "--cpu-level", "c") as daemon, daemon.connect() as client:

    @point("a new server has done nothing")
    def _():
        status = client.status()
        equal(status["state"], "ready")
        equal([status[key] for key in COUNTERS], [0, 0, 0, 0, 0])
        equal((status["jobs_running"], status["jobs_waiting"], status["connections"]), (0, 0, 1))
        check("load_fraction" not in status and "load_phase" not in status, "it still loads")
        equal(status["kv_pages"], status["kv_pages_free"])

    @point("jobs and tokens are counted")
    def _():
        client.run(tokens=[0, 370, 341], max_tokens=5, ignore_eos=True)
        client.run(tokens=[0, 370], max_tokens=0)
        job = client.submit(tokens=[0] * 2000, max_tokens=1)
        equal([frame["type"] for frame in client.frames(job)], ["accepted", "error"])
        status = client.status()
        equal([status[key] for key in COUNTERS], [2, 1, 0, 5, 5])
        equal(status["kv_pages"], status["kv_pages_free"])

    @point("connections are counted")
    def _():
        with daemon.connect() as second, daemon.connect() as third:
            third.ping()
            equal(second.status()["connections"], 3)

    @point("trace_id comes back in results")
    def _():
        equal(client.call("status", trace_id="mine")["trace_id"], "mine")
        equal(client.call("props", trace_id="\u00fc")["trace_id"], "\u00fc")
        check("trace_id" not in client.status(), "a trace_id that nobody gave")

    @point("props are the figures of config.json and of the weights' file")
    def _():
        props = client.props()
        config = models.read_json(models.DEMO + "/config.json")
        wanted = {"n_layer": "num_hidden_layers", "n_head": "num_attention_heads",
                  "n_kv_head": "num_key_value_heads", "head_dim": "head_dim", "dim": "hidden_size",
                  "ff_dim": "intermediate_size"}
        equal(props["shape"], {ours: config[theirs] for ours, theirs in wanted.items()})
        equal(props["end_ids"], [models.END])
        path = models.DEMO + "/model.safetensors"
        with open(path, "rb") as file:
            n_header = int.from_bytes(file.read(8), "little")
        memory = props["memory"]
        equal(memory["weight_bytes"], os.path.getsize(path) - 8 - n_header)
        # Keys and values, float32, of every layer and position.
        kv_bytes = 4 * 2 * 4 * 2 * 64 * props["limits"]["n_ctx"]
        check(kv_bytes <= memory["kv_bytes"] < 1.5 * kv_bytes, "%(kv_bytes)d bytes of KV pool" % memory)
        check(memory["scratch_bytes"] > 0 and memory["available_bytes"] > 0, "no memory")
        equal(props["model"], client.hello()["model"])
        equal(props["defaults"], client.hello()["defaults"])
        equal(props["limits"], client.hello()["limits"])

    @point("props tell what computes, as it was asked for")
    def _():
        props = client.props()
        equal((props["device"], props["level"], props["threads"]), ("cpu", "c", 2))

done()
