"""Somebody who watches a collection and stays: what a server or a long ``archivebox add`` is to the engine."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "archivebox.config.settings")
django.setup()

from archivebox.config.collection import open_collection  # noqa: E402 - models can be imported only now
from archivebox.lib import processes  # noqa: E402
from archivebox.machine.models import Process  # noqa: E402
from archivebox.workers.supervise.watch import POLL_EVERY, Interrupted, OrchestratorWatch  # noqa: E402


def main() -> int:
    processes.become_subreaper()
    open_collection(create=True)
    process = Process.current()
    code = 0
    try:
        with OrchestratorWatch(process, poll_every=float(os.environ.get("POLL_EVERY") or POLL_EVERY)) as watch:
            watch.wait(lambda: False)
    except Interrupted as stop:
        code = 128 + stop.signum
    process.finish(code)
    return code
