#!/usr/bin/python3 -B
"""Frames made to cost memory: announcements of billions, large frames, many of them; memory stays bounded."""

import struct

from daemon import Daemon, lorch
import models
from tap import check, done, equal, point

MIB = 1 << 20
FRAME = 64 * MIB
USER_BYTES = 256 * MIB  # of unanswered requests of one user

with Daemon(models.DEMO) as daemon, daemon.connect() as watcher:
    with daemon.connect() as client:  # what is allocated once is allocated
        client.send_body(b"\xc1")
        client.recv()
        client.recv()

    def grown(since):
        return daemon.memory("VmHWM") - since

    @point("five bytes that announce four billion elements cost nothing")
    def _():
        before, mapped = daemon.memory("VmHWM"), daemon.memory("VmPeak")
        for head in (b"\xdd", b"\xdf", b"\xdb", b"\xc6"):
            for body in (head + b"\xff\xff\xff\xff", b"\x81\xa1x" + head + b"\xff\xff\xff\xff"):
                for _ in range(20):
                    with daemon.connect() as client:
                        client.send_body(body)
                        equal(client.recv()["code"], "protocol_error")
        check(grown(before) < 2 * MIB, "%d bytes more were used" % grown(before))
        check(daemon.memory("VmPeak") - mapped < 64 * MIB, "more was mapped")

    @point("arrays within arrays that announce as much as they can cost no more")
    def _():
        before = daemon.memory("VmHWM")
        body = b"\x81\xa1x" + b"\xdd\x00\x0f\x42\x3f" * 31 + b"\x01" * 1000
        for _ in range(20):
            with daemon.connect() as client:
                client.send_body(body)
                equal(client.recv()["code"], "protocol_error")
        check(grown(before) < 2 * MIB, "%d bytes more were used" % grown(before))

    @point("the length of a large frame alone reserves nothing")
    def _():
        before = daemon.memory("VmHWM")
        clients = [daemon.connect() for _ in range(50)]
        for client in clients:
            client.send_bytes(struct.pack(">I", FRAME) + b"\x81\xa1x")
        watcher.ping()
        check(grown(before) < 16 * MIB, "%d bytes more were used" % grown(before))
        for client in clients:
            client.close()
        daemon.wait_status(watcher, connections=1)

    @point("a frame of 64 MiB is taken, and refused for what is in it")
    def _():
        with daemon.connect() as client:
            head = b"\x82\xa2id\x01\xa1x\xc6"
            body = head + struct.pack(">I", FRAME - len(head) - 4)
            client.send_bytes(struct.pack(">I", FRAME) + body)
            zeros = bytes(MIB)
            left = FRAME - len(body)
            while left:
                n = min(left, MIB)
                client.send_bytes(zeros[:n])
                left -= n
            frame = client.recv()
            equal((frame["id"], frame["code"]), (1, "invalid_request"))
            watcher.ping()

    @point("unfinished frames of one user are bounded all together")
    def _():
        clients, refused, zeros = [], 0, bytes(MIB)
        for _ in range(USER_BYTES // FRAME + 2):
            client = daemon.connect()
            clients.append(client)
            try:
                client.send_bytes(struct.pack(">I", FRAME))
                for _ in range(FRAME // MIB - 1):
                    client.send_bytes(zeros)
            except (BrokenPipeError, ConnectionResetError):
                frame = client.recv()
                equal((frame["code"], frame["retryable"]), ("uid_limit", True))
                refused += 1
        check(refused >= 1, "%d bytes were taken" % (len(clients) * FRAME))
        equal(watcher.ping(3)["t"], 3)
        for client in clients:
            client.close()
        daemon.wait_status(watcher, connections=1)
        with daemon.connect() as client:
            equal(client.run(tokens=[0], max_tokens=1)["type"], "done")

    @point("memory of large requests is given back")
    def _():
        check(daemon.memory("VmRSS") < 128 * MIB, "%d bytes are in use" % daemon.memory("VmRSS"))

    @point("a prompt of ten megabytes is refused without delay for others")
    def _():
        with daemon.connect() as client:
            job = client.submit("x" * (10 * MIB))
            equal(watcher.ping(4)["t"], 4)
            equal(list(client.frames(job))[-1]["code"], "context_overflow")

    @point("texts of clients that have gone cost neither memory nor time")
    def _():
        text, n_client = "a b " * (4 * MIB), 48
        before = daemon.memory("VmHWM")
        for request in ({"type": "count", "content": text},
                        {"type": "apply_template", "messages": [{"role": "user", "content": text}]}):
            body = lorch.pack(dict(request, id=1))
            for _ in range(n_client):
                with daemon.connect() as client:
                    client.send_body(body)
                    client.send({"type": "ping", "id": 2})
                    equal(client.recv_for(2)["type"], "pong")  # the text has been read
        check(grown(before) < n_client * len(text) // 2, "%d bytes more were used" % grown(before))
        # Nothing but what was being worked on stands before this one.
        equal(watcher.count(text[: MIB]) > 0, True)

done()
