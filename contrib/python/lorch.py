#!/usr/bin/python3
"""A client of lorchd in one file. Needs python3-msgpack and nothing else. See lorch-protocol(7).

    with Client("/run/lorch/lorchd.sock") as client:
        print(client.run("Once upon a time", max_tokens=50)["content"])
        print(client.chat([{"role": "user", "content": "Tell me a story."}])["content"])
        for frame in client.generate("Once upon a time", temperature=0):
            print(frame)

From a shell: python3 lorch.py SOCKET PROMPT [FIELD=VALUE...] streams the answer, with values as JSON.
"""

import collections
import json
import socket
import struct
import sys
import time

import msgpack

PROTOCOL = 1
TERMINAL = ("done", "error", "result")


class Error(Exception):
    """An error frame, whole in `frame`."""

    def __init__(self, frame):
        super().__init__("%s: %s" % (frame.get("code"), frame.get("message")))
        self.frame = frame
        self.code = frame.get("code")


class Closed(ConnectionError):
    """The server closed the connection before the reply was complete."""


def pack(frame):
    """The body of a frame."""
    return msgpack.packb(frame, use_bin_type=True)


def unpack(body):
    """A frame out of its body; the protocol's own limits hold, so there are none here."""
    return msgpack.unpackb(body, raw=False, strict_map_key=True)


def whole_calls(deltas):
    """Calls of tools, one dict each, out of the tool_call maps that came."""
    calls = {}
    for delta in deltas:
        call = calls.setdefault(delta["index"], {"arguments": ""})
        call["arguments"] += delta.get("arguments", "")
        call.update((key, delta[key]) for key in ("id", "name") if key in delta)
    return [calls[index] for index in sorted(calls)]


class Client:
    """One connection. Frames of other requests than the one that is waited for are kept until somebody asks.

    timeout: seconds that a single wait for bytes may take; None: for ever. A wait that takes longer raises
    socket.timeout and loses nothing: the next call goes on where it stopped.
    """

    def __init__(self, path, timeout=60.0):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.timeout = timeout
        self.sock.settimeout(timeout)
        try:
            self._connect(path)
        except BaseException:
            self.sock.close()
            raise
        self._received = bytearray()
        self._kept = collections.deque()
        self._last_id = 0

    def _connect(self, path):
        end = None if self.timeout is None else time.monotonic() + self.timeout
        while True:
            try:
                return self.sock.connect(path)
            except BlockingIOError:  # many connect at once; with a timeout, connect does not wait for its turn
                if end is not None and time.monotonic() >= end:
                    raise socket.timeout("no connection within %g s" % self.timeout) from None
                time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def shutdown(self):
        """Says that no more requests follow; replies still arrive."""
        self.sock.shutdown(socket.SHUT_WR)

    def next_id(self):
        self._last_id += 1
        return self._last_id

    # Bytes and frames.

    def send_bytes(self, data):
        """Bytes as they are, for tests of broken frames."""
        self.sock.sendall(data)

    def send_body(self, body):
        """A body of any bytes, with a proper length before it."""
        self.send_bytes(struct.pack(">I", len(body)) + body)

    def send(self, frame):
        self.send_body(pack(frame))

    def recv_body(self, timeout=-1):
        """The next frame's body; None at the end of the connection. timeout: of the whole call."""
        timeout = self.timeout if timeout == -1 else timeout
        end = None if timeout is None else time.monotonic() + timeout
        length = 4
        while True:
            if len(self._received) >= 4:
                length = 4 + struct.unpack(">I", self._received[:4])[0]
                if len(self._received) >= length:
                    body = bytes(self._received[4:length])
                    del self._received[:length]
                    return body
            if end is not None:
                left = end - time.monotonic()
                if left <= 0:
                    raise socket.timeout("no frame within %g s" % timeout)
                self.sock.settimeout(left)
            else:
                self.sock.settimeout(None)
            try:
                data = self.sock.recv(max(65536, min(length - len(self._received), 1 << 20)))
            except ConnectionResetError:
                data = b""
            finally:
                self.sock.settimeout(self.timeout)
            if not data:
                if self._received:
                    raise Closed("the connection ended inside a frame")
                return None
            self._received += data

    def recv(self, timeout=-1):
        """The next frame, kept ones first; None at the end of the connection."""
        if self._kept:
            return self._kept.popleft()
        body = self.recv_body(timeout)
        return None if body is None else unpack(body)

    def recv_for(self, id, timeout=-1):
        """The next frame with this id, or an error without one, which concerns the whole connection."""
        for i, frame in enumerate(self._kept):
            if frame.get("id") == id:
                del self._kept[i]
                return frame
        while True:
            body = self.recv_body(timeout)
            if body is None:
                raise Closed("the server closed the connection")
            frame = unpack(body)
            if frame.get("id") == id or (frame["type"] == "error" and "id" not in frame):
                return frame
            self._kept.append(frame)

    # Verbs.

    def call(self, type, **fields):
        """Sends a request and returns its one reply; raises Error."""
        fields.setdefault("id", self.next_id())
        self.send(dict(type=type, **fields))
        frame = self.recv_for(fields["id"])
        if frame["type"] == "error":
            raise Error(frame)
        return frame

    def hello(self, **fields):
        fields.setdefault("protocol", PROTOCOL)
        fields.setdefault("client", "lorch.py")
        return self.call("hello", **fields)

    def ping(self, t=None):
        return self.call("ping") if t is None else self.call("ping", t=t)

    def status(self):
        return self.call("status")

    def props(self):
        return self.call("props")

    def tokenize(self, content, **fields):
        return self.call("tokenize", content=content, **fields)["tokens"]

    def detokenize(self, tokens, **fields):
        return self.call("detokenize", tokens=list(tokens), **fields)["content"]

    def count(self, content=None, messages=None, **fields):
        if content is not None:
            fields["content"] = content
        if messages is not None:
            fields["messages"] = messages
        return self.call("count", **fields)["n_tokens"]

    def apply_template(self, messages, **fields):
        """The prompt that messages become; with return_tokens=True the whole result."""
        result = self.call("apply_template", messages=messages, **fields)
        return result if fields.get("return_tokens") else result["prompt"]

    def submit(self, prompt=None, tokens=None, **fields):
        """Sends a job and returns its id."""
        fields.setdefault("id", self.next_id())
        if prompt is not None:
            fields["prompt"] = prompt
        if tokens is not None:
            fields["tokens"] = list(tokens)
        self.send(dict(type="generate", **fields))
        return fields["id"]

    def submit_chat(self, messages, **fields):
        """Sends a chat and returns its id."""
        fields.setdefault("id", self.next_id())
        self.send(dict(type="chat", messages=messages, **fields))
        return fields["id"]

    def frames(self, id):
        """The frames of a job, up to and including the one that ends it."""
        while True:
            frame = self.recv_for(id)
            yield frame
            if frame["type"] in TERMINAL:
                return

    def generate(self, prompt=None, tokens=None, **fields):
        """Sends a job (at once) and returns an iterator of its frames; the last one is done or error."""
        return self.frames(self.submit(prompt, tokens, **fields))

    def wait(self, id):
        """What came of a job, as one dict: the fields of `done`, with content, reasoning_content, tool_calls,
        tokens and logprobs put together from the token frames; raises Error. content is there, empty or not,
        unless ids alone came."""
        texts, lists = {}, {}
        for frame in self.frames(id):
            if frame["type"] == "token":
                for key in ("content", "reasoning_content"):
                    if key in frame:
                        texts[key] = texts.get(key, "") + frame[key]
                for key in ("tool_calls", "tokens", "logprobs"):
                    if key in frame:
                        lists.setdefault(key, []).extend(frame[key])
            elif frame["type"] == "error":
                raise Error(frame)
        result = dict(frame, **texts, **lists)
        if "tool_calls" in result:
            result["tool_calls"] = whole_calls(result["tool_calls"])
        if "tokens" not in result or texts:  # an answer by ids alone has tokens and no content
            result.setdefault("content", "")
        return result

    def run(self, prompt=None, tokens=None, **fields):
        """Runs a job to its end: see wait."""
        return self.wait(self.submit(prompt, tokens, **fields))

    def chat(self, messages, **fields):
        """Runs a chat to its end: see wait."""
        return self.wait(self.submit_chat(messages, **fields))

    def cancel(self, id=None, job=None):
        """Ends a job; its last frame is the answer."""
        self.send(dict(type="cancel", **({"id": id} if job is None else {"job": job})))


def main(argv):
    if len(argv) < 3:
        print("usage: lorch.py SOCKET PROMPT [FIELD=VALUE...]", file=sys.stderr)
        return 64
    fields = {}
    for word in argv[3:]:
        key, _, text = word.partition("=")
        try:
            fields[key] = json.loads(text)
        except ValueError:
            fields[key] = text
    try:
        with Client(argv[1], timeout=None) as client:
            for frame in client.generate(argv[2], **fields):
                if frame["type"] == "error":
                    print("lorch.py: %s" % Error(frame), file=sys.stderr)
                    return 1
                print(frame.get("content", ""), end="", flush=True)
                if "content" not in frame and frame["type"] == "token":
                    print(*frame.get("tokens", []), end=" ", flush=True)
            print()
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print("lorch.py: %s: %s" % (argv[1], error), file=sys.stderr)
        return 68
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
