#!/usr/bin/python3 -B
"""A thousand connects: no descriptor leaks; the limits on connections hold and pass."""

from daemon import Daemon, lorch
import models
from tap import check, done, equal, point

with Daemon(models.DEMO) as daemon, daemon.connect() as watcher:

    @point("a thousand connections, each ended in another way, leave no descriptor")
    def _():
        watcher.ping()
        before = daemon.descriptors()
        for i in range(1000):
            client = daemon.connect()
            if i % 5 == 0:
                client.ping()
            elif i % 5 == 1:
                client.send_body(b"\xc1")
            elif i % 5 == 2:
                client.submit(tokens=[0], max_tokens=100)
            elif i % 5 == 3:
                client.shutdown()
            client.close()
        daemon.wait_status(watcher, connections=1, jobs_running=0, jobs_waiting=0)
        equal(daemon.descriptors(), before)
        status = watcher.status()
        equal(status["kv_pages_free"], status["kv_pages"])

    @point("a hundred at once are all served")
    def _():
        clients = [daemon.connect() for _ in range(100)]
        for i, client in enumerate(clients):
            client.send({"type": "ping", "t": i})
        equal([client.recv()["t"] for client in clients], list(range(100)))
        equal(watcher.status()["connections"], 101)
        for client in clients:
            client.close()
        daemon.wait_status(watcher, connections=1)

with Daemon(models.DEMO, "--max-connections", 10) as daemon:

    @point("one user may have half of the connections; more are told, and closed")
    def _():
        clients = [daemon.connect() for _ in range(5)]
        for client in clients:
            client.ping()
        with daemon.connect() as more:
            frame = more.recv()
            equal((frame["type"], frame["code"], frame["retryable"]), ("error", "uid_limit", True))
            equal(more.recv(), None)
        clients.pop().close()
        daemon.wait_status(clients[0], connections=4)
        with daemon.connect() as again:
            again.ping()
        for client in clients:
            client.close()

done()
