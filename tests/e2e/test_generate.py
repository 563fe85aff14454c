#!/usr/bin/python3 -B
"""generate: greedy answers equal those of the reference, in every way to ask and to be answered."""

from daemon import Daemon
import models
from tap import check, done, equal, point

with Daemon(models.DEMO) as daemon, daemon.connect() as client:
    cases = models.demo_cases()

    @point("greedy answers to prompts of text are those of the reference")
    def _():
        for case in cases:
            result = client.run(case["prompt"], parse_special="messages" in case, temperature=0,
                                return_tokens=True)
            equal(result["content"], case["text"])
            equal(result["tokens"], case["ids"][:-1])  # the last one is the end
            equal((result["finish_reason"], result["stop_type"]), ("stop", "eos"))
            n, n_answer = len(case["prompt_ids"]), len(case["ids"])
            equal(result["usage"],
                  {"prompt_tokens": n, "completion_tokens": n_answer, "total_tokens": n + n_answer})

    @point("and so are those to prompts of ids")
    def _():
        for case in cases:
            equal(client.run(tokens=case["prompt_ids"], temperature=0)["content"], case["text"])

    @point("top_k of 1 is as greedy, whatever the temperature")
    def _():
        for case in cases[2:5]:
            result = client.run(tokens=case["prompt_ids"], temperature=2, top_k=1, top_p=1)
            equal(result["content"], case["text"])

    @point("a streamed answer comes piece by piece, with indices in order")
    def _():
        case = cases[0]
        frames = list(client.generate(tokens=case["prompt_ids"], temperature=0, return_tokens=True))
        equal(frames[0]["type"], "accepted")
        equal(frames[-1]["type"], "done")
        tokens = frames[1:-1]
        equal({frame["type"] for frame in tokens}, {"token"})
        check(len(tokens) > 40, "%d token frames for %d tokens" % (len(tokens), len(case["ids"])))
        index = 0
        for frame in tokens:
            equal(frame["index"], index)
            index += len(frame["tokens"])
        equal("".join(frame["content"] for frame in tokens), case["text"])
        check("content" not in frames[-1] and "tokens" not in frames[-1], "done repeats the answer")

    @point("an answer that is not streamed is in done, whole")
    def _():
        case = cases[1]
        frames = list(client.generate(tokens=case["prompt_ids"], temperature=0, stream=False))
        equal([frame["type"] for frame in frames], ["accepted", "done"])
        equal(frames[1]["content"], case["text"])
        equal(frames[1]["tokens"], case["ids"][:-1])

    @point("the same seed gives the same bytes, another one others, drawn ones differ")
    def _():
        def story(**fields):
            return client.run("One day", max_tokens=80, temperature=1, top_p=1, **fields)

        first = story(seed=7)
        equal(first["seed"], 7)
        equal(story(seed=7)["content"], first["content"])
        equal(story(seed=7, stream=False)["content"], first["content"])
        others = [story(seed=seed)["content"] for seed in (0, 8, 2**63, 2**64 - 1)]
        equal(len({first["content"], *others}), 5)
        equal(story(seed=2**64 - 1)["seed"], 2**64 - 1)
        drawn = story()
        check(0 <= drawn["seed"] < 2**53, "a drawn seed of %d" % drawn["seed"])
        check(story()["seed"] != drawn["seed"], "the same seed was drawn twice")
        equal(story(seed=drawn["seed"])["content"], drawn["content"])

    @point("the model's own temperature and top_p hold where the job names none")
    def _():
        plain = client.run("One day", max_tokens=120, seed=3)["content"]
        equal(client.run("One day", max_tokens=120, seed=3, temperature=0.7, top_p=0.95)["content"], plain)
        different = [client.run("One day", max_tokens=120, seed=3, **f)["content"]
                     for f in ({"temperature": 2.0}, {"temperature": 0.7, "top_p": 0.05})]
        check(plain not in different, "temperature or top_p do nothing")

    @point("max_tokens ends with length, and 0 computes the prompt alone")
    def _():
        case = cases[0]
        for n in (1, 2, 17):
            result = client.run(tokens=case["prompt_ids"], temperature=0, max_tokens=n, return_tokens=True)
            equal(result["tokens"], case["ids"][:n])
            equal((result["finish_reason"], result["stop_type"]), ("length", "limit"))
        frames = list(client.generate(tokens=case["prompt_ids"], max_tokens=0))
        equal([frame["type"] for frame in frames], ["accepted", "done"])
        equal(frames[1]["finish_reason"], "length")
        equal(frames[1]["usage"]["completion_tokens"], 0)

    @point("max_tokens is lowered to what the context holds")
    def _():
        ids = [0] + [370] * 1019
        result = client.run(tokens=ids, temperature=0, max_tokens=1000, ignore_eos=True, return_tokens=True)
        equal(len(result["tokens"]), 4)
        equal((result["finish_reason"], result["stop_type"]), ("length", "limit"))
        equal(result["usage"], {"prompt_tokens": 1020, "completion_tokens": 4, "total_tokens": 1024})

    @point("accepted, done and error carry id and trace_id; accepted the number of the job")
    def _():
        frames = list(client.generate(tokens=[0], max_tokens=2, trace_id="t-1", id=77))
        equal([frame["id"] for frame in frames], [77] * len(frames))
        equal(frames[0]["trace_id"], "t-1")
        equal(frames[-1]["trace_id"], "t-1")
        equal(frames[0]["n_prompt"], 1)
        equal(frames[0]["position"], 0)
        again = list(client.generate(tokens=[0], max_tokens=2, id=77))
        equal(again[0]["job"], frames[0]["job"] + 1)
        check("trace_id" not in again[0], "a trace_id that nobody gave")
        equal(list(client.generate(tokens=[0], model="other", trace_id="t-2"))[-1]["trace_id"], "t-2")

    @point("timings add up to no more than what passed")
    def _():
        timings = client.run(tokens=[0, 370], max_tokens=20, ignore_eos=True)["timings"]
        equal((timings["prompt_n"], timings["predicted_n"]), (2, 20))
        check(all(timings[key] >= 0 for key in ("queue_ms", "prompt_ms", "predicted_ms")), "a negative time")
        check(timings["predicted_ms"] > 0, "an answer in no time")

    @point("return_progress shows the prompt being computed to its end")
    def _():
        frames = list(client.generate(tokens=[0] + [370] * 999, max_tokens=0, return_progress=True))
        equal(frames[0]["type"], "accepted")
        progress = [f for f in frames if f["type"] == "progress" and f["phase"] == "prefill"]
        steps = [f["processed"] for f in progress]
        equal((steps[0], steps[-1]), (0, 1000))
        equal(steps, sorted(set(steps)))
        check(len(steps) > 2, "a prompt of 1000 tokens in one step")
        equal({f["total"] for f in progress}, {1000})

    @point("several jobs of one connection are answered each with its own answer")
    def _():
        jobs = [(client.submit(tokens=case["prompt_ids"], temperature=0), case) for case in cases]
        for job, case in reversed(jobs):
            equal(client.wait(job)["content"], case["text"])

done()
