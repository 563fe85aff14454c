#!/usr/bin/python3 -B
"""Malformed frames: the exact error with the offset, then the end of that connection; others notice nothing."""

import re
import struct

from daemon import Daemon, lorch
import models
from tap import check, contains, done, equal, point

PING = lorch.pack({"type": "ping"})
N = len(PING)


def pair(value, key=b"x"):
    """A map of one pair with a value of these bytes; the value begins at byte 3."""
    return b"\x81" + bytes([0xA0 | len(key)]) + key + value


# Bodies, the byte at which they go wrong, and a part of the sentence that says so.
MALFORMED = (
    (b"\xc0", 0, "not a map"),
    (b"\x01", 0, "not a map"),
    (b"\x91\x01", 0, "not a map"),
    (b"\xa1x", 0, "not a map"),
    (b"\xc1", 0, "0xc1"),
    (pair(b"\xc1"), 3, "0xc1"),
    (b"\x81", 0, "announces 1"),
    (b"\x82\xa1x\x01", 0, "announces 2"),
    (b"\xde", 1, "ends inside"),
    (b"\xdf\xff\xff\xff\xff", 0, "announces 4294967295"),
    (b"\xde\xff\xff" + b"\xa1x\x01" * 100, 0, "announces 65535"),
    (b"\xde\x00\x81" + b"".join(b"\xa3%03d\x01" % i for i in range(129)), 0, "129 pairs"),
    (pair(b"\xdd\xff\xff\xff\xff"), 3, "announces 4294967295"),
    (pair(b"\xdc\x00\x02\x01"), 3, "announces 2"),
    (pair(b"\x91" * 32 + b"\x01"), 3 + 31, "deeper than 32"),
    (pair(b"\x81\xa1x" * 32 + b"\x01"), 3 + 31 * 3, "deeper than 32"),
    (pair(b"\xdd" + struct.pack(">I", 1000000) + b"\x01" * 1000000), 3, "1000000 elements"),
    (pair(b"\xdb\xff\xff\xff\xff"), 8, "4294967295 bytes, 0 are left"),
    (pair(b"\xc6\x00\x00\x00\x05\x00"), 8, "5 bytes, 1 are left"),
    (pair(b"\xd9"), 4, "ends inside"),
    (pair(b"\xcf\x00\x00"), 4, "ends inside"),
    (pair(b"\xcb\x00"), 4, "ends inside"),
    (pair(b"\xa1\xff"), 4, "not UTF-8"),
    (pair(b"\xa3a\xc3\x28"), 5, "not UTF-8"),
    (pair(b"\xa3\xed\xa0\x80"), 4, "not UTF-8"),
    (pair(b"\xa2\xc0\x80"), 4, "not UTF-8"),
    (pair(b"\xa4\xf4\x90\x80\x80"), 4, "not UTF-8"),
    (b"\x81\xa1\xff\x01", 2, "not UTF-8"),
    (b"\x81\x01\xa1x", 1, "key is not a string"),
    (b"\x81\xc0\xa1x", 1, "key is not a string"),
    (b"\x81\xc4\x01x\x01", 1, "key is not a string"),
    (b"\x81\xa0\xa1x", 1, "0 bytes"),
    (b"\x81\xd9\x41" + b"x" * 65 + b"\x01", 1, "65 bytes"),
    (b"\x82\xa1x\x01\xa1x\x02", 4, "'x' is there twice"),
    (pair(b"\x82\xa1y\x01\xa1y\x02"), 7, "'y' is there twice"),
    (pair(b"\xcf\x80\x00\x00\x00\x00\x00\x00\x00"), 3, "beyond 2^63"),
    (pair(b"\x81\xa4seed\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), 9, "beyond 2^63"),
    (pair(b"\xd4\x01\x00"), 3, "extension"),
    (pair(b"\xd6\xff\x00\x00\x00\x00"), 3, "extension"),
    (pair(b"\xc7\x01\x01\x00"), 3, "extension"),
    (PING + b"\xc0", N, "1 bytes after"),
    (PING + PING, N, "%d bytes after" % N),
    (PING[:-1], None, ""),
)

with Daemon(models.DEMO) as daemon, daemon.connect() as neighbour:

    def complaint(client, code="protocol_error"):
        """The one error that concerns the whole connection, and its end after it."""
        frame = client.recv()
        equal((frame["type"], frame["code"], "id" in frame), ("error", code, False))
        equal((frame["status"], frame["error_type"]), (400, "invalid_request_error"))
        equal(client.recv(), None)
        return frame["message"]

    @point("each malformed body is a protocol_error that names the offset, while a neighbour's job goes on")
    def _():
        case = models.demo_cases()[0]
        jobs = [neighbour.submit(tokens=case["prompt_ids"], temperature=0) for _ in range(20)]
        for body, at, words in MALFORMED:
            with daemon.connect() as client:
                client.send_body(body)
                message = complaint(client)
                check(at is None or re.match("byte %d: " % at, message), "%r for %r" % (message, body[:40]))
                contains(message, words)
        for job in jobs:
            equal(neighbour.wait(job)["content"], case["text"])

    @point("a map of 128 pairs, 32 levels and a million elements are within the rules")
    def _():
        with daemon.connect() as client:
            for body in (b"\xde\x00\x80\xa2id\x01" + b"".join(b"\xa3%03d\x01" % i for i in range(127)),
                         b"\x82\xa2id\x01\xa1x" + b"\x91" * 31 + b"\x01",
                         b"\x82\xa2id\x01\xa1x\xdd" + struct.pack(">I", 999998) + b"\x01" * 999998):
                client.send_body(body)
                frame = client.recv()
                equal((frame["code"], frame["id"]), ("invalid_request", 1))  # no type
            client.ping()

    @point("requests before a malformed frame are answered, those after it are not")
    def _():
        with daemon.connect() as client:
            client.send_bytes(b"".join(len(b).to_bytes(4, "big") + b for b in (PING, PING, b"\xc1", PING)))
            equal([client.recv()["type"] for _ in range(2)], ["pong", "pong"])
            complaint(client)

    @point("a frame of no bytes is a protocol_error")
    def _():
        with daemon.connect() as client:
            client.send_bytes(b"\0\0\0\0")
            contains(complaint(client), "0 bytes")

    @point("a frame of one byte more than 64 MiB is refused by its length alone")
    def _():
        with daemon.connect() as client:
            client.send_bytes(struct.pack(">I", (64 << 20) + 1))
            message = complaint(client, "frame_too_large")
            contains(message, "67108865")
            contains(message, "67108864")

    @point("an HTTP request is refused by its first four bytes")
    def _():
        for text in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"POST /v1/completions HTTP/1.1\r\n\r\n{}"):
            with daemon.connect() as client:
                client.send_bytes(text)
                contains(complaint(client, "frame_too_large"), str(struct.unpack(">I", text[:4])[0]))

    @point("an end inside a frame is a protocol_error to whoever still listens")
    def _():
        for cut in (1, 3, 4, 10):
            with daemon.connect() as client:
                client.send_bytes((struct.pack(">I", N) + PING)[:cut])
                client.shutdown()
                complaint(client)

    @point("a frame in pieces of one byte is a frame")
    def _():
        with daemon.connect() as client:
            for byte in struct.pack(">I", N) + PING:
                client.send_bytes(bytes([byte]))
            equal(client.recv()["type"], "pong")

    @point("a malformed frame ends the jobs of its own connection")
    def _():
        with daemon.connect() as client:
            before = neighbour.status()
            job = client.submit(tokens=[0], max_tokens=1000, ignore_eos=True)
            equal(client.recv_for(job)["type"], "accepted")
            client.send_body(b"\xc1")
            frames = []
            while (frame := client.recv()) is not None:
                frames.append(frame)
            equal(frames[-1]["code"], "protocol_error")
            ended = before["jobs_cancelled"] + 1
            daemon.wait_status(neighbour, jobs_cancelled=ended, jobs_running=0, connections=1)

done()
