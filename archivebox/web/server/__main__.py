"""``python -m archivebox.web.server``: the web server's process, from its first line to its row's last."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

import django

from archivebox.config import logs, page_storage
from archivebox.config.early import early_settings
from archivebox.config.listening import hold_ports
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.addresses import ListenAddress
from archivebox.lib.startup import paused_gc


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT, or until who started us is gone. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="archivebox.web.server")
    parser.add_argument("--bind", required=True, type=ListenAddress.parse, help="where the app listens")
    parser.add_argument("--replay", required=True, type=ListenAddress.parse, help="where archived pages are shown")
    options = parser.parse_args(argv)
    os.environ["DJANGO_SETTINGS_MODULE"] = "archivebox.web.settings"
    os.environ["ARCHIVEBOX_REPLAY_PORT"] = str(options.replay.port)
    logs.set_up(early_settings(DATA_FOLDER).get_text("LOG_LEVEL"))
    logs.set_up_django()
    page_storage.answer_soon()
    return _serve(options.bind, options.replay)


def _serve(bind: ListenAddress, replay: ListenAddress) -> int:
    with paused_gc():
        django.setup()
        from archivebox.web.server.listeners import (  # models can be imported only once Django is set up
            listen,
            recorded,
        )

    with recorded() as starters:
        hold_ports(bind.port, replay.port)
        asyncio.run(listen(bind, replay, starters))
    return 0


if __name__ == "__main__":
    sys.exit(main())
