"""A server that runs draws the pages that it was started with, whatever becomes of their files."""

import sys
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import get_template

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
