#!/usr/bin/python3 -B
"""The weights' file is cut while it is being served: one sentence that names it, and exit status 74."""

import os
import shutil
import tempfile

from daemon import Daemon
import models
from tap import contains, done, equal, point

with tempfile.TemporaryDirectory() as directory:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(os.path.join(models.GOLDEN, name), directory)
    path = os.path.join(directory, "model.safetensors")
    with Daemon(directory, want=74) as daemon, daemon.connect() as client:

        @point("a job after the file was cut ends lorchd with 74 and the file's name")
        def _():
            equal(client.run(tokens=[1], max_tokens=1)["type"], "done")
            os.truncate(path, 100)
            client.submit(tokens=[1], max_tokens=1)
            equal(daemon.wait_exit(), 74)
            contains(daemon.log, path)

done()
