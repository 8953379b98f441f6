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


def orchestrate(arguments: Sequence[str]) -> int:
    """``archivebox orchestrator [--process-id ID] [--wait] [--data-dir FOLDER]``; returns the exit status."""
    parser = argparse.ArgumentParser("archivebox orchestrator", description="Start and watch the workers.")
    parser.add_argument("--process-id", type=UUID, help="row that the starter made for it")
    parser.add_argument("--wait", action="store_true", help="wait while another orchestrator is at work")
    parser.add_argument("--data-dir", help="the collection")
    given = parser.parse_args(arguments)
    choose_data_dir(given.data_dir)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "archivebox.config.settings")
    try:
        django.setup()
        open_collection(create=False)
    except (CollectionError, ConfError, SettingError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    from archivebox.workers.supervise import orchestrator  # models can be imported only now

    return orchestrator.main(given.process_id, wait=given.wait)
