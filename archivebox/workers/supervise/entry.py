"""How the orchestrator's process begins: its few options, Django, and the collection."""

import argparse
import os
import sys
from collections.abc import Sequence
from uuid import UUID

import django

from archivebox.config.collection import CollectionError, choose_data_dir, open_collection
from archivebox.config.conffile import ConfError
from archivebox.config.resolve import SettingError
from archivebox.lib.startup import paused_gc
from archivebox.workers.supervise.children import ServeCommands


def orchestrate(arguments: Sequence[str], commands: ServeCommands | None = None) -> int:
    """``archivebox orchestrator [--process-id ID] [--wait] [--commands] [--data-dir FOLDER]``; the exit status.

    ``commands``: what the process does that takes commands of people who type them.
    """
    parser = argparse.ArgumentParser("archivebox orchestrator", description="Start and watch the workers.")
    parser.add_argument("--process-id", type=UUID, help="row that the starter made for it")
    parser.add_argument("--wait", action="store_true", help="wait while another orchestrator is at work")
    parser.add_argument("--commands", action="store_true", help="keep a process that carries out commands")
    parser.add_argument("--data-dir", help="the collection")
    given = parser.parse_args(arguments)
    choose_data_dir(given.data_dir)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "archivebox.config.settings")
    try:
        with paused_gc():
            django.setup()
            open_collection(create=False)
            from archivebox.workers.supervise import orchestrator  # models can be imported only now
    except (CollectionError, ConfError, SettingError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return orchestrator.main(given.process_id, wait=given.wait, commands=commands if given.commands else None)
