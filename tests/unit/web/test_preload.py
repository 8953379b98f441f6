"""A server that runs draws the pages that it was started with, whatever becomes of their files."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import get_template

from archivebox.config.settings import DATA_FOLDER
from archivebox.web.server import preload


def test_a_page_that_nobody_had_asked_for_is_drawn_as_it_was_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.TEMPLATES = [settings.TEMPLATES[0] | {"DIRS": [str(tmp_path)]}]
    monkeypatch.setattr(preload, "TEMPLATES", tmp_path)
    page = tmp_path / "late.html"
    page.write_text("old")
    preload.preload()
    page.write_text("{{ 1|a_filter_of_new_code }}")
    assert get_template("late.html").render() == "old"
    assert "archivebox.web.views.snapshot" in sys.modules


@pytest.mark.slow
def test_a_server_that_starts_loads_nothing_of_what_workers_run() -> None:
    """A tenth of the time until it answers."""
    body = (
        "import django; django.setup()\nimport sys, archivebox.web.urls\n"
        "print(*(name for name in sys.modules if name.startswith('archivebox.workers.execute')))\n"
    )
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "archivebox.web.settings", "DATA_DIR": str(DATA_FOLDER.root)}
    done = subprocess.run([sys.executable, "-c", body], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
