#!/usr/bin/python3 -B
"""lorchd --list-devices and --device, with a CUDA driver that computes nothing (tests/kernels/fake_cuda.c)."""

import json
import os
import re
import tempfile

import daemon as fixture
from daemon import BUILDDIR
import models
from tap import check, contains, done, equal, point

FAKE = os.path.join(BUILDDIR, "tests/kernels/libfake_cuda.so")
KEYS = {"device", "name", "cores", "memory_bytes", "usable"}


def listing(*words, plan="", library=FAKE, **variables):
    """Standard output of --list-devices, which always succeeds and never complains."""
    env = fixture.environment(LORCH_LIBCUDA=library, FAKE_CUDA=plan, **variables)
    if "CUDA_VISIBLE_DEVICES" not in variables:
        env.pop("CUDA_VISIBLE_DEVICES", None)
    result = fixture.run("--list-devices", *words, env=env)
    equal((result.returncode, result.stderr), (0, ""))
    return result.stdout


def devices(**options):
    return json.loads(listing("--json", **options))


@point("the CPU: name, level, CPUs and memory")
def _():
    found = devices(library="/nowhere/libcuda.so.1")
    equal([d["device"] for d in found["devices"]], ["cpu"])
    cpu = found["devices"][0]
    equal(set(cpu), KEYS | {"level", "available_bytes"})
    contains(("c", "avx2", "avx512"), cpu["level"])
    check(cpu["name"] and cpu["usable"], cpu)
    equal(cpu["cores"] >= 1 and cpu["cores"] <= len(os.sched_getaffinity(0)), True)
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    equal(cpu["memory_bytes"], total)
    check(0 < cpu["available_bytes"] <= total, cpu)


@point("the level is the one that --check names")
def _():
    result = fixture.run("--check", "--model", models.DEMO)
    level = devices()["devices"][0]["level"]
    contains(result.stdout, "kernels: %s," % level)


@point("GPUs: name, compute capability, memory, the driver's version, and why they are of no use yet")
def _():
    found = devices(plan="devices=2 version=12080 major=8 minor=6 memory=8589934592")
    equal([d["device"] for d in found["devices"]], ["cpu", "cuda:0", "cuda:1"])
    check("no_gpu" not in found, found)
    for i, gpu in enumerate(found["devices"][1:]):
        equal(set(gpu), KEYS | {"compute_capability", "driver", "why"})
        equal((gpu["name"], gpu["compute_capability"], gpu["driver"]), ('Fake "%d"' % i, "8.6", "12.8"))
        equal((gpu["memory_bytes"], gpu["cores"], gpu["usable"]), (8589934592, 4, False))
        check(gpu["why"], gpu)


@point("the table says the same")
def _():
    table = listing(plan="devices=2 version=13000 memory=8589934592").splitlines()
    equal([line.split()[0] for line in table[:4]], ["DEVICE", "cpu", "cuda:0", "cuda:1"])
    check(re.search(r'Fake "0" +compute 9\.0 +4 +8\.0 GiB$', table[2]), table[2])
    contains(table[4], "CUDA 13.0")
    for i in range(2):
        contains(table[5 + i], "cuda:%d cannot be used: " % i)
    contains(listing(library="/nowhere/libcuda.so.1"), "No GPU: ")


@point("why there is no GPU: no driver, no driver's library, an old one, none that starts, none visible")
def _():
    for options, words in (
            ({"library": "/nowhere/libcuda.so.1"}, ("no CUDA driver", "/nowhere/libcuda.so.1")),
            ({"library": os.path.join(os.path.dirname(FAKE), "libfake_cublas.so")}, ("is no CUDA driver", "cuDriverGetVersion")),
            ({"plan": "version=11080"}, ("too old", "11.8", "12.0")),
            ({"plan": "init=100"}, ("CUDA_ERROR_NO_DEVICE",)),
            ({"plan": "init=100", "CUDA_VISIBLE_DEVICES": ""}, ("CUDA_ERROR_NO_DEVICE", "CUDA_VISIBLE_DEVICES")),
            ({"plan": "init=804"}, ("cuInit", "CUDA_ERROR_UNKNOWN")),
            ({"plan": "devices=0"}, ("sees no GPU",)),
            ({"plan": "devices=0", "CUDA_VISIBLE_DEVICES": ""}, ("CUDA_VISIBLE_DEVICES is ''",))):
        found = devices(**options)
        equal([d["device"] for d in found["devices"]], ["cpu"], str(words))
        for word in words:
            contains(found["no_gpu"], word)


@point("a GPU that is too old is listed, with both compute capabilities")
def _():
    gpu = devices(plan="major=7 minor=5")["devices"][1]
    equal((gpu["compute_capability"], gpu["usable"]), ("7.5", False))
    contains(gpu["why"], "7.5")
    contains(gpu["why"], "8.0")


@point("every call of the driver that fails is named, and the rest is listed all the same")
def _():
    whole = devices(plan="devices=2")
    named = set()
    for call in range(1, 100):
        found = devices(plan="devices=2 fail=%d" % call)
        equal(found["devices"][0]["device"], "cpu")
        if found["devices"][1:] == whole["devices"][1:]:
            break
        texts = [found.get("no_gpu", "")] + [d.get("why", "") for d in found["devices"]]
        names = [m.group(1) for m in (re.search(r"(cu\w+) failed: CUDA_ERROR_UNKNOWN", t) for t in texts) if m]
        equal(len(names), 1, str(texts))
        named.add(names[0])
    check(call > 15, "only %d calls" % call)
    equal(named, {"cuDriverGetVersion", "cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
                  "cuDeviceTotalMem", "cuDeviceGetAttribute"})


@point("cuda is refused in a sentence, whatever there is, and never replaced")
def _():
    env = fixture.environment(LORCH_LIBCUDA=FAKE)
    with tempfile.TemporaryDirectory() as directory:
        for name in ("cuda", "cuda:0", "cuda:7", "cuda:x"):
            for words in (("--check",), ("--listen", os.path.join(directory, "s"))):
                result = fixture.run("--model", models.DEMO, "--device", name, *words, env=env)
                equal((result.returncode, result.stdout), (78, ""), result.stderr)
                contains(result.stderr, "'%s'" % name)
                contains(result.stderr, "--device cpu")


@point("--json belongs to --list-devices")
def _():
    result = fixture.run("--json", "--model", models.DEMO)
    equal((result.returncode, result.stdout), (64, ""))
    contains(result.stderr, "--list-devices")


done()
